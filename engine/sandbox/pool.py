"""The sandbox as the engine sees it: at most so many judges at a time, a program goes to the first that is free."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Program
from engine.sandbox import wire
from engine.sandbox.helper import Helper
from engine.sandbox.server import READY_S

PROTOCOL = "4"
_GRACE_S = 5.0


class Judge(Protocol):
    """Judges one program at a time, from any thread; starts its processes when first asked."""

    def ask(self, program: Program, limits: Limits) -> Outcome:
        """The outcome of one program; its level is filled in by the pool."""
        ...

    def stop(self) -> None:
        """End its processes for good."""
        ...


class Pool:
    """Runs programs in judges, no more at a time than there are; an idle one that has run before goes first."""

    def __init__(
        self, level: str, judges: Sequence[Judge], again: Callable[[Outcome], bool] = lambda outcome: True
    ) -> None:
        """`again` says of a timeout whether it is worth a second try."""
        self._level = level
        self._again = again
        self._free: queue.LifoQueue[Judge] = queue.LifoQueue()
        self._judges = judges
        self._alone = _Turns()
        self._closed = False
        for judge in self._judges:
            self._free.put(judge)

    @property
    def level(self) -> str:
        """Name of the confinement in force."""
        return self._level

    def run(self, program: Program, limits: Limits) -> Outcome:
        """Judge one program; never raises for what the program does. Safe to call from several threads.

        A timeout is judged once more with no other program running here, and that second outcome counts.
        """
        with self._alone.shared():
            outcome = self._run(program, limits)
        if outcome.kind == "timeout" and self._again(outcome):
            with self._alone.exclusive():
                outcome = self._run(program, limits)
        return outcome

    def _run(self, program: Program, limits: Limits) -> Outcome:
        if self._closed:
            return Outcome("unavailable", "the sandbox is closed", level=self._level)
        judge = self._free.get()
        try:
            return replace(judge.ask(program, limits), level=self._level)
        finally:
            self._free.put(judge)

    def close(self) -> None:
        """End all helper processes; programs that still run end as unavailable."""
        self._closed = True
        for judge in self._judges:
            judge.stop()


class SplitJudge:
    """One judge process for Python programs, started when first asked and again when it was lost."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._seed = config["seed"]
        self._helper = Helper("judge", config)

    def ask(self, program: Program, limits: Limits) -> Outcome:
        """The outcome of one program."""
        job = {
            **vars(program), "seed": self._seed,
            "cpu": limits.cpu_s, "wall": limits.wall_s, "memory": limits.memory,
        }  # fmt: skip
        try:
            return Outcome(**self._helper.exchange(job, limits.wall_s * 2 + READY_S + _GRACE_S))
        except TimeoutError:
            return Outcome("timeout", "the judge was held up by the program's answers")
        except wire.Malformed as e:
            return Outcome("unavailable", f"the program does not fit in a message: {e}")
        except SandboxUnavailable as e:
            return Outcome("unavailable", str(e))

    def stop(self) -> None:
        """End the process for good."""
        self._helper.stop()


class _Turns:
    """Many may share a turn, or one has it alone; one that waits to be alone goes first."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sharing = 0
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run beside others that share."""
        with self._condition:
            self._condition.wait_for(lambda: not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._condition:
                self._sharing -= 1
                self._condition.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Run with nobody beside."""
        with self._condition:
            self._waiting += 1
            self._condition.wait_for(lambda: not self._sharing)
            self._sharing += 1
        try:
            yield
        finally:
            with self._condition:
                self._sharing -= 1
                self._waiting -= 1
                self._condition.notify_all()
