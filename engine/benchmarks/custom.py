"""A user's own benchmark in JSON Lines: completion tasks in HumanEval's fields, or fixing tasks in HumanEvalPack's."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.benchmarks.completion import (
    HUMANEVAL_STOP_WORDS,
    CompletionBenchmark,
    completion_problem,
    limits_of,
    stub_of,
)
from engine.benchmarks.humaneval import STUB
from engine.benchmarks.humanevalfix import PLAIN_PRELUDE, FixBenchmark
from engine.benchmarks.languages import LANGUAGES
from engine.benchmarks.rows import Rows
from engine.errors import BenchmarkError
from engine.protocols import Benchmark, Limits, Problem

FIELDS: Mapping[str, type] = {"task_id": str, "entry_point": str, "test": str, "canonical_solution": str}
OPTIONAL = ("declaration", "prompt", "buggy_solution", "timeout", "stop_words", "setup", "licence", "source")
FIRST_ROW = ("timeout", "stop_words", "setup", "licence", "source")
"""Fields that are read from the first row only, and hold for all."""

NEAR = 0.8
"""How alike an unknown field's name is to a known one for it to be taken for a mistyping."""

SECONDS = 10.0
CHECK = re.compile(r"^check\(", re.MULTILINE)


def custom(name: str, rows: Sequence[Mapping[str, Any]], source: Mapping[str, Any], where: str) -> Benchmark:
    """The user's benchmark; the first row decides whether its tasks are fixing (`buggy_solution`) or completion.

    `timeout` (seconds), `stop_words` (list), `setup` (Python run before candidates), `licence` and `source` are taken
    from the first row and hold for all. `BenchmarkError` names the row and the field.
    """
    first, fixing = rows[0], "buggy_solution" in rows[0]
    needed = ("declaration", "buggy_solution") if fixing else ("prompt",)
    for number, row in enumerate(rows):
        place = _place(rows, number, where)
        for field in needed:
            if not isinstance(row.get(field), str):
                kind = "fixing" if fixing else "completion"
                found = f"found {type(row[field]).__name__}" if field in row else "missing"
                raise BenchmarkError(f"{place}, field {field!r}: {found}; a {kind} task needs it as text: add it")
        _check_names(row, place, first=number == 0)
    where = _place(rows, 0, where)
    limits = _limits(first, where)
    setup = _typed(first, "setup", str, "", where)
    facts = {**source, **{key: str(first[key]) for key in ("licence", "source") if key in first}}
    if fixing:
        problems = tuple(_fix(row) for row in rows)
        prelude = setup or PLAIN_PRELUDE
        return FixBenchmark(name, LANGUAGES["python"], False, (), prelude, limits, facts, problems)
    words = tuple(_typed(first, "stop_words", list, list(HUMANEVAL_STOP_WORDS), where))
    if not all(isinstance(word, str) and word for word in words):
        raise BenchmarkError(f"{where}, field 'stop_words': expected a list of texts, none of them empty: correct it")
    return CompletionBenchmark(name, tuple(map(_completion, rows)), words, limits, facts, setup)


def _place(rows: Sequence[Mapping[str, Any]], number: int, where: str) -> str:
    """File and line of a row, where it is known."""
    return rows.places[number] if isinstance(rows, Rows) else f"{where}, task_id {rows[number]['task_id']!r}"


def _check_names(row: Mapping[str, Any], place: str, *, first: bool) -> None:
    """Raise `BenchmarkError` for a field that would be silently left aside: mistyped, or in the wrong row."""
    known = (*FIELDS, *OPTIONAL)
    for field in row:
        near = difflib.get_close_matches(field, known, n=1, cutoff=NEAR)
        if field not in known and near:
            raise BenchmarkError(f"{place}, field {field!r}: unknown, and close to {near[0]!r}: correct or rename it")
        if field in FIRST_ROW and not first:
            raise BenchmarkError(f"{place}, field {field!r}: is read from the first row only, for all: move it there")


def _completion(row: Mapping[str, Any]) -> Problem:
    entry_point, prompt = row["entry_point"], row["prompt"]
    # A prompt that opens the function wants a body; any other one a whole function.
    opens = re.search(rf"^def\s+{re.escape(entry_point)}\b", prompt, re.MULTILINE) is not None
    return completion_problem(
        row["task_id"],
        entry_point,
        prompt=prompt,
        header=prompt if opens else "",
        test=_test(row),
        canonical=row["canonical_solution"],
        stub=STUB if opens else stub_of(entry_point),
    )


def _fix(row: Mapping[str, Any]) -> Problem:
    shown = row["declaration"] + row["buggy_solution"]
    return Problem(
        task_id=row["task_id"],
        entry_point=row["entry_point"],
        header=row["declaration"],
        context=f"{shown}\n{row['test']}",
        instruction=f"Fix bugs in {row['entry_point']}.",
        test=_test(row),
        canonical=row["canonical_solution"],
        buggy=row["buggy_solution"],
    )


def _test(row: Mapping[str, Any]) -> str:
    """The tests; HumanEval's form, which only defines `check`, gets the call that the form leaves out."""
    test: str = row["test"]
    if "def check(" in test and not CHECK.search(test):
        test += f"\ncheck({row['entry_point']})"
    return f"\n{test}"


def _limits(row: Mapping[str, Any], where: str) -> Limits:
    seconds = _typed(row, "timeout", (int, float), SECONDS, where)
    if not 0 < seconds <= 600:
        raise BenchmarkError(f"{where}, field 'timeout': {seconds} is not between 0 and 600 seconds: correct the value")
    return limits_of(float(seconds))


def _typed(row: Mapping[str, Any], field: str, kind: Any, default: Any, where: str) -> Any:
    value = row.get(field, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        found = type(value).__name__
        raise BenchmarkError(f"{where}, field {field!r}: found {found}, expected {_name(kind)}: correct the value")
    return value


def _name(kind: Any) -> str:
    return {str: "text", list: "a list of texts"}.get(kind, "a number")
