"""The published files through our own sandbox: correct programs pass, faulty ones do not, real replies as recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from engine.benchmarks import open_benchmark
from engine.benchmarks.completion import CompletionBenchmark
from engine.benchmarks.reference import reference_check
from engine.extraction import extract
from engine.protocols import Benchmark, Limits, Outcome, Problem, Program, Sandbox
from engine.sandbox import open_sandbox, probe_levels

SLOW = ("Mbpp/599", "Mbpp/389", "Mbpp/271", "Mbpp/392", "Mbpp/255", "Mbpp/603", "Mbpp/123", "Mbpp/300")
"""MBPP+ problems whose correct program needs seconds; bench/evalplus_agreement.py judges them too."""


def patient(limits: Limits) -> Limits:
    """Limits for programs that end by themselves: what they come to must not depend on how fast the machine is."""
    return replace(limits, cpu_s=120.0, wall_s=1200.0)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """The best sandbox of this machine."""
    if not any(p.available for p in probe_levels().values() if p.level != "limits"):
        pytest.skip("no level of confinement works on this machine")
    made = open_sandbox(jobs=2)
    yield made
    made.close()


def judged(sandbox: Sandbox, programs: Sequence[Program], limits: Limits | Sequence[Limits]) -> list[Outcome]:
    """The outcomes of programs, two at a time, under the same limits or each under its own."""
    each = [limits] * len(programs) if isinstance(limits, Limits) else limits
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(sandbox.run, programs, each))


def failing(sandbox: Sandbox, benchmark: Benchmark, problems: Sequence[Problem] = ()) -> dict[str, Outcome]:
    """The problems whose correct program does not pass."""
    problems = problems or benchmark.problems
    programs = [benchmark.program(problem, problem.header + problem.canonical) for problem in problems]
    outcomes = judged(sandbox, programs, patient(benchmark.limits))
    return {p.task_id: o for p, o in zip(problems, outcomes, strict=True) if not o.passed}


@pytest.fixture(scope="module")
def humaneval(shared: Path) -> Benchmark:
    """HumanEval as OpenAI publishes it."""
    return open_benchmark("humaneval", str(shared / "humaneval" / "HumanEval.jsonl.gz"))


def test_humaneval_s_solutions_pass_and_empty_functions_fail(humaneval: Benchmark, sandbox: Sandbox) -> None:
    """164 of 164 on both sides, and the file is known by its rows."""
    assert isinstance(humaneval, CompletionBenchmark)
    found = reference_check(replace(humaneval, limits=patient(humaneval.limits)), sandbox)
    assert (found.correct, found.buggy, found.problems) == (164, 164, 164)
    assert humaneval.facts()["licence"] == "MIT"


def test_five_strategies_get_the_recorded_verdicts(shared: Path, humaneval: Benchmark, sandbox: Sandbox) -> None:
    """Extraction and sandbox give every one of 52 x 5 verdicts published with the replies of two chat models."""
    problems = {problem.task_id: problem for problem in humaneval.problems}
    lines = (shared / "replies" / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [
        (json.loads(line), strategy) for line in lines for strategy in json.loads(line)["verdicts"]
    ]  # fmt: skip
    programs = []
    for reply, strategy in cases:
        problem = problems[reply["task_id"]]
        code = extract(strategy, humaneval, problem, "chat", reply["response"], prefill=False)
        programs.append(humaneval.program(problem, code))
    # Replies that did not pass may loop for ever.
    passing, short = patient(humaneval.limits), replace(humaneval.limits, cpu_s=1.0, wall_s=600.0)
    limits = [passing if reply["verdicts"][strategy]["pass"] else short for reply, strategy in cases]
    outcomes = judged(sandbox, programs, limits)
    differing = [
        (reply["model"], reply["task_id"], strategy, outcome)
        for (reply, strategy), outcome in zip(cases, outcomes, strict=True)
        if outcome.passed is not reply["verdicts"][strategy]["pass"]
    ]
    assert (len(cases), differing) == (260, [])


def test_mbpp_s_solutions_pass(shared: Path, sandbox: Sandbox) -> None:
    """974 of 974, with the set-up code that the harness leaves out."""
    benchmark = open_benchmark("mbpp-full", str(shared / "mbpp" / "mbpp-974.jsonl"))
    assert (len(benchmark.problems), failing(sandbox, benchmark)) == (974, {})


def test_mbpp_s_test_split_has_one_problem_that_the_harness_cannot_pass(shared: Path, sandbox: Sandbox) -> None:
    """Mbpp/367 builds a tree in its set-up code, which the harness does not run; Mbpp/123 needs about its limit."""
    benchmark = open_benchmark("mbpp", str(shared / "mbpp" / "mbpp-974.jsonl"))
    flawed = [problem for problem in benchmark.problems if problem.flaw]
    assert {problem.task_id for problem in flawed} == {"Mbpp/123", "Mbpp/367"}
    assert set(failing(sandbox, benchmark, flawed[1:])) == {"Mbpp/367"}


def test_sanitized_mbpp_passes_but_where_its_file_lost_the_imports(shared: Path, sandbox: Sandbox) -> None:
    """417 of 427; the tests of the other ten use math, which this file's rows do not import: found before running."""
    benchmark = open_benchmark("mbpp-sanitized", str(shared / "mbpp" / "sanitized-mbpp-427.jsonl"))
    found = failing(sandbox, benchmark)
    assert len(benchmark.problems) == 427
    assert set(found) == {problem.task_id for problem in benchmark.problems if problem.flaw}
    assert len(found) == 10
    assert all("name 'math' is not defined" in outcome.detail for outcome in found.values())


def test_mbpp_plus_solutions_pass_and_empty_functions_fail(shared: Path, sandbox: Sandbox) -> None:
    """Every fourth of the problems that are quick; the only one that an empty function passes is known as flawed."""
    benchmark = open_benchmark("mbppplus", str(shared / "mbpp" / "MbppPlus-399.jsonl"))
    assert len(benchmark.problems) == 399
    quick = [problem for problem in benchmark.problems if problem.task_id not in SLOW]
    chosen = [problem for i, problem in enumerate(quick) if i % 4 == 0 or problem.flaw]
    assert failing(sandbox, benchmark, chosen) == {}
    stubs = judged(sandbox, [benchmark.program(p, p.buggy) for p in chosen], patient(benchmark.limits))
    assert [p.task_id for p, o in zip(chosen, stubs, strict=True) if o.passed] == ["Mbpp/164"]


def test_quixbugs_correct_programs_pass_and_buggy_ones_do_not(shared: Path, sandbox: Sandbox) -> None:
    """31 of 31 on both sides; endless loops are timeouts. The nine without cases are left out, and said."""
    benchmark = open_benchmark("quixbugs", str(shared / "quixbugs" / "quixbugs-python.jsonl"))
    assert len(benchmark.facts()["left_out"]) == 9
    assert failing(sandbox, benchmark) == {}
    short = replace(benchmark.limits, cpu_s=0.5, wall_s=600)
    programs = [benchmark.program(p, p.header + p.buggy) for p in benchmark.problems]
    kinds = [outcome.kind for outcome in judged(sandbox, programs, short)]
    assert len(kinds) == 31
    assert set(kinds) <= {"failed", "timeout", "exception", "answer not data"}
    assert "timeout" in kinds


HEAD = 'def clamp(x, low, high):\n    """x, but within low and high."""\n'
RIGHT = "    return max(low, min(x, high))\n"
OWN_PLUS = {
    "evalplus": {
        "task_id": "HumanEval/0", "prompt": HEAD, "entry_point": "clamp", "canonical_solution": RIGHT, "atol": 0,
        "base_input": [[1, 0, 2], [5, 0, 2]], "plus_input": [[-1, 0, 2], [0.1 + 0.2, 0, 0.3]],
    },
    "hub": {
        "task_id": "HumanEval/0", "prompt": HEAD, "entry_point": "clamp", "canonical_solution": RIGHT,
        "test": "def check(candidate):\n    for given, expected in [((1, 0, 2), 1), ((5, 0, 2), 2), ((-1, 0, 2), 0)]:\n"
        "        assert candidate(*given) == expected\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", OWN_PLUS)
def test_humaneval_plus_reader_judges_a_small_one_of_our_own(tmp_path: Path, sandbox: Sandbox, shape: str) -> None:
    """In either shape the correct program passes, and the empty one and one that only an extra input catches fail."""
    path = tmp_path / "plus.jsonl"
    path.write_text(json.dumps(OWN_PLUS[shape]), encoding="utf-8")
    benchmark = open_benchmark("humanevalplus", str(path))
    (problem,) = benchmark.problems
    bodies = (RIGHT, problem.buggy, "    return min(x, high)\n")
    programs = [benchmark.program(problem, problem.header + body) for body in bodies]
    right, empty, base_only = judged(sandbox, programs, patient(benchmark.limits))
    assert (right.kind, empty.kind, base_only.kind) == ("passed", "failed", "failed")
    if shape == "evalplus":
        assert "plus input 0: got -1, expected 0" in base_only.detail


def test_mbpp_plus_in_the_hub_s_shape_is_judged_by_its_own_tests(tmp_path: Path, sandbox: Sandbox) -> None:
    """The hub's MBPP+ has a text of tests for each problem; the prompt is the harness's with the first shown test."""
    kept = json.loads((Path(__file__).parent / "parquet_files.json").read_text(encoding="utf-8"))["files"]
    path = tmp_path / "plus.jsonl"
    path.write_text(json.dumps(kept["mbppplus"]["rows"][0]), encoding="utf-8")
    benchmark = open_benchmark("mbppplus", str(path))
    (problem,) = benchmark.problems
    assert problem.prompt == '"""\nWrite a function that doubles a number.\nassert twice(2) == 4\n"""\n'
    found = reference_check(benchmark, sandbox)
    assert (found.correct, found.buggy) == (1, 1)
