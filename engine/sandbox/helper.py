"""A helper process of the pool: started when first asked, started again when lost, ended for good once."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from typing import Any

from engine.errors import SandboxUnavailable
from engine.sandbox import messages, wire
from engine.sandbox.server import READY_S, start_helper

_TRIES = 5


class Helper:
    """Exchanges one message for one answer with `engine.sandbox.<module>.main`, in a process of its own."""

    def __init__(self, module: str, config: dict[str, Any]) -> None:
        self._module = module
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: messages.Channel | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def exchange(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a job; a helper that is lost is started again, a few times.

        Raises TimeoutError after `seconds` (the helper is ended), wire.Malformed for a job that does not fit in a
        message, SandboxUnavailable when helpers are lost again and again.
        """
        why = ""
        for _ in range(_TRIES):
            try:
                self._start()
                assert self._channel is not None
                self._channel.deadline = time.monotonic() + seconds
                self._channel.send(job)
                answer: dict[str, Any] = self._channel.receive()
                return answer
            except TimeoutError:
                self._lose()
                raise
            except (messages.Closed, SandboxUnavailable) as e:
                why = str(e)
                self._lose()
        raise SandboxUnavailable(f"the {self._module} was lost again and again: {why}"[:300])

    def _start(self) -> None:
        """Start the process, unless it runs. Raises SandboxUnavailable."""
        with self._lock:
            if self._stopped:
                raise SandboxUnavailable("the sandbox is closed")
            if self._process is not None and self._process.poll() is None:
                return
            self._end()
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = start_helper(self._module, theirs.fileno(), self._config)
            self._channel = messages.Channel(ours)
        try:
            self._channel.deadline = time.monotonic() + 2 * READY_S
            answer = self._channel.receive()
        except (messages.Closed, wire.Malformed, TimeoutError) as e:
            answer = {"error": f"the {self._module} did not start: {e}"}
        if "error" in answer:
            self._lose()
            raise SandboxUnavailable(str(answer["error"]))

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
    """An idle helper ends when its channel closes, a busy one when told to, a stuck one by force."""
    for seconds, press in ((0.5, process.terminate), (2.0, process.kill)):
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            press()
    process.wait()
