"""Check a benchmark against itself: every correct body passes its tests, every buggy one fails them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from engine.benchmarks.languages import language_of
from engine.cut import harness_cut, stop_cut
from engine.errors import SandboxUnavailable
from engine.protocols import Benchmark, Outcome, Problem, Sandbox

_LOOK_S = 0.2
Found = tuple[tuple[str, str], ...]
"""Task ids, each with what was found of it."""


@dataclass(frozen=True)
class ReferenceCheck:
    """How many correct bodies passed and buggy ones failed, of `problems` each; `wrong` says which did not, and how.

    `excused` are such problems whose flaw the benchmark itself knows and names; `unjudged` those of which a body cannot
    be judged on this machine, with the reason; `cut` those whose correct body passes, but not what the harness's own
    cut leaves of it, so that a reply written like it fails there.
    """

    problems: int
    correct: int
    buggy: int
    wrong: Found
    excused: Found = ()
    unjudged: Found = ()
    cut: Found = ()

    @property
    def holds(self) -> bool:
        """True when no problem is wrong without a known cause."""
        return not self.wrong


def reference_check(
    benchmark: Benchmark, sandbox: Sandbox, workers: int = 2, tick: Callable[[], None] = lambda: None
) -> ReferenceCheck:
    """Judge both reference programs of every problem, `workers` at a time.

    `tick` is called several times a second meanwhile; what it raises ends the check, and programs that have not begun
    are let go. `SandboxUnavailable` when no program at all could be judged, which says nothing about the benchmark.
    """
    problems = benchmark.problems
    with ThreadPoolExecutor(workers) as pool:

        def judged(pairs: Iterable[tuple[Problem, str]]) -> list[Outcome]:
            asked = [pool.submit(_judge, benchmark, sandbox, *pair) for pair in pairs]
            try:
                while wait(asked, _LOOK_S).not_done:
                    tick()
            finally:
                for one in asked:
                    one.cancel()
            return [one.result() for one in asked]

        outcomes = judged((problem, body) for problem in problems for body in (problem.canonical, problem.buggy))
        canonical, buggy = outcomes[::2], outcomes[1::2]
        if all(outcome.kind == "unavailable" for outcome in outcomes):
            raise SandboxUnavailable(_nothing_judged(benchmark, outcomes))
        passing = [p for p, outcome in zip(problems, canonical, strict=True) if outcome.passed]
        shorter = [(p, kept) for p in passing if (kept := _cut(benchmark, p)).rstrip() != p.canonical.rstrip()]
        after_cut = judged(shorter)
    rows = list(zip(problems, canonical, buggy, strict=True))
    return ReferenceCheck(
        problems=len(problems),
        correct=len(passing),
        buggy=sum(not outcome.passed and outcome.kind != "unavailable" for outcome in buggy),
        wrong=tuple((p.task_id, how) for p, c, b in rows if not p.flaw for how in _odd(c, b)),
        excused=tuple((p.task_id, f"{how}: {p.flaw}") for p, c, b in rows if p.flaw for how in _odd(c, b)),
        unjudged=tuple((p.task_id, why) for p, c, b in rows if (why := _unjudged(c, b))),
        cut=tuple((p.task_id, _told(o)) for (p, _), o in zip(shorter, after_cut, strict=True) if not o.passed),
    )


def _judge(benchmark: Benchmark, sandbox: Sandbox, problem: Problem, body: str) -> Outcome:
    """The outcome of one body; one that could not be judged is tried again, in case the cause was passing."""
    program = benchmark.program(problem, problem.header + body)
    outcome = sandbox.run(program, benchmark.limits)
    return sandbox.run(program, benchmark.limits) if outcome.kind == "unavailable" else outcome


def _odd(canonical: Outcome, buggy: Outcome) -> Iterable[str]:
    if not canonical.passed and canonical.kind != "unavailable":
        yield f"correct body: {_told(canonical)}"
    if buggy.passed:
        yield "buggy body: passed"


def _unjudged(canonical: Outcome, buggy: Outcome) -> str:
    reasons = [outcome.detail or "no reason given" for outcome in (canonical, buggy) if outcome.kind == "unavailable"]
    return "; ".join(dict.fromkeys(reasons))


def _told(outcome: Outcome) -> str:
    return f"{outcome.kind} {outcome.detail}".rstrip()


def _cut(benchmark: Benchmark, problem: Problem) -> str:
    """What the harness keeps of the correct body, were it a model's reply."""
    if problem.prompt:
        return stop_cut(problem.canonical, benchmark.stop_words)
    return harness_cut(problem.canonical, benchmark.stop_words, language_of(benchmark.name))


def _nothing_judged(benchmark: Benchmark, outcomes: list[Outcome]) -> str:
    reason = next((outcome.detail for outcome in outcomes if outcome.detail), "no reason given")
    return (
        f"{benchmark.name}: no program could be judged ({reason}); "
        "run 'scoretrace doctor' to see which levels this machine allows"
    )
