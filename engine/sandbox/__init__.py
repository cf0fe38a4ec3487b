"""Runs untrusted programs in confined child processes; the verdict is data that the program cannot write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.protocols import Sandbox

__all__ = ["open_sandbox"]


def open_sandbox(level: str | None = None, jobs: int | None = None) -> Sandbox:
    """A sandbox at the best level that works here, or at the level named; `jobs` programs at a time (default: cores).

    Raises SandboxUnavailable when the level does not work on this machine.
    """
    from engine.sandbox.levels import open_level

    return open_level(level, jobs)
