"""The reference check: correct bodies pass, buggy ones fail, and anything else is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

import pytest

from engine.benchmarks import open_benchmark
from engine.benchmarks.reference import ReferenceCheck, reference_check
from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Program


@dataclass
class ScriptedSandbox:
    """Judges by a function of the candidate; keeps what it was given."""

    verdict: Callable[[str], Outcome]
    level: str = "none"
    identity: str = "scripted"
    seen: list[tuple[Program, Limits]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def run(self, program: Program, limits: Limits) -> Outcome:
        with self.lock:
            self.seen.append((program, limits))
        return self.verdict(program.candidate)

    def close(self) -> None:
        pass


def test_sound_benchmark_holds() -> None:
    """With a sandbox that knows the correct programs, all problems count on both sides and none is wrong."""
    benchmark = open_benchmark("bugfix-mini")
    right = {(p.header + p.canonical).rstrip() for p in benchmark.problems}
    sandbox = ScriptedSandbox(lambda candidate: Outcome("passed" if candidate in right else "failed"))
    size = len(benchmark.problems)
    found = reference_check(benchmark, sandbox, workers=3)
    assert found == ReferenceCheck(size, size, size, ())
    assert found.holds
    assert len(sandbox.seen) == 2 * size
    assert {limits for _, limits in sandbox.seen} == {benchmark.limits}


def test_wrong_problems_are_named_with_what_was_wrong() -> None:
    """A buggy body that passes and a correct one that fails are both told, by task id and kind."""
    benchmark = open_benchmark("bugfix-mini")
    size = len(benchmark.problems)
    passing = reference_check(benchmark, ScriptedSandbox(lambda candidate: Outcome("passed")))
    assert (passing.correct, passing.buggy, passing.holds) == (size, 0, False)
    assert passing.wrong[0] == (benchmark.problems[0].task_id, "buggy body: passed")
    slow = reference_check(benchmark, ScriptedSandbox(lambda candidate: Outcome("timeout", "3 s of CPU time")))
    assert (slow.correct, slow.buggy) == (0, size)
    assert slow.wrong[0] == (benchmark.problems[0].task_id, "correct body: timeout 3 s of CPU time")


def test_unavailable_sandbox_is_an_error_and_no_failure() -> None:
    """When a program cannot be judged, the check stops with the reason instead of counting a failure."""
    sandbox = ScriptedSandbox(lambda candidate: Outcome("unavailable", "no seccomp"))
    with pytest.raises(SandboxUnavailable, match=r"bugfix-mini, BugfixMini/\d+: not judged \(no seccomp\)"):
        reference_check(open_benchmark("bugfix-mini"), sandbox)
