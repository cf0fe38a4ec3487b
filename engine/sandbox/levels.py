"""Which levels of confinement work on this machine, found out by doing, and the sandbox at one of them."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import SandboxUnavailable
from engine.protocols import Sandbox
from engine.sandbox import kernel
from engine.sandbox.confine import LANDLOCK, LEVELS, LIMITS, NAMESPACES, SEALED
from engine.sandbox.pool import PROTOCOL, Pool, default_jobs
from engine.sandbox.server import Server, ServerLost
from engine.sandbox.session import Ended, Session

PACKAGES = ("numpy",)
"""Installed packages that a candidate may import, besides the standard library."""

ELSEWHERE = "programs are run on Linux (x86-64, aarch64) only; use a Linux machine, a container or WSL 2"

_PROBE = """
import os, resource, socket
leaks = []
def tries(what, action):
    try:
        action()
    except (OSError, ValueError):
        return
    leaks.append(what)
def fork():
    if os.fork() == 0:
        os._exit(0)
tries("a file could be read", lambda: open("/etc/passwd").close())
tries("a folder could be listed", lambda: os.listdir("/etc"))
tries("a file could be written", lambda: open("/tmp/.scoretrace", "w").close())
tries("a folder could be made", lambda: os.mkdir("/tmp/.scoretrace.d"))
tries("a socket could be opened", lambda: socket.socket().close())
tries("a process could be started", fork)
tries("a process could be signalled", lambda: os.kill(os.getppid(), 0))
tries("a limit could be set", lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
"""


@dataclass(frozen=True)
class Probe:
    """What a level came to when it was tried: whether it works here, why not, and the one command that gives more."""

    level: str
    available: bool
    reason: str = ""
    remedy: str = ""


def probe_levels() -> dict[str, Probe]:
    """Every level, the best first, each tried in a throw-away fork server of its own; about 0.3 s for each."""
    return {level: probe(level) for level in LEVELS}


@functools.cache
def probe(level: str) -> Probe:
    """One level, tried once in this process's life."""
    if not kernel.supported():
        return Probe(level, False, ELSEWHERE)
    server = Server(configuration(level, 0))
    try:
        server.start()
        leaks = _leaks(server)
    except (SandboxUnavailable, ServerLost) as e:
        return Probe(level, False, str(e), _remedy(level))
    finally:
        server.stop()
    if leaks and level != LIMITS:
        return Probe(level, False, "; ".join(leaks), _remedy(level))
    return Probe(level, True)


def _leaks(server: Server) -> list[str]:
    """What a program could do that it must not, tried by a program."""
    channel = server.begin(cpu=5.0, wall=15.0, memory=1 << 28)
    session = Session(channel)
    try:
        session.load(_PROBE, ["leaks"])
        return [str(leak) for leak in session.ask("value", "leaks", (), {})]
    except Ended as e:
        told = session.ended.detail if session.ended else "it ended"
        raise SandboxUnavailable(f"a trial program did not run: {told}") from e
    finally:
        channel.close()
        server.end(by_us=True)


def _remedy(level: str) -> str:
    """The command that most likely gives the level; empty where none is known."""
    if level == NAMESPACES:
        if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
            return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        if _setting("user/max_user_namespaces") == "0":
            return "sudo sysctl -w user.max_user_namespaces=15000"
        if _setting("kernel/unprivileged_userns_clone") == "0":
            return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
        if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
            return "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined ..."
    if level == LANDLOCK and not kernel.landlock_abi():
        return "boot Linux 5.13 or later with `lsm=landlock,...` on the kernel command line"
    return ""


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def configuration(level: str, seed: int) -> dict[str, Any]:
    """What a judge and its fork server are started with."""
    return {"level": level, "seed": seed, "packages": list(PACKAGES)}


def identity(level: str, seed: int) -> str:
    """Everything about a sandbox that may change an outcome, as JSON text."""
    versions = {name: _version(name) for name in PACKAGES}
    python = [platform.python_implementation(), platform.python_version(), platform.machine()]
    return json.dumps(
        {"protocol": PROTOCOL, "python": python, "packages": versions, "level": level, "mode": "split", "seed": seed}
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def open_level(level: str | None, jobs: int | None, seed: int) -> Sandbox:
    """A pool at the named level, or at the best that works. Raises SandboxUnavailable with every reason and remedy."""
    if not kernel.supported():
        raise SandboxUnavailable(ELSEWHERE)
    if level is not None and level not in LEVELS:
        raise SandboxUnavailable(f"no confinement is called {level!r}; there are: {', '.join(LEVELS)}")
    reasons = []
    for name in [level] if level else [NAMESPACES, LANDLOCK, SEALED]:
        tried = probe(name)
        if tried.available:
            return Pool(name, jobs or default_jobs(), identity(name, seed), configuration(name, seed))
        reasons.append(f"{name}: {tried.reason}" + (f" (try: {tried.remedy})" if tried.remedy else ""))
    raise SandboxUnavailable("; ".join(reasons))
