"""Opening benchmarks: names, data files, every way in which a file can be wrong, problems and programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.benchmarks import hub, known_benchmarks, open_benchmark
from engine.benchmarks.humanevalfix import HARNESS_PRELUDE
from engine.benchmarks.languages import LANGUAGES
from engine.benchmarks.rows import REQUIRED
from engine.errors import BenchmarkError
from engine.protocols import Benchmark

ROW = {
    "task_id": "Python/0", "entry_point": "f", "declaration": "def f():\n", "prompt": 'def f():\n    """F."""\n',
    "buggy_solution": "    return 1\n", "canonical_solution": "    return 2\n", "test": "\ncheck(f)",
}  # fmt: skip
GOOD = json.dumps(ROW).encode()
PYTHON = "humanevalfixtests-python"


def test_names_are_the_harness_s_and_the_embedded_ones() -> None:
    """All six languages in both variants are known, bugfix-mini in both, and the completion tasks."""
    names = known_benchmarks()
    assert len(names) == len(set(names)) == 24
    assert {"humaneval", "humaneval-unstripped", "humanevalplus", "mbpp", "mbppplus", "quixbugs", "custom"} < set(names)
    assert names[:2] == ("bugfix-mini", "bugfix-mini-docs")
    assert {f"humanevalfix{variant}-{language}" for variant in ("tests", "docs") for language in LANGUAGES} < set(names)


def test_unknown_name_is_told_its_nearest_neighbour() -> None:
    """A mistyped name is answered with the name that was probably meant, else with all names."""
    with pytest.raises(BenchmarkError, match="did you mean 'humanevalfixtests-python'"):
        open_benchmark("humanevalfixtest-python")
    with pytest.raises(BenchmarkError, match="expected one of bugfix-mini, "):
        open_benchmark("???")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no rows; expected one JSON object a line"),
        (b"\n  \n", "no rows"),
        (GOOD + b"\n" + GOOD[:40], r"line 2, column \d+: .*; expected one whole JSON object a line"),
        (b"[" * 100_000, "line 1"),
        (b"[1]\n", "line 1: expected a JSON object, found list"),
        (GOOD + b"\n" + GOOD, "line 2: task_id 'Python/0' is already on line 1"),
        (b"\n\xff\xfe{}", r"line 2: byte 1 \(0xff\) is not UTF-8"),
        (json.dumps(ROW).encode("utf-16"), "is not UTF-8"),
        (GOOD.replace(b'"f"', b'"\\ud800"'), "field 'entry_point': holds half of a surrogate pair at character 0"),
        (GOOD.replace(b'"f"', b"7"), "line 1, field 'entry_point': expected text, found int"),
        (GOOD.replace(b'"f"', b'" "'), "line 1, field 'entry_point': empty"),
        (GOOD.replace(b"Python/0", b"Go/0"), "'Go/0' is a problem of go, expected Python/"),
        *(
            (json.dumps({k: v for k, v in ROW.items() if k != field}).encode(), f"line 1, field '{field}': missing")
            for field in REQUIRED
        ),
    ],
)
def test_bad_file_is_one_error_that_names_the_place(tmp_path: Path, content: bytes, said: str) -> None:
    """Whatever is wrong with a file, the error names file and line or field, what was expected and what to do."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(BenchmarkError, match=said) as raised:
        open_benchmark(PYTHON, str(path))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_missing_file_folder_without_the_language_and_huge_file_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that cannot be a benchmark is named with what was expected there."""
    with pytest.raises(BenchmarkError, match=r"nowhere.jsonl: cannot be read \(No such file"):
        open_benchmark(PYTHON, str(tmp_path / "nowhere.jsonl"))
    with pytest.raises(BenchmarkError, match=r"no python file in this folder; expected python.jsonl or"):
        open_benchmark(PYTHON, str(tmp_path))
    monkeypatch.setattr("engine.benchmarks.rows.LARGEST", 10)
    (tmp_path / "large.jsonl").write_bytes(GOOD)
    with pytest.raises(BenchmarkError, match="is no benchmark file"):
        open_benchmark(PYTHON, str(tmp_path / "large.jsonl"))


@pytest.mark.parametrize(
    "layout", ["python.jsonl", "python/data/humanevalpack.jsonl", "data/python/data/humanevalpack.jsonl"]
)
def test_folder_is_searched_in_the_layouts_of_the_public_copies(tmp_path: Path, layout: str) -> None:
    """A folder of plain files, a checkout of octopack's data and one of the hub's repository all open."""
    path = tmp_path / layout
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\xef\xbb\xbf" + GOOD + b"\r\n")
    assert len(open_benchmark(PYTHON, str(tmp_path)).problems) == 1


def test_line_separators_inside_a_string_end_no_row(tmp_path: Path) -> None:
    """Only a newline ends a row: U+2028 and U+0085 inside a text stay in it."""
    row = {**ROW, "docstring": "a\u2028b\u0085c"}
    path = tmp_path / "odd.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    assert open_benchmark(PYTHON, str(path)).problems[0].extra["docstring"] == "a\u2028b\u0085c"


def test_variants_show_tests_or_docs_and_judge_alike(tiny: Benchmark, tmp_path: Path) -> None:
    """With tests, the context ends with them; with docs, it holds the docstring and no tests; the test part is one."""
    docs = open_benchmark("humanevalfixdocs-python", str(tmp_path / "tiny.jsonl"))
    shown, documented = tiny.problems[0], docs.problems[0]
    assert shown.header == "def double(x):\n"
    assert shown.context.endswith("return x * x\n\n\n\ndef check(double):\n    assert double(3) == 6\n\ncheck(double)")
    assert documented.context == documented.header + "    return x * x\n"
    assert '"""Twice x."""' in documented.header
    assert shown.instruction == documented.instruction == "Fix bugs in double."
    assert shown.test == documented.test
    assert tiny.sha256 != docs.sha256


def test_python_program_is_joined_as_in_the_harness(tiny: Benchmark) -> None:
    """Sixteen import lines, the candidate without blank end, then a newline and the test."""
    problem = tiny.problems[0]
    program = tiny.program(problem, "\n\ndef double(x):\n    return x + x\n\n")
    assert program.prelude == HARNESS_PRELUDE
    assert len(program.prelude.splitlines()) == 16
    assert program.prelude.splitlines()[11:14] == ["import numpy", "import numpy as np", "import string"]
    assert program.candidate == "\n\ndef double(x):\n    return x + x"
    assert program.test.startswith("\n\n\ndef check(double)")
    assert (tiny.limits.cpu_s, program.entry_point) == (10, "double")


def test_other_languages_make_programs_of_their_own(tmp_path: Path) -> None:
    """A problem of another language becomes a program of that language, which no Python judge takes."""
    path = tmp_path / "go.jsonl"
    path.write_bytes(GOOD.replace(b"Python/0", b"Go/0"))
    benchmark = open_benchmark("humanevalfixtests-go", str(path))
    program = benchmark.program(benchmark.problems[0], "func f() {}")
    assert (program.language, program.candidate) == ("go", "func f() {}")
    assert benchmark.limits.cpu_s == 20


def test_embedded_benchmark_needs_no_file_and_no_numpy() -> None:
    """bugfix-mini opens from the package in both variants; its import lines are the harness's without numpy."""
    tests, docs = open_benchmark("bugfix-mini"), open_benchmark("bugfix-mini-docs")
    assert [p.task_id for p in tests.problems] == [p.task_id for p in docs.problems]
    assert len(tests.problems) >= 64
    prelude = tests.program(tests.problems[0], "").prelude
    assert [line for line in HARNESS_PRELUDE.splitlines() if "numpy" not in line] == prelude.splitlines()
    assert "numpy" not in prelude
    assert tests.limits.cpu_s == 3
    assert tests.facts()["licence"] == "MIT"
    with pytest.raises(BenchmarkError, match="takes no data file"):
        open_benchmark("bugfix-mini", "somewhere.jsonl")


def test_facts_tell_known_rows_from_others(tiny: Benchmark) -> None:
    """A file that is not HumanEvalPack's is never reported under its name, revision or licence."""
    facts = tiny.facts()
    assert facts["revision"].startswith("unknown")
    assert facts["licence"] == "unknown"
    assert (facts["problems"], facts["variant"], facts["language"]) == (1, "tests", "python")


@pytest.mark.parametrize("language", LANGUAGES)
def test_real_files_have_the_known_hashes(pack: Callable[[str], Benchmark], language: str) -> None:
    """The files at hand are those of the pinned revision, with 164 problems each."""
    benchmark = pack(f"humanevalfixtests-{language}")
    facts = benchmark.facts()
    assert len(benchmark.problems) == 164
    assert facts["file_sha256"] == hub.FILE_HASHES[language]
    assert facts["revision"] == hub.REVISION
