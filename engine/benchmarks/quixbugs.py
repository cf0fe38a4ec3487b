"""QuixBugs: forty classic programs with a bug on one line, as a task of fixing; those with input and output pairs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from engine.benchmarks.humanevalfix import PLAIN_PRELUDE, FixBenchmark
from engine.benchmarks.languages import LANGUAGES
from engine.errors import BenchmarkError
from engine.protocols import Limits, Problem

FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "name": str, "buggy": str, "correct": str, "cases": (list, type(None)),
}  # fmt: skip

LIMITS = Limits(cpu_s=2.0, wall_s=15.0)
"""Correct programs need milliseconds once the SLOW cases are out."""

SLOW = {"knapsack": (6404180,), "levenshtein": ("rosettacode", "amanaplanacanalpanama")}
"""First arguments of cases on which the correct, exponential program needs seconds to minutes: left out."""

COMPARE = """
def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(x) for x in value]
    return [_plain(x) for x in value] if hasattr(type(value), "__next__") else value


def _equal(got, expected):
    if isinstance(expected, float) or isinstance(got, float):
        return abs(got - expected) <= 1e-2 + 1e-9 * abs(expected)
    return got == expected


def _check(function, cases):
    for arguments, expected in cases:
        got = _plain(function(*arguments))
        assert _equal(got, expected), f"{arguments!r:.80}: got {got!r:.80}, expected {expected!r:.80}"
"""
"""Tuples count as lists and generators as what they give, as in QuixBugs's own tester; floats to a hundredth."""


def quixbugs(name: str, rows: Sequence[Mapping[str, Any]], source: Mapping[str, Any], where: str) -> FixBenchmark:
    """The programs that have cases; the nine on graphs and linked lists have tests of their own and are left out."""
    _check_cases(rows, where)
    problems = tuple(_problem(row, where) for row in rows if row["cases"])
    if not problems:
        raise BenchmarkError(f"{where}: no row has cases; expected lists of [arguments, expected output] in 'cases'")
    left_out = [row["name"] for row in rows if not row["cases"]]
    note = "programs without input and output pairs are left out, and so are three cases that take seconds and more"
    facts = {**source, "left_out": left_out, "note": note}
    return FixBenchmark(name, LANGUAGES["python"], False, (), PLAIN_PRELUDE, LIMITS, facts, problems)


def _check_cases(rows: Sequence[Mapping[str, Any]], where: str) -> None:
    for row in rows:
        for case in row["cases"] or ():
            if not (isinstance(case, list) and len(case) == 2 and isinstance(case[0], list)):
                raise BenchmarkError(
                    f"{where}, {row['name']}, field 'cases': {case!r:.60}; expected [[arguments], output]: correct it"
                )


def _problem(row: Mapping[str, Any], where: str) -> Problem:
    header, buggy = _split(row, "buggy", where)
    _, correct = _split(row, "correct", where)
    slow = SLOW.get(row["name"], ())
    cases = "\n".join(f"    {case!r}," for case in row["cases"] if not case[0] or case[0][0] not in slow)
    call = f"_check({row['name']}, [\n{cases}\n])\n"
    return Problem(
        task_id=f"QuixBugs/{row['name']}",
        entry_point=row["name"],
        header=header,
        context=f"{header}{buggy}\n{call.replace('_check(', 'check(', 1)}",
        instruction=f"Fix bugs in {row['name']}.",
        test=COMPARE + call,
        canonical=correct,
        buggy=buggy,
    )


def _split(row: Mapping[str, Any], field: str, where: str) -> tuple[str, str]:
    """Header (up to the line that opens the function) and body of a program; the description at its end is dropped."""
    text = row[field]
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        place = f"{where}, {row['name']}, field {field!r}"
        raise BenchmarkError(f"{place}: no Python ({error}): correct the row") from error
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == row["name"]]
    if not found:
        raise BenchmarkError(f"{where}, {row['name']}, field {field!r}: no function of that name: correct the row")
    lines = text.splitlines(keepends=True)
    first = found[0].body[0].lineno - 1
    end = max(node.end_lineno or 0 for node in tree.body if not isinstance(node, ast.Expr))
    # A comment between the signature and the first statement belongs to the body.
    head = next(i for i in range(found[0].lineno - 1, first) if lines[i].rstrip().endswith(":")) + 1
    return "".join(lines[:head]).lstrip("\n"), "".join(lines[head:end])
