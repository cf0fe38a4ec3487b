"""The judge: a trusted process that never loads a candidate; it runs the tests and decides what a program showed.

Started by the pool as `python -P -s -c START fd config`; speaks wire messages on `fd`: first `{"ready": ...}` or
`{"error": ...}`, then one outcome for each job.
"""

from __future__ import annotations

import secrets
import signal
import socket
import time
from dataclasses import asdict
from typing import Any

from engine.errors import SandboxUnavailable
from engine.protocols import Outcome
from engine.sandbox import wire
from engine.sandbox.server import Report, Server, ServerLost

SPLIT, SAME = "split", "same interpreter"


def main(fd: int, config: dict[str, Any]) -> None:
    """Serve jobs until the pool is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the pool's to handle
    host = wire.Channel(socket.socket(fileno=fd))
    server = Server(config)
    try:
        try:
            server.start()
        except (SandboxUnavailable, ServerLost) as e:
            host.send({"error": str(e)})
            return
        host.send({"ready": True})
        judge = Judge(server)
        while True:
            outcome = judge.judge(host.receive())
            host.send(asdict(outcome))
    except wire.Closed:
        return
    finally:
        server.stop()


class Judge:
    """Judges programs one after another through one fork server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def judge(self, job: dict[str, Any]) -> Outcome:
        """The outcome of one job; a fork server that is lost is started again, once."""
        for attempt in (1, 2):
            try:
                self._server.start()
                return self._judge(job)
            except (ServerLost, SandboxUnavailable) as e:
                self._server.stop()
                if attempt == 2:
                    return Outcome("unavailable", f"the fork server was lost twice: {e}"[:300])
        raise AssertionError("unreachable")

    def _judge(self, job: dict[str, Any]) -> Outcome:
        channel = self._server.begin(job["cpu"], job["wall"], job["memory"])
        channel.deadline = time.monotonic() + job["wall"] + 2
        try:
            outcome = self._same_interpreter(job, channel)
        except wire.Closed:
            outcome = None
        except TimeoutError:
            outcome = Outcome("timeout", "wall time")
        except wire.Malformed as e:
            outcome = Outcome("answer not data", str(e)[:300])
        finally:
            channel.close()
        report = self._server.end(by_us=outcome is not None)
        outcome = outcome or ended_early(report, job)
        return Outcome(outcome.kind, one_line(outcome.detail), outcome.mode or SAME, "", report.cpu)

    def _same_interpreter(self, job: dict[str, Any], channel: wire.Channel) -> Outcome:
        source = job["prelude"] + "\n" + job["candidate"]
        channel.send({"load": source, "names": [job["entry_point"]], "imports": []})
        loaded = channel.receive()
        if "loaded" not in loaded:
            return not_loaded(loaded)
        nonce = secrets.token_hex(16)
        channel.send({"test": job["test"], "nonce": nonce})
        answer = channel.receive()
        if answer.get("nonce") == nonce and answer.get("done") is True:
            return Outcome("passed")
        return raised(answer.get("error"), job["test"])


def not_loaded(answer: Any) -> Outcome:
    """The outcome of a candidate that did not load, from the child's word."""
    if isinstance(answer, dict) and isinstance(answer.get("syntax"), str):
        return Outcome("syntax error", answer["syntax"])
    return raised(answer.get("error") if isinstance(answer, dict) else None, "")


def raised(error: Any, test: str) -> Outcome:
    """The outcome of an exception that ended a program, from the child's description of it."""
    if not isinstance(error, dict):
        return Outcome("answer not data", "not an answer")
    base, text = str(error.get("base")), str(error.get("text"))
    detail = f"{error.get('type')}: {text}" if text else str(error.get("type"))
    if base == "AssertionError":
        return Outcome("failed", f"{_line(test, error.get('line'))} {text}".strip())
    if base in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
        return Outcome("exited early", detail)
    if base == "MemoryError":
        return Outcome("memory", detail)
    if base == "PermissionError":
        return Outcome("refused", detail)
    return Outcome("exception", detail)


def _line(test: str, number: Any) -> str:
    lines = test.splitlines()
    return lines[number - 1].strip() if isinstance(number, int) and 0 < number <= len(lines) else ""


def ended_early(report: Report, job: dict[str, Any]) -> Outcome:
    """The outcome of a child that ended before it answered."""
    if report.why == "cpu" or report.code == -signal.SIGXCPU or report.cpu >= job["cpu"]:
        return Outcome("timeout", f"{job['cpu']:g} s of CPU time")
    if report.why == "wall":
        return Outcome("timeout", f"{job['wall']:g} s of wall time")
    if report.why == "stopped":
        return Outcome("crash", "stopped itself")
    if report.code < 0:
        return Outcome("crash", f"signal {signal.Signals(-report.code).name}")
    return Outcome("exited early", f"exit code {report.code}")


def one_line(text: str, most: int = 300) -> str:
    """Text cut to one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
