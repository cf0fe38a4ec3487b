"""The sandbox as one thing: Python programs go to the split judge, those of other languages to their toolchain's."""

from __future__ import annotations

from collections.abc import Mapping

from engine.protocols import Limits, Outcome, Program
from engine.sandbox.pool import Pool


class Router:
    """A pool for each language; satisfies `engine.protocols.Sandbox`."""

    def __init__(self, pools: Mapping[str, Pool], identity: str) -> None:
        self._pools = dict(pools)
        self._identity = identity

    @property
    def level(self) -> str:
        """Name of the confinement in force; of the first language's where there are several."""
        return next(iter(self._pools.values())).level

    @property
    def identity(self) -> str:
        """Everything about this sandbox that may change an outcome."""
        return self._identity

    def run(self, program: Program, limits: Limits) -> Outcome:
        """Judge one program; never raises for what the program does. Safe to call from several threads."""
        pool = self._pools.get(program.language)
        if pool is None:
            opened = ", ".join(self._pools)
            return Outcome("unavailable", f"a program in {program.language!r}; this sandbox was opened for {opened}")
        return pool.run(program, limits)

    def close(self) -> None:
        """End all helper processes; programs that still run end as unavailable."""
        for pool in self._pools.values():
            pool.close()

    def __enter__(self) -> Router:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
