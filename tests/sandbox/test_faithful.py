"""Honest programs get the verdict that plain execution gives them, apart from and beside the tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox.audit import both_ways

LIMITS = Limits(cpu_s=60.0, wall_s=300.0)


def read() -> dict[str, tuple[str, str, bool]]:
    """name -> candidate, test text, whether it passes; from the text file beside this one."""
    programs = {}
    for block in Path(__file__).with_name("honest_programs.txt").read_text().split("==== ")[1:]:
        title, _, body = block.partition("\n")
        name, _, verdict = title.rpartition(": ")
        candidate, _, test = body.partition("\n----\n")
        programs[name] = (candidate, test, verdict == "passes")
    return programs


HONEST = {**read(), "a null byte": ("def f(x):\n    return '\0'", "assert f(1) == '\\0'", False)}


def plain(candidate: str, test: str) -> bool:
    """The verdict of executing the program as one text in an interpreter of its own."""
    code = f"import sys, os\nsys.stdin.close()\nexec({candidate + chr(10) + test!r}, {{}})\nos._exit(0)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, timeout=300, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_gets_its_verdict_apart_from_the_tests(name: str, judged: Callable[..., Outcome]) -> None:
    """Judged through plain data, an honest program passes exactly when it should."""
    candidate, test, passes = HONEST[name]
    outcome = judged(candidate, test)
    assert outcome.passed is passes, outcome
    assert outcome.mode.startswith("split")


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_gets_its_verdict_beside_the_tests(name: str, judged: Callable[..., Outcome]) -> None:
    """Judged in one interpreter, an honest program passes exactly when it should, and the outcome says how."""
    candidate, test, passes = HONEST[name]
    outcome = judged(candidate, test, same_interpreter=True)
    assert outcome.passed is passes, outcome
    assert outcome.mode == "same interpreter"


@pytest.mark.parametrize("name", sorted(HONEST)[::6])
def test_the_expected_verdicts_are_those_of_plain_execution(name: str) -> None:
    """The table of this file says what an interpreter says of the program as one text."""
    candidate, test, passes = HONEST[name]
    assert plain(candidate, test) is passes


@pytest.mark.parametrize(
    ("test", "passes"),
    [
        ("assert V(1) + V(2) == V(3)", True),
        ("assert V(1) != V(1)", False),
        ("assert sorted([V(2), V(1)])[0].x == 1", True),
        ("assert V(1) in {V(1)}", True),
        ("assert V(1) + V(2) == V(4)", False),
    ],
)
def test_operators_of_a_class_that_the_problem_asks_for(
    test: str, passes: bool, judged: Callable[..., Outcome]
) -> None:
    """Where the problem's own text declares a class, tests that use its operators run beside it, and say so."""
    candidate = (
        "class V:\n    def __init__(s, x): s.x = x\n    def __add__(s, o): return V(s.x + o.x)\n"
        "    def __eq__(s, o): return s.x == o.x\n    def __lt__(s, o): return s.x < o.x\n"
        "    def __hash__(s): return s.x"
    )
    outcome = judged(candidate, test, "V", helpers="class V:\n")
    assert (outcome.passed, outcome.mode) == (passes, "same interpreter"), outcome
    assert judged(candidate, "assert V(1).x == 1", "V", helpers="class V:\n").mode == "split"


def test_an_object_for_a_number_does_not_bring_the_tests_beside_it(judged: Callable[..., Outcome]) -> None:
    """Where the problem asks for a function, a candidate cannot get its tests run beside it by answering an object."""
    candidate = "class A:\n    def __add__(s, o): return 3\n    def __eq__(s, o): return True\ndef f(x): return A()"
    for test in ("assert f(1) + 1 == 3", "assert f(1) == 3"):
        outcome = judged(candidate, test, helpers="def f(x):\n")
        assert not outcome.passed and outcome.mode == "split", outcome


def test_the_audit_reports_what_the_two_ways_do_not_agree_on(sandbox: Sandbox) -> None:
    """A program that only passes beside its tests, and one that passes both ways: the first differs, the second not."""
    forges = "class A(int):\n    def __eq__(self, other): return True\ndef f(x): return A(0)"
    jobs = [(Program("", text, "assert f(2) == 4", "f"), LIMITS) for text in (forges, "def f(x): return x * x")]
    found = both_ways(sandbox, jobs)
    assert [pair.differs for pair in found] == [True, False]
    assert (found[0].apart.kind, found[0].beside.kind) == ("failed", "passed")
