"""Programs in JavaScript, Java, Go, C++ and Rust: judged as the harness does, confined, and never failed for want of
a compiler."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from leaks import BROKEN, ENDLESS, GREEDY, LEAKS, RIGHT

from engine.benchmarks import open_benchmark
from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import compiled, levels, open_sandbox
from engine.sandbox.helper import Helper
from engine.sandbox.levels import probe
from engine.sandbox.toolchains import TOOLCHAINS, Kit, Ran, ToolchainMissing
from engine.sandbox.toolchains.base import SYSTEM_PATHS

LANGUAGES = ("js", "java", "go", "cpp", "rust")
COMPILED = ("java", "go", "cpp", "rust")
ALL = pytest.mark.parametrize("language", LANGUAGES)
AMPLE = Limits(cpu_s=60.0, wall_s=600.0, memory=1 << 28)
SAMPLE = {"js": (0, 42, 90, 163), "cpp": (0, 42, 90), "rust": (0, 42, 90), "java": (0, 90), "go": (0, 42, 90)}


@pytest.fixture(scope="module")
def judge() -> Iterator[Callable[..., Outcome]]:
    """Judges a text as a whole program of a language; skips where the language cannot be judged here."""
    if not probe("namespaces").available:
        pytest.skip(f"namespaces: {probe('namespaces').reason}")
    opened = open_sandbox(jobs=2, languages=LANGUAGES)

    def run(language: str, text: str, limits: Limits = AMPLE) -> Outcome:
        here(language)
        return opened.run(Program("", text, "", language=language), limits)

    yield run
    opened.close()


def here(language: str) -> Kit:
    """The toolchain as found; the test is skipped where there is none."""
    kit = compiled.found(language)
    if not isinstance(kit, Kit):
        pytest.skip(kit)
    return kit


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A local port that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


def hostile(language: str, planted: Path, listener: socket.socket) -> str:
    """The program that tries everything, against this file and port."""
    return LEAKS[language].replace("@PLANTED@", str(planted)).replace("@PORT@", str(listener.getsockname()[1]))


@ALL
def test_a_program_cannot_reach_out(
    language: str, judge: Callable[..., Outcome], tmp_path: Path, listener: socket.socket
) -> None:
    """Reading a user's file, writing beside it, starting a process and connecting all fail; the control passes."""
    planted = tmp_path / "planted"
    planted.write_text("secret")
    outcome = judge(language, hostile(language, planted, listener))
    assert (outcome.kind, outcome.detail) == ("exception", "leaks:"), outcome
    with pytest.raises(TimeoutError):
        listener.accept()
    assert [place.name for place in tmp_path.iterdir()] == ["planted"]
    assert judge(language, RIGHT[language]).passed


@pytest.mark.parametrize("language", ["js", "cpp", "rust"])
def test_outside_the_sandbox_the_same_program_does_all_of_it(
    language: str, tmp_path: Path, listener: socket.socket
) -> None:
    """The hostile program is a real one: run as a plain process it reads, writes, starts and connects."""
    kit = here(language)
    planted = tmp_path / "planted"
    planted.write_text("secret")
    text = hostile(language, planted, listener)
    recipe = TOOLCHAINS[language].recipe(kit, Program("", text, "", language=language), 1 << 30)
    for name, content in recipe.files.items():
        (tmp_path / name).write_text(content)
    for command in filter(None, (recipe.compile, recipe.run)):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert "leaks: read write process network" in done.stderr


@ALL
def test_an_endless_program_is_a_timeout(language: str, judge: Callable[..., Outcome]) -> None:
    """A loop ends at the CPU limit of the run, which compiling does not use up."""
    outcome = judge(language, ENDLESS[language], Limits(cpu_s=0.3, wall_s=600.0))
    assert (outcome.kind, outcome.detail) == ("timeout", "0.3 s of CPU time"), outcome


@pytest.mark.parametrize("language", list(GREEDY))
def test_a_greedy_program_runs_out_of_memory(language: str, judge: Callable[..., Outcome]) -> None:
    """Memory without end stops at the limit and is told as such."""
    assert judge(language, GREEDY[language], Limits(cpu_s=120, wall_s=600, memory=1 << 26)).kind == "memory"


def test_what_is_built_beforehand_cannot_be_changed(judge: Callable[..., Outcome]) -> None:
    """A Go program sees the build cache and the stand-in for testify, and can write to neither; the next one passes."""
    built = here("go").built
    text = (
        'package main\n\nimport (\n\t"os"\n\t"path/filepath"\n\t"testing"\n)\n\nfunc TestX(t *testing.T) {\n'
        f'\tfound := 0\n\tfor _, place := range []string{{"{built}", "/scratch/cache"}} {{\n'
        "\t\tfilepath.Walk(place, func(path string, info os.FileInfo, err error) error {\n\t\t\tfound++\n"
        "\t\t\tif err == nil && !info.IsDir() {\n\t\t\t\tos.WriteFile(path, []byte{1}, 0644)\n"
        "\t\t\t\tos.Chmod(path, 0)\n\t\t\t}\n\t\t\treturn nil\n\t\t})\n\t}\n"
        '\tif found < 20 {\n\t\tpanic("nothing to be seen")\n\t}\n}\n'
    )
    before = {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in Path(built).rglob("*")}
    assert judge("go", text).passed
    assert {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in Path(built).rglob("*")} == before
    assert judge("go", RIGHT["go"]).passed


@pytest.mark.parametrize("language", COMPILED)
def test_a_compile_error_is_a_syntax_error(language: str, judge: Callable[..., Outcome]) -> None:
    """What does not compile has the compiler's first error as its detail."""
    outcome = judge(language, BROKEN[language])
    assert outcome.kind == "syntax error", outcome
    assert "\n" not in outcome.detail
    assert any(name in outcome.detail for name in ("Main.java:1", "main_test.go:3", "test.cpp:1", "error: ")), outcome


def test_a_script_that_does_not_parse_has_failed(judge: Callable[..., Outcome]) -> None:
    """JavaScript has no compiler of its own; node's message is the detail, and any output is no pass."""
    outcome = judge("js", "function f( {")
    assert outcome.kind == "exception" and outcome.detail.startswith("SyntaxError")
    assert judge("js", "console.log(1)").kind == "failed"
    assert judge("js", "console.assert(1 === 2)").kind == "failed"
    assert judge("js", "process.exit(3)").kind == "exited early"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("cpp", '#include "test.cpp"\n#include "test.cpp"\nint main() {}'),
        ("rust", "fn main(){}\nmacro_rules! a { ($($t:tt)*) => { a!($($t)* $($t)*) } }\na!(x);"),
    ],
)
def test_an_endless_compilation_ends(
    language: str, text: str, judge: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compilers have limits of their own, whatever the program's are."""
    monkeypatch.setattr(compiled, "COMPILE", Limits(cpu_s=1.0, wall_s=10.0, memory=1 << 30))
    outcome = judge(language, text, Limits(cpu_s=100, wall_s=300))
    assert outcome.kind in ("timeout", "memory", "syntax error"), outcome
    compiling = ("1 s of CPU time, compiling", "10 s of wall time, compiling")
    assert outcome.kind != "timeout" or outcome.detail in compiling, outcome


def test_a_fork_bomb_starts_nothing(judge: Callable[..., Outcome]) -> None:
    """Forking in a loop is refused from the first; killing everything reaches nobody."""
    text = "#include <unistd.h>\n#include <signal.h>\n#include <stdio.h>\nint main() { int n = 0;"
    text += " for (int i = 0; i < 100000; i++) { pid_t p = fork(); if (p == 0) for (;;) fork(); n += p > 0; }"
    text += ' kill(-1, 9); kill(1, 9); fprintf(stderr, "%d started\\n", n); return 1; }'
    assert judge("cpp", text).detail == "0 started"


def test_trees_of_processes_end_with_their_command() -> None:
    """What a compiler starts and leaves behind, in sessions of its own, is gone when its time is up."""
    if not probe("namespaces").available:
        pytest.skip(f"namespaces: {probe('namespaces').reason}")
    nap = str(7000 + os.getpid() % 999)  # tells our sleepers from others'
    script = f"for i in 1 2 3; do setsid sh -c 'sleep {nap} & sleep {nap}' & done; sleep {nap}"
    step = {
        "command": ["/bin/sh", "-c", script],
        "cpu": 5,
        "wall": 1,
        "memory": 1 << 30,
        "processes": 64,
        "alone": False,
    }
    helper = Helper("jail", {"seed": 0, "paths": list(SYSTEM_PATHS)})
    try:
        answer = helper.exchange(
            {"files": {}, "links": {}, "steps": [step], "environment": {"PATH": "/usr/bin:/bin"}}, 600
        )
    finally:
        helper.stop()
    assert answer["steps"][0]["why"] == "wall"
    assert not sleeping(nap)


def sleeping(nap: str) -> list[str]:
    """Processes of this machine that run `sleep nap`."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", nap.encode()]:
            found.append(place.parent.name)
    return found


@ALL
def test_reference_bodies_of_the_benchmark(language: str, shared: Path) -> None:
    """Some problems of HumanEvalPack: the correct body passes, the buggy one does not."""
    here(language)
    if not probe("namespaces").available:
        pytest.skip(f"namespaces: {probe('namespaces').reason}")
    path = shared / "data" / "humanevalpack" / f"{language}.jsonl"
    benchmark = open_benchmark(f"humanevalfixtests-{language}", str(path))
    patient = replace(benchmark.limits, cpu_s=300.0, wall_s=1200.0)
    sandbox = open_sandbox(jobs=1, languages=(language,))
    try:
        for number in SAMPLE[language]:
            problem = benchmark.problems[number]
            right, wrong = (
                sandbox.run(benchmark.program(problem, problem.header + body), limits)
                for body, limits in ((problem.canonical, patient), (problem.buggy, benchmark.limits))
            )
            assert right.passed, (problem.task_id, right)
            assert wrong.kind not in ("passed", "unavailable", "syntax error"), (problem.task_id, wrong)
            assert (right.mode, right.level) == (compiled.MODE, compiled.LEVEL)
    finally:
        sandbox.close()


def test_a_missing_toolchain_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler the outcome is unavailable and names the package; so it is without a library."""
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    for name, toolchain in TOOLCHAINS.items():
        with pytest.raises(ToolchainMissing, match="install"):
            toolchain.find()
        monkeypatch.setattr(compiled, "found", lambda language: "g++ is not installed (Debian, Ubuntu: sudo apt ...)")
        outcome = compiled.CompiledJudge(name).ask(Program("", "", "", language=name), AMPLE)
        assert outcome.kind == "unavailable" and "not installed" in outcome.detail


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("js", "const md5 = require('js-md5')"),
        ("cpp", "#include <boost/any.hpp>\nboost::any x;"),
        ("rust", 'use regex::Regex;\nfn f() { Regex::new("a"); }'),
        ("rust", "use rand::Rng;\nfn f() { rand::thread_rng(); }"),
    ],
)
def test_a_library_that_is_not_here_is_no_failure(language: str, text: str) -> None:
    """A program that names a module, header or crate that the harness has and this machine lacks is not judged."""
    bare = Kit("", {"node": "node", "g++": "g++", "rustc": "rustc"})
    with pytest.raises(ToolchainMissing, match="the program"):
        TOOLCHAINS[language].recipe(bare, Program("", text, "", language=language), 1 << 30)


def test_lines_for_libraries_that_nothing_uses_are_left_out() -> None:
    """The harness's own import lines do not make a program depend on a library that it does not use."""
    bare = Kit("", {"g++": "g++", "rustc": "rustc"})
    cpp = TOOLCHAINS["cpp"].recipe(bare, Program("#include<boost/any.hpp>\n#include<map>", "int f;", ""), 1)
    assert "boost" not in cpp.files["test.cpp"] and "-lssl" not in cpp.compile
    uses = "use rand::Rng;\nuse regex::Regex;\nuse md5;\nuse std::any::Any;"
    rust = TOOLCHAINS["rust"].recipe(bare, Program(uses, "// Regex::new, rand::random\nfn f() {}", ""), 1)
    assert "use std" in rust.files["test.rs"] and "use rand" not in rust.files["test.rs"]


def test_other_levels_run_no_compiled_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where namespaces do not work, or another level is asked for, the outcome says so and is no failure."""
    program = Program("", "", "", language="js")
    with_limits: Sandbox = open_sandbox("limits", languages=("js",))
    assert "namespaces only" in with_limits.run(program, AMPLE).detail
    monkeypatch.setattr(levels, "probe", lambda level: levels.Probe(level, False, "not here", "a command"))
    outcome = open_sandbox(languages=("js",)).run(program, AMPLE)
    assert outcome.kind == "unavailable" and "namespaces: not here (try: a command)" in outcome.detail


def test_a_language_that_was_not_named_is_not_run(sandbox: Sandbox) -> None:
    """A sandbox for Python does not take a program of another language for Python."""
    outcome = sandbox.run(Program("", "x = 1", "", language="js"), AMPLE)
    assert outcome.kind == "unavailable" and "'js'" in outcome.detail


def test_versions_are_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another compiler is another identity, for its own language only."""
    monkeypatch.setattr(compiled, "version", lambda language: f"{language} 1")
    told: dict[str, Any] = json.loads(levels.identity(compiled.LEVEL, 0, ("js", "cpp")))
    assert told["toolchains"] == {"js": "js 1", "cpp": "cpp 1"} and told["mode"] == compiled.MODE
    assert "toolchains" not in json.loads(levels.identity("namespaces", 0))


def test_a_kill_from_outside_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that the machine killed (out of memory, say) is run once more."""
    answers = iter([[Ran("ended", -9, "", "", 0.1)], [Ran("ended", 0, "", "", 0.1)]])
    monkeypatch.setattr(compiled, "found", lambda language: Kit("", {"node": "node"}))
    monkeypatch.setattr(compiled.CompiledJudge, "_steps", lambda *_: next(answers))
    assert compiled.CompiledJudge("js").ask(Program("", "", "", language="js"), AMPLE).passed


def test_helpers_start_when_needed() -> None:
    """Opening starts no process; a program starts one helper, however many might run at a time."""
    if not probe("namespaces").available:
        pytest.skip(f"namespaces: {probe('namespaces').reason}")
    before = children()
    sandbox = open_sandbox(jobs=8, languages=("python", "js"))
    assert children() == before
    assert sandbox.run(Program("", "def f(): return 1", "assert f() == 1", "f"), AMPLE).passed
    assert sandbox.run(Program("", "def f(): return 2", "assert f() == 1", "f"), AMPLE).kind == "failed"
    assert len(children() - before) == 1
    sandbox.close()
    assert children() == before


def children() -> set[str]:
    """Processes that this one has started."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
