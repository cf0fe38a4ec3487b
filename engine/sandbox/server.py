"""The judge's hold on a fork server: start it, hand it one candidate at a time, learn how the child ended."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.errors import SandboxUnavailable
from engine.sandbox import control, messages, packets

_ROOT = str(Path(__file__).resolve().parents[2])
START = f"import sys; sys.path.insert(0, {_ROOT!r}); from engine.sandbox import MODULE as m; import json; "
START += "fd, text = int(sys.argv[1]), sys.argv[2]; del sys.path[0]; m.main(fd, json.loads(text))"
READY_S = 120.0
_PRELUDES = 64


class ServerLost(Exception):
    """The fork server ended by itself or does not answer."""


def environment(seed: int) -> dict[str, str]:
    """The whole environment of a helper process; the hash seed is fixed and libraries start no threads."""
    return {
        "PYTHONHASHSEED": str(seed),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "LC_ALL": "C.UTF-8",
        "LD_BIND_NOW": "1",  # not in every child, at its first use
        "PATH": os.defpath,
    }


def start_helper(module: str, fd: int, config: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Run `engine.sandbox.<module>.main(fd, config)` in a fresh interpreter that reads no settings of the user."""
    command = [sys.executable, "-P", "-s", "-c", START.replace("MODULE", module), str(fd), json.dumps(config)]
    null = subprocess.DEVNULL
    return subprocess.Popen(
        command, stdin=null, stdout=null, stderr=null, pass_fds=[fd], env=environment(config["seed"]), cwd="/"
    )


class Server:
    """A running fork server; `start` in a fresh process, `begin` and `end` around each candidate."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._jobs = 0
        self._pid = 0
        self._preludes: dict[str, int] = {}

    @property
    def pid(self) -> int:
        """The process that forks; 0 while there is none."""
        return self._pid

    def start(self) -> None:
        """Start it, unless it runs. Raises SandboxUnavailable with the kernel's answer."""
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        ours, theirs = packets.pair()
        with theirs:
            self._process = start_helper(self._config.get("server", "start"), theirs.fileno(), self._config)
        ours.settimeout(READY_S)
        self._control = ours
        try:
            data = ours.recv(control.PACKET_MAX)
        except OSError as e:
            raise ServerLost(str(e)) from e
        if not data:
            raise ServerLost("the fork server is gone")
        answer = json.loads(data)
        if "error" in answer:
            self.stop()
            raise SandboxUnavailable(str(answer["error"]))
        self._pid, self._preludes = answer["pid"], {}

    def prelude(self, text: str) -> int:
        """The number of import lines that are run for later children; 0 where they cannot be. Raises ServerLost."""
        if self._control is None:
            raise ServerLost("not started")
        if text not in self._preludes and len(self._preludes) < _PRELUDES:
            try:
                self._preludes[text] = control.send_prelude(self._control, text)
            except OSError as e:
                raise ServerLost(str(e)) from e
        return self._preludes.get(text, 0)

    def begin(self, cpu: float, wall: float, memory: int, prelude: int = 0) -> messages.Channel:
        """Fork a child with these limits, after the prelude of that number; the channel to it. Raises ServerLost."""
        if self._control is None:
            raise ServerLost("not started")
        self._jobs += 1
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                control.send_job(self._control, control.Job(self._jobs, cpu, wall, memory, prelude), theirs.fileno())
            except OSError as e:
                ours.close()
                raise ServerLost(str(e)) from e
        return messages.Channel(ours)

    def end(self, lost: bool = False) -> control.Report:
        """End the last child, if it has not ended by itself; how it ended. Raises ServerLost.

        With `lost`, its end of the channel is closed: if it is about to end by itself, it is left to do so.
        """
        if self._control is None:
            raise ServerLost("not started")
        try:
            control.send_end(self._control, self._jobs, lost)
            report = control.receive_report(self._control)
        except OSError as e:
            raise ServerLost(str(e)) from e
        if report is None:
            raise ServerLost("the fork server is gone")
        return report

    def kill(self) -> None:
        """End the fork server at once, from a signal handler: nothing is waited for."""
        if self._process is not None:
            os.kill(self._process.pid, 9)

    def stop(self) -> None:
        """End the fork server and, with it, everything it started."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process, self._pid = None, 0
