"""The reference check: correct bodies pass, buggy ones fail, and anything else is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

import pytest

from engine.benchmarks import open_benchmark
from engine.benchmarks.humanevalfix import FixBenchmark
from engine.benchmarks.languages import LANGUAGES
from engine.benchmarks.reference import ReferenceCheck, reference_check
from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Problem, Program


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
    """When no program can be judged, the check stops with the reason instead of counting failures."""
    sandbox = ScriptedSandbox(lambda candidate: Outcome("unavailable", "no seccomp"))
    with pytest.raises(SandboxUnavailable, match=r"bugfix-mini: no program could be judged \(no seccomp\)"):
        reference_check(open_benchmark("bugfix-mini"), sandbox)


def test_a_problem_that_cannot_be_judged_here_is_told_and_stays_in_the_total() -> None:
    """A missing library is neither wrong nor a failure: the problem is named with the reason, the total stays."""
    benchmark = open_benchmark("bugfix-mini")
    first, size = benchmark.problems[0], len(benchmark.problems)
    right = {(p.header + p.canonical).rstrip() for p in benchmark.problems}
    lacking = {(first.header + body).rstrip() for body in (first.canonical, first.buggy)}

    def verdict(candidate: str) -> Outcome:
        if candidate in lacking:
            return Outcome("unavailable", "the crate rand is not here")
        return Outcome("passed" if candidate in right else "failed")

    found = reference_check(benchmark, ScriptedSandbox(verdict))
    assert (found.problems, found.correct, found.buggy) == (size, size - 1, size - 1)
    assert found.unjudged == ((first.task_id, "the crate rand is not here"),)
    assert found.holds


def test_a_passing_cause_is_tried_again() -> None:
    """A program whose helper was lost once is judged again, and counts as judged."""
    benchmark = open_benchmark("bugfix-mini")
    right = {(p.header + p.canonical).rstrip() for p in benchmark.problems}
    lost: set[str] = set()

    def verdict(candidate: str) -> Outcome:
        if candidate not in lost:
            lost.add(candidate)
            return Outcome("unavailable", "the judge was lost")
        return Outcome("passed" if candidate in right else "failed")

    found = reference_check(benchmark, ScriptedSandbox(verdict), workers=1)
    assert found == ReferenceCheck(found.problems, found.problems, found.problems, ())


def test_a_known_flaw_excuses_what_it_explains_and_names_its_cause() -> None:
    """A problem with a flaw is not wrong; what was seen and the cause are told; the counts stay what they are."""
    benchmark = cut_benchmark("class A:\n    pass\n", flaw="the tests accept anything")
    found = reference_check(benchmark, ScriptedSandbox(lambda candidate: Outcome("passed")))
    assert found.holds
    assert (found.correct, found.buggy, found.problems) == (1, 0, 1)
    assert found.excused == (("P/0", "buggy body: passed: the tests accept anything"),)


def test_a_correct_body_that_the_harness_cuts_is_named() -> None:
    """Where the harness's cut takes a part that the correct body needs, the problem is named; it is not wrong."""
    benchmark = cut_benchmark("class A:\n    pass\n")
    needs = benchmark.problems[0].canonical.rstrip()
    sandbox = ScriptedSandbox(
        lambda candidate: Outcome("passed") if candidate.endswith(needs) else Outcome("exception", "NameError: A")
    )
    found = reference_check(benchmark, sandbox)
    assert found.holds
    assert found.cut == (("P/0", "exception NameError: A"),)


def cut_benchmark(helper: str, flaw: str = "") -> FixBenchmark:
    """One problem whose correct body is followed by something that it needs."""
    problem = Problem(
        "P/0", "f", "def f():\n", "", "", "assert f()", canonical=f"    return A()\n\n{helper}", buggy="    return 0\n",
        flaw=flaw,
    )  # fmt: skip
    return FixBenchmark("fake-python", LANGUAGES["python"], False, (), "", Limits(), given=(problem,))
