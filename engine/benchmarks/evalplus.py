"""HumanEval+ and MBPP+ in EvalPlus's own shape: inputs and a correct program, whose outputs decide."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from engine.benchmarks.completion import (
    HUMANEVAL_STOP_WORDS,
    MBPP_STOP_WORDS,
    CompletionBenchmark,
    completion_problem,
    limits_of,
    number_of,
    stub_of,
)
from engine.benchmarks.humaneval import STUB
from engine.benchmarks.mbpp import mbpp_prompt
from engine.protocols import Problem

FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "task_id": str, "prompt": str, "entry_point": str, "canonical_solution": str,
    "base_input": list, "plus_input": (list, dict), "atol": (int, float),
}  # fmt: skip

FLAWS = {
    "Mbpp/164": "EvalPlus accepts any output of are_equivalent, so a function that does nothing passes",
    "Mbpp/599": "its correct program needs more than ten seconds for one of the inputs, which is the limit",
}
LARGE_OUTPUTS = frozenset(("Mbpp/255", "Mbpp/630"))
MEMORY = 3 << 30
"""Bytes; Mbpp/255 builds lists of millions. EvalPlus allows 4 GiB."""


def evalplus(
    name: str, rows: Sequence[Mapping[str, Any]], source: Mapping[str, Any], seconds: float
) -> CompletionBenchmark:
    """`mbppplus` or `humanevalplus[-unstripped]` over EvalPlus's rows; base inputs are judged first."""
    if name == "mbppplus":
        problems = tuple(_mbpp_problem(row) for row in rows)
        limits = limits_of(seconds, MEMORY)
        return CompletionBenchmark(name, problems, MBPP_STOP_WORDS, limits, source, beside=LARGE_OUTPUTS)
    strip = not name.endswith("-unstripped")
    problems = tuple(_humaneval_problem(row, strip=strip) for row in rows)
    return CompletionBenchmark(name, problems, HUMANEVAL_STOP_WORDS, limits_of(seconds), source)


def _mbpp_problem(row: Mapping[str, Any]) -> Problem:
    text = row["prompt"].strip().strip("'\"").strip()
    shown = str(row.get("assertion", "")).strip().splitlines()
    prompt = mbpp_prompt(text, shown) if shown and "assert" not in text else f'"""\n{text}\n"""\n'
    return completion_problem(
        row["task_id"],
        row["entry_point"],
        prompt=prompt,
        header="",
        test=oracle_test("mbpp", row, row["canonical_solution"]),
        canonical=row["canonical_solution"],
        stub=stub_of(row["entry_point"]),
        flaw=FLAWS.get(row["task_id"], ""),
    )


def _humaneval_problem(row: Mapping[str, Any], *, strip: bool) -> Problem:
    prompt = row["prompt"]
    return completion_problem(
        row["task_id"],
        row["entry_point"],
        prompt=prompt.strip() if strip else prompt,
        header=prompt,
        test=oracle_test("humaneval", row, prompt + row["canonical_solution"]),
        canonical=row["canonical_solution"],
        stub=STUB,
    )


def oracle_test(family: str, row: Mapping[str, Any], correct: str) -> str:
    """The test text of a row: the oracle's own source, the correct program under a namespace of its own, the inputs."""
    convert = conversion(row["task_id"]) if family == "mbpp" else list
    inputs = [
        (f"{part} input {number}", convert(arguments))
        for part in ("base", "plus")
        # Mbpp/793 has an empty object where there are no inputs.
        for number, arguments in enumerate(row[f"{part}_input"] or [])
    ]
    entry_point = row["entry_point"]
    return (
        f"{oracle_source()}\n"
        f"_correct = {{}}\n"
        f"exec({correct!r}, _correct)\n"
        f"_inputs = eval({repr(inputs)!r}, {{'inf': math.inf, 'nan': math.nan}})\n"
        f"compare(Oracle({family!r}, {entry_point!r}, {row['atol']!r}), {entry_point}, "
        f"_correct[{entry_point!r}], _inputs)\n"
    )


@cache
def oracle_source() -> str:
    """The text of `engine.benchmarks.oracle` without its first docstring."""
    text = resources.files("engine.benchmarks").joinpath("oracle.py").read_text(encoding="utf-8")
    return re.sub(r'\A""".*?"""\n', "", text, flags=re.DOTALL)


def conversion(task_id: str) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """How the arguments of a MBPP+ problem become Python values: JSON has no tuple, set or complex number."""
    return _CONVERSIONS.get(int(number_of(task_id)), list)


def _deep(value: Any) -> Any:
    return tuple(map(_deep, value)) if isinstance(value, list) else value


def _each(arguments: Sequence[Any]) -> list[Any]:
    return [tuple(x) for x in arguments]


def _each_twice(arguments: Sequence[Any]) -> list[Any]:
    return [[tuple(x) for x in argument] for argument in arguments]


def _first_of_tuples(arguments: Sequence[Any]) -> list[Any]:
    return [[tuple(x) for x in arguments[0]], arguments[1]]


def _first(arguments: Sequence[Any]) -> list[Any]:
    return [tuple(arguments[0]), *arguments[1:]]


def _second(arguments: Sequence[Any]) -> list[Any]:
    return [arguments[0], tuple(arguments[1])]


def _nested(arguments: Sequence[Any]) -> list[Any]:
    return [tuple(tuple(x) for x in argument) for argument in arguments]


def _mixed(arguments: Sequence[Any]) -> list[Any]:
    return [tuple(tuple(x) if isinstance(x, list) else x for x in argument) for argument in arguments]


def _sets(arguments: Sequence[Any]) -> list[Any]:
    return [[set(x) if isinstance(x, list) and x else {} for x in arguments[0]]]


def _values(arguments: Sequence[Any]) -> list[Any]:
    return [{key: tuple(value) for key, value in arguments[0].items()}, *arguments[1:]]


_TABLE: tuple[tuple[Callable[[Sequence[Any]], Sequence[Any]], tuple[int, ...]], ...] = (
    (_each, (2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744,
             809)),
    (_each_twice, (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780)),
    (_first_of_tuples, (75, 413, 444, 753)),
    (_second, (106, 750)),
    (_sets, (115,)),
    (lambda a: [float(a[0]), complex(a[1])], (124,)),
    (_first, (250, 307, 405, 446, 617, 720, 763, 808)),
    (_nested, (259, 401, 445)),
    (_mixed, (278,)),
    (_values, (722,)),
    (lambda a: [complex(a[0])], (252,)),
    (lambda a: [_deep(x) for x in a], (580, 615, 791)),
)  # fmt: skip
_CONVERSIONS = {number: convert for convert, numbers in _TABLE for number in numbers}
