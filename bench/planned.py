"""A run as `scoretrace run` does it, in this process and timed by kind of work: `bench/grid.py` measures these."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from cache.store import Store
from engine.cells import StoredRun, read_run, reply_of
from engine.control import Control
from engine.job import Job
from engine.judging import JudgePool
from engine.models import schedule
from engine.models.llamacpp import LlamaDecoder
from engine.protocols import Sandbox
from engine.recorder import Recorder
from engine.run import Runner
from engine.worker import real_parts


class Clock:
    """Seconds by kind of work, added up by wrapping the calls that do it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, kind: str) -> Iterator[None]:
        """Add the seconds of a block."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[kind] += time.perf_counter() - began

    def wrap(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed."""

        def timed(*arguments: Any, **named: Any) -> Any:
            with self.timed(kind):
                return function(*arguments, **named)

        return timed

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Wrap what a run does of each kind."""
        places = ((LlamaDecoder, "prefill", "prefill"), (LlamaDecoder, "decode", "decode"),
                  (schedule, "choose", "sampling"), (schedule, "choose_all", "sampling"),
                  (JudgePool, "drain", "waiting for the judge at the end of a load"))  # fmt: skip
        patches = [
            mock.patch.object(owner, name, self.wrap(kind, getattr(owner, name)))
            for owner, name, kind in places
            if hasattr(owner, name) and name != "drain"
        ]
        drain = JudgePool.drain
        patches.append(mock.patch.object(JudgePool, "drain", lambda pool: self._listed(drain(pool))))
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in patches:
                one.stop()

    def _listed(self, results: Iterator[Any]) -> list[Any]:
        with self.timed("waiting for the judge"):
            return list(results)


@dataclass
class Planned:
    """One planned run: wall seconds, seconds by kind of work, counts, and the store that holds it."""

    seconds: float
    parts: dict[str, float]
    generations: int
    tokens: int
    store: Path
    run: int


def planned(job: Job, folder: Path, facts: Path) -> Planned:
    """Run a job in a store of its own, which starts with the hashes and calibrations of `facts`."""
    folder.mkdir()
    path = folder / "store.sqlite"
    copy_facts(facts, path)
    store = Store(path)
    run = store.create_run("bench", "", job.as_dict())
    recorder = Recorder(store, run)
    clock = Clock()
    parts = real_parts(job, store)
    judged = replace(
        parts,
        model=clock.wrap("load", parts.model),
        sandbox=lambda: Timed(parts.sandbox(), clock),
        crowding=str,
        meters=tuple,
    )
    began = time.perf_counter()
    with clock.watching():
        state = Runner(job, judged, recorder, Control(recorder)).run()
    seconds = time.perf_counter() - began
    assert state == "finished", state
    made = [body for body in store.events_of(run, "Generated") if not body["reused"]]
    failed = store.events_of(run, "ConfigurationFailed")
    assert not failed, failed
    store.close()
    return Planned(seconds, dict(clock.seconds), len(made), sum(body["tokens"] for body in made), path, run)


class Timed:
    """A sandbox whose programs' seconds are added up; they run beside the model."""

    def __init__(self, sandbox: Sandbox, clock: Clock) -> None:
        self._sandbox, self._clock = sandbox, clock
        self.level, self.identity, self.close = sandbox.level, sandbox.identity, sandbox.close

    def run(self, program: Any, limits: Any) -> Any:
        """See `Sandbox.run`."""
        with self._clock.timed("programs, in their own processes beside the model"):
            return self._sandbox.run(program, limits)


def copy_facts(source: Path, target: Path) -> None:
    """Hashes and calibrations, so that no repeat measures them again."""
    old, new = Store(source), Store(target)
    for key, body in old._db.execute("SELECT key, body FROM facts").fetchall():
        if key.startswith(("sha256 ", "calibration ")):
            new.put_fact(key, json.loads(body))
    old.close()
    new.close()


def account(run: Planned) -> dict[str, Any]:
    """Where the wall seconds of a planned run went, in per cent; programs run beside them."""
    beside = "programs, in their own processes beside the model"
    inside = {kind: seconds for kind, seconds in run.parts.items() if kind != beside}
    rest = run.seconds - sum(inside.values())
    shares = {**inside, "all else (prompts, cuts, drafts, store, reference check)": rest}
    return {
        "share_of_wall_percent": {kind: round(100 * seconds / run.seconds, 1) for kind, seconds in shares.items()},
        "program_seconds_beside": round(run.parts.get(beside, 0.0), 1),
    }


# compared


def differences(one: Planned, other: Planned, configuration: str) -> tuple[int, str, list[str]]:
    """A configuration's samples in two runs: how many, the score in both (`a/n` or `a/n, b/n`), and what differs."""
    stores = Store(one.store), Store(other.store)
    runs = [read_run(store, run.run) for store, run in zip(stores, (one, other), strict=True)]
    cells = [run.cells[configuration] for run in runs]
    scores = [f"{sum(cell.kind == 'passed' for cell in some.values())}/{len(some)}" for some in cells]
    wrong = [f"{task_id} sample {sample} is in one run only" for task_id, sample in cells[0].keys() ^ cells[1].keys()]
    for place in cells[0].keys() & cells[1].keys():
        found = [_sample(store, run, configuration, place) for store, run in zip(stores, runs, strict=True)]
        names = [name for name, a, b in zip(("key", "tokens", "text", "outcome"), *found, strict=True) if a != b]
        if names:
            wrong.append(f"{place[0]} sample {place[1]}: another {', '.join(names)}")
    for store in stores:
        store.close()
    return len(cells[0]), ", ".join(dict.fromkeys(scores)), sorted(wrong)


def _sample(store: Store, run: StoredRun, configuration: str, place: tuple[str, int]) -> tuple[Any, ...]:
    """Key, tokens and text within the configuration's limit, and outcome of one sample."""
    cell = run.cells[configuration][place]
    stored = store.generation(cell.key) if cell.key else None
    if stored is None:
        return cell.key, (), "", cell.kind
    room = cell.configuration.max_length - stored.n_prompt
    return cell.key, tuple(stored.tokens[:room]), reply_of(cell.configuration, stored, store), cell.kind
