"""The lines around a screen: where you are, what just happened, and which keys act."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from tui.commands import Command
from tui.theme import Look
from tui.widgets.pieces import Piece, cell
from tui.widgets.rows import line
from tui.widgets.text import wrap

PLACES = (("literature", "Literature"), ("grid", "Grid"), ("run", "Run"), ("report", "Report"), ("runs", "Runs"))


class TitleBar(Widget):
    """One line: the product, the places with the current one marked, and the study's name."""

    def __init__(self, place: str, keys: Mapping[str, str]) -> None:
        super().__init__()
        self.place = place
        self._tabs = [(name, f"{keys.get(name, '')} {label}".strip()) for name, label in PLACES]
        self.study = ""
        self.look = Look(dark=True, colour=True, ascii_only=False)

    def show(self, study: str) -> None:
        """Name the study at the right."""
        if study != self.study:
            self.study = study
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line."""
        width = self.size.width
        pieces = [Piece(" Scoretrace ", "agree bold"), Piece(" ")]
        for name, text in self._tabs:
            here = name == self.place
            pieces.append(Piece(f"[{text}]" if here else f" {text} ", "text bold" if here else "muted"))
        used = sum(len(piece.text) for piece in pieces)
        pieces.append(cell(self.study + " ", max(0, width - used), "muted", right=True))
        return line(pieces, width, self.look, self.rich_style)

    def on_click(self, event: object) -> None:
        """A click on a place goes there."""
        x = getattr(event, "x", 0)
        start = len(" Scoretrace  ")
        for name, text in self._tabs:
            end = start + len(text) + 2
            if start <= x < end:
                self.app.call_later(getattr(self.app, "go", lambda place: None), name)
            start = end


class TextLine(Widget):
    """One line of pieces."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._pieces: Sequence[Piece] = ()
        self.look = Look(dark=True, colour=True, ascii_only=False)

    def show(self, *pieces: Piece) -> None:
        """Show pieces; nothing is redrawn when they are the same."""
        if pieces != self._pieces:
            self._pieces = pieces
            self.refresh()

    @property
    def text(self) -> str:
        """What stands on the line."""
        return "".join(piece.text for piece in self._pieces)

    def render_line(self, y: int) -> Strip:
        """The line; below it nothing."""
        width = self.size.width
        if y:
            return Strip([Segment(" " * width, self.rich_style)], width)
        return line(self._pieces, width, self.look, self.rich_style)


class StatusLine(TextLine):
    """One sentence; one that is longer than the terminal is wide takes up to three lines."""

    def show(self, *pieces: Piece) -> None:
        """Show a sentence."""
        super().show(*pieces)
        self._fit()

    def on_resize(self) -> None:
        """Another width, other lines."""
        self._fit()

    def _fit(self) -> None:
        lines = len(wrap(self._pieces, self.size.width)) if self.size.width else 1
        self.styles.height = max(1, min(3, lines))

    def render_line(self, y: int) -> Strip:
        """One of the lines."""
        width = self.size.width
        lines = wrap(self._pieces, width)
        return line(lines[y] if y < len(lines) else (), width, self.look, self.rich_style)


class KeyLine(Static):
    """The keys that act here, as many as fit, out of the command tables; a click acts too."""

    def __init__(self, commands: Sequence[Command]) -> None:
        super().__init__(markup=False)
        self._commands = [command for command in commands if not command.hidden and command.keys]
        self._left_out: Collection[str] = ()

    def on_mount(self) -> None:
        """Fill the line."""
        self._fill()

    def on_resize(self) -> None:
        """Another width, other keys."""
        self._fill()

    def leave_out(self, actions: Collection[str]) -> None:
        """Show all keys but those of these actions; nothing is redrawn when they are the same as before."""
        if actions != self._left_out:
            self._left_out = actions
            self._fill()

    def _fill(self) -> None:
        width = self.size.width
        last = [command for command in self._commands if command.action == "help"]
        parts: list[Content] = []
        used = sum(_length(command) for command in last)
        for command in self._commands:
            if command.action == "help" or command.action in self._left_out:
                continue
            if used + _length(command) > width:
                break
            used += _length(command)
            parts.append(_key(command))
        self.update(Content("").join([*parts, *(_key(command) for command in last)]))


def _length(command: Command) -> int:
    return len(command.key_text) + len(command.label) + 3


def _key(command: Command) -> Content:
    key, label = (text.replace("[", r"\[") for text in (command.key_text, command.label))
    return Content.from_markup(
        f"[@click=screen.command('{command.action}')] [bold $primary]{key}[/] [$muted]{label}[/] [/]"
    )
