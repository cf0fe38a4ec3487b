"""MBPP in its three sizes: one sentence and one shown test are the prompt, all tests decide."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.benchmarks.completion import (
    MBPP_STOP_WORDS,
    CompletionBenchmark,
    completion_problem,
    limits_of,
    number_of,
    stub_of,
)
from engine.errors import BenchmarkError
from engine.protocols import Problem

FIELDS: Mapping[str, type | tuple[type, ...]] = {"task_id": (int, str), "code": str, "test_list": list}
PLUS_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "task_id": (int, str), "prompt": str, "code": str, "test_list": list, "test": str,
}  # fmt: skip
"""MBPP+ as the hub has it: one text of tests for each problem, with inputs and expected outputs in it."""

TEST_SPLIT = range(11, 511)
"""Task ids of the test split, 500 problems: what the harness's `mbpp` runs."""

TEST_IDS = frozenset(map(str, TEST_SPLIT))

SANITIZED = 427
"""Problems of the sanitized part."""

SECONDS, OWN_SECONDS = 3.0, 10.0
"""The harness's limit, for its own task; the other two get more, because one correct program needs three seconds."""

PLUS_MEMORY = 3 << 30
"""Bytes; some inputs of MBPP+ are lists of millions."""

SLOW = {"Mbpp/123": "its correct program needs about three seconds, which is the harness's limit"}


def mbpp(name: str, rows: Sequence[Mapping[str, Any]], source: Mapping[str, Any], where: str) -> CompletionBenchmark:
    """`mbpp` over the test split, `mbpp-full` and `mbpp-sanitized` over all rows; `BenchmarkError` names the row.

    `mbpp` leaves `test_setup_code` out, as the harness does; the other two, which are no tasks of the harness, run it.
    """
    if name == "mbpp-sanitized" and len(rows) > SANITIZED:
        raise BenchmarkError(
            f"{where}: {len(rows)} rows, but MBPP's sanitized part has {SANITIZED}: choose mbpp-full, or give its file"
        )
    if name == "mbpp":
        rows = [row for row in rows if str(row["task_id"]) in TEST_IDS]
        if len(rows) != len(TEST_SPLIT):
            raise BenchmarkError(
                f"{where}: {len(rows)} rows with task ids 11 to 510, expected all 500 of MBPP's test split: "
                "use mbpp.jsonl (974 rows), or choose mbpp-sanitized or mbpp-full for another file"
            )
    with warnings.catch_warnings():
        # Some correct programs write patterns with unknown escapes; that is the data's affair.
        warnings.simplefilter("ignore")
        problems = tuple(_problem(row, where, setup=name != "mbpp") for row in rows)
    limits = limits_of(SECONDS if name == "mbpp" else OWN_SECONDS)
    return CompletionBenchmark(name, problems, MBPP_STOP_WORDS, limits, source)


def mbpp_plus(
    name: str, rows: Sequence[Mapping[str, Any]], source: Mapping[str, Any], where: str, seconds: float
) -> CompletionBenchmark:
    """MBPP+ over the hub's rows: prompted as the harness's `mbppplus` does it, judged by the row's own tests."""
    problems = []
    for row in rows:
        # The tests' own text takes the place of the shown ones; set-up is part of it.
        plain = _problem({**row, "task_id": number_of(str(row["task_id"]))}, where, setup=False)
        problems.append(replace(plain, test=f"\n{row['test']}", flaw=""))
    return CompletionBenchmark(name, tuple(problems), MBPP_STOP_WORDS, limits_of(seconds, PLUS_MEMORY), source)


def mbpp_prompt(text: str, tests: Sequence[str]) -> str:
    """The harness's prompt: a docstring with the sentence and the first test."""
    return f'"""\n{text}\n{tests[0]}\n"""\n'


def called_function(code: str, test: str) -> str:
    """The function that a test is about: the last one defined in the code that the test calls; empty when none is."""
    try:
        defined = [node.name for node in ast.parse(code).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        calls = {node.func.id for node in ast.walk(ast.parse(test)) if _is_named_call(node)}  # type: ignore[attr-defined]
    except (SyntaxError, ValueError):
        return ""
    return next((name for name in reversed(defined) if name in calls), "")


def _is_named_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _problem(row: Mapping[str, Any], where: str, *, setup: bool) -> Problem:
    tests, text = row["test_list"], row.get("text", row.get("prompt"))
    if not isinstance(text, str) or not tests or not all(isinstance(test, str) for test in tests):
        raise BenchmarkError(
            f"{where}, task_id {row['task_id']}: expected a sentence in 'text' (or 'prompt') and texts in 'test_list'"
        )
    entry_point = called_function(row["code"], tests[0])
    task_id = f"Mbpp/{row['task_id']}"
    lines = [*(_setup(row) if setup else ()), *tests]
    flaw = _missing_names(row["code"], "\n".join(lines)) or ("" if setup else SLOW.get(task_id, ""))
    return completion_problem(
        task_id,
        entry_point,
        prompt=mbpp_prompt(text, tests),
        header="",
        test="\n".join(lines),
        canonical=row["code"],
        stub=stub_of(entry_point) if entry_point else "pass\n",
        flaw=flaw,
    )


def _missing_names(code: str, test: str) -> str:
    """Why the correct program cannot pass where its tests name a module that neither they nor the program import."""
    try:
        defined = set(symtable.symtable(code, "code", "exec").get_identifiers())
        read = symtable.symtable(test, "test", "exec").get_symbols()
    except (SyntaxError, ValueError):
        return "its tests or its code are no Python of this version"
    missing = sorted(
        s.get_name() for s in read
        if not (s.is_assigned() or s.is_imported() or s.get_name() in defined or hasattr(builtins, s.get_name()))
    )  # fmt: skip
    return f"its tests use {', '.join(missing)}, which the row's set-up does not define" if missing else ""


def _setup(row: Mapping[str, Any]) -> tuple[str, ...]:
    found = (row.get("test_setup_code") or "", *(row.get("test_imports") or ()))
    return tuple(text for text in found if text)
