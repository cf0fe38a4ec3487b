"""Judges at the level `wasm`: limits for a slower Python, and what that Python lacks told as the sandbox's lack."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.protocols import Limits, Outcome, Program
from engine.sandbox.pool import SplitJudge

SLOWER = 16.0
"""What CPU limits are multiplied by: they are for the program, not for the level.

Inside WebAssembly, loops took 2.4 to 13 times as long as outside (bench/wasm.py; docs/decisions/wasm.md).
"""

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)")


class WasmJudge(SplitJudge):
    """One judge whose programs run inside WebAssembly, where none of `absent` packages is at hand."""

    def __init__(self, config: dict[str, Any], absent: Sequence[str]) -> None:
        super().__init__(config)
        self._absent = tuple(absent)

    def ask(self, program: Program, limits: Limits) -> Outcome:
        """The outcome of one program."""
        prelude = self._without_absent(program)
        outcome = super().ask(replace(program, prelude=prelude), slower(limits))
        handed = [package for package in self._absent if re.search(rf"\b{package}\b", program.test)]
        if handed and outcome.kind == "exited early" and outcome.detail == "exit code 1":
            detail = f"the tests use {handed[0]}, which this level does not have, and the program ended on that"
            return replace(outcome, kind="unavailable", detail=detail)
        return self._told(outcome)

    def _without_absent(self, program: Program) -> str:
        """The prelude without imports of absent packages where neither program nor tests name them.

        Lines stay where they were. A program or test that names one runs into the missing module and is told so.
        """
        lines = program.prelude.split("\n")
        texts = (program.candidate, program.test, program.helpers)
        for package in self._absent:
            names = {package, *re.findall(rf"^import {package} as (\w+)$", program.prelude, re.M)}
            if not any(re.search(rf"\b{name}\b", text) for name in names for text in texts):
                imports = re.compile(rf"import {package}( as \w+)?")
                lines = ["" if imports.fullmatch(line) else line for line in lines]
        return "\n".join(lines)

    def _told(self, outcome: Outcome) -> Outcome:
        """What the program ended on because of the level is not the program's failure."""
        missing = _MISSING.match(outcome.detail)
        if missing is not None and missing[1] in self._absent:
            return replace(
                outcome, kind="unavailable", detail=f"this level has no {missing[1]}, which the program uses"
            )
        if missing is not None and missing[1] in sys.stdlib_module_names:
            return replace(outcome, kind="refused")
        if outcome.detail == "RuntimeError: can't start new thread":
            return replace(outcome, kind="refused")
        return outcome


def slower(limits: Limits) -> Limits:
    """The limits of a program here: so much more CPU time, and twice that more by the clock, whatever else runs."""
    cpu = limits.cpu_s * SLOWER
    return replace(limits, cpu_s=cpu, wall_s=limits.wall_s + 2 * (cpu - limits.cpu_s))


def by_the_clock(timeout: Outcome) -> bool:
    """True for a timeout that a busy machine may have caused; one of CPU time, so long here, is not tried again."""
    return "CPU time" not in timeout.detail
