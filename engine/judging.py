"""Programs on their way through the sandbox: each distinct one is executed once, while the model goes on generating."""

from __future__ import annotations

import queue
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass

from cache.keys import outcome_key
from cache.store import StoredOutcome
from engine.events import Judged
from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.recorder import Recorder
from engine.scoring import Score

BACKLOG = 256
"""Distinct programs that may wait for the sandbox."""

REMEMBERED = 4096
"""Outcomes held in memory; older ones come from the store."""


@dataclass(frozen=True)
class Candidate:
    """Whose program it is: configuration id, problem, sample, the key of the generation it was cut from, and what the
    extraction found in that (out of `engine.failures.READINGS`).
    """

    configuration: str
    task_id: str
    sample: int
    key: str
    reading: str = ""


def program_key(program: Program, limits: Limits, identity: str) -> str:
    """The key of a program's outcome: every field that may change it, its limits, and the sandbox's identity."""
    return outcome_key([str(part) for part in astuple(program)], asdict(limits), identity)


class JudgePool:
    """Hands programs to a sandbox from several threads; results are collected by the one thread that owns the pool."""

    def __init__(self, sandbox: Sandbox, lookup: Callable[[str], StoredOutcome | None], jobs: int) -> None:
        self._sandbox = sandbox
        self._lookup = lookup
        self._threads = ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="judge")
        self._finished: queue.SimpleQueue[tuple[str, Outcome | BaseException]] = queue.SimpleQueue()
        self._waiting: dict[str, list[Candidate]] = {}
        self._known: OrderedDict[str, StoredOutcome] = OrderedDict()
        self._ready: list[tuple[Candidate, StoredOutcome]] = []
        self.executed = 0

    @property
    def pending(self) -> int:
        """Distinct programs that are being executed or wait for it."""
        return len(self._waiting)

    def submit(self, candidate: Candidate, program: Program, limits: Limits) -> None:
        """Judge a program; its outcome comes out of `collect` or `drain`."""
        key = program_key(program, limits, self._sandbox.identity)
        known = self._known.get(key) or self._lookup(key)
        if known is not None:
            self._remember(known)
            self._ready.append((candidate, known))
        elif key in self._waiting:
            self._waiting[key].append(candidate)
        else:
            self._waiting[key] = [candidate]
            self._threads.submit(self._judge, key, program, limits)

    def settle(self, candidate: Candidate, outcome: StoredOutcome) -> None:
        """Pass on an outcome that needs no execution; it comes out of `collect` with the others."""
        self._ready.append((candidate, outcome))

    def _judge(self, key: str, program: Program, limits: Limits) -> None:
        try:
            self._finished.put((key, self._sandbox.run(program, limits)))
        except BaseException as error:  # noqa: BLE001 - carried to the owning thread, which raises it
            self._finished.put((key, error))

    def collect(self) -> Iterator[tuple[Candidate, StoredOutcome]]:
        """Outcomes that are there now; waits for some while more than BACKLOG programs are on their way, so that a slow
        sandbox holds up the model instead of filling the memory.
        """
        while self.pending > BACKLOG:
            self._arrived(*self._finished.get())
        yield from self.there()

    def there(self) -> Iterator[tuple[Candidate, StoredOutcome]]:
        """Outcomes that are there now, without waiting for any; also when the pool is closed."""
        while not self._finished.empty():
            self._arrived(*self._finished.get())
        ready, self._ready = self._ready, []
        yield from ready

    def drain(self) -> Iterator[tuple[Candidate, StoredOutcome]]:
        """All outcomes still to come, waiting for each."""
        yield from self.collect()
        while self._waiting:
            self._arrived(*self._finished.get())
            yield from self.collect()

    def _arrived(self, key: str, outcome: Outcome | BaseException) -> None:
        if isinstance(outcome, BaseException):
            raise outcome
        self.executed += 1
        stored = StoredOutcome(key, outcome.kind, outcome.detail, outcome.mode, outcome.level, outcome.seconds)
        if outcome.kind != "unavailable":
            self._remember(stored)
        self._ready += [(candidate, stored) for candidate in self._waiting.pop(key)]

    def _remember(self, outcome: StoredOutcome) -> None:
        self._known[outcome.key] = outcome
        self._known.move_to_end(outcome.key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def close(self) -> None:
        """Drop what has not started; what runs ends by its own limits."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def state_outcome(
    recorder: Recorder, scores: Mapping[str, Score], candidate: Candidate, outcome: StoredOutcome
) -> None:
    """Keep one outcome, state it as an event of the run, and count it."""
    if outcome.key and outcome.kind != "unavailable":
        recorder.put_outcome(outcome)
    event = Judged(
        candidate.configuration, candidate.task_id, candidate.sample, candidate.key,
        outcome.kind, outcome.detail, outcome.seconds, candidate.reading, outcome.mode,
    )  # fmt: skip
    recorder.event(event)
    scores[candidate.configuration].add(candidate.task_id, candidate.sample, outcome.kind, candidate.reading)
