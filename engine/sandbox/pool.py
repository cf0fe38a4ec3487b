"""The sandbox as the engine sees it: a judge for each core, a program goes to the first that is free."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Program
from engine.sandbox import wire
from engine.sandbox.server import READY_S, start_helper

PROTOCOL = "2"
_GRACE_S = 5.0
_TRIES = 5


class Pool:
    """Runs programs in `jobs` judges; satisfies `engine.protocols.Sandbox`."""

    def __init__(self, level: str, jobs: int, identity: str, config: dict[str, Any]) -> None:
        self._level = level
        self._identity = identity
        self._free: queue.LifoQueue[_Judge] = queue.LifoQueue()
        self._judges = [_Judge(config) for _ in range(jobs)]
        self._alone = _Turns()
        self._closed = False
        self._judges[0].start()
        for judge in self._judges:
            self._free.put(judge)

    @property
    def level(self) -> str:
        """Name of the confinement in force."""
        return self._level

    @property
    def identity(self) -> str:
        """Everything about this sandbox that may change an outcome."""
        return self._identity

    def run(self, program: Program, limits: Limits) -> Outcome:
        """Judge one program; never raises for what the program does. Safe to call from several threads.

        A timeout is judged once more with no other program running here, and that second outcome counts.
        """
        with self._alone.shared():
            outcome = self._run(program, limits)
        if outcome.kind == "timeout":
            with self._alone.exclusive():
                outcome = self._run(program, limits)
        return outcome

    def _run(self, program: Program, limits: Limits) -> Outcome:
        if self._closed:
            return Outcome("unavailable", "the sandbox is closed", level=self._level)
        judge = self._free.get()
        try:
            answer = judge.ask(program, limits)
        finally:
            self._free.put(judge)
        return Outcome(**{**answer, "level": self._level})

    def close(self) -> None:
        """End all helper processes; programs that still run end as unavailable."""
        self._closed = True
        for judge in self._judges:
            judge.stop()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Judge:
    """One judge process, started when first asked and again when it was lost."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: wire.Channel | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def start(self) -> None:
        """Start the process, unless it runs. Raises SandboxUnavailable."""
        with self._lock:
            if self._stopped:
                raise SandboxUnavailable("the sandbox is closed")
            if self._process is not None and self._process.poll() is None:
                return
            self._end()
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = start_helper("judge", theirs.fileno(), self._config)
            self._channel = wire.Channel(ours)
        try:
            self._channel.deadline = time.monotonic() + 2 * READY_S
            answer = self._channel.receive()
        except (wire.Closed, wire.Malformed, TimeoutError) as e:
            answer = {"error": f"the judge did not start: {e}"}
        if "error" in answer:
            with self._lock:
                self._end()
            raise SandboxUnavailable(str(answer["error"]))

    def ask(self, program: Program, limits: Limits) -> dict[str, Any]:
        """The judge's outcome as a dict; a judge that is lost is started again, a few times."""
        job = {
            **asdict(program), "seed": self._config["seed"],
            "cpu": limits.cpu_s, "wall": limits.wall_s, "memory": limits.memory,
        }  # fmt: skip
        why = ""
        for _ in range(_TRIES):
            try:
                self.start()
                assert self._channel is not None
                self._channel.deadline = time.monotonic() + limits.wall_s * 2 + READY_S + _GRACE_S
                self._channel.send(job)
                answer: dict[str, Any] = self._channel.receive()
                return answer
            except TimeoutError:
                self._lose()
                return {"kind": "timeout", "detail": "the judge was held up by the program's answers"}
            except wire.Malformed as e:
                return {"kind": "unavailable", "detail": f"the program does not fit in a message: {e}"}
            except (wire.Closed, SandboxUnavailable) as e:
                why = str(e)
                self._lose()
        return {"kind": "unavailable", "detail": f"the judge was lost again and again: {why}"[:300]}

    def stop(self) -> None:
        """End the process for good."""
        with self._lock:
            self._stopped = True
            self._end()

    def _lose(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if process is not None:
            _wait_for(process)


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    """An idle judge ends when its channel closes, a busy one when told to, a stuck one by force."""
    for seconds, press in ((0.5, process.terminate), (2.0, process.kill)):
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            press()
    process.wait()


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


def default_jobs() -> int:
    """One judge for each core that this process may use."""
    return len(os.sched_getaffinity(0))
