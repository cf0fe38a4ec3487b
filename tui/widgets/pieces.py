"""Pieces of a line: text with a colour role, cut and padded to cells; and the 0-100 line that scores are drawn on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size


class Piece(NamedTuple):
    """Text in one colour role (`text`, `muted`, `agree`, `agree bold`, ...)."""

    text: str
    role: str = "text"


def cell(text: str, width: int, role: str = "text", *, right: bool = False) -> Piece:
    """Text cut or padded to `width` cells; a cut shows as `…`."""
    room = cell_len(text)
    if room > width:
        text = set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""
    elif right:
        text = " " * (width - room) + text
    return Piece(set_cell_size(text, width), role)


def fit(pieces: Iterable[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Pieces cut or padded so that they fill exactly `width` cells; a cut shows as `…`, unless only blanks go."""
    found: list[tuple[str, str]] = []
    left = width
    for text, role in pieces:
        room = cell_len(text)
        if room > left:
            if text.strip() and cell_len(text.rstrip()) > left:
                return _cut(found, text, role, left)
            text = set_cell_size(text, left)
            room = left
        if text:
            found.append((text, role))
        left -= room
    if left > 0:
        found.append((" " * left, "text"))
    return found


def _cut(found: list[tuple[str, str]], text: str, role: str, left: int) -> list[tuple[str, str]]:
    if left == 0 and found:
        text, role = found.pop()
        left = cell_len(text)
    return [*found, (set_cell_size(text, left - 1) + "…", role)] if left > 0 else found


def position(percent: float, width: int) -> int:
    """The cell of a 0-100 line of `width` cells in which a percentage lies."""
    return max(0, min(width - 1, round(percent / 100 * (width - 1))))


def scale_header(width: int) -> str:
    """`0        25        50        75     100` over a line of `width` cells."""
    cells = [" "] * width
    for mark in (0, 25, 50, 75, 100) if width >= 24 else (0, 50, 100):
        text = str(mark)
        start = min(width - len(text), max(0, position(mark, width) - (len(text) // 2 if mark else 0)))
        cells[start : start + len(text)] = text
    return "".join(cells)


def scale(reported: Sequence[float], measured: Sequence[float], width: int) -> list[Piece]:
    """The 0-100 line: `│` reported, `○` measured, `─` the measured span, `┼` a reported value inside that span."""
    cells = [("·", "muted")] * width
    if measured:
        low, high = position(min(measured), width), position(max(measured), width)
        for place in range(low, high + 1):
            cells[place] = ("─", "agree")
        for value in measured:
            cells[position(value, width)] = ("○", "agree")
    for value in reported:
        place = position(value, width)
        glyph, role = cells[place]
        inside = role == "agree" and glyph in "─○┼"
        cells[place] = ("┼", "agree bold") if inside else ("║" if glyph in "│║" else "│", "against")
    return _joined(cells)


def bar(done: int, total: int, width: int) -> list[Piece]:
    """A progress bar of `width` cells."""
    full = 0 if total <= 0 else min(width, int(width * done / total))
    return [Piece("━" * full, "agree"), Piece("─" * (width - full), "muted")]


def interval(low: float, middle: float, high: float, reach: float, width: int, role: str) -> list[Piece]:
    """An interval on a line from -`reach` to `reach`, `│` at 0, `○` in the middle."""

    def place(value: float) -> int:
        return max(0, min(width - 1, round((value + reach) / (2 * reach) * (width - 1))))

    cells = [("·", "muted")] * width
    for index in range(place(low), place(high) + 1):
        cells[index] = ("─", role)
    zero = place(0.0)
    cells[zero] = ("┼", role) if cells[zero][0] == "─" else ("│", "muted")
    cells[place(middle)] = ("○", role)
    return _joined(cells)


def _joined(cells: Sequence[tuple[str, str]]) -> list[Piece]:
    found: list[Piece] = []
    for text, role in cells:
        if found and found[-1].role == role:
            found[-1] = Piece(found[-1].text + text, role)
        else:
            found.append(Piece(text, role))
    return found
