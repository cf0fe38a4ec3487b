"""Honest programs get the verdict that plain execution gives them, apart from and beside the tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import preludes
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


IMPORTS = "import math\nimport collections  # all of it\nfrom typing import *\nfrom collections import *\n"

# What is run after import lines, with what the judge has to find of it there.
AFTER_IMPORTS = {
    "uses what was imported": "def f():\n    return math.floor(2.5) + len(deque([1]))",
    "redefines what was imported": "math = 3\ndef f():\n    return math",
    "sees the imports in their order": "def f():\n    return [n for n in globals() if n[0] != '_'][:3]",
    "begins with a text": '"""Text."""\ndef f():\n    return globals().get("__doc__", "none")',
    "wants a future too late": "from __future__ import annotations\ndef f():\n    return 1",
    "declares an imported name global": "global math\nmath = 4\ndef f():\n    return math",
    "has a function with a global": "n = 1\ndef f():\n    global n\n    n += 1\n    return n",
    "begins with an indent": "    x = 1\ndef f():\n    return 1",
    "is no Python in its third line": "def f():\n    return 1\nx =",
    "tells a line": "import sys\ndef f():\n    return sys._getframe().f_lineno, f.__code__.co_firstlineno",
    "tells its names": "def f():\n    return __name__, sorted(n for n in globals() if n[:2] == '__')",
    "raises while loading": "def f():\n    return 1\n[][0]",
    "spoils a module": "collections.OrderedDict = None\ndef f():\n    return collections.OrderedDict is None",
    "is annotated": "x: List[int] = [1]\ndef f():\n    return str(__annotations__)",
}


@pytest.mark.parametrize("name", AFTER_IMPORTS)
@pytest.mark.parametrize(
    "imports", [IMPORTS, IMPORTS.replace("\n", "\n\n"), "import math; import re", "import math\n#"]
)
def test_imports_run_beforehand_cannot_be_told_from_imports_run_with_the_program(
    name: str, imports: str, judged: Callable[..., Outcome]
) -> None:
    """A prelude of imports is run once for many programs; each comes to what it comes to as one text with them."""
    candidate, test = AFTER_IMPORTS[name], "assert f() == 'something else'"
    beforehand = judged(candidate, test, prelude=imports)
    # An import inside a block is no plain import line: the prelude is run with the program, on the same lines.
    together = judged(candidate, test, prelude=imports.replace("import math", "if 1: import math", 1))
    assert (beforehand.kind, beforehand.detail) == (together.kind, together.detail)
    assert preludes.Preludes().run(imports) == 1


def test_only_imports_of_what_is_loaded_are_run_beforehand() -> None:
    """What does more, loads a module, or could be taken up by the program, is run with every program."""
    ran = preludes.Preludes()
    assert ran.run("import json") == ran.run("import json") == 1
    assert ran.names(1)["json"] is sys.modules["json"]
    for text in (
        "import json\nx = 1", "import no_such_module", "from json import no_such_name", "from . import json", "",
        "import json \\", "from __future__ import annotations", "import json\r", "# import json", "if 1:\n import json",
    ):  # fmt: skip
        assert ran.run(text) == 0, text
    assert preludes.rest("import json", "def f():\n    global x") is None
