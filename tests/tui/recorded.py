"""The embedded study as it was measured, played back: by a worker process through the real store, or as plain facts.

    python tests/tui/recorded.py app [--speed FACTS_PER_SECOND]       the app, whose worker plays the recording
    python tests/tui/recorded.py worker RUN --store PATH --speed N    that worker

Ten configurations are a recording with replies and times (`record.py` made it); of the others the passes per problem
are known (`tests/front/demo_measured.json`), and their facts are made from those.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from cache.store import Store, StoredGeneration
from engine.benchmarks import open_benchmark
from engine.events import (
    ConfigurationFinished,
    Event,
    Generated,
    Judged,
    PassStarted,
    Started,
    StateChanged,
    from_dict,
    to_dict,
)
from engine.plan import Pass, PromptGroup, make_plan
from tui.local import LocalSession
from tui.study import Study, embedded

HERE = Path(__file__).parent


@lru_cache
def recording() -> dict[str, Any]:
    """What `record.py` wrote."""
    return json.loads(gzip.decompress((HERE / "recorded_run.json.gz").read_bytes()))


@lru_cache
def marks() -> dict[str, str]:
    """Configuration id -> one mark per problem, 1 for passed."""
    return json.loads((HERE.parent / "front" / "demo_measured.json").read_text())["passed"]


@lru_cache
def tasks() -> list[str]:
    """The benchmark's task ids in its order."""
    return [problem.task_id for problem in open_benchmark("bugfix-mini", None).problems]


def replies() -> list[StoredGeneration]:
    """The recorded replies; token ids were not recorded, only how many there are."""
    return [
        StoredGeneration(key, "0" * 64, decoding, prompt, text, tuple(range(count)), stop, asked, 0.4)
        for key, (text, count, stop, asked, prompt, decoding) in recording()["replies"].items()
    ]


def facts(study: Study | None = None) -> Iterator[tuple[float, Event]]:
    """(seconds since the start, fact) of the whole study, in order; the last one says that the run is finished."""
    study = study or embedded()
    plan = make_plan(study.configurations())
    sizes = {name: len(tasks()) for name in study.grid.benchmark}
    yield (
        0.0,
        Started(
            {c.id: c.as_dict() for c in study.configurations()}, {name: tasks() for name in sizes}, plan.passes,
            plan.generations(sizes), 0, "namespaces",
        ),
    )  # fmt: skip
    yield 0.0, StateChanged("running")
    moment = 0.0
    for moment, body in recording()["facts"]:
        yield moment, from_dict(body)
    done = set(recording()["configurations"])
    first = plan.first_indices()
    for group in plan.groups:
        if not all(c.id in done for c in group.configurations):
            for event in _made(group, first[group], done):
                moment += 0.05
                yield moment, event
    yield moment, StateChanged("finished")


def _made(group: PromptGroup, first: int, done: set[str]) -> Iterator[Event]:
    """A group's facts out of the marks, but for configurations that were recorded."""
    ids = [c.id for c in group.configurations if c.id not in done]
    yield PassStarted(first, group.label, ids, len(group.passes) * len(tasks()))
    for index, one in enumerate(group.passes, first):
        if any(c.id in ids for c in one.configurations):
            yield from _pass(index, one, done)


def _pass(index: int, one: Pass, done: set[str]) -> Iterator[Event]:
    for place, task_id in enumerate(tasks()):
        key = hashlib.sha256(f"{index} {task_id}".encode()).hexdigest()[:40]
        if not any(c.id in done for c in one.configurations):
            yield Generated(index, task_id, 0, key, 90, "end", 0.4)
        for configuration in one.configurations:
            if configuration.id not in done:
                passed = marks()[configuration.id][place] == "1"
                yield Judged(configuration.id, task_id, 0, key, "passed" if passed else "failed", "", 0.01)
    for configuration in one.configurations:
        if configuration.id not in done:
            yield ConfigurationFinished(configuration.id, marks()[configuration.id].count("1"), len(tasks()), 0)


class RecordedSession(LocalSession):
    """The session of this machine, but its workers play the recording."""

    def __init__(self, store: Path, speed: float) -> None:
        super().__init__(store)
        self._speed = speed

    def resume(self) -> None:
        """Start a player for the attached run unless one is at it."""
        run = self.run
        assert run is not None
        if self.store.run(run).alive:
            return
        self.store.set_state(run, "created", release=True)
        self._worker = subprocess.Popen(
            [sys.executable, __file__, "worker", str(run), "--store", str(self.store.path), "--speed", str(self._speed)],  # noqa: E501
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip


def play(store: Store, run: int, speed: float) -> None:
    """Write the facts into the store, `speed` a second, obeying wishes as the worker does.

    Half-way it waits for a first wish, so that whoever pauses it does so in time, on however slow a machine.
    """
    store.claim_run(run, os.getpid())
    store.put_generations(replies())
    skip = len(store.events(run))
    taken = 0
    events = [event for _, event in facts()][skip:]
    half = len(events) // 2
    while events:
        for taken, kind in store.wishes(run, taken):  # noqa: B007, B020 - the number of the last wish taken
            if kind == "stop":
                store.append(run, [to_dict(StateChanged("stopped", "as asked"))])
                store.set_state(run, "stopped", "as asked", release=True)
                return
            state = {"pause": "paused", "resume": "running"}[kind]
            store.append(run, [to_dict(StateChanged(state))])
            store.set_state(run, state)
        if store.run(run).state != "paused" and (taken or len(events) > half):
            now, events = events[: max(1, int(speed / 20))], events[max(1, int(speed / 20)) :]
            store.append(run, [to_dict(event) for event in now])
        time.sleep(1 / 20)
    store.set_state(run, "finished", release=True)


def main() -> int:
    """Either part."""
    from cache.paths import store_path

    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("app", "worker"))
    parser.add_argument("run", type=int, nargs="?")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--speed", type=float, default=2000)
    options = parser.parse_args()
    if options.part == "worker":
        play(Store(options.store), options.run, options.speed)
        return 0
    from tui.late import late_parts
    from tui.opening import run_app

    session = RecordedSession(store_path(), options.speed)
    return run_app(session, embedded(), parts=late_parts(session), studies=(embedded(),))


if __name__ == "__main__":
    sys.exit(main())
