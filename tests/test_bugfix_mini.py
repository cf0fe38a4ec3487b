"""Shape checks for the embedded bug-fixing benchmark; running its programs is covered by the sandbox tests."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

DATA_FILE = Path(__file__).resolve().parents[1] / "engine" / "benchmarks" / "data" / "bugfix_mini.jsonl"

TEXT_FIELDS = frozenset(
    {
        "task_id",
        "prompt",
        "canonical_solution",
        "test",
        "text",
        "declaration",
        "example_test",
        "buggy_solution",
        "bug_type",
        "failure_symptoms",
        "entry_point",
        "signature",
        "docstring",
        "instruction",
    }
)
BUG_TYPES = frozenset(
    {"value misuse", "missing logic", "excess logic", "operator misuse", "variable misuse", "function misuse"}
)
# Characters stand in for tokens here: short code runs at about three characters a token.
MAX_CONTEXT_CHARS = 500
MAX_MEAN_CONTEXT_CHARS = 300
MAX_MEAN_BODY_CHARS = 90


def load_rows() -> list[dict[str, Any]]:
    """Parse the data file as strict UTF-8 JSON lines."""
    text = DATA_FILE.read_bytes().decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def assert_indented_body(body: str) -> None:
    """Fail unless the text is a function body: every line indented, one final newline."""
    assert body.endswith("\n") and not body.endswith("\n\n")
    assert all(line.startswith("    ") for line in body.splitlines())


def check_calls(test: str) -> list[ast.stmt]:
    """Return the statements inside the check function of a test."""
    tree = ast.parse(test)
    assert len(tree.body) == 2
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef) and function.name == "check"
    return function.body


def test_file_has_at_least_sixty_four_rows() -> None:
    """The benchmark holds no fewer than 64 problems."""
    assert len(load_rows()) >= 64


def test_file_ends_with_one_newline_and_has_no_blank_lines() -> None:
    """Every line of the file is one JSON object, so line counts equal row counts."""
    text = DATA_FILE.read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert all(line.strip() for line in text.splitlines())


def test_rows_carry_exactly_the_expected_fields() -> None:
    """A row has the fourteen text fields of the larger benchmark plus a whole-number grade, nothing else."""
    for row in load_rows():
        assert set(row) == TEXT_FIELDS | {"grade"}, row.get("task_id")
        assert all(isinstance(row[field], str) and row[field] for field in TEXT_FIELDS), row["task_id"]
        assert type(row["grade"]) is int and 1 <= row["grade"] <= 4, row["task_id"]


def test_ids_count_up_from_zero() -> None:
    """Task ids are BugfixMini/0, BugfixMini/1 and so on, in file order."""
    assert [row["task_id"] for row in load_rows()] == [f"BugfixMini/{i}" for i in range(len(load_rows()))]


def test_entry_points_are_distinct() -> None:
    """No two problems share a function name, so results may be keyed by it."""
    names = [row["entry_point"] for row in load_rows()]
    assert len(set(names)) == len(names)


def test_every_bug_type_is_present_in_useful_numbers() -> None:
    """All six kinds of bug occur, each at least four times, and no other label is used."""
    counts = Counter(row["bug_type"] for row in load_rows())
    assert set(counts) == BUG_TYPES
    assert min(counts.values()) >= 4


def test_every_grade_is_present_and_half_are_easy() -> None:
    """Grades 1 to 4 all occur and about half of the problems are grade 1."""
    rows = load_rows()
    counts = Counter(row["grade"] for row in rows)
    assert set(counts) == {1, 2, 3, 4}
    assert 0.4 <= counts[1] / len(rows) <= 0.6


def test_declaration_ends_with_the_signature_line() -> None:
    """The declaration is optional imports followed by the one signature line and a newline."""
    for row in load_rows():
        assert row["declaration"].endswith(f"def {row['signature']}:\n"), row["task_id"]
        assert row["signature"].startswith(f"{row['entry_point']}("), row["task_id"]


def test_prompt_is_the_declaration_plus_a_docstring() -> None:
    """The prompt begins with the declaration and its function's docstring equals the docstring field."""
    for row in load_rows():
        assert row["prompt"].startswith(row["declaration"]), row["task_id"]
        assert row["prompt"].endswith('"""\n'), row["task_id"]
        function = ast.parse(row["prompt"]).body[-1]
        assert isinstance(function, ast.FunctionDef)
        assert ast.get_docstring(function) == row["docstring"], row["task_id"]


def test_instruction_is_built_from_signature_and_docstring() -> None:
    """The instruction field follows the fixed sentence used by the larger benchmark."""
    for row in load_rows():
        expected = f"Write a Python function `{row['signature']}` to solve the following problem:\n{row['docstring']}"
        assert row["instruction"] == expected, row["task_id"]


def test_bodies_are_indented_and_compile_in_both_forms() -> None:
    """Both bodies compile after the declaration and after the prompt, together with the test."""
    for row in load_rows():
        for field in ("canonical_solution", "buggy_solution"):
            assert_indented_body(row[field])
            for head in ("declaration", "prompt"):
                compile(f"{row[head]}{row[field]}\n{row['test']}", row["task_id"], "exec")


def test_canonical_and_buggy_bodies_differ_as_code() -> None:
    """The bug changes the program itself and not only its layout."""
    for row in load_rows():
        good, bad = (
            ast.dump(ast.parse(row["declaration"] + row[field])) for field in ("canonical_solution", "buggy_solution")
        )
        assert good != bad, row["task_id"]


def test_tests_hold_three_to_five_asserts_and_call_check() -> None:
    """A test defines check with 3 to 5 asserts on the entry point and ends by calling it."""
    for row in load_rows():
        name = row["entry_point"]
        assert row["test"].startswith(f"\n\ndef check({name}):\n    assert "), row["task_id"]
        assert row["test"].endswith(f"\n\ncheck({name})"), row["task_id"]
        statements = check_calls(row["test"])
        assert 3 <= len(statements) <= 5, row["task_id"]
        assert all(isinstance(statement, ast.Assert) for statement in statements), row["task_id"]


def test_example_test_is_part_of_the_full_test() -> None:
    """The example test holds one assert that also occurs in the full test."""
    for row in load_rows():
        (statement,) = check_calls(row["example_test"])
        assert ast.unparse(statement) in [ast.unparse(s) for s in check_calls(row["test"])], row["task_id"]
        assert row["example_test"].endswith(f"check({row['entry_point']})\n"), row["task_id"]


def test_bodies_contain_no_text_that_a_cut_rule_would_stop_at() -> None:
    """No body holds a blank or unindented line, so cutting at top-level code keeps a right answer whole."""
    for row in load_rows():
        assert "\n\n" not in row["canonical_solution"], row["task_id"]
        assert "\t" not in row["canonical_solution"], row["task_id"]


def test_prompts_and_bodies_stay_short() -> None:
    """Contexts and bodies stay small enough for a tiny model on a few processor cores."""
    rows = load_rows()
    contexts = [len(row["declaration"] + row["buggy_solution"] + "\n" + row["test"]) for row in rows]
    assert max(contexts) <= MAX_CONTEXT_CHARS
    assert sum(contexts) / len(rows) <= MAX_MEAN_CONTEXT_CHARS
    assert sum(len(row["canonical_solution"]) for row in rows) / len(rows) <= MAX_MEAN_BODY_CHARS
