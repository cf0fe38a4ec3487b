"""Help for a screen, made from the same rows as its keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.commands import Command
from tui.theme import MARKS, STARRED
from tui.widgets.pieces import Piece
from tui.widgets.rows import dress_all
from tui.widgets.text import Line, TextView

MOVES = (
    ("j k, arrows", "Move one row."),
    ("^d ^u, PgDn PgUp", "Move one page."),
    ("< >, home end", "First and last row."),
    ("tab", "Move between list and details."),
)


class HelpScreen(ModalScreen[None]):
    """Every key of a screen with one sentence each."""

    BINDINGS = [Binding("escape,q,question_mark,enter", "dismiss", "close")]  # noqa: RUF012

    def __init__(self, title: str, commands: Sequence[Command]) -> None:
        super().__init__()
        self._title = title
        self._commands = commands

    def compose(self) -> ComposeResult:
        """A box with a text view."""
        with Vertical(classes="box tall"):
            yield Static(f"Keys: {self._title}", classes="box-title", markup=False)
            yield TextView(id="help")
            yield Static("esc closes", classes="box-foot", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        view = self.query_one(TextView)
        look = getattr(self.app, "look", None)
        if look is not None:
            dress_all(self, look)
        rows = [(command.all_keys_text or "palette", command.help) for command in self._commands]
        lines: list[Line] = [_row(*row) for row in (*rows, *MOVES)]
        lines += [[Piece("")], [Piece("Match marks", "text bold")]]
        for kind, mark in MARKS.items():
            lines.append([Piece(f"{view.look.glyph(kind):<18}", mark.role), Piece(mark.word)])
        lines.append(
            [Piece(f"{STARRED:<18}"), Piece("behind a mark: it rests on the ASSUMED jitter of greedy decoding")]
        )
        view.show(lines)
        view.focus()


def _row(keys: str, text: str) -> Line:
    return [Piece(f"{keys:<18}", "agree"), Piece(text)]
