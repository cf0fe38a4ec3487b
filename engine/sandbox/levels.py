"""Which levels of confinement work on this machine, found out by doing, and the sandbox at one of them."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.environment import free_cores
from engine.errors import SandboxUnavailable
from engine.protocols import SPLIT, Sandbox
from engine.sandbox import compiled, kernel, wasm_runtime
from engine.sandbox.confine import LANDLOCK, LEVELS, LIMITS, NAMESPACES, SEALED, WASM
from engine.sandbox.core import cores
from engine.sandbox.pool import PROTOCOL, Pool, SplitJudge
from engine.sandbox.router import Router
from engine.sandbox.server import Server, ServerLost
from engine.sandbox.session import Ended, Session
from engine.sandbox.toolchains import TOOLCHAINS
from engine.sandbox.wasm_judge import WasmJudge, by_the_clock

PYTHON = "python"
PACKAGES = ("numpy",)
"""Installed packages that a candidate may import, besides the standard library; at the level `wasm` there are none."""

CONFINED = (NAMESPACES, LANDLOCK, SEALED, WASM)
"""Levels that are tried where none is named, the best first; on other systems than Linux only the last."""

ELSEWHERE = (
    "the kernel's confinement is used on Linux (x86-64, aarch64) only: a Linux machine, a container or WSL 2 has it"
)

_PROBE = """
import os, socket
try:
    import resource
except ImportError:  # as inside WebAssembly
    resource = None
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
if hasattr(os, "fork"):
    tries("a process could be started", fork)
if hasattr(os, "kill"):
    tries("a process could be signalled", lambda: os.kill(os.getppid(), 0))
if resource:
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
    if level == WASM:
        try:
            wasm_runtime.check()
        except SandboxUnavailable as e:
            return Probe(level, False, str(e), _remedy(level))
    elif not kernel.supported():
        return Probe(level, False, ELSEWHERE)
    for last in (False, False, True):
        server = Server(configuration(level, 0))
        try:
            server.start()
            leaks = _leaks(server)
            break
        except (SandboxUnavailable, ServerLost) as e:
            # One that something else ended says nothing of the level.
            if last or not isinstance(e, ServerLost):
                return Probe(level, False, str(e), _remedy(level))
        finally:
            server.stop()
    if leaks and level != LIMITS:
        return Probe(level, False, "; ".join(leaks), _remedy(level))
    return Probe(level, True)


def _leaks(server: Server) -> list[str]:
    """What a program could do that it must not, tried by a program."""
    channel = server.begin(cpu=60.0, wall=120.0, memory=1 << 28)
    session = Session(channel)
    try:
        session.load(_PROBE, ["leaks"])
        return [str(leak) for leak in session.ask("value", "leaks", (), {})]
    except Ended as e:
        if session.ended is None:
            raise ServerLost("a trial program ended before it answered") from e
        raise SandboxUnavailable(f"a trial program did not run: {session.ended.detail}") from e
    finally:
        channel.close()
        server.end()


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
    if level == WASM and sys.platform in wasm_runtime.SYSTEMS:
        return wasm_runtime.INSTALL
    if level == LANDLOCK and not kernel.landlock_abi():
        return "boot Linux 5.13 or later with `lsm=landlock,...` on the kernel command line"
    return ""


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def configuration(level: str, seed: int, core: int | None = None) -> dict[str, Any]:
    """What a judge and its fork server are started with."""
    if level == WASM:
        rest = {"server": "wasm_server", "module": str(wasm_runtime.module_path())}
        return {"level": level, "seed": seed, "packages": [], "core": core, **rest}
    return {"level": level, "seed": seed, "packages": list(PACKAGES), "core": core}


def identity(level: str, seed: int, languages: Sequence[str] = (PYTHON,)) -> str:
    """Everything about a sandbox that may change an outcome of these languages, as JSON text."""
    python = [platform.python_implementation(), platform.python_version(), platform.machine()]
    packages = {name: _version(name) for name in PACKAGES}
    if level == WASM:
        python, packages = [*wasm_runtime.python(), *python], {}
    told: dict[str, Any] = {"protocol": PROTOCOL, "python": python, "level": level}
    if PYTHON in languages:
        told |= {"packages": packages, "mode": SPLIT, "seed": seed}
    others = {name: compiled.version(name) for name in sorted(languages) if name != PYTHON}
    if others:
        told |= {"toolchains": others, "mode": told.get("mode", compiled.MODE)}
    return json.dumps(told)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def open_level(level: str | None, jobs: int | None, seed: int, languages: Sequence[str] = (PYTHON,)) -> Sandbox:
    """A sandbox for these languages. Raises SandboxUnavailable with every reason and remedy."""
    if level is not None and level not in LEVELS:
        raise SandboxUnavailable(f"no confinement is called {level!r}; there are: {', '.join(LEVELS)}")
    most = jobs or free_cores()
    pools = {
        name: _python_pool(level, most, seed) if name == PYTHON else _compiled_pool(name, level, most)
        for name in dict.fromkeys(languages)
    }
    used = pools[PYTHON].level if PYTHON in pools else compiled.LEVEL
    return Router(pools, identity(used, seed, languages))


def _python_pool(level: str | None, jobs: int, seed: int) -> Pool:
    reasons = []
    for name in [level] if level else CONFINED if kernel.supported() else CONFINED[-1:]:
        tried = probe(name)
        if tried.available:
            judges = [_judge(configuration(name, seed, core)) for core in cores(jobs)]
            return Pool(name, judges, by_the_clock) if name == WASM else Pool(name, judges)
        reasons.append(_reason(tried))
    if not kernel.supported():
        reasons.insert(0, ELSEWHERE)
    raise SandboxUnavailable("; ".join(reasons))


def _judge(config: dict[str, Any]) -> SplitJudge:
    return WasmJudge(config, PACKAGES) if config["level"] == WASM else SplitJudge(config)


def _compiled_pool(language: str, level: str | None, jobs: int) -> Pool:
    """Judges of another language, or one that says why there are none: such programs are never simply run."""
    if language not in TOOLCHAINS:
        raise SandboxUnavailable(f"no toolchain for {language!r}; there are: {', '.join((PYTHON, *TOOLCHAINS))}")
    if level not in (None, NAMESPACES):
        return Pool(level, [compiled.NoJudge(f"{language} programs are run at the level {NAMESPACES} only")] * jobs)
    tried = probe(NAMESPACES)
    if not tried.available:
        return Pool(compiled.LEVEL, [compiled.NoJudge(f"{language} programs need {_reason(tried)}")] * jobs)
    return Pool(compiled.LEVEL, [compiled.CompiledJudge(language) for _ in range(jobs)])


def _reason(tried: Probe) -> str:
    return f"{tried.level}: {tried.reason}" + (f" (try: {tried.remedy})" if tried.remedy else "")
