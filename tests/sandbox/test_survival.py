"""Helper processes may die at any time: no outcome is lost or wrong, and nothing keeps running."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import open_sandbox

LIMITS = Limits(cpu_s=60.0, wall_s=1200.0)
TEST = "for i in range(20):\n    assert f(i) == i * i"
RIGHT = Program("", "def f(x):\n    return x * x", TEST, "f")
WRONG = Program("", "def f(x):\n    return x + x", TEST, "f")
SLEEPS = Program("", "import time\ndef f(x):\n    time.sleep(3000)", "f(1)", "f")


def descendants(of: int) -> list[int]:
    """Processes below one, zombies left out."""
    parents = {}
    for entry in [place.name for place in Path("/proc").iterdir()]:
        if entry.isdigit():
            with contextlib.suppress(OSError):
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents[int(entry)] = int(fields[1])
    found, grown = {of}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return sorted(found - {of})


def helpers_of(pid: int, wanted: int, seconds: float = 120.0) -> list[int]:
    """The processes below one, once there are that many."""
    until = time.monotonic() + seconds
    while len(found := descendants(pid)) < wanted and time.monotonic() < until:
        time.sleep(0.02)
    assert len(found) >= wanted
    return found


def gone(lives: set[tuple[int, str]], seconds: float = 120.0) -> bool:
    """True once none of the processes runs."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not lives & lives_of([pid for pid, _ in lives]):
            return True
        time.sleep(0.02)
    return False


def lives_of(pids: list[int]) -> set[tuple[int, str]]:
    """Of each process that is there, zombies left out, its id and its birth: an id may come to be another's."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                found.add((pid, fields[19]))
    return found


def fresh(level: str | None = None, jobs: int = 2) -> Sandbox:
    """A sandbox of the test's own."""
    try:
        return open_sandbox(level, jobs)
    except SandboxUnavailable as e:
        pytest.skip(str(e))


STREAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
from concurrent.futures import ThreadPoolExecutor
from engine.protocols import Limits, Program
from engine.sandbox import open_sandbox
level, kept, count = sys.argv[2], sys.argv[3], int(sys.argv[4])
test = "for i in range(20):\\n    assert f(i) == i * i"
done = {int(line.split()[0]) for line in open(kept) if line.endswith("\\n")}
out = os.open(kept, os.O_WRONLY | os.O_APPEND)
sandbox = open_sandbox(level, jobs=2)
def judge(i):
    slow = "import time; time.sleep(1)" if i % 50 == 5 else ""
    program = Program("", f"{slow}\\ndef f(x):\\n    return x {'*' if i % 3 else '+'} x", test, "f")
    os.write(out, f"{i} {sandbox.run(program, Limits(cpu_s=60.0, wall_s=600.0)).kind}\\n".encode())
with ThreadPoolExecutor(2) as threads:
    list(threads.map(judge, [i for i in range(count) if i not in done]))
sandbox.close()
"""
"""Judges programs and keeps each outcome as the engine's worker does; started again, it judges what is missing."""

KINDS = ("judge", "fork server", "child", "worker")


@pytest.mark.parametrize(("level", "count"), [("namespaces", 2000), ("landlock", 600)])
def test_killed_processes_lose_no_outcome(level: str, count: int, tmp_path: Path) -> None:
    """Judges, fork servers, children and the worker itself are killed at random during a stream of programs: no
    outcome is lost, none is wrong, nothing keeps running."""
    fresh(level).close()
    kept, choice, killed = tmp_path / "outcomes", random.Random(7), dict.fromkeys(KINDS, 0)
    kept.touch()
    command = [sys.executable, "-c", STREAM, str(Path(__file__).resolve().parents[2]), level, str(kept), str(count)]
    seen: set[tuple[int, str]] = set()
    for _ in range(12):
        due = len(kept.read_text().splitlines())
        with subprocess.Popen(command) as worker:
            worker_dies = killed["worker"] < 2
            # By progress, not by the clock: as many deaths on a fast machine as on a slow one.
            for step in itertools.count(1):
                due += choice.randint(count // 50, count // 20)
                while worker.poll() is None and len(kept.read_text().splitlines()) < due:
                    seen |= lives_of(descendants(worker.pid))
                    time.sleep(0.02)
                if worker.poll() is not None:
                    break
                kind = "worker" if worker_dies and step > 4 else KINDS[step % 3]
                victims = [worker.pid] if kind == "worker" else []
                for _ in range(50):
                    victims = victims or of_kind(worker.pid, kind, level)
                if victims:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(choice.choice(victims), signal.SIGKILL)
                        killed[kind] += 1
            if worker.returncode == 0:
                break
    rows = [line.split(maxsplit=1) for line in kept.read_text().splitlines()]
    assert min(killed.values()) >= 2, killed
    assert sorted({int(row[0]) for row in rows}) == list(range(count))
    assert [row for row in rows if row[1] != ("passed" if int(row[0]) % 3 else "failed")] == []
    assert gone(seen)


def of_kind(host: int, kind: str, level: str) -> list[int]:
    """The judges, fork servers or children below a process."""
    found = []
    for pid in descendants(host):
        with contextlib.suppress(OSError):
            line = [pid]  # this process and those above it, up to the judge
            while b"import judge" not in Path(f"/proc/{line[-1]}/cmdline").read_bytes():
                line.append(int(Path(f"/proc/{line[-1]}/stat").read_text().rpartition(")")[2].split()[1]))
            # In namespaces, a fork server has a process that stays outside above it.
            child = len(line) == (4 if level == "namespaces" else 3)
            if kind == ("judge" if len(line) == 1 else "child" if child else "fork server"):
                found.append(pid)
    return found


def test_closing_ends_what_runs() -> None:
    """Closing in the middle of a program ends every helper; the program's outcome is unavailable, not a failure."""
    before = descendants(os.getpid())
    sandbox = fresh()
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(sandbox.run(SLEEPS, LIMITS)))
    thread.start()
    helpers = lives_of([pid for pid in helpers_of(os.getpid(), len(before) + 3) if pid not in before])
    sandbox.close()
    thread.join(120)
    assert [o.kind for o in outcomes] == ["unavailable"]
    assert helpers and gone(helpers)
    assert sandbox.run(RIGHT, LIMITS).kind == "unavailable"


def test_nothing_outlives_the_program_that_opened_the_sandbox() -> None:
    """A host that is killed in the middle of a program leaves no helper behind, however long that program may take."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from engine.sandbox import open_sandbox\nfrom engine.protocols import Limits, Program\n"
        "s = open_sandbox(jobs=1)\nprint('open', flush=True)\n"
        "s.run(Program('', 'import time\\ndef f():\\n    time.sleep(3000)', 'f()', 'f'), Limits(wall_s=3000.0))\n"
    )
    fresh(jobs=1).close()
    root = str(Path(__file__).resolve().parents[2])
    with subprocess.Popen([sys.executable, "-c", code, root], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None and host.stdout.readline() == b"open\n"
        helpers = lives_of(helpers_of(host.pid, 3))
        host.kill()
        assert gone(helpers)


STARTS = """
import os, time
def started(own_session, twice):
    told, tell = os.pipe()
    if os.fork() == 0:
        if own_session:
            os.setsid()
        if twice and os.fork():
            os._exit(0)
        os.write(tell, str(os.getpid()).encode())
        time.sleep(3000)
        os._exit(0)
    return int(os.read(told, 20))
def f():
    pids = [started(session, twice) for session in (False, True) for twice in (False, True)]
    for pid in pids:
        os.kill(pid, 0)
    return len(pids)
"""
"""Starts four processes that outlive it: in its session or one of their own, its children or orphans."""


def test_what_a_program_starts_ends_with_it_where_nothing_keeps_it_from_starting_any() -> None:
    """At the level limits, processes that a program starts run, and none is left when its outcome is there."""
    sandbox = fresh("limits", jobs=1)
    try:
        assert sandbox.run(RIGHT, LIMITS).passed
        helpers = descendants(os.getpid())
        outcome = sandbox.run(Program("", STARTS, "assert f() == 4", "f"), LIMITS)
        left = descendants(os.getpid())
        assert outcome.passed, outcome
        assert left == helpers
    finally:
        sandbox.close()


def test_many_programs_leave_memory_and_processes_as_they_were() -> None:
    """After many programs, the helpers are the same and have not grown."""
    sandbox = fresh(jobs=1)
    big = Program(
        "", "def f(x):\n    return list(range(20000))", "for i in range(3):\n    assert f(i)[-1] == 19999", "f"
    )
    for program in (RIGHT, big, WRONG) * 10:
        sandbox.run(program, LIMITS)
    helpers = descendants(os.getpid())
    before = sum(resident(pid) for pid in helpers)
    for program in (RIGHT, big, WRONG) * 60:
        sandbox.run(program, LIMITS)
    assert descendants(os.getpid()) == helpers
    assert sum(resident(pid) for pid in helpers) - before < 8 << 20
    sandbox.close()


def resident(pid: int) -> int:
    """Bytes of memory in use."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_several_threads_share_a_sandbox(sandbox: Sandbox) -> None:
    """More threads than judges: each gets the outcome of its own program."""
    programs = [Program("", f"def f():\n    return {i}", f"assert f() == {i if i % 2 else -1}", "f") for i in range(60)]
    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(lambda program: sandbox.run(program, LIMITS), programs))
    assert [o.passed for o in outcomes] == [bool(i % 2) for i in range(60)]
