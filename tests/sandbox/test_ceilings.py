"""HumanEvalFix's own bodies in each language: a fixed sample of problems, with every one that is known to be flawed.

The sample is every eighth problem (in Rust, whose compiler is slow, every fortieth) and those named below. All 164 of
each language in both variants take longer than a test may: `bench/languages.py` runs them, docs/sandbox.md has the
figures.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.benchmarks import open_benchmark
from engine.benchmarks.humanevalfix import FLAWS, FixBenchmark
from engine.benchmarks.reference import Found, reference_check
from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import compiled, open_sandbox, probe_levels
from engine.sandbox.levels import probe
from engine.sandbox.toolchains import Kit

STEP = {"python": 8, "js": 8, "java": 8, "go": 8, "cpp": 8, "rust": 40}
DAMAGED = {
    "python": set(), "js": set(), "java": set(), "cpp": set(),
    "go": {"Go/72", "Go/90", "Go/158"}, "rust": {"Rust/137", "Rust/145"},
}  # fmt: skip
"""Problems whose correct body no longer passes after the harness's own cut."""
CUT_WITHOUT_HARM = {"cpp": {"CPP/94"}}
NEEDS_LIBRARIES = {
    "JavaScript/162", "CPP/22", "CPP/137", "Rust/32", "Rust/38", "Rust/50", "Rust/53", "Rust/91", "Rust/162",
}  # fmt: skip
"""Problems that need a module, header or crate which a machine may lack; they are then not judged."""
BUGGY_BODY_PASSES = {"CPP/23"}
SHORT, AMPLE = Limits(cpu_s=5.0, wall_s=600.0), Limits(cpu_s=120.0, wall_s=1200.0)
"""For buggy bodies, as the harness's limits would let each endless loop run for up to 300 s; and for correct ones."""


class Patient:
    """The sandbox, which leaves whatever is no buggy body of a benchmark the time that a slow machine needs."""

    def __init__(self, inner: Sandbox, benchmark: FixBenchmark) -> None:
        self.level, self.identity, self.close = inner.level, inner.identity, inner.close
        self._inner = inner
        self._buggy = {benchmark.program(p, p.header + p.buggy) for p in benchmark.problems}

    def run(self, program: Program, limits: Limits) -> Outcome:
        """One program."""
        return self._inner.run(program, SHORT if program in self._buggy else AMPLE)


@pytest.mark.parametrize("language", STEP)
def test_reference_bodies_come_to_the_known_ceiling(language: str, shared: Path) -> None:
    """Correct bodies pass and buggy ones do not, but for known flaws; the harness's cut does its known damage."""
    if reason := why_not(language):
        pytest.skip(reason)
    benchmark = sample(shared / "data" / "humanevalpack" / f"{language}.jsonl", language)
    sandbox = open_sandbox(jobs=2, languages=(language,))
    try:
        check = reference_check(benchmark, Patient(sandbox, benchmark))
    finally:
        sandbox.close()
    size = len(benchmark.problems)
    assert check.wrong == ()
    assert names(check.unjudged) <= NEEDS_LIBRARIES
    assert names(check.excused) <= {problem.task_id for problem in benchmark.problems if problem.flaw}
    assert names(check.cut) == DAMAGED[language]
    uncertain = names(check.unjudged) | names(check.excused)
    assert check.correct >= size - len(uncertain)
    assert size - check.buggy == len({p.task_id for p in benchmark.problems} & BUGGY_BODY_PASSES) + len(check.unjudged)


def why_not(language: str) -> str:
    """Why a language cannot be judged here; empty where it can. Python is judged at any level of confinement."""
    if language == "python":
        levels = [level for level in probe_levels().values() if level.level != "limits"]
        return "" if any(level.available for level in levels) else "no level of confinement works on this machine"
    if not probe("namespaces").available:
        return f"namespaces: {probe('namespaces').reason}"
    found = compiled.found(language)
    return "" if isinstance(found, Kit) else str(found)


def names(found: Found) -> set[str]:
    """The task ids of findings."""
    return {task_id for task_id, _ in found}


def sample(path: Path, language: str) -> FixBenchmark:
    """The sample of a language's problems, in the tests variant."""
    benchmark = open_benchmark(f"humanevalfixtests-{language}", str(path))
    assert isinstance(benchmark, FixBenchmark)
    flawed = {task_id for task_id, variant in FLAWS if variant == "tests"}
    wanted = flawed | DAMAGED[language] | CUT_WITHOUT_HARM.get(language, set())
    rows = [
        row for place, row in enumerate(benchmark.rows) if place % STEP[language] == 0 or row["task_id"] in wanted
    ]  # fmt: skip
    return replace(benchmark, rows=rows)
