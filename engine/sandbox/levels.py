"""Which levels of confinement work on this machine, found out by doing, and the sandbox at one of them."""

from __future__ import annotations

import json
import platform

from engine.errors import SandboxUnavailable
from engine.protocols import Sandbox
from engine.sandbox import kernel
from engine.sandbox.confine import LEVELS, LIMITS
from engine.sandbox.pool import PROTOCOL, Pool, default_jobs


def open_level(level: str | None, jobs: int | None) -> Sandbox:
    """A pool at the named level, or at the best that starts. Raises SandboxUnavailable with every reason."""
    if not kernel.supported():
        raise SandboxUnavailable("programs are run on Linux (x86-64, aarch64) only; use a Linux machine or container")
    if level is not None and level not in LEVELS:
        raise SandboxUnavailable(f"no confinement is called {level!r}; there are: {', '.join(LEVELS)}")
    reasons = []
    for name in [level] if level else [name for name in LEVELS if name != LIMITS]:
        config = {"level": name, "seed": 0, "packages": ["numpy"]}
        identity = json.dumps(["sandbox", PROTOCOL, platform.python_version(), name, "same interpreter", 0])
        try:
            return Pool(name, jobs or default_jobs(), identity, config)
        except SandboxUnavailable as e:
            reasons.append(f"{name}: {e}")
    raise SandboxUnavailable("; ".join(reasons))
