"""Runs untrusted programs in confined child processes; the verdict is data that the program cannot write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.protocols import Sandbox
    from engine.sandbox.levels import Probe

__all__ = ["open_sandbox", "probe_levels"]


def open_sandbox(
    level: str | None = None, jobs: int | None = None, seed: int = 0, languages: Sequence[str] = ("python",)
) -> Sandbox:
    """A sandbox at the best level that works here, or at the level named; `jobs` programs at a time (default: cores).

    Levels: `namespaces`, `landlock`, `sealed`, `wasm`; `limits` confines nothing and is used only when named.
    `seed` fixes the hash seed and the random state. `languages` are those whose programs may come (`python`, `js`,
    `java`, `go`, `cpp`, `rust`); the identity holds the versions of their toolchains. Helper processes start when first
    needed. Raises SandboxUnavailable when Python programs are to be run and the level does not work on this machine;
    other languages then answer `unavailable`.
    """
    from engine.sandbox.levels import open_level

    return open_level(level, jobs, seed, languages)


def probe_levels() -> dict[str, Probe]:
    """Each level of confinement, the best first, with whether it works here, why not, and what would give it."""
    from engine.sandbox import levels

    return levels.probe_levels()
