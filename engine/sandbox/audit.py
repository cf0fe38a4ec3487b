"""Judges programs both ways, apart from and beside their tests, and reports every difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.protocols import Limits, Outcome, Program, Sandbox


@dataclass(frozen=True)
class Difference:
    """A program whose two outcomes are not of one kind: its place in the input and both outcomes."""

    index: int
    apart: Outcome
    beside: Outcome

    @property
    def changes_the_score(self) -> bool:
        """True where one way passes and the other does not."""
        return self.apart.passed is not self.beside.passed


def differences(sandbox: Sandbox, programs: Sequence[Program], limits: Limits) -> list[Difference]:
    """The programs that are judged differently in one interpreter with their tests, in input order.

    Programs whose tests need the candidate's objects run in one interpreter both times, and never differ.
    """
    found = []
    for index, program in enumerate(programs):
        apart = sandbox.run(program, limits)
        beside = sandbox.run(replace(program, same_interpreter=True), limits)
        if apart.kind != beside.kind:
            found.append(Difference(index, apart, beside))
    return found
