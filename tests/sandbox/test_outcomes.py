"""What a program showed is kept apart: each way of not passing has its own kind, and one line that says what was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.protocols import OUTCOMES, Limits, Outcome, Program, Sandbox

SHORT = Limits(cpu_s=0.5, wall_s=60.0, memory=256 << 20)
AMPLE = Limits(cpu_s=60.0, wall_s=300.0, memory=256 << 20)
"""For a program that loops, and for every other one: how it ends must not depend on how fast the machine is."""

TEST = "def check(c):\n    assert c(2) == 4\n    assert c(3) == 9\ncheck(f)"

SHUTS = (
    "import os, socket\ndef f(x):\n    for i in range(60): shut(i)\n    os._exit(7)\n"
    "def shut(i):\n    try: socket.socket(fileno=i).shutdown(2)\n    except OSError: pass"
)
CLOSES = "import os\ndef f(x):\n    os.closerange(3, 60)\n    while True: pass"

# name -> (candidate, kind, part of the detail)
KINDS = {
    "right": ("def f(x):\n    return x * x", "passed", ""),
    "wrong": ("def f(x):\n    return x + x", "failed", "assert c(3) == 9; got 6, expected 9; last call f(3) gave 6"),
    "raises": ("def f(x):\n    return [][x]", "exception", "IndexError: list index out of range"),
    "raises its own": ("class E(Exception):\n    pass\ndef f(x):\n    raise E('oh')", "exception", "E: oh"),
    "raises while loading": ("1 / 0", "exception", "ZeroDivisionError: division by zero"),
    "is missing": ("g = 1", "exception", "NameError: name 'f' is not defined"),
    "is no Python": ("def f(x) return", "syntax error", "SyntaxError"),
    "loops": ("def f(x):\n    while True: pass", "timeout", "0.5 s of CPU time"),
    "loops while loading": ("while True: pass", "timeout", "0.5 s of CPU time"),
    "takes memory": ("def f(x):\n    return len(bytearray(1 << 34))", "memory", "MemoryError"),
    "takes memory slowly": ("a = []\ndef f(x):\n    while True: a.append(' ' * (8 << 20))", "memory", "MemoryError"),
    "crashes": ("import ctypes\ndef f(x):\n    ctypes.string_at(0)", "crash", "SIGSEGV"),
    "aborts": ("import os\ndef f(x):\n    os.abort()", "crash", "SIGABRT"),
    "stops itself": ("import os, signal\ndef f(x):\n    os.kill(os.getpid(), signal.SIGSTOP)", "crash", "stopped"),
    "exits": ("import sys\ndef f(x):\n    sys.exit(0)", "exited early", "SystemExit: 0"),
    "exits while loading": ("import sys\nsys.exit()", "exited early", "SystemExit"),
    "exits at once": ("import os\ndef f(x):\n    os._exit(3)", "exited early", "exit code 3"),
    "closes its connection": (CLOSES, "exited early", "closed its connection"),
    "shuts its connection and exits": (SHUTS, "exited early", "exit code 7"),
    "answers with an object": ("class A: pass\ndef f(x):\n    return A()", "answer not data", "A of the candidate"),
    "answers too deep": ("y = []\nfor _ in range(999): y = [y]\ndef f(x): return y", "answer not data", "too deep"),
    "answers too much": ("def f(x):\n    return 'x' * (9 << 20)", "answer not data", "too large"),
    "writes": ("def f(x):\n    open('out.txt', 'w')", "refused", "PermissionError"),
    "wants a temporary file": ("import tempfile\ndef f(x):\n    tempfile.mkstemp()", "refused", ""),
    "connects": ("import socket\ndef f(x):\n    socket.create_connection(('::1', 80))", "refused", "PermissionError"),
    "starts a process": ("import subprocess\ndef f(x):\n    subprocess.run(['true'])", "refused", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_each_way_of_ending_has_its_kind(name: str, judged: Callable[..., Outcome]) -> None:
    """The kind, the level, the mode and one line of detail are told."""
    candidate, kind, part = KINDS[name]
    outcome = judged(candidate, TEST, limits=SHORT if kind == "timeout" else AMPLE)
    assert outcome.kind == kind, outcome
    assert part in outcome.detail
    assert "\n" not in outcome.detail and len(outcome.detail) <= 300
    assert outcome.kind in OUTCOMES and outcome.level and outcome.mode == "split"


def test_a_failure_names_the_sides_the_right_way_round(judged: Callable[..., Outcome]) -> None:
    """An expected value on the left of the comparison is still the expected one."""
    outcome = judged("def f(x):\n    return 1", "assert 2 == f(5)")
    assert outcome.detail == "assert 2 == f(5); got 1, expected 2"


def test_a_failure_without_a_comparison_shows_the_last_call(judged: Callable[..., Outcome]) -> None:
    """Where the tests compare nothing, the call and its answer are shown."""
    outcome = judged("def f(x):\n    return 0", "y = f([1, 2])\nassert y, 'must hold'")
    assert outcome.detail == "assert y; f([1, 2]) gave 0 (must hold)"


def test_a_long_answer_is_cut(judged: Callable[..., Outcome]) -> None:
    """A detail stays one short line whatever was answered."""
    outcome = judged("def f(x):\n    return list(range(100000))", "assert f(1) == 'a' * 100000")
    assert outcome.kind == "failed" and len(outcome.detail) <= 300


def test_a_sleeping_program_meets_the_wall_limit(judged: Callable[..., Outcome]) -> None:
    """A program that uses no CPU time is stopped by the wall limit."""
    outcome = judged("import time\ndef f(x):\n    time.sleep(600)", "f(1)", limits=Limits(cpu_s=60.0, wall_s=0.4))
    assert outcome.kind == "timeout" and "wall" in outcome.detail


def test_endless_tests_are_stopped_too(judged: Callable[..., Outcome]) -> None:
    """Tests that loop over an answer, and swallow what is raised in them, meet the same limits."""
    test = "f(1)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"
    outcome = judged("def f(x):\n    return x", test, limits=Limits(cpu_s=0.3, wall_s=2.0))
    assert outcome.kind == "timeout"


def test_tests_that_never_call_the_candidate_do_not_pass(judged: Callable[..., Outcome]) -> None:
    """A verdict needs at least one call."""
    assert judged("def f(x):\n    return x", "def check(c):\n    assert c(1) == 1").kind == "failed"


def test_broken_tests_are_nobodys_failure(judged: Callable[..., Outcome]) -> None:
    """A test text or a prelude that does not load is no answer about the candidate."""
    assert judged("def f(x):\n    return x", "assert f(1) = 1").kind == "unavailable"
    assert judged("def f(x):\n    return x\ng = f", "assert f(g(1)) == 1", helpers="def g(x) x").kind == "unavailable"
    assert (
        judged("def f(x):\n    return x", "assert f(1) == 1", prelude="import no_such_module_anywhere").kind
        == "unavailable"
    )


def test_helpers_come_from_the_problem(judged: Callable[..., Outcome]) -> None:
    """A reply that redefines a helper of the tests is judged with the problem's own."""
    helpers = "def g(x):\n    return x + 1\n\n\ndef f(x):\n"
    test = "assert f(g(1)) == 1"
    right = "def g(x):\n    return x + 1\ndef f(x):\n    return x - 1"
    lying = "def g(x):\n    return x\ndef f(x):\n    return x"
    assert judged(right, test, helpers=helpers).passed
    assert judged(lying, test, helpers=helpers).kind == "failed"
    assert judged("def f(x):\n    return x - 1", test, helpers=helpers).detail == "NameError: name 'g' is not defined"


def test_helpers_of_the_reply_are_labelled(judged: Callable[..., Outcome]) -> None:
    """Where only the reply can define a helper, calls still cross as data and the outcome says so."""
    outcome = judged("def g(x):\n    return x + 1\ndef f(x):\n    return x - 1", "assert f(g(1)) == 1")
    assert outcome.passed and outcome.mode == "split, helpers from the reply"


def test_objects_of_the_reply_are_labelled(judged: Callable[..., Outcome]) -> None:
    """Where the tests put questions to an object of the candidate's making, the outcome says so."""
    liar = "class A:\n    def has(self, x):\n        return True\n    n = 3\ndef f(x):\n    return A()"
    assert judged(liar, "assert f(1).has(3)").mode == "split, with objects of the reply"
    outcome = judged(liar, "assert f(1).n == 3")
    assert outcome.passed and outcome.mode == "split"


def test_an_object_that_contains_everything_is_not_asked(judged: Callable[..., Outcome]) -> None:
    """Membership is decided by comparing data here."""
    liar = "class A:\n    __contains__ = lambda self, x: True\n    __iter__ = lambda self: iter([1])\n"
    assert not judged(liar + "def f(x):\n    return A()", "assert 3 in f(1)").passed


def test_builtin_functions_of_the_tests_are_the_childs_own(judged: Callable[..., Outcome]) -> None:
    """A builtin handed over runs in the child; the judge runs nothing for a candidate but the tests' own code."""
    candidate = 'def f(run):\n    return run(\'__import__("sys").modules.get("engine.sandbox.judge")\')'
    assert judged(candidate, "assert f(eval) is None").passed


@pytest.mark.parametrize(
    "test",
    [
        "from unittest.mock import patch\nwith patch('builtins.len'):\n    assert f(1) == 1",
        "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()):\n    assert f(1) == 1",
        "class Own:\n    pass\no = Own()\nassert f(o) is o",
        "assert f(list(range(3000000)))[5] == 5",
    ],
)
def test_tests_that_need_the_candidates_objects_are_labelled(test: str, judged: Callable[..., Outcome]) -> None:
    """Tests that patch, capture, or hand over what cannot cross run beside the candidate, and the outcome says so."""
    outcome = judged("def f(x):\n    return x", test)
    assert outcome.passed and outcome.mode == "same interpreter"


def test_a_candidate_cannot_ask_for_the_weaker_mode(judged: Callable[..., Outcome]) -> None:
    """Answers that cannot be handed back as arguments end the judgement; they do not move it beside the candidate."""
    big = "def f(x):\n    return ['x' * (5 << 20)]"
    outcome = judged(big, "y = f(1)\nf([y, y])\n", limits=AMPLE)
    assert outcome.kind == "answer not data" and outcome.mode == "split"


def test_a_change_of_arguments_is_told(judged: Callable[..., Outcome]) -> None:
    """A pass that rests on changed arguments says so."""
    outcome = judged("def f(x):\n    x.clear()\n    return []", "x = [1]\nassert f(x) == sorted(x)")
    assert outcome.passed and outcome.detail == "changed its arguments"


def test_the_same_program_gives_the_same_outcome(judged: Callable[..., Outcome]) -> None:
    """Random state and hash order are fixed, in the candidate and in the tests."""
    candidate = (
        "import random, numpy\ndef f():\n    return [random.random(), numpy.random.rand(), *list({'a', 'b', 'c'})]"
    )
    test = "import random\nassert f() == [random.random(), 0]"
    details = {judged(candidate, test).detail for _ in range(4)}
    assert len(details) == 1 and "got" in details.pop()


def test_nothing_of_a_program_is_seen_by_the_next(judged: Callable[..., Outcome]) -> None:
    """Every program starts from the same state, whatever the one before did to its interpreter."""
    spoil = "import math, builtins\nmath.pi = 3\nbuiltins.abs = None\ndef f(x):\n    return x"
    assert judged(spoil, "assert f(1) == 1").passed
    assert judged("import math\ndef f(x):\n    return math.pi", "assert f(1) > 3.1 and abs(-1) == 1").passed


def test_a_limit_of_memory_does_not_hold_back_an_honest_program(sandbox: Sandbox) -> None:
    """What is loaded already does not count against a program's memory."""
    program = Program("", "def f():\n    return len(bytearray(100 << 20))", "assert f() == 100 << 20", "f")
    assert sandbox.run(program, replace(AMPLE, memory=128 << 20)).passed
