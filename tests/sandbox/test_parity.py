"""HumanEvalFix Python: every reference solution passes, every buggy one does not, both modes agree on all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from engine.protocols import Limits, Outcome, Program, Sandbox

AMPLE, SHORT = Limits(cpu_s=60.0, wall_s=300.0), Limits(cpu_s=0.5, wall_s=300.0)
ENDLESS = {("Python/10", "buggy_solution"), ("Python/156", "buggy_solution"), ("Python/160", "buggy_solution")}
"""Bodies that loop for ever; all others get as much time as a slow machine may need."""


def outcomes(sandbox: Sandbox, programs: list[Program], limits: list[Limits]) -> list[Outcome]:
    """Outcomes in order, two at a time."""
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(sandbox.run, programs, limits))


def programs(rows: list[dict[str, Any]], field: str, prelude: str, same_interpreter: bool = False) -> list[Program]:
    """The harness's programs for one column of the problems."""
    return [
        Program(
            prelude, r["declaration"] + r[field], "\n" + r["test"], r["entry_point"], r["declaration"], same_interpreter
        )
        for r in rows
    ]


def test_references_pass_and_bugs_do_not(
    sandbox: Sandbox, rows: Callable[[str], list[dict[str, Any]]], prelude: str
) -> None:
    """164 of 164 reference solutions pass and 0 of 164 buggy ones, judged apart; judged beside, all 328 agree."""
    problems = rows("humanevalpack/python.jsonl")
    apart, beside = {}, {}
    for field in ("canonical_solution", "buggy_solution"):
        limits = [SHORT if (problem["task_id"], field) in ENDLESS else AMPLE for problem in problems]
        apart[field] = outcomes(sandbox, programs(problems, field, prelude), limits)
        beside[field] = outcomes(sandbox, programs(problems, field, prelude, same_interpreter=True), limits)
    assert [o for o in apart["canonical_solution"] if not o.passed] == []
    assert [o for o in apart["buggy_solution"] if o.passed] == []
    assert {o.mode for o in apart["canonical_solution"] + apart["buggy_solution"]} == {"split"}
    for field in apart:
        assert [(a, b) for a, b in zip(apart[field], beside[field], strict=True) if a.kind != b.kind] == []
    assert "unavailable" not in {o.kind for field in apart for o in apart[field]}
