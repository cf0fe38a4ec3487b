"""How far a run is, and the words for one that does not go on."""

from __future__ import annotations

from tui.state import RunState
from tui.widgets.pieces import Piece, bar, cell
from tui.widgets.text import Line

STOPPED = ("stopped", "failed", "died")
"""States from which a run can be resumed."""
_WORDS = {"died": "The worker died", "failed": "The run failed", "stopped": "The run is stopped"}


def progress(state: RunState, width: int) -> list[Piece]:
    """Bar, configurations, generations, and what is being generated."""
    room = max(10, min(30, width // 4))
    current = state.passes.get(state.current) if state.current is not None else None
    counts = (
        f" {state.finished_count}/{len(state.order)}   generation {grouped(state.done)}/{grouped(state.generations)}   "
    )
    label = current.label if current and not state.ended else f"sandbox {state.sandbox}" if state.sandbox else ""
    rest = max(0, width - room - len(counts) - 2)
    return [Piece(" "), *bar(state.done, state.generations, room), Piece(counts), cell(label, rest, "muted")]


def banner(shown: str, detail: str, state: RunState) -> list[Line]:
    """Why a run does not go on, with its worker's last words, and the last warning; empty while all is well."""
    lines: list[Line] = []
    if shown in STOPPED:
        lines.append(
            [Piece(f"{_WORDS[shown]}; everything finished is kept. R resumes it where it was.", "against bold")]
        )
        lines += [[Piece(found, "against")] for found in (detail or state.detail).splitlines()[-3:]]
    lines += [[Piece(f"note: {note.text}", "open")] for note in state.notes[-1:] if note.level == "warning"]
    return lines


def grouped(count: int) -> str:
    """A whole number with groups of three: 4 920."""
    return f"{count:,}".replace(",", " ")
