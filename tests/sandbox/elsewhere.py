"""Run first in each process of a sandbox, this takes away what Linux has and macOS has not; usage: elsewhere.py SEED.

As a program it judges three programs with what is left and prints level and outcomes as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import select
import socket
import sys
import time
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])


def take_away() -> None:
    """Take away the calls of Linux here, and in every process that this one starts."""
    import wasmtime  # its library is this system's

    assert wasmtime
    sys.platform = "darwin"
    for module, names in (
        (os, ("sched_getaffinity", "sched_setaffinity", "pidfd_open", "waitid", "memfd_create", "unshare")),
        (resource, ("prlimit",)), (select, ("epoll",)),
    ):  # fmt: skip
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    pair, clock, limit = socket.socketpair, time.clock_gettime, resource.setrlimit

    def socketpair(family: int = socket.AF_UNIX, type: int = socket.SOCK_STREAM, proto: int = 0):
        if type == socket.SOCK_SEQPACKET:
            raise OSError(43, "Protocol not supported")
        return pair(family, type, proto)

    def clock_gettime(which: int) -> float:
        if which < 0:
            raise OSError(22, "Invalid argument")
        return clock(which)

    def setrlimit(which: int, limits: tuple[int, int]) -> None:
        if which == resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")
        limit(which, limits)

    socket.socketpair, time.clock_gettime, resource.setrlimit = socketpair, clock_gettime, setrlimit
    sys.path.insert(0, ROOT)
    from engine.sandbox import server

    server.START = f"import runpy; runpy.run_path({__file__!r}, run_name='first'); {server.START}"
    del sys.path[0]


take_away()
if __name__ == "__main__":
    sys.path.insert(0, ROOT)
    from engine.protocols import Limits, Program
    from engine.sandbox import open_sandbox

    told = []
    with open_sandbox(jobs=2) as sandbox:
        for candidate in ("def f(x):\n    return 2 * x", "def f(x):\n    return x", "def f(x):\n    while True: pass"):
            program = Program("import math\nfrom typing import *", candidate, "assert f(3) == 6", "f")
            limits = Limits(cpu_s=60.0 if "return" in candidate else 0.1, wall_s=600.0)
            outcome = sandbox.run(program, limits)
            told.append([outcome.kind, outcome.level])
    print(json.dumps(told))
