"""The match matrix's layout: which axes are worth a column, how wide columns are, and which reported scores fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.scoring import Score
from literature.records import ReportedScore
from tui.theme import MARKS, Look
from tui.widgets.pieces import Piece, cell

if TYPE_CHECKING:
    from literature.matching import Match

SHORT = {"benchmark": "variant", "samples": "n"}
USUAL = {("header", "pre-filled"), ("samples", "1"), ("seed", "0"), ("extraction", "harness")}
"""Values that go without saying where an axis has only them."""
AXIS_CAP, CELL = 12, 9


@dataclass(frozen=True)
class Layout:
    """Columns of the matrix for one model at one width.

    `axes` are (axis, width) that vary; `fixed` the labels of those that do not; `first` is the first reported column
    shown and `shown` how many fit, each `cell_width` wide.
    """

    axes: tuple[tuple[str, int], ...]
    fixed: tuple[str, ...]
    score_width: int
    cell_width: int
    first: int
    shown: int

    def visible(self, columns: Sequence[ReportedScore]) -> Sequence[ReportedScore]:
        """The reported scores in view."""
        return columns[self.first : self.first + self.shown]


def lay_out(scores: Sequence[Score], columns: Sequence[ReportedScore], width: int, chosen: int, first: int) -> Layout:
    """Fit axes, score and as many reported scores as possible into `width`, with column `chosen` in view."""
    values: dict[str, dict[str, None]] = {}
    for score in scores:
        for axis, value in score.axes.items():
            values.setdefault(axis, {})[value] = None
    axes = tuple(
        (axis, min(AXIS_CAP, max(len(SHORT.get(axis, axis)), *(len(label(axis, value)) for value in found))))
        for axis, found in values.items()
        if len(found) > 1
    )
    fixed = tuple(
        label(axis, next(iter(found)))
        for axis, found in values.items()
        if len(found) == 1 and (axis, next(iter(found))) not in USUAL
    )
    score_width = max([7, *(len(f"{score.asked}..{score.asked}/{score.asked}") for score in scores[:1])])
    used = sum(size + 1 for _, size in axes) + score_width + 1
    cell_width = max([CELL, *(len(column.label) + 1 for column in columns)])
    cell_width = min(cell_width, 14)
    shown = max(1, (width - used) // cell_width) if columns else 0
    first = max(0, min(first, len(columns) - shown, chosen), chosen - shown + 1) if shown else 0
    return Layout(axes, fixed, score_width, cell_width, first, shown)


def label(axis: str, value: str) -> str:
    """An axis value as short as it stays clear in a column."""
    if axis == "header":
        return "header" if value == "pre-filled" else "none"
    if axis == "benchmark":
        return value.removeprefix("humanevalfix").removeprefix("humaneval")
    return value


def header(layout: Layout, columns: Sequence[ReportedScore], chosen: int) -> list[Piece]:
    """The line over the matrix; `‹` and `›` say that more reported scores lie that way."""
    pieces = [Piece(" ")]
    for axis, size in layout.axes:
        pieces += [cell("prompt" if axis == "prompt" else SHORT.get(axis, axis), size, "muted"), Piece(" ")]
    pieces += [cell("score", layout.score_width, "muted"), Piece("<" if layout.first else " ", "muted")]
    for index, column in enumerate(layout.visible(columns), layout.first):
        role = "text bold" if index == chosen else "muted"
        pieces.append(cell(column.label, layout.cell_width - 1, role))
        pieces.append(Piece(" "))
    if layout.first + layout.shown < len(columns):
        pieces[-1] = Piece(">", "muted")
    return pieces


def row(
    score: Score, state: str, layout: Layout, cells: Sequence[Match | None], chosen: int, look: Look
) -> list[Piece]:
    """One configuration: its varying settings, its score, and a cell per reported score in view."""
    axes = score.axes
    role = "muted" if state in ("waiting", "stopped") else "text"
    pieces: list[Piece] = []
    for axis, size in layout.axes:
        pieces += [cell(label(axis, axes[axis]), size, role), Piece(" ")]
    if state == "failed":
        pieces += [cell("cannot run", layout.score_width, "against"), Piece(" "), Piece(score.failure, "against")]
        return pieces
    text = "waiting" if state == "waiting" else score.text
    pieces += [cell(text, layout.score_width, "text bold" if state == "finished" else role), Piece(" ")]
    for index, found in enumerate(cells, layout.first):
        pieces += match_cell(found, layout.cell_width, look, chosen=index == chosen)
    return pieces


def group_row(axis: str, value: str, text: str, *, folded: bool) -> list[Piece]:
    """The line over a group of configurations."""
    sign = "▸" if folded else "▾"
    return [Piece(f"{sign} {SHORT.get(axis, axis)} {label(axis, value)}", "agree bold"), Piece(f"  {text}", "muted")]


def match_cell(found: Match | None, width: int, look: Look, *, chosen: bool) -> list[Piece]:
    """Glyph, starred where it rests on assumed jitter, and signed difference in points.

    The chosen column is bold; elsewhere what is ruled out is silent.
    """
    if found is None:
        return [cell("·", width, "muted")]
    mark = MARKS.get(found.kind, MARKS["open"])
    text = f"{look.glyph(found.kind, assumed=found.assumed):<2}"
    if found.kind not in ("exact", "open"):
        text += f"{found.difference_points:+.1f}"
    role = "muted" if found.kind == "ruled out" and not chosen else mark.role
    return [cell(text, width, role + (" bold" if chosen else ""))]
