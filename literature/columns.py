"""Which column of a table means what: header words, and the user's own mapping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from literature.errors import TableError
from literature.formats.grid import Cell, Grid

STATED_PREFIX = "stated:"
_ALIASES = {
    "model": ("model", "model name", "llm", "method", "name", "system"),
    "benchmark": ("benchmark", "dataset", "task", "data set"),
    "metric": ("metric", "measure"),
    "value": ("value", "score", "result", "reported", "reported score", "reported value", "reported results", "scores"),
    "sources": ("sources", "source", "reference", "references", "ref", "refs", "citation", "paper", "cited by"),
    "introduced_by": ("introduced by", "introduced in", "model source"),
    "uncertainty": ("uncertainty", "stderr", "std", "standard error", "±"),
    "printed": ("printed", "as printed"),
    "place": ("place",),
}
ROLES = tuple(_ALIASES)
_STATED = frozenset(
    {
        *("decoding", "temperature", "top_p", "top_k", "samples", "problems", "seed", "harness", "prompt"),
        "prompt_reported",
        *(
            "length",
            "max_length",
            "precision",
            "quantisation",
            "quantization",
            "extraction",
            "variant",
            "note",
            "notes",
        ),
    }
)
# Columns of numbers that stand beside scores and are none.
_NO_SCORES = frozenset(
    {"params", "parameters", "model_size", "size", "year", "rank", "no", "tokens", "context", "context_length"}
)
_METRIC = re.compile(r"\bpass\s*@\s*(\d+)\b", re.IGNORECASE)
_SOURCE = re.compile(r"\[([^\[\]]+)\]|(\d{1,3})")


@dataclass(frozen=True)
class ValueColumn:
    """A column of scores, and what its header says of them ("" where nothing)."""

    index: int
    benchmark: str = ""
    metric: str = ""
    source: str = ""


@dataclass(frozen=True)
class Columns:
    """Role -> column index, columns of scores and of stated settings, constants, and headers that mean nothing here."""

    roles: Mapping[str, int]
    values: tuple[ValueColumn, ...]
    stated: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[int, ...] = ()


def find_columns(grid: Grid, mapping: Mapping[str, str] | None, file: str) -> Columns:
    """Decide what each column of `grid` is; `TableError` when models or scores cannot be found, or a name is unknown.

    `mapping` maps a role (model, value, benchmark, metric, sources, introduced_by, unit) to a header of the table,
    or to `=text` for one text that holds for every row.
    """
    names = [cell.text.strip() for cell in grid.header]
    _refuse_twins(grid.header, file)
    roles, constants = _mapped(names, mapping or {}, grid.header[0].line, file)
    for role, aliases in _ALIASES.items():
        if role not in roles and role not in constants:
            index = _first(names, aliases, taken=set(roles.values()))
            if index is not None:
                roles[role] = index
    long_form = "value" in roles
    if "model" not in roles and "model" not in constants:
        if long_form:
            raise TableError(
                f"no column of models among {', '.join(names)}", file=file, line=grid.header[0].line, column=1,
                expected="a column 'model'", remedy="rename it, or map it (model=HEADER)",
            )  # fmt: skip
        roles["model"] = 0
    stated, values, unknown = _rest(names, roles, long_form)
    if not values:
        raise TableError(
            f"no column of scores among {', '.join(names)}", file=file, line=grid.header[0].line, column=1,
            expected="a column 'value', or one column a benchmark", remedy="rename it, or map it (value=HEADER)",
        )  # fmt: skip
    return Columns(roles, tuple(values), stated, constants, tuple(unknown))


def _refuse_twins(header: tuple[Cell, ...], file: str) -> None:
    seen: dict[str, int] = {}
    for cell in header:
        name = cell.text.strip().casefold()
        if name and name in seen:
            raise TableError(
                f"column '{cell.text}' stands in the header twice (columns {seen[name]} and {cell.column})",
                file=file, line=cell.line, column=cell.column, expected="each column once", remedy="rename one",
            )  # fmt: skip
        seen[name] = cell.column


def _mapped(
    names: list[str], mapping: Mapping[str, str], line: int, file: str
) -> tuple[dict[str, int], dict[str, str]]:
    roles: dict[str, int] = {}
    constants: dict[str, str] = {}
    for role, name in mapping.items():
        if role not in (*ROLES, "unit"):
            raise TableError(
                f"mapping names an unknown role '{role}'", file=file, expected=f"one of {', '.join((*ROLES, 'unit'))}"
            )
        if name.startswith("="):
            constants[role] = name[1:].strip()
        elif role == "unit":
            constants[role] = name
        elif name in names:
            roles[role] = names.index(name)
        else:
            raise TableError(
                f"no column '{name}' for {role}", file=file, line=line, column=1,
                expected=f"one of {', '.join(names)}", remedy="correct the mapping",
            )  # fmt: skip
    if constants.get("unit", "percent") not in ("percent", "fraction"):
        raise TableError(f"unit '{constants['unit']}'", file=file, expected="percent or fraction")
    return roles, constants


def _first(names: list[str], aliases: tuple[str, ...], taken: set[int]) -> int | None:
    plain = [" ".join(name.casefold().replace("_", " ").split()) for name in names]
    for alias in aliases:
        if alias in plain and plain.index(alias) not in taken:
            return plain.index(alias)
    return None


def _rest(
    names: list[str], roles: Mapping[str, int], long_form: bool
) -> tuple[dict[str, int], list[ValueColumn], list[int]]:
    stated: dict[str, int] = {}
    unknown: list[int] = []
    values = [value_column(roles["value"], names[roles["value"]], named=False)] if long_form else []
    for index, name in enumerate(names):
        if index in roles.values():
            continue
        plain = name.casefold().replace(" ", "_")
        if name.startswith(STATED_PREFIX):
            stated[name.removeprefix(STATED_PREFIX)] = index
        elif plain in _STATED:
            stated[plain] = index
        elif long_form or re.sub(r"\(.*?\)|[#.]", "", plain).strip("_") in _NO_SCORES:
            unknown.append(index)
        elif name:
            values.append(value_column(index, name))
    return stated, values, unknown


def value_column(index: int, name: str, named: bool = True) -> ValueColumn:
    """What the header of a column of scores says: `HumanEvalFix pass@1 [21]`."""
    metric = _METRIC.search(name)
    rest = _METRIC.sub(" ", name)
    source = _SOURCE.fullmatch(rest.strip()) or re.search(r"\[([^\[\]]+)\]()", rest)
    if source:
        rest = rest.replace(source[0], " ")
    rest = re.sub(r"\(\s*\)|%|\(%\)", " ", rest).strip(" -:()")
    return ValueColumn(
        index,
        " ".join(rest.split()) if named else "",
        f"pass@{metric[1]}" if metric else "",
        (source[1] or source[2]) if source else "",
    )
