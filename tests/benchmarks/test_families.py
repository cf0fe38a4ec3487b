"""HumanEval, MBPP, their plus versions, QuixBugs and a user's own benchmark: files, prompts, programs."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.benchmarks import open_benchmark
from engine.benchmarks.evalplus import conversion
from engine.benchmarks.reference import reference_check
from engine.errors import BenchmarkError, TemplateError
from engine.prompts import render, stop_words
from engine.protocols import Benchmark
from engine.sandbox import open_sandbox, probe_levels

HUMANEVAL = {
    "task_id": "HumanEval/0", "entry_point": "twice", "prompt": '\ndef twice(x):\n    """Twice x."""\n',
    "canonical_solution": "    return x + x\n", "test": "def check(candidate):\n    assert candidate(3) == 6\n",
}  # fmt: skip
MBPP = {
    "task_id": 11, "text": "Write a function.", "code": "def twice(x):\n    return x + x", "test_setup_code": "k = 3",
    "test_list": ["assert twice(k) == 6", "assert twice(0) == 0"],
}  # fmt: skip
PLUS = {
    "task_id": "HumanEval/0", "entry_point": "twice", "prompt": 'def twice(x):\n    """Twice x."""\n',
    "canonical_solution": "    return x + x\n", "base_input": [[3]], "plus_input": [[0.1], [-1]], "atol": 0,
}  # fmt: skip


def opened(tmp_path: Path, name: str, *rows: dict[str, Any]) -> Benchmark:
    """The benchmark of that name over these rows."""
    path = tmp_path / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return open_benchmark(name, str(path))


def test_humaneval_asks_and_judges_as_the_harness(tmp_path: Path) -> None:
    """The prompt is stripped at both ends unless unstripped; candidate, test and check call make the program."""
    stripped, kept = opened(tmp_path, "humaneval", HUMANEVAL), opened(tmp_path, "humaneval-unstripped", HUMANEVAL)
    assert render("completion", stripped, stripped.problems[0]) == 'def twice(x):\n    """Twice x."""'
    assert render("completion", kept, kept.problems[0]) == HUMANEVAL["prompt"]
    program = stripped.program(stripped.problems[0], "candidate  ")
    assert (program.prelude, program.candidate) == ("", "candidate  ")
    assert program.test == "\ndef check(candidate):\n    assert candidate(3) == 6\n\ncheck(twice)"
    assert stripped.limits.cpu_s == 3
    assert stripped.sha256 != kept.sha256


def test_stop_words_of_completion_tasks_are_the_task_s_and_the_eos_token(tmp_path: Path) -> None:
    """Unlike for HumanEvalPack, no end-of-text mark is added that is not the tokenizer's."""
    words = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>")
    benchmark = opened(tmp_path, "humaneval", HUMANEVAL)
    assert stop_words(benchmark, "completion") == words
    assert stop_words(benchmark, "completion", "</s>") == (*words, "</s>")


def test_templates_of_fixing_and_of_completion_do_not_mix(tmp_path: Path, tiny: Benchmark) -> None:
    """An instruction template for HumanEval, or the completion prompt for a fix, is an error that says what fits."""
    benchmark = opened(tmp_path, "humaneval", HUMANEVAL)
    with pytest.raises(TemplateError, match=r"humaneval is a completion task, .* choose 'completion'"):
        render("instruct", benchmark, benchmark.problems[0])
    with pytest.raises(TemplateError, match="asks for a fix"):
        render("completion", tiny, tiny.problems[0])


def test_gzip_is_read_and_a_broken_one_is_an_error(tmp_path: Path) -> None:
    """HumanEval's own .jsonl.gz opens as it is; one that is cut short is named."""
    whole = gzip.compress(json.dumps(HUMANEVAL).encode())
    path = tmp_path / "HumanEval.jsonl.gz"
    path.write_bytes(whole)
    assert len(open_benchmark("humaneval", str(path)).problems) == 1
    path.write_bytes(whole[:-12])
    with pytest.raises(BenchmarkError, match="cut short"):
        open_benchmark("humaneval", str(path))


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("humaneval", {**HUMANEVAL, "test": 1}, "line 1, field 'test': expected text, found int"),
        ("humaneval", MBPP, "field 'task_id': expected text, found int"),
        ("mbpp-full", HUMANEVAL, "field 'code': missing"),
        ("mbpp-full", {**MBPP, "test_list": []}, "task_id 11: expected a sentence"),
        ("mbpp", MBPP, "1 rows with task ids 11 to 510, expected all 500"),
        ("mbppplus", HUMANEVAL, "field 'base_input': missing"),
        ("humanevalplus", {k: v for k, v in HUMANEVAL.items() if k != "test"}, "field 'test': missing or of another"),
        ("quixbugs", {"name": "f", "buggy": "x = 1", "correct": "", "cases": [[[1], 2]]}, "no function of that name"),
        ("quixbugs", {"name": "f", "buggy": "", "correct": "", "cases": None}, "no row has cases"),
        ("custom", {**HUMANEVAL, "timeout": -1}, "field 'timeout': -1 is not between"),
        (
            "custom",
            {k: v for k, v in HUMANEVAL.items() if k != "prompt"},
            "line 1, field 'prompt': missing; a completion",
        ),
        ("custom", {**HUMANEVAL, "timeuot": 3}, "line 1, field 'timeuot': unknown, and close to 'timeout'"),
        ("custom", {**HUMANEVAL, "timeout": True}, "line 1, field 'timeout': found bool, expected a number"),
        ("mbpp", {**MBPP, "task_id": "Mbpp/x"}, "0 rows with task ids 11 to 510"),
        ("custom", {**HUMANEVAL, "timeout": "3"}, "line 1, field 'timeout': found str, expected a number"),
        ("custom", {**HUMANEVAL, "stop_words": [""]}, "field 'stop_words': expected a list of texts"),
    ],
)
def test_file_of_another_shape_is_one_error(tmp_path: Path, name: str, row: dict[str, Any], said: str) -> None:
    """Whatever does not fit is named with its place and what was expected."""
    with pytest.raises(BenchmarkError, match=said):
        opened(tmp_path, name, row)


def test_parquet_file_by_path_opens_like_json_lines(tmp_path: Path) -> None:
    """A file saved from the hub is read as it is; errors name the row."""
    kept = json.loads((Path(__file__).parent / "parquet_files.json").read_text(encoding="utf-8"))["files"]
    path = tmp_path / "test-00000-of-00001.parquet"
    path.write_bytes(base64.b64decode(kept["humaneval"]["base64"]))
    assert len(open_benchmark("humaneval", str(path)).problems) == 3
    with pytest.raises(BenchmarkError, match=r"parquet, row 1, field 'task_id': expected text, found int"):
        path.write_bytes(base64.b64decode(kept["mbppplus"]["base64"]))
        open_benchmark("humaneval", str(path))


def test_mbpp_shows_one_test_and_leaves_the_set_up_to_the_larger_sets(tmp_path: Path) -> None:
    """The prompt is a docstring with sentence and first test; the harness's own task runs no set-up code."""
    rows = [{**MBPP, "task_id": number} for number in range(1, 600)]
    test_split, full = opened(tmp_path, "mbpp", *rows), opened(tmp_path, "mbpp-full", *rows)
    assert (len(test_split.problems), len(full.problems)) == (500, 599)
    problem = test_split.problems[0]
    assert render("completion", test_split, problem) == '"""\nWrite a function.\nassert twice(k) == 6\n"""\n'
    assert (problem.task_id, problem.entry_point) == ("Mbpp/11", "twice")
    assert problem.test == "assert twice(k) == 6\nassert twice(0) == 0"
    assert full.problems[0].test.startswith("k = 3\n")
    assert "k" in problem.flaw
    assert full.problems[0].flaw == ""


def test_the_full_file_is_not_the_sanitized_part(tmp_path: Path) -> None:
    """More rows than the sanitized part has are MBPP's full file: its score would not be one of 427."""
    rows = [{**MBPP, "task_id": number} for number in range(1, 429)]
    assert len(opened(tmp_path, "mbpp-sanitized", *rows[:427]).problems) == 427
    with pytest.raises(BenchmarkError, match="428 rows, but MBPP's sanitized part has 427"):
        opened(tmp_path, "mbpp-sanitized", *rows)


def test_chat_turn_of_a_completion_task_asks_for_a_script(tmp_path: Path) -> None:
    """The chat template gets EvalPlus's request with the prompt in a fence."""
    problem = opened(tmp_path, "humaneval", HUMANEVAL).problems[0]
    assert problem.instruction.startswith("Please provide a self-contained Python script")
    assert problem.context == '```\ndef twice(x):\n    """Twice x."""\n```\n'


def test_both_shapes_of_humaneval_plus_are_read(tmp_path: Path) -> None:
    """EvalPlus's inputs become a comparison, the hub's tests stay tests."""
    assert "base input 0" in opened(tmp_path, "humanevalplus", PLUS).problems[0].test
    assert opened(tmp_path, "humanevalplus", HUMANEVAL).problems[0].test.endswith("check(twice)")


@pytest.mark.parametrize(
    ("task_id", "given", "made"),
    [
        ("Mbpp/2", [[1], [2]], [(1,), (2,)]),
        ("Mbpp/63", [[[1, 2]]], [[(1, 2)]]),
        ("Mbpp/75", [[[1]], 5], [[(1,)], 5]),
        ("Mbpp/106", [[1], [2]], [[1], (2,)]),
        ("Mbpp/115", [[[1], []]], [[{1}, {}]]),
        ("Mbpp/124", [1, "2j"], [1.0, 2j]),
        ("Mbpp/307", [[1], 2, 3], [(1,), 2, 3]),
        ("Mbpp/259", [[[1]]], [((1,),)]),
        ("Mbpp/278", [[1, [2]]], [(1, (2,))]),
        ("Mbpp/722", [{"a": [1]}, 2], [{"a": (1,)}, 2]),
        ("Mbpp/580", [[1, [2]]], [(1, (2,))]),
        ("Mbpp/3", [[1]], [[1]]),
    ],
)
def test_inputs_become_the_types_that_json_has_not(task_id: str, given: list[Any], made: list[Any]) -> None:
    """MBPP+ writes tuples, sets and complex numbers as lists and texts; which is which depends on the problem."""
    assert list(conversion(task_id)(given)) == made


def test_own_benchmark_may_be_completion_or_fixing(tmp_path: Path) -> None:
    """The documented fields: time limit, stop words, set-up; HumanEval's check is called where the test does not."""
    row = {**HUMANEVAL, "timeout": 2, "stop_words": ["\nend"], "setup": "import math", "licence": "mine"}
    own = opened(tmp_path, "custom", row)
    assert (own.limits.cpu_s, own.stop_words, own.facts()["licence"]) == (2, ("\nend",), "mine")
    assert own.program(own.problems[0], "").prelude == "import math"
    assert own.problems[0].test.endswith("check(twice)")
    fix = opened(tmp_path, "custom", {**row, "declaration": "def twice(x):\n", "buggy_solution": "    return x\n"})
    assert (fix.problems[0].prompt, fix.problems[0].instruction) == ("", "Fix bugs in twice.")
    assert fix.limits.cpu_s == 2


def test_bad_line_of_an_own_benchmark_is_named_with_file_line_and_field(tmp_path: Path) -> None:
    """Whatever line it is on, blank lines counted; a setting in a later row, which nobody would read, is refused."""
    path = tmp_path / "own.jsonl"
    later = {**HUMANEVAL, "task_id": "HumanEval/1"}
    for bad, said in (
        (
            {k: v for k, v in later.items() if k != "prompt"},
            "field 'prompt': missing; a completion task needs it as text",
        ),
        ({**later, "prompt": 3}, "field 'prompt': found int; a completion task"),
        ({**later, "timeout": 3}, "field 'timeout': is read from the first row only, for all: move it there"),
        ({**later, "test": None}, "field 'test': expected text, found NoneType"),
    ):
        path.write_text(f"{json.dumps(HUMANEVAL)}\n\n{json.dumps(bad)}\n", encoding="utf-8")
        with pytest.raises(BenchmarkError) as raised:
            open_benchmark("custom", str(path))
        assert str(raised.value).startswith(f"{path}, line 3, {said}"), raised.value


DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def test_documented_examples_are_benchmarks_that_hold(tmp_path: Path) -> None:
    """Copied out of the documentation as they stand, both open, and their own reference programs behave."""
    if not any(p.available for p in probe_levels().values() if p.level != "limits"):
        pytest.skip("no level of confinement works on this machine")
    examples = re.findall(r"```jsonl\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 2
    sandbox = open_sandbox(jobs=1)
    try:
        for text in examples:
            path = tmp_path / "own.jsonl"
            path.write_text(text, encoding="utf-8")
            benchmark = open_benchmark("custom", str(path))
            found = reference_check(benchmark, sandbox)
            assert (found.problems, found.correct, found.buggy) == (2, 2, 2)
    finally:
        sandbox.close()
