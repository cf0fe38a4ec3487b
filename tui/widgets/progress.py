"""How far a run is, and the words for one that does not go on."""

from __future__ import annotations

from collections.abc import Sequence

from tui.session import Status
from tui.state import RunState
from tui.widgets.pieces import Piece, bar, cell
from tui.widgets.text import Line, TextView, wrap

STOPPED = ("stopped", "failed", "died")
"""States from which a run can be resumed."""
_WORDS = {"died": "The worker died", "failed": "The run failed", "stopped": "The run is stopped"}


def progress(state: RunState, width: int, status: Status | None = None) -> list[Piece]:
    """Bar, configurations, generations, what is being generated, and on which device with how much memory."""
    room = max(10, min(30, width // 6))
    current = state.passes.get(state.current) if state.current is not None else None
    counts = (
        f" {state.finished_count}/{len(state.order)}   generation {grouped(state.done)}/{grouped(state.generations)}   "
    )
    label = current.label if current and not state.ended else f"sandbox {state.sandbox}" if state.sandbox else ""
    device = "" if state.ended else f" {used(state.device, status)} "
    rest = max(0, width - room - len(counts) - 2 - len(device))
    line = [Piece(" "), *bar(state.done, state.generations, room), Piece(counts), cell(label, rest, "muted")]
    return [*line, Piece(device, "muted")]


def used(device: str, status: Status | None) -> str:
    """`CPU 1.2 GB`, `CUDA0 14.1 GB + 2.0 GB`: the device, its memory that the worker holds, and main memory."""
    sizes = [size for size in (status.device_bytes, status.bytes) if size] if status else []
    return " ".join([device, " + ".join(f"{size / 1e9:.1f} GB" for size in sizes)]).strip()


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


def fit_banner(view: TextView, lines: Sequence[Line], width: int) -> None:
    """Show the banner's lines, as high as they need up to five, or take it away."""
    if [list(found) for found in lines] != view.lines:
        view.show(lines)
        view.styles.height = min(5, sum(len(wrap(found, max(10, width - 3))) for found in lines))
        view.display = bool(lines)


def grouped(count: int) -> str:
    """A whole number with groups of three: 4 920."""
    return f"{count:,}".replace(",", " ")
