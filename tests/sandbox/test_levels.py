"""Levels of confinement are found by trying them, are told, and never loosen what the machine imposes."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import kernel, levels, open_sandbox, probe_levels, seccomp
from engine.sandbox.child import lower_limit
from engine.sandbox.repeats import flaky, repeated

ROOT = str(Path(__file__).resolve().parents[2])
LIMITS = Limits(cpu_s=60.0, wall_s=300.0)
CONFINED = ("namespaces", "landlock", "sealed")


def test_every_level_is_probed_with_a_reason_or_a_yes() -> None:
    """The probe lists all levels, the best first; one that does not work says why."""
    probes = probe_levels()
    assert list(probes) == ["namespaces", "landlock", "sealed", "wasm", "limits"]
    assert all(p.available or p.reason for p in probes.values())


def test_the_best_level_is_taken_and_told(sandbox: Sandbox) -> None:
    """Without a name, the first level that works is in force, and every outcome says which."""
    best = next(p.level for p in probe_levels().values() if p.available)
    assert sandbox.level == best
    assert sandbox.run(Program("", "def f(): pass", "f()", "f"), LIMITS).level == best


def test_running_unconfined_has_to_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no confinement works, opening fails with the reasons and remedies; it never falls back to limits alone."""
    monkeypatch.setattr(levels, "probe", lambda level: levels.Probe(level, level == "limits", "not here", "a command"))
    with pytest.raises(SandboxUnavailable, match=r"landlock: not here \(try: a command\)"):
        open_sandbox()


def test_an_unknown_level_is_refused() -> None:
    """A misspelt level is an error, not the default."""
    with pytest.raises(SandboxUnavailable, match="namespace'"):
        open_sandbox("namespace")


def test_another_system_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on Linux, opening says so and names the extra that would do; importing works."""
    monkeypatch.setattr(kernel, "supported", lambda: False)
    monkeypatch.setattr(levels, "probe", lambda level: levels.Probe(level, False, "not installed", "a command"))
    with pytest.raises(SandboxUnavailable, match=r"Linux.*; wasm: not installed \(try: a command\)"):
        open_sandbox()


def test_importing_needs_nothing_that_only_linux_has() -> None:
    """Where the modules of Unix are missing, too, opening says what to do."""
    code = (
        f"import sys; sys.path.insert(0, {ROOT!r}); sys.platform = 'win32'\n"
        "for name in ('pwd', 'resource', 'fcntl', 'grp'): sys.modules[name] = None\n"
        "from engine.sandbox import open_sandbox, probe_levels\nfrom engine.errors import SandboxUnavailable\n"
        "assert not any(p.available for p in probe_levels().values())\n"
        "try:\n    open_sandbox()\nexcept SandboxUnavailable as e:\n    print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert "Linux" in done.stdout


@pytest.mark.parametrize("level", CONFINED)
@pytest.mark.parametrize(
    "action",
    [
        "open('/etc/passwd').read()",
        "open('/proc/self/environ').read()",
        f"open({str(Path(__file__))!r}).read()",
        "__import__('os').listdir('/root') or __import__('os').listdir('/home')",
        "__import__('os').mkdir('/tmp/made')",
        "__import__('os').chmod('/tmp', 0o777)",
        "__import__('socket').socket()",
        "__import__('socket').socketpair(type=__import__('socket').SOCK_DGRAM)",
        "__import__('os').fork()",
        "__import__('os').execv('/bin/true', ['true'])",
        "__import__('os').kill(1, 0)",
        "__import__('os').memfd_create('x')",
        "__import__('fcntl').fcntl(0, 8, 1)",
        "__import__('resource').setrlimit(0, (1, 1))",
    ],
)
def test_what_a_candidate_may_not_do(level: str, action: str, at_level: Callable[[str], Sandbox]) -> None:
    """Reading the user's files, writing, sockets, processes and limits are refused, while loading and when called."""
    for candidate in (f"{action}\ndef f():\n    return 1", f"def f():\n    {action}\n    return 1"):
        outcome = at_level(level).run(Program("", candidate, "assert f() == 1", "f"), LIMITS)
        assert outcome.kind in ("refused", "exception"), outcome
        assert "Error" in outcome.detail


@pytest.mark.parametrize("level", CONFINED)
def test_honest_programs_run_at_every_level(level: str, at_level: Callable[[str], Sandbox]) -> None:
    """Imports at the top and inside functions, numpy, threads, time zones: the same outcome at each level."""
    candidate = (
        "import numpy.linalg, zoneinfo, threading\nfrom xml.etree import ElementTree\n"
        "def f(x):\n    import sqlite3, csv\n    t = threading.Thread(target=list)\n    t.start()\n    t.join()\n"
        "    return float(numpy.linalg.det(numpy.eye(2))) + len(ElementTree.fromstring('<a/>'))"
    )
    outcome = at_level(level).run(Program("", candidate, "assert f(1) == 1.0", "f"), LIMITS)
    assert outcome.passed, outcome


def test_a_package_that_no_text_names_is_at_hand_all_the_same(sandbox: Sandbox) -> None:
    """Programs whose texts do not name numpy run where it is not loaded; one that imports it by another way gets it."""
    candidate = "def f():\n    return __import__('num' + 'py').arange(3).sum()"
    outcome = sandbox.run(Program("", candidate, "assert f() == 3", "f"), LIMITS)
    assert outcome.passed, outcome


def test_installed_packages_are_not_at_hand(sandbox: Sandbox) -> None:
    """Only the standard library and numpy can be imported, whatever else is installed here."""
    outcome = sandbox.run(Program("", "import pytest\ndef f(): pass", "f()", "f"), LIMITS)
    assert outcome.detail == "ModuleNotFoundError: No module named 'pytest'"


def test_no_limit_is_raised_above_the_inherited_one() -> None:
    """Under a lower hard limit, the lower one stays, and programs still run."""
    code = (
        f"import sys, resource; sys.path.insert(0, {ROOT!r}); resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (500, 500))\n"
        "from engine.sandbox import open_sandbox; from engine.protocols import *\n"
        "s = open_sandbox(jobs=1)\n"
        "p = Program('', 'import resource\\ndef f():\\n    return [resource.getrlimit(x) for x in (7, 0)]', "
        "'assert f() == [(48, 48), (500, 500)]', 'f')\n"
        "print(s.run(p, Limits(cpu_s=1000.0)))\ns.close()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert "kind='passed'" in done.stdout, done.stdout + done.stderr[-1000:]


def test_lowering_a_limit_keeps_what_is_lower() -> None:
    """A wanted value above the hard limit becomes the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    code = (
        f"import sys, resource; sys.path.insert(0, {ROOT!r}); from engine.sandbox.child import lower_limit as l\n"
        "r = resource.RLIMIT_NOFILE; l(r, 50); l(r, 90); print(resource.getrlimit(r))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.strip() == "(50, 50)" and callable(lower_limit) and resource.getrlimit(4)[1] == hard


def test_identity_holds_what_may_change_an_outcome(sandbox: Sandbox) -> None:
    """Python, packages, level, mode, protocol and seed are in the identity; another seed is another identity."""
    told = json.loads(sandbox.identity)
    assert told["python"][1] == platform.python_version() and told["packages"].keys() == {"numpy"}
    assert told["level"] == sandbox.level and told["mode"] == "split" and told["protocol"] and told["seed"] == 0
    assert levels.identity(sandbox.level, 1) != levels.identity(sandbox.level, 0)


def test_programs_that_depend_on_the_seed_are_listed(sandbox: Sandbox) -> None:
    """Repeats with other seeds list the programs whose outcome changes, and only those."""
    steady = Program("", "def f():\n    return 1", "assert f() == 1", "f")
    unsteady = Program("", "def f():\n    return list({'a', 'b', 'c', 'd', 'e'})", "assert f()[0] < f()[-1]", "f")
    jobs = [(steady, LIMITS), (unsteady, LIMITS)]
    outcomes = repeated(jobs, range(6), lambda seed: open_sandbox(jobs=1, seed=seed))
    assert [flaky(one.kind for one in by_seed.values()) for by_seed in outcomes] == [False, True]
    assert [list(by_seed) for by_seed in outcomes] == [list(range(6))] * 2


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filters_are_well_formed(machine: str) -> None:
    """Every jump of every filter lands inside it, and every way through ends in an answer."""
    for program in (
        seccomp.server_filter(machine), seccomp.child_filter(machine, 42), seccomp.seal_filter(machine),
        seccomp.toolchain_filter(machine),
    ):  # fmt: skip
        assert len(program) < 4096
        assert program[-1][0] == 0x06
        for place, (code, yes, no, _) in enumerate(program):
            assert code == 0x06 or place + 1 + max(yes, no) < len(program)


def test_a_timeout_is_judged_again_alone(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> None:
    """The second outcome counts, and no other program runs beside it."""
    from engine.sandbox import pool

    seen: list[str] = []
    made = pool.Pool.__new__(pool.Pool)
    made._alone = pool._Turns()
    made._again = lambda outcome: True
    answers = iter([Outcome("timeout"), Outcome("passed")])

    def run(program: Program, limits: Limits) -> Outcome:
        seen.append(f"{made._alone._sharing} sharing, {made._alone._waiting} alone")
        return next(answers)

    monkeypatch.setattr(made, "_run", run, raising=False)
    assert made.run(Program("", "", ""), LIMITS).passed
    assert seen == ["1 sharing, 0 alone", "1 sharing, 1 alone"]


def test_a_late_import_that_the_seal_stops_is_no_failure(at_level: Callable[[str], Sandbox]) -> None:
    """At the sealed level, a module named only at run time cannot be loaded; the outcome says refused."""
    candidate = "import importlib\ndef f(x):\n    return importlib.import_module('wave').__name__"
    outcome = at_level("sealed").run(Program("", candidate, "assert f(1) == 'wave'", "f"), LIMITS)
    assert outcome.kind == "refused" and "wave" in outcome.detail
