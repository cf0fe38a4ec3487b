"""The benchmarks other than HumanEvalPack: which reader a name stands for, and what file it wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.benchmarks import custom, evalplus, humaneval, mbpp, quixbugs
from engine.benchmarks.cards import facts_of
from engine.benchmarks.rows import read_objects
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
    return evalplus.evalplus(name, rows, source, MBPP_PLUS_SECONDS)


def _need(rows: Rows, fields: Fields, where: str) -> None:
    for row in rows:
        for field, kind in fields.items():
            if not isinstance(row.get(field), kind):
                raise BenchmarkError(
                    f"{where}, task_id {row['task_id']!r}, field {field!r}: missing or of another type; "
                    "expected rows all in EvalPlus's shape, or all in HumanEval's: use one file as it was published"
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
    "mbppplus": Family(evalplus.FIELDS, _mbpp_plus, "MbppPlus.jsonl.gz of github.com/evalplus/mbppplus_release"),
    "quixbugs": Family(quixbugs.FIELDS, quixbugs.quixbugs, "JSON Lines of {name, buggy, correct, cases}", "name"),
    "custom": Family(custom.FIELDS, custom.custom, "your own benchmark; docs/benchmarks.md describes its fields"),
}

COMPLETION_TASKS = tuple(name for name in FAMILIES if name not in ("quixbugs", "custom"))


def open_family(name: str, data: str | None) -> Benchmark:
    """The benchmark of that name over the rows of a file. `BenchmarkError` without a file or for another shape."""
    family = FAMILIES[name]
    if not data:
        raise BenchmarkError(f"{name} is not part of Scoretrace: give its file with --data ({family.wanted})")
    path = Path(data).expanduser()
    rows = read_objects(path, family.fields, family.key)
    return family.make(name, rows, facts_of(rows, path), str(path))
