"""Hostile programs written against this design: its wire format, handles, descriptors, inherited memory and ends.

Each is a wrong `add` that tries to be judged right. None may pass, and the right program that follows must.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.protocols import Limits, Program, Sandbox

LIMITS = Limits(cpu_s=1.0, wall_s=6.0, memory=1 << 29)
TEST = (
    "def check(add):\n    assert add(1, 2) == 3\n    assert add(-1, 1) == 0\n    assert add(2.5, 0.25) == 2.75\n"
    "    assert add('ab', 'cd') == 'abcd'\n    assert add([1], [2]) == [1, 2]\ncheck(add)"
)
AMPLE = Limits(cpu_s=60.0, wall_s=300.0, memory=1 << 29)
RIGHT = Program("", "def add(a, b):\n    return a + b", TEST, "add")


def read() -> dict[str, str]:
    """name -> program, from the text file beside this one; its first block is what the others begin with on demand."""
    blocks = Path(__file__).with_name("hostile_programs.txt").read_text().split("==== ")[1:]
    programs = dict(block.split("\n", 1) for block in blocks)
    find = programs.pop(next(iter(programs)))
    return {name: text.replace("#find\n", find, 1) for name, text in programs.items()}


PROGRAMS = read()


@pytest.mark.parametrize("level", ["namespaces", "landlock", "sealed"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_program_does_not_pass(level: str, name: str, at_level: Callable[[str], Sandbox]) -> None:
    """Whatever it tries, the outcome is no pass, is an outcome, and the next right program passes."""
    outcome = at_level(level).run(Program("", PROGRAMS[name], TEST, "add"), LIMITS)
    assert outcome.kind not in ("passed", "unavailable"), outcome
    assert outcome.mode == "split"
    assert at_level(level).run(RIGHT, AMPLE).passed


@pytest.mark.parametrize("level", ["namespaces", "landlock", "sealed"])
def test_a_child_has_its_channel_and_nothing_else(level: str, at_level: Callable[[str], Sandbox]) -> None:
    """Of the descriptors, only the channel and the null device are open in a candidate's process."""
    candidate = (
        "import os, stat\ndef f():\n    modes = [mode(fd) for fd in range(64)]\n"
        "    return [stat.S_ISSOCK(m) for m in modes].count(True), len(modes) - modes.count(0)\n"
        "def mode(fd):\n    try: return os.fstat(fd).st_mode\n    except OSError: return 0"
    )
    outcome = at_level(level).run(Program("", candidate, "assert f() == (1, 4), f()", "f"), AMPLE)
    assert outcome.passed, outcome


def test_a_child_finds_nothing_of_the_tests_or_of_earlier_programs(at_level: Callable[[str], Sandbox]) -> None:
    """Neither the tests nor an earlier candidate is anywhere in a child's memory."""
    head, tail = "SECRETOF", "THETESTS"
    sandbox, limits = at_level("namespaces"), Limits(cpu_s=200.0, wall_s=600.0)
    test = f"'{head}{tail}'\nassert f(1) == 1"
    sandbox.run(Program("", f"x = '{head}{tail}'\ndef f(x): return x", test, "f"), limits)
    # The whole word is nowhere in the text that looks for it.
    candidate = (
        "import ctypes, gc, os\nlibc = ctypes.CDLL(None)\nvector = ctypes.create_string_buffer(1)\n"
        "out, into = os.pipe()\n"  # a page that cannot be read is an error of `write`, not the end
        "def mapped(page): return libc.mincore(ctypes.c_void_p(page), ctypes.c_size_t(4096), vector) == 0\n"
        "def found(page):\n    size = libc.write(into, ctypes.c_void_p(page), ctypes.c_size_t(4096 + 16))\n"
        "    data = os.read(out, size) if size > 0 else b''\n    at = data.find(b'" + head + "')\n"
        "    return at >= 0 and data[at + 8 : at + 16][::-1] == b'" + tail[::-1] + "'\n"
        "def f(x):\n    tracked = gc.get_objects()\n"
        "    starts = {id(o) & ~0xFFFFF for o in [*tracked, *gc.get_referents(*tracked)]}\n"
        "    starts |= {s + d for s in starts for d in (-0x100000, 0x100000)}\n"
        "    pages = [p for s in starts for p in range(s, s + 0x100000, 0x1000) if mapped(p)]\n"
        "    return len(pages) > 1000 and sum(map(found, pages))\n"
    )
    control = f"{candidate}kept = '{head}{tail}'\n"
    finds = sandbox.run(Program("", control, "assert f(1) > 0", "f"), limits)
    assert finds.passed, finds
    outcome = sandbox.run(
        Program("", candidate, f"'{head}{tail}'\nassert f(1) == 0 and f(1) is not False", "f"), limits
    )
    assert outcome.passed, outcome
