"""Check a benchmark against itself: every correct body passes its tests, every buggy one fails them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from engine.errors import SandboxUnavailable
from engine.protocols import Benchmark, Outcome, Problem, Sandbox


@dataclass(frozen=True)
class ReferenceCheck:
    """How many correct bodies passed and buggy ones failed, of `problems` each; `wrong` says which did not, and how.

    `excused` are such problems whose flaw the benchmark itself knows and names.
    """

    problems: int
    correct: int
    buggy: int
    wrong: tuple[tuple[str, str], ...]
    excused: tuple[tuple[str, str], ...] = ()

    @property
    def holds(self) -> bool:
        """True when no problem is wrong without a known cause."""
        return not self.wrong


def reference_check(benchmark: Benchmark, sandbox: Sandbox, workers: int = 2) -> ReferenceCheck:
    """Judge both reference programs of every problem, `workers` at a time.

    `SandboxUnavailable` when a program could not be judged at all, which says nothing about the benchmark.
    """
    bodies = [(problem, body) for problem in benchmark.problems for body in (problem.canonical, problem.buggy)]
    with ThreadPoolExecutor(workers) as pool:
        outcomes = list(pool.map(lambda pair: _judge(benchmark, sandbox, *pair), bodies))
    canonical, buggy = outcomes[::2], outcomes[1::2]
    wrong: list[tuple[str, str]] = []
    excused: list[tuple[str, str]] = []
    for problem, right, faulty in zip(benchmark.problems, canonical, buggy, strict=True):
        found = excused if problem.flaw else wrong
        if not right.passed:
            found.append((problem.task_id, f"correct body: {right.kind} {right.detail}".rstrip()))
        if faulty.passed:
            found.append((problem.task_id, "buggy body: passed"))
    return ReferenceCheck(
        problems=len(benchmark.problems),
        correct=sum(outcome.passed for outcome in canonical),
        buggy=sum(not outcome.passed for outcome in buggy),
        wrong=tuple(wrong),
        excused=tuple(excused),
    )


def _judge(benchmark: Benchmark, sandbox: Sandbox, problem: Problem, body: str) -> Outcome:
    outcome = sandbox.run(benchmark.program(problem, problem.header + body), benchmark.limits)
    if outcome.kind == "unavailable":
        raise SandboxUnavailable(
            f"{benchmark.name}, {problem.task_id}: not judged ({outcome.detail or 'no reason given'}); "
            "run 'scoretrace doctor' to see which levels this machine allows"
        )
    return outcome
