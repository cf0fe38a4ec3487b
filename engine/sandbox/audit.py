"""Judges programs both ways, apart from and beside their tests, and reports every difference."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from engine.protocols import Limits, Outcome, Program, Sandbox


@dataclass(frozen=True)
class BothWays:
    """A program's two outcomes: its tests run apart from it, and beside it in one interpreter."""

    apart: Outcome
    beside: Outcome

    @property
    def differs(self) -> bool:
        """True where the two are not of one kind."""
        return self.apart.kind != self.beside.kind


def both_ways(sandbox: Sandbox, jobs: Sequence[tuple[Program, Limits]], workers: int = 2) -> list[BothWays]:
    """Both outcomes of each program, in input order, `workers` at a time.

    Programs whose tests need the candidate's objects run in one interpreter both times, and never differ.
    """

    def judged(job: tuple[Program, Limits]) -> BothWays:
        program, limits = job
        return BothWays(sandbox.run(program, limits), sandbox.run(replace(program, same_interpreter=True), limits))

    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(judged, jobs))
