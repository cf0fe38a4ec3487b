"""Scores that structured files hold as such: from raw entries to records, with one reading of percent and fraction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from literature.cells import CellScore, in_percent, parse_cell, percentages
from literature.errors import ScoreTextError
from literature.formats.grid import Records
from literature.records import ReportedScore
from literature.values import Printed


@dataclass(frozen=True)
class Entry:
    """One number of a structured file, as text, and where in the file it stands; `unit` as in `values.printed`.

    `printed` is the source's own form where the file keeps that apart (None: the text is it).
    """

    model: str
    benchmark: str
    metric: str
    text: str
    place: str
    sources: tuple[str, ...] = ()
    stated: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    uncertainty: str = ""
    introduced_by: str = ""
    printed: str | None = None


class Skipped(NamedTuple):
    """What of a structured file gives no score: its place, its text, and why."""

    place: str
    text: str
    reason: str


def to_records(entries: Iterable[Entry | Skipped]) -> Records:
    """Records of the entries; those of one benchmark, metric and unit are read like one column of a table."""
    columns: dict[tuple[str, str, str], list[tuple[int, Entry]]] = {}
    scores: list[tuple[int, ReportedScore]] = []
    unread: list[tuple[str, str, str]] = []
    for index, entry in enumerate(entries):
        if isinstance(entry, Skipped):
            unread.append((entry.place, entry.text[:200], entry.reason))
        elif not entry.model:
            unread.append((entry.place, entry.text[:200], "no model named"))
        else:
            columns.setdefault((entry.benchmark, entry.metric, entry.unit), []).append((index, entry))
    for (_, _, unit), column in columns.items():
        kept = []
        for index, entry in column:
            try:
                (cell,) = parse_cell(entry.text)
                kept.append((index, entry, cell))
            except (ScoreTextError, ValueError) as error:
                reason = str(error) if isinstance(error, ScoreTextError) else "not one number"
                unread.append((entry.place, entry.text[:200], reason))
        for (index, entry, cell), number in zip(kept, percentages([cell for *_, cell in kept], unit), strict=True):
            if isinstance(number, Printed):
                scores.append((index, _record(entry, cell, number)))
            else:
                unread.append((entry.place, entry.text[:200], str(number)))
    in_order = sorted(scores, key=lambda item: item[0])
    return Records(tuple(score for _, score in in_order), tuple(unread))


def _record(entry: Entry, cell: CellScore, number: Printed) -> ReportedScore:
    text = cell.written if cell.count else entry.text
    own = text.removesuffix("%").strip()
    form = (text if own != number.text.removesuffix("%") else "") if entry.printed is None else entry.printed
    return ReportedScore(
        entry.model, entry.benchmark, entry.metric, number.text, entry.sources, entry.introduced_by, entry.place,
        {axis: value for axis, value in entry.stated.items() if value} | cell.stated,
        in_percent(entry.uncertainty, text, number), form,
    )  # fmt: skip


def within(data: Any, *keys: str) -> dict[str, Any]:
    """The object under a path of keys; an empty one where the path leads to none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def renamed(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Scalars of `data` that are there, as text under the names that `names` gives to theirs."""
    return {ours: str(data[theirs]) for theirs, ours in names.items() if data.get(theirs) not in (None, "", {}, [])}
