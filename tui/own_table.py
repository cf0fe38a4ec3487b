"""A study's own table of reported scores: what was imported, added or corrected, kept as CSV, with undo and redo."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cache.atomic import whole_file
from cache.paths import studies_folder
from literature.records import ReportedScore
from tui.errors import TypedError

Scores = tuple[ReportedScore, ...]


@dataclass(frozen=True)
class Change:
    """One change of the table: the scores before and after, and what it was, in a few words."""

    before: Scores
    after: Scores
    what: str


def own_path(study: str) -> Path:
    """Where the own table of a study of that name lies."""
    plain = re.sub(r"[^a-z0-9]+", "-", study.casefold()).strip("-")
    return studies_folder() / f"{plain or 'no-study'}-scores.csv"


def shown_name(table: str) -> str:
    """How the scores of a table, a shipped name or a path, name it in their `place`."""
    from literature.shipped import shipped_tables

    return f"{table}.csv" if table in shipped_tables() and not Path(table).exists() else table


class OwnTable:
    """The own table of one study; every change is on disk when the call returns. Raises `LiteratureError`.

    A table of which one score is corrected is taken in whole: its scores then say in `place` where they stood, and
    the study reads them here. No other table is ever written.
    """

    def __init__(self, study: str) -> None:
        self.path = own_path(study)
        self.scores: Scores = ()
        self._read = False
        self._done: list[Change] = []
        self._undone: list[Change] = []

    def read(self) -> None:
        """Read what earlier sessions kept, once."""
        from literature.table import read_table

        if not self._read and self.path.exists():
            self.scores = read_table(self.path).scores
        self._read = True

    @property
    def name(self) -> str:
        """How a study names this table."""
        return str(self.path)

    @property
    def undoable(self) -> str:
        """What the last change was; empty when there is none."""
        return self._done[-1].what if self._done else ""

    @property
    def redoable(self) -> str:
        """What was taken back last; empty when there is nothing."""
        return self._undone[-1].what if self._undone else ""

    def covers(self, table: str) -> bool:
        """True when the scores of another table are read here instead."""
        start = shown_name(table) + ":"
        return any(score.place.startswith(start) for score in self.scores)

    def add(self, scores: Sequence[ReportedScore], what: str) -> int:
        """Put scores at the end; those that are there already are left out. How many are new."""
        self.read()
        known = {score.id for score in self.scores}
        new = tuple(score for score in scores if score.id not in known)
        if new:
            self._change(Change(self.scores, self.scores + new, what))
        return len(new)

    def correct(self, table: str, shown: Scores, old: ReportedScore, new: ReportedScore | None) -> None:
        """Put `new` in place of `old` (None: leave it out), which stands in `table` with the scores `shown`.

        `TypedError` when `new` is there already, or when nothing of a taken table would be left.
        """
        self.read()
        before = self.scores
        start = shown_name(table) + ":"
        taken = () if table == self.name else tuple(_placed(score, start) for score in shown)
        known = {score.id for score in before}
        whole = before + tuple(score for score in taken if score.id not in known)
        if new is not None and new.id != old.id and any(score.id == new.id for score in whole):
            raise TypedError(f"{new.model}: {new.label} is there already; change the value or its sources")
        after = [new and replace(new, place=score.place) if score.id == old.id else score for score in whole]
        left = tuple(score for score in after if score is not None)
        if not left:
            raise TypedError("the last score of a table cannot be taken away: import another table first")
        what = f"{old.model} {old.label}" + (f" is now {new.label}" if new else " is taken away")
        self._change(Change(before, left, what))

    def undo(self) -> str:
        """Take the last change back; what it was, empty when there is none."""
        return self._move(self._done, self._undone, back=True)

    def redo(self) -> str:
        """Make the change that was taken back last again; what it is, empty when there is none."""
        return self._move(self._undone, self._done, back=False)

    def _move(self, source: list[Change], target: list[Change], *, back: bool) -> str:
        if not source:
            return ""
        change = source[-1]
        self._write(change.before if back else change.after)
        target.append(source.pop())
        return change.what

    def _change(self, change: Change) -> None:
        self._write(change.after)
        self._done.append(change)
        self._undone.clear()

    def _write(self, scores: Scores) -> None:
        from literature.table import write_table

        if scores:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(self.path) as part:
                write_table(scores, part)
        else:
            self.path.unlink(missing_ok=True)
        self.scores = scores


def _placed(score: ReportedScore, start: str) -> ReportedScore:
    return score if score.place.startswith(start) else replace(score, place=start + score.place)


def read_score(
    model: str, benchmark: str, metric: str, value: str, sources: str, states: str, place: str = ""
) -> ReportedScore:
    """A reported score as people write it: `states` are `axis=text` parts with semicolons or commas between them.

    `LiteratureError` says which text is not understood and what was expected.
    """
    from literature.cells import parse_cell, percentages, refuse_other_count
    from literature.errors import LiteratureError, ScoreTextError
    from literature.table import DEFAULT_METRIC, split_sources

    if not model.strip():
        raise TypedError("model is empty: expected the name as the source prints it")
    cells = parse_cell(value)
    if len(cells) != 1:
        raise ScoreTextError(f"value {value!r}: expected one number from 0 to 100, such as 48.9")
    (number,) = percentages(cells)
    if isinstance(number, LiteratureError):
        raise number
    written, stated = cells[0].written, read_states(states) | cells[0].stated
    refuse_other_count(written, stated.get("count", ""), number)
    return ReportedScore(
        model.strip(), benchmark.strip(), metric.strip() or DEFAULT_METRIC, number.text,
        cells[0].sources or split_sources(sources), place=place, stated=stated,
        uncertainty=cells[0].uncertainty,
        printed="" if written.removesuffix("%") == number.text.removesuffix("%") else written,
    )  # fmt: skip


def read_states(text: str) -> dict[str, str]:
    """`T=0.2, n=20; prompt=instruct` as axis -> text, with the short names `T` and `n` spelled out."""
    names = {"T": "temperature", "n": "samples"}
    found: dict[str, str] = {}
    for part in re.split(r"[;,](?=[\w\s.-]+=)", text):
        if not part.strip():
            continue
        axis, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not axis or not value:
            raise TypedError(f"states {part.strip()!r}: expected AXIS=VALUE parts, such as T=0.2, n=20")
        found[names.get(axis, axis)] = value
    return found


def write_states(score: ReportedScore) -> str:
    """What a score's sources state, as `read_states` reads it back."""
    short = {"temperature": "T", "samples": "n"}
    return "; ".join(f"{short.get(axis, axis)}={value}" for axis, value in score.stated.items() if value)
