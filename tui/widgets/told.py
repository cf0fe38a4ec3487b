"""What stands below the match matrix: a cell in words, all configurations together, the newest reply, the legend."""

from __future__ import annotations

from collections.abc import Iterator

from literature.records import ReportedScore
from tui.desk import Desk
from tui.theme import MARKS, STARRED, Look
from tui.widgets.pieces import Piece
from tui.widgets.text import Line, plain

LEGEND = ("exact", "rounding", "near", "within noise", "inconclusive", "open", "ruled out")


def sentences(desk: Desk, look: Look, key: str, column: ReportedScore) -> Iterator[Line]:
    """One configuration against one reported score."""
    found = desk.matches.cell(key, column.id) if key else None
    if found is None:
        yield [Piece(f" {column.label}: nothing judged yet", "muted")]
    else:
        mark = MARKS[found.kind]
        yield [
            Piece(f" {look.glyph(found.kind, assumed=found.assumed)} {mark.word} ", mark.role),
            Piece(f"{column.label}: {found.sentence}"),
        ]
        if found.beside:
            yield [Piece(f"   as stated: {found.beside}", "open")]
    verdict = desk.matches.verdict(column.id)
    if verdict is not None:
        yield from ([Piece(f"   {other.sentence}", "open")] for other in verdict.misattributions)


def overall(desk: Desk, column: ReportedScore) -> str:
    """All configurations against one reported score, and what a match is worth; empty before that is worked out."""
    verdict = desk.matches.verdict(column.id)
    if verdict is None:
        return ""
    worth = f"; {verdict.chance.brief}" if verdict.chance is not None else ""
    found = f"{verdict.matching} of {verdict.configurations} consistent" if verdict.matching else verdict.kind
    return f"{column.label}: {found}{worth}"


def newest_reply(desk: Desk) -> list[Line]:
    """The reply that was kept last, whole; replies are kept when they end."""
    event = desk.state.newest
    if event is None:
        return [[Piece(" No reply yet.", "muted")]]
    current = desk.state.passes.get(event.index) or desk.state.passes.get(desk.state.current or 0)
    found = desk.generation(event.key)
    lines: list[Line] = [
        [
            Piece(f" newest reply  {event.task_id} ", "text bold"),
            Piece(f"{event.tokens} tokens, ended by {event.stop}", "text"),
            Piece(f" · {current.label}" if current else "", "muted"),
        ]
    ]
    return [*lines, *(plain(found.text) if found else [[Piece("   It is not in the store.", "muted")]])]


def legend(look: Look, width: int) -> list[Piece]:
    """Each class that a cell can have, with its glyph and its word, and what the star behind a glyph says."""
    pieces = [Piece(" ")]
    wide = width > 94
    for kind in LEGEND:
        mark = MARKS[kind]
        word = mark.word if wide else mark.word.removeprefix("within ")
        pieces += [Piece(look.glyph(kind), mark.role), Piece(f" {word}{'  ' if wide else ' '}", "muted")]
    return [*pieces, Piece(STARRED), Piece(" assumed jitter" if wide else " assumed", "muted")]
