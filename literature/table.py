"""Tables of reported scores, read from files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from literature.arithmetic import whole
from literature.cells import CellScore, decimal_mark, in_percent, parse_cell, percentages, split_sources
from literature.columns import Columns, ValueColumn, find_columns
from literature.errors import ScoreTextError, TableError
from literature.formats import read_any
from literature.formats.grid import Cell, Grid, Records, decode
from literature.records import ReportedScore
from literature.shipped import data_folder, shipped_tables
from literature.values import Printed
from literature.writing import write_table

__all__ = [
    "OpenedTable",
    "Table",
    "Unread",
    "open_table",
    "read_table",
    "scores_of",
    "scores_of_grid",
    "shipped_tables",
    "split_sources",
    "write_table",
]

DEFAULT_METRIC = "pass@1"
_NOT_STATED = frozenset({"", "not stated", "unknown", "n/a", "-"})
_COUNTED = ("samples", "problems")


class Unread(NamedTuple):
    """Text of a table that gave no score: `place` is file:line:column, `reason` one sentence."""

    place: str
    text: str
    reason: str


@dataclass(frozen=True)
class Table:
    """The reported scores of one file, what of it could not be read, and its path."""

    scores: tuple[ReportedScore, ...]
    unread: tuple[Unread, ...]
    path: str


@dataclass(frozen=True)
class OpenedTable:
    """What a file holds before columns are given a meaning: its parts, its path, and what each source states."""

    parts: tuple[Grid | Records, ...]
    path: str
    stated: Mapping[str, Mapping[str, str]]


def open_table(path_or_name: str | Path | Traversable) -> OpenedTable:
    """Read a file, or a table that ships, into rows of cells; `TableError` when it cannot be read at all."""
    path, shown = _locate(path_or_name)
    data = _bytes(path, shown)
    stated = _sidecar(path, shown)
    return OpenedTable(tuple(read_any(data, shown)), shown, stated)


def read_table(path_or_name: str | Path | Traversable, *, mapping: Mapping[str, str] | None = None) -> Table:
    """Read a table of reported scores from a file, or one that ships by its name.

    Rows or cells without a single meaning are kept in `unread`; `TableError` (file, line, column, expected, remedy)
    when the file cannot be read at all or no score is in it. `mapping` as in `columns.find_columns`.
    """
    return scores_of(open_table(path_or_name), mapping=mapping)


def scores_of(opened: OpenedTable, *, mapping: Mapping[str, str] | None = None) -> Table:
    """The reported scores of an opened table; errors and `mapping` as in `read_table`."""
    parts, shown, stated = opened.parts, opened.path, opened.stated
    if len(parts) == 1 and isinstance(parts[0], Grid):
        return scores_of_grid(parts[0], shown, mapping=mapping, stated=stated)
    scores: list[ReportedScore] = []
    unread: list[Unread] = []
    for part in parts:
        where = f"{shown}[{part.sheet}]" if isinstance(part, Grid) and part.sheet else shown
        if isinstance(part, Records):
            scores.extend(_with_stated(score, stated) for score in part.scores)
            unread.extend(Unread(*item) for item in part.unread)
            continue
        try:
            found = scores_of_grid(part, where, mapping=mapping, stated=stated)
        except TableError as error:
            # One of several tables of a document: the others may still be readable.
            unread.append(Unread(error.place, " | ".join(cell.text for cell in part.header)[:200], error.problem))
        else:
            scores.extend(found.scores)
            unread.extend(found.unread)
    return _checked(tuple(_without_twins(scores, unread)), unread, shown)


def _locate(path_or_name: str | Path | Traversable) -> tuple[Path | Traversable, str]:
    if not isinstance(path_or_name, str | Path):
        return path_or_name, path_or_name.name
    path = Path(path_or_name)
    shipped = shipped_tables()
    if not path.exists() and str(path_or_name) in shipped:
        return shipped[str(path_or_name)], f"{path_or_name}.csv"
    return path, str(path)


def _bytes(path: Path | Traversable, shown: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        names = ", ".join(shipped_tables())
        raise TableError(
            "no such file", file=shown, expected=f"a table file or one of {names}", remedy="check the path"
        ) from None
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror})", file=shown, remedy="check the path and rights") from None


def _sidecar(path: Path | Traversable, shown: str) -> dict[str, dict[str, str]]:
    """Source -> what it states, from `<name>_sources.csv` beside the table; axes it does not state are left out."""
    name = Path(path.name).stem + "_sources.csv"
    beside: Path | Traversable = path.with_name(name) if isinstance(path, Path) else data_folder() / name
    if not beside.is_file():
        return {}
    rows = csv.DictReader(io.StringIO(decode(beside.read_bytes(), str(beside)), newline=""))
    if "source" not in (rows.fieldnames or ()):
        raise TableError("no column 'source'", file=name, line=1, column=1, expected="source and one column an axis")
    return {
        row["source"].strip(): {
            axis: value.strip()
            for axis, value in row.items()
            if axis not in ("source", "note") and isinstance(value, str) and value.strip().casefold() not in _NOT_STATED
        }
        for row in rows
    }


def _with_stated(score: ReportedScore, by_source: Mapping[str, Mapping[str, str]]) -> ReportedScore:
    """Attach what the sources of `score` state: where several disagree, all that is stated, joined by ` / `.

    Where the paper that introduced the model is among them, the others quote it: only what that one states counts.
    """
    found: dict[str, str] = {}
    own = score.introduced_by in score.sources
    for source in (score.introduced_by,) if own else score.sources:
        for axis, value in by_source.get(source, {}).items():
            if value not in found.get(axis, "").split(" / "):
                found[axis] = f"{found[axis]} / {value}" if axis in found else value
    return replace(score, stated={**found, **score.stated}) if found else score


def scores_of_grid(
    grid: Grid,
    file: str,
    *,
    mapping: Mapping[str, str] | None = None,
    stated: Mapping[str, Mapping[str, str]] | None = None,
) -> Table:
    """Reported scores of a rectangular table: long (one score a row) or wide (one column a benchmark or source)."""
    columns = find_columns(grid, mapping, file)
    scores: list[tuple[int, int, ReportedScore]] = []
    unread = [
        Unread(_place(file, grid.header[index]), grid.header[index].text, "unknown column, not read: map it to a role")
        for index in columns.unknown
        if grid.header[index].text
    ]
    unread += [Unread(*item) for item in grid.unread] + list(_nameless(grid, columns, file))
    rows = []
    for row in grid.rows:
        reason = _row_problem(row, grid, columns)
        if reason:
            unread.append(Unread(_place(file, row[0]), " | ".join(cell.text for cell in row)[:200], reason))
        else:
            rows.append(row)
            unread.extend(_odd_cells(row, columns, file))
    for column in columns.values:
        _read_column(rows, column, columns, file, scores, unread)
    ordered = [score for _, _, score in sorted(scores, key=lambda item: item[:2])]
    kept = tuple(_with_stated(score, stated or {}) for score in _without_twins(ordered, unread))
    return _checked(kept, unread, file)


def _nameless(grid: Grid, columns: Columns, file: str) -> Iterable[Unread]:
    """Columns that hold something under no header and are not read."""
    read = {*columns.roles.values(), *columns.stated.values(), *(column.index for column in columns.values)}
    for index, head in enumerate(grid.header):
        first = next((row[index] for row in grid.rows if index < len(row) and row[index].text), None)
        if index not in read and not head.text and first is not None:
            yield Unread(_place(file, first), first.text[:200], "a column without a header, not read: name it")


def _place(file: str, cell: Cell) -> str:
    return f"{file}:{cell.line}:{cell.column}"


def _row_problem(row: Sequence[Cell], grid: Grid, columns: Columns) -> str:
    width = len(grid.header)
    if len(row) > width and any(cell.text for cell in row[width:]):
        return f"{len(row)} cells under a header of {width}: quote the cell that holds the separator"
    if len(row) < width and len(row) <= max(column.index for column in columns.values):
        return f"{len(row)} cells under a header of {width}: fill the row up"
    if not _role(row, columns, "model"):
        return "no model named in this row"
    return ""


def _odd_cells(row: Sequence[Cell], columns: Columns, file: str) -> Iterable[Unread]:
    """What a row leaves open that is no reason to leave the row out, or says in a way that has no meaning."""
    for axis in _COUNTED:
        index = columns.stated.get(axis, -1)
        text = row[index].text if 0 <= index < len(row) else ""
        if text.casefold() not in _NOT_STATED and whole(text) is None:
            reason = f"{axis} must be a whole number from 1 up: left unknown"
            yield Unread(_place(file, row[index]), text[:200], reason)
    value = columns.roles.get("value", -1)
    if 0 <= value < len(row) and not row[value].text:
        texts = " | ".join(cell.text for cell in row)
        yield Unread(_place(file, row[value]), texts[:200], "no value in this row: fill it in, or write a dash")


def _stated_text(axis: str, text: str) -> str:
    """What a source states of one axis, "" where it does not, or where it is no number of samples or problems."""
    return "" if text.casefold() in _NOT_STATED or (axis in _COUNTED and whole(text) is None) else text


def _role(row: Sequence[Cell], columns: Columns, role: str) -> str:
    if role in columns.constants:
        return columns.constants[role]
    index = columns.roles.get(role, -1)
    return row[index].text if 0 <= index < len(row) else ""


def _read_column(
    rows: Sequence[Sequence[Cell]],
    column: ValueColumn,
    columns: Columns,
    file: str,
    scores: list[tuple[int, int, ReportedScore]],
    unread: list[Unread],
) -> None:
    mark = decimal_mark(row[column.index].text for row in rows)
    parsed: list[tuple[Sequence[Cell], CellScore]] = []
    refused: list[Unread] = []
    for row in rows:
        cell = row[column.index]
        try:
            parsed.extend((row, score) for score in parse_cell(cell.text, mark))
        except ScoreTextError as error:
            refused.append(Unread(_place(file, cell), cell.text[:200], str(error)))
    if not parsed and refused and "value" not in columns.roles:
        # A column in which nothing is a score is no column of scores: say so once.
        head = refused[0]
        unread.append(Unread(head.place, head.text, f"no score in this column: {head.reason}"))
        return
    unread.extend(refused)
    units = percentages([score for _, score in parsed], columns.constants.get("unit", ""))
    for (row, score), number in zip(parsed, units, strict=True):
        cell = row[column.index]
        if isinstance(number, Printed):
            record = _record(row, score, number, column, columns, f"{file}:{cell.line}")
            scores.append((cell.line, cell.column, record))
        else:
            unread.append(Unread(_place(file, cell), cell.text[:200], str(number)))


def _record(
    row: Sequence[Cell], score: CellScore, number: Printed, column: ValueColumn, columns: Columns, place: str
) -> ReportedScore:
    listed = split_sources(_role(row, columns, "sources"))
    return ReportedScore(
        model=_role(row, columns, "model"),
        benchmark=_role(row, columns, "benchmark") or column.benchmark,
        metric=_role(row, columns, "metric") or column.metric or DEFAULT_METRIC,
        value=number.text,
        sources=score.sources or listed or ((column.source,) if column.source else ()),
        introduced_by=_role(row, columns, "introduced_by"),
        place=_role(row, columns, "place") or place,
        stated={
            axis: text
            for axis, index in columns.stated.items()
            if index < len(row) and (text := _stated_text(axis, row[index].text))
        }
        | score.stated,
        uncertainty=in_percent(score.uncertainty, score.written, number) or _role(row, columns, "uncertainty"),
        printed=_role(row, columns, "printed") or _own_form(score.written, number.text),
    )


def _own_form(written: str, text: str) -> str:
    """What the source printed, "" where it differs from `text` by no more than a percent sign."""
    return "" if written.removesuffix("%") == text.removesuffix("%") else written


def _without_twins(scores: Iterable[ReportedScore], unread: list[Unread]) -> list[ReportedScore]:
    seen: dict[str, ReportedScore] = {}
    for score in scores:
        if score.id in seen:
            reason = f"the same score of the same sources stands at {seen[score.id].place}: counted once"
            unread.append(Unread(score.place, f"{score.model} {score.label}", reason))
        else:
            seen[score.id] = score
    return list(seen.values())


def _checked(scores: tuple[ReportedScore, ...], unread: Sequence[Unread], file: str) -> Table:
    if scores:
        return Table(scores, tuple(unread), file)
    if not unread:
        raise TableError("no score in it", file=file, expected="at least one number from 0 to 100", remedy="fill it in")
    first = unread[0]
    place = first.place.removeprefix(file).strip(":").split(":")
    line, column = [int(part) if part.isdigit() else 0 for part in (*place, "0", "0")][:2]
    raise TableError(
        f"{first.text!r}: {first.reason}" + (f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""),
        file=file, line=line, column=column, expected="a number from 0 to 100", remedy="correct the table",
    )  # fmt: skip
