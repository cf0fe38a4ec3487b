"""The level wasm: programs in a Python inside WebAssembly, judged as at the other levels; what it lacks is told."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import open_sandbox, wasm_runtime
from engine.sandbox.levels import probe
from engine.sandbox.pool import Pool
from engine.sandbox.wasm_judge import SLOWER, by_the_clock, slower

AMPLE, SHORT = Limits(cpu_s=60.0, wall_s=300.0), Limits(cpu_s=0.05, wall_s=300.0)
RIGHT = Program("", "def f(x):\n    return x * x", "for i in range(20):\n    assert f(i) == i * i", "f")


@pytest.fixture
def wasm(at_level: Callable[[str], Sandbox]) -> Sandbox:
    """A sandbox at this level, with one judge."""
    return at_level("wasm")


@pytest.fixture
def judged_inside(wasm: Sandbox) -> Callable[..., Outcome]:
    """Judges a candidate against a test text inside WebAssembly."""

    def run(candidate: str, test: str, limits: Limits = AMPLE, **rest: Any) -> Outcome:
        return wasm.run(Program(rest.pop("prelude", ""), candidate, test, "f", **rest), limits)

    return run


def test_it_is_named_and_its_python_is_in_the_identity(wasm: Sandbox) -> None:
    """Level, the version and hash of the Python inside and of what runs it are told: verdicts may depend on them."""
    told = json.loads(wasm.identity)
    assert (wasm.level, told["level"], told["packages"]) == ("wasm", "wasm", {})
    assert told["python"][:3] == ["CPython", wasm_runtime.PYTHON_VERSION, "wasm32-wasi"]
    assert wasm_runtime.SHA256 in told["python"]
    assert f"wasmtime {importlib.metadata.version('wasmtime')}" in told["python"]
    assert wasm.run(RIGHT, AMPLE).level == "wasm"


def test_programs_run_in_that_python(judged_inside: Callable[..., Outcome]) -> None:
    """A program sees CPython for WASI, of the version that is told, and not the Python of this machine."""
    outcome = judged_inside("import sys\ndef f():\n    return sys.platform, sys.version[:6]", "assert f() is None")
    assert f"('wasi', '{wasm_runtime.PYTHON_VERSION}')" in outcome.detail


@pytest.mark.parametrize(
    ("candidate", "test", "kind", "told"),
    [
        ("def f(x):\n    return x + 1", "assert f(1) == 2", "passed", ""),
        ("def f(x):\n    return x", "assert f(1) == 2", "failed", "got 1, expected 2"),
        ("def f(x):\n    return {1: (x, None)}", "assert f({2}) == {1: ({2}, None)}", "passed", ""),
        ("def f(x):\n    x.append(3)", "x = [1]\nf(x)\nassert x == [1, 3]", "passed", "changed its arguments"),
        ("def f(n):\n    yield from range(n)", "assert list(f(4)) == [0, 1, 2, 3]", "passed", ""),
        ("def f(g, x):\n    return g(g(x))", "assert f(lambda x: x * 3, 2) == 18", "passed", ""),
        ("def f():\n    raise KeyError('a')", "f()", "exception", "KeyError: 'a'"),
        ("def f() return", "f()", "syntax error", "SyntaxError"),
        ("def f():\n    return f()", "f()", "exception", "RecursionError"),
        ("def f():\n    return [1] * 10**9", "f()", "memory", "MemoryError"),
        ("def f():\n    return input()", "f()", "exception", "OSError: not readable"),
        ("import os\nos._exit(3)", "f()", "exited early", "exit code 3"),
        ("def f():\n    exit(0)", "f()", "exited early", ""),
        ("import os\ndef f():\n    os.abort()", "f()", "crash", "SIGABRT"),
        ("def f():\n    return object()", "assert f() == 3", "answer not data", ""),
    ],
)  # fmt: skip
def test_outcomes_are_those_of_the_other_levels(
    candidate: str, test: str, kind: str, told: str, judged_inside: Callable[..., Outcome], sandbox: Sandbox
) -> None:
    """Data, mutated arguments, generators, callbacks, exceptions and ends come out as at the best level."""
    outcome = judged_inside(candidate, test)
    assert (outcome.kind, told in outcome.detail) == (kind, True), outcome
    assert sandbox.run(Program("", candidate, test, "f"), AMPLE).kind == kind


def test_time_is_limited_by_cpu_and_by_the_clock(judged_inside: Callable[..., Outcome]) -> None:
    """An endless loop ends by CPU time, a sleep by the clock; both limits are told as they were scaled."""
    loop = judged_inside("def f():\n    while True:\n        pass", "f()", SHORT)
    assert loop.kind == "timeout" and loop.detail.startswith(f"{0.05 * SLOWER:g} s of CPU time")
    limits = Limits(cpu_s=0.05, wall_s=0.2)
    sleep = judged_inside("import time\ndef f():\n    time.sleep(3000)", "f()", limits)
    assert sleep.kind == "timeout" and f"{slower(limits).wall_s:g} s of wall time" in sleep.detail


def test_limits_leave_room_for_a_slower_python() -> None:
    """CPU time is multiplied; the clock grows by more than that, the memory not at all."""
    limits = slower(Limits(10.0, 30.0, 1 << 30))
    assert (limits.cpu_s, limits.memory) == (10.0 * SLOWER, 1 << 30)
    assert limits.wall_s - limits.cpu_s >= 30.0


def test_a_timeout_of_cpu_time_is_not_waited_for_twice() -> None:
    """What took 16 times the limit is judged once; what the clock has ended, once more with nothing beside it."""
    for detail, times in (("160 s of CPU time", 1), ("330 s of wall time", 2)):
        asked: list[Program] = []
        judge = SimpleNamespace(ask=lambda p, _, d=detail, a=asked: (a.append(p), Outcome("timeout", d))[1])
        assert Pool("wasm", [judge], by_the_clock).run(RIGHT, AMPLE).kind == "timeout"
        assert len(asked) == times


def test_memory_is_counted_from_what_is_loaded_before(judged_inside: Callable[..., Outcome]) -> None:
    """A program may use what its limit says, and not much more."""
    limits = Limits(60.0, 300.0, 64 << 20)
    assert judged_inside("def f(n):\n    return len(bytes(n << 20))", "assert f(40) == 40 << 20", limits).passed
    assert judged_inside("def f(n):\n    return len(bytes(n << 20))", "f(80)", limits).kind == "memory"


@pytest.mark.parametrize(
    "calls",
    [
        "@functools.lru_cache(None)\ndef f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2) - f(n - 2) + 1",
        "def f(n):\n    return sum(f(n - 1) for _ in range(1)) + 1 if n else 0",
        "class A:\n    def __init__(self, n):\n        self.x = A(n - 1).x + 1 if n else 0\nf = lambda n: A(n).x",
    ],
)
def test_calls_may_nest_through_c_code(calls: str, judged_inside: Callable[..., Outcome]) -> None:
    """A recursion of 150 calls through C code has the stack that it needs, and large data stays what it was."""
    kept = "kept = list(range(3_000_000))"
    candidate = f"import functools\n{kept}\n{calls}\ndef g():\n    return f(150), kept == list(range(3_000_000))"
    outcome = judged_inside(candidate, "assert (f(150), g()) == (150, (150, True))")
    assert outcome.passed, outcome


def test_what_this_python_lacks_is_no_failure(judged_inside: Callable[..., Outcome]) -> None:
    """numpy is missing: unavailable. A module of the standard library, or threads: refused by the sandbox."""
    numpy = judged_inside("def f(x):\n    import numpy\n    return x", "assert f(1) == 1")
    assert (numpy.kind, "numpy" in numpy.detail) == ("unavailable", True)
    array = judged_inside("def f(x):\n    return x", "import numpy\nassert f(numpy.ones(2)) is None")
    assert (array.kind, "numpy" in array.detail) == ("unavailable", True)
    for candidate in ("import ctypes", "import threading\nthreading.Thread(target=list).start()"):
        assert judged_inside(candidate, "f()").kind == "refused"


def test_a_prelude_that_names_numpy_stops_no_program_that_does_not(
    judged_inside: Callable[..., Outcome], prelude: str
) -> None:
    """The harness imports numpy for all: a program that does not use it runs; one that does is told."""
    plain = "def f(x):\n    return math.floor(x)"
    assert judged_inside(plain, "assert f(2.5) == 2", prelude=prelude).passed
    used = judged_inside("def f(x):\n    return np.floor(x)", "assert f(2.5) == 2", prelude=prelude)
    assert (used.kind, "numpy" in used.detail) == ("unavailable", True)


def test_random_state_and_hashes_are_those_of_the_seed() -> None:
    """Two sandboxes of one seed see the same numbers and orders, one of another seed sees others."""
    if not probe("wasm").available:
        pytest.skip(probe("wasm").reason)
    candidate = "import os, random\ndef f():\n    return random.random(), os.urandom(4).hex(), hash('a')"
    details = []
    for seed in (0, 0, 1):
        with open_sandbox("wasm", jobs=1, seed=seed) as sandbox:
            details += [sandbox.run(Program("", candidate, "assert f() is None", "f"), AMPLE).detail for _ in range(2)]
    assert len(set(details[:4])) == 1 and len(set(details)) == 2


def test_correct_bodies_pass_and_buggy_ones_do_not(
    wasm: Sandbox, rows: Callable[[str], list[dict[str, Any]]], prelude: str
) -> None:
    """All 164 reference solutions and every fourth buggy one get the verdict of the best level, apart and beside."""
    problems = rows("humanevalpack/python.jsonl")
    jobs = [(r, "canonical_solution", same) for i, r in enumerate(problems) for same in (False, i % 4 == 0)]
    jobs += [(r, "buggy_solution", i % 8 == 0) for i, r in enumerate(problems) if i % 4 == 0 and i not in (156, 160)]
    programs = [
        Program(prelude, r["declaration"] + r[field], "\n" + r["test"], r["entry_point"], r["declaration"], same)
        for r, field, same in jobs
    ]
    kinds = [wasm.run(program, AMPLE).kind for program in programs]
    wrong = [
        (r["task_id"], field, same, kind)
        for (r, field, same), kind in zip(jobs, kinds, strict=True)
        if (kind == "passed") != (field == "canonical_solution")
        or kind in ("unavailable", "refused", "crash", "timeout")
    ]
    assert wrong == []
