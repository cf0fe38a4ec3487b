"""The judge: a trusted process that never loads a candidate; it runs the tests and decides what a program showed.

Started by the pool as `python -P -s -c START fd config`; speaks wire messages on `fd`: first `{"ready": ...}` or
`{"error": ...}`, then one outcome for each job.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from engine.errors import SandboxUnavailable
from engine.protocols import Outcome
from engine.sandbox import messages, preludes
from engine.sandbox.confine import SEALED
from engine.sandbox.control import Report
from engine.sandbox.core import Core
from engine.sandbox.plan import helper_names, plan, prelude_names
from engine.sandbox.server import Server, ServerLost
from engine.sandbox.session import NeedsCandidate
from engine.sandbox.verdict import judge_apart, judge_beside

_MEMORY = 8 << 30
_TRIES = 5
KILLED = signal.SIGKILL.name


def main(fd: int, config: dict[str, Any]) -> None:
    """Serve jobs until the pool is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the pool's to handle
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    with contextlib.suppress(OSError, ValueError):  # macOS refuses
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    host = messages.Channel(socket.socket(fileno=fd))
    lean, full = servers = Server({**config, "packages": []}), Server(config)

    def end(number: int, frame: FrameType | None) -> None:
        for server in servers:
            server.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=_with_the_host, args=(fd, end), daemon=True).start()
    try:
        host.send({"ready": True})
        judge = Judge(lean, full, tuple(config["packages"]), sealed=config["level"] == SEALED)
        core = Core(config["core"])
        while True:
            job = host.receive()
            begin, cpu = time.monotonic(), time.process_time()
            outcome = judge.judge(job)
            host.send(vars(outcome))
            started = [server.pid for server in servers if server.pid]
            core.took(time.monotonic() - begin, time.process_time() - cpu + outcome.seconds, started)
    except messages.Closed:
        return
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for server in servers:
            server.stop()


def _with_the_host(fd: int, end: Callable[[int, FrameType | None], None]) -> None:
    """End this process when its host is gone, even while a program that takes its time is being judged."""
    watch = select.poll()
    watch.register(fd, 0)  # a hang-up is told of always, what arrives is the main thread's
    watch.poll()
    end(0, None)


class Judge:
    """Judges programs one after another, through the lean fork server or, where a text names a package, the full one.

    The full one has the installed packages loaded, which makes forking it dearer. Either starts when first needed.
    """

    def __init__(self, lean: Server, full: Server, packages: tuple[str, ...], sealed: bool) -> None:
        self._lean = lean
        self._full = full
        self._packages = packages
        self._sealed = sealed
        self._server = lean

    def judge(self, job: dict[str, Any]) -> Outcome:
        """The outcome of one job; a fork server that is lost is started again, a few times."""
        texts = (job["prelude"], job["candidate"], job["test"], job["helpers"])
        self._server = self._full if any(p in text for p in self._packages for text in texts) else self._lean
        for attempt in range(1, _TRIES + 1):
            try:
                self._server.start()
                outcome = self._judge(job)
                if self._server is self._lean and attempt < _TRIES and any(_lacks(outcome, p) for p in self._packages):
                    self._server = self._full  # a name put together at run time
                elif outcome.kind != "crash" or KILLED not in outcome.detail or attempt == _TRIES:
                    return outcome  # a kill from outside (out of memory, say) shows nothing of the program
            except (ServerLost, SandboxUnavailable) as e:
                self._server.stop()
                if attempt == _TRIES:
                    return Outcome("unavailable", f"the fork server was lost {_TRIES} times: {e}"[:300])
        raise AssertionError("unreachable")

    def _judge(self, job: dict[str, Any]) -> Outcome:
        try:
            tests = plan(job["test"], job["entry_point"])
            names = helpers = prelude_names(job["prelude"])
            if job["helpers"] and any(name not in names and name != job["entry_point"] for name in tests.names):
                helpers = helper_names(job["prelude"], job["helpers"])
        except BaseException as e:  # noqa: BLE001 - the trusted side's own fault, told as such
            return Outcome("unavailable", one_line(f"the trusted texts do not load: {type(e).__name__}: {e}"))
        job["source"], job["prelude_run"] = self._source(job)
        if not (job["same_interpreter"] or tests.needs_candidate):
            with contextlib.suppress(NeedsCandidate):
                return self._in_child(job, lambda channel: judge_apart(channel, job, tests, names, helpers))
        return self._in_child(job, lambda channel: judge_beside(channel, job))

    def _source(self, job: dict[str, Any]) -> tuple[str, int]:
        """The text that a child is to load, and the number of the prelude that need not be in it."""
        after = preludes.rest(job["prelude"], job["candidate"])
        number = self._server.prelude(job["prelude"]) if after is not None else 0
        return (after, number) if after is not None and number else (f"{job['prelude']}\n{job['candidate']}", 0)

    def _in_child(self, job: dict[str, Any], judge: Callable[[messages.Channel], Outcome | None]) -> Outcome:
        """The outcome of `judge`, or of how the child ended where `judge` cannot tell."""
        channel = self._server.begin(job["cpu"], job["wall"], job["memory"], job["prelude_run"])
        channel.deadline = time.monotonic() + job["wall"] + 1
        outcome: Outcome | None = None
        with contextlib.closing(channel):
            try:
                outcome = judge(channel)
            finally:  # before the channel, whose end a child would take some of its time to notice
                report = self._server.end(lost=outcome is not None and outcome.kind == "")
        if outcome is None or outcome.kind == "":
            ended = ended_early(report, job)
            outcome = replace(ended, mode=outcome.mode if outcome else "")
        if self._sealed and _not_found(outcome):
            outcome = replace(outcome, kind="refused")
        return replace(outcome, detail=one_line(outcome.detail), seconds=report.cpu)


def _lacks(outcome: Outcome, package: str) -> bool:
    return f"No module named '{package}" in outcome.detail


def _not_found(outcome: Outcome) -> bool:
    """True for an import of the standard library that failed, as a late one does where nothing can be opened."""
    before, found, name = outcome.detail.partition("ModuleNotFoundError: No module named '")
    return not before and bool(found) and name.partition("'")[0].partition(".")[0] in sys.stdlib_module_names


def ended_early(report: Report, job: dict[str, Any]) -> Outcome:
    """The outcome of a child that ended before it answered."""
    if report.why == "cpu" or report.code == -signal.SIGXCPU or report.cpu >= job["cpu"]:
        return Outcome("timeout", f"{job['cpu']:g} s of CPU time")
    if report.why == "wall":
        return Outcome("timeout", f"{job['wall']:g} s of wall time")
    if report.why == "stopped":
        return Outcome("crash", "stopped itself")
    if report.why == "asked":
        return Outcome("exited early", "closed its connection and went on")
    if report.code < 0:
        return Outcome("crash", f"signal {signal.Signals(-report.code).name}")
    return Outcome("exited early", f"exit code {report.code}")


def one_line(text: str, most: int = 300) -> str:
    """Text cut to one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
