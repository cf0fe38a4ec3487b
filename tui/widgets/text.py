"""Long text as wrapped lines that are painted only in view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.theme import Look
from tui.widgets.pieces import Piece
from tui.widgets.rows import line

Line = Sequence[Piece]


class TextView(ScrollView, can_focus=True):
    """Lines of pieces, wrapped to the width at hand, scrolled with the list keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "roll(1)", "down", show=False),
        Binding("k,up", "roll(-1)", "up", show=False),
        Binding("pagedown,ctrl+d,ctrl+f,space", "leaf(1)", "page down", show=False),
        Binding("pageup,ctrl+u,ctrl+b", "leaf(-1)", "page up", show=False),
        Binding("home,less_than_sign", "edge(-1)", "top", show=False),
        Binding("end,greater_than_sign,G", "edge(1)", "bottom", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[Line] = []
        self._wrapped: list[Line] = []
        self._width = 0
        self._trails = False
        self._end = 0
        self.look = Look(dark=True, colour=True, ascii_only=False)

    @property
    def text(self) -> str:
        """Everything that the view holds, unwrapped."""
        return "\n".join("".join(piece.text for piece in found) for found in self._lines)

    @property
    def lines(self) -> list[Line]:
        """The lines as they were given."""
        return self._lines

    def show(self, lines: Sequence[Line], *, keep: bool = False) -> None:
        """Show lines, from the top unless `keep`."""
        self._trails = False
        self._lines = [list(found) for found in lines]
        self._wrap()
        if not keep:
            self.scroll_to(y=0, animate=False)

    def trail(self, lines: Sequence[Line], *, anew: bool = False) -> None:
        """Show lines that grow at their end, which stays in view unless the user scrolled away; `anew` forgets that."""
        trails = anew or self.scroll_offset.y >= self._end
        self.show(lines, keep=True)
        self._trails = trails
        self._to_end()

    def _to_end(self) -> None:
        if self._trails:
            self._end = self.max_scroll_y
            # The scroll bar may come with these very lines: until it is there, scrolling has to be forced.
            self.scroll_to(y=self._end, animate=False, force=True)

    def reveal(self, index: int) -> None:
        """Scroll so that a line, as it was given, stands at the top unless it is in view already."""
        if self._width <= 0:
            return
        place = sum(len(wrap(found, self._width)) for found in self._lines[:index])
        if not self.scroll_offset.y <= place < self.scroll_offset.y + self.size.height:
            self.scroll_to(y=place, animate=False)

    def on_resize(self) -> None:
        """Another width, other lines."""
        if self.scrollable_content_region.width != self._width:
            self._wrap()
        self._to_end()

    def _wrap(self) -> None:
        self._width = self.scrollable_content_region.width
        if self._width > 0:
            self._wrapped = [part for found in self._lines for part in wrap(found, self._width)]
            self.virtual_size = Size(self._width, len(self._wrapped))
        self.refresh()

    def action_roll(self, step: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_offset.y + step, animate=False)

    def action_leaf(self, step: int) -> None:
        """Scroll by pages."""
        self.scroll_to(y=self.scroll_offset.y + step * max(1, self.size.height - 1), animate=False)

    def action_edge(self, side: int) -> None:
        """To the first or last line."""
        self.scroll_to(y=0 if side < 0 else len(self._wrapped), animate=False)

    def render_line(self, y: int) -> Strip:
        """One line of the viewport."""
        width = self.scrollable_content_region.width
        place = y + self.scroll_offset.y
        if place >= len(self._wrapped):
            return Strip.blank(width, self.rich_style)
        return line(self._wrapped[place], width, self.look, self.rich_style)


def wrap(found: Line, width: int) -> list[Line]:
    """One line broken at spaces where it can be, continued under its own indent, or beside its padded first piece."""
    if sum(cell_len(piece.text) for piece in found) <= width:
        return [found]
    text = "".join(piece.text for piece in found)
    hang = len(found[0].text) if found[0].text.endswith("  ") else len(text) - len(text.lstrip()) + 2
    indent = " " * min(hang, width // 3)
    lines: list[Line] = []
    current: list[Piece] = []
    used = 0
    for word, role in _words(found, width - len(indent)):
        room = cell_len(word)
        if used + cell_len(word.rstrip()) > width and used:
            lines.append(current)
            current, used = [Piece(indent)], len(indent)
            word = word.lstrip()
            room = cell_len(word)
        current.append(Piece(word, role))
        used += room
    return [*lines, current]


def _words(found: Line, width: int) -> list[Piece]:
    words: list[Piece] = []
    for piece in found:
        start = 0
        for end in [index + 1 for index, char in enumerate(piece.text) if char == " "] + [len(piece.text)]:
            word = piece.text[start:end]
            start = end
            words += [Piece(part, piece.role) for part in (chop_cells(word, width) if word else ())]
    return words


def plain(text: str, role: str = "text") -> list[Line]:
    """Lines of one role; control characters that could reach the terminal are shown as `�`."""
    shown = text.expandtabs(4)
    clean = "".join(char if char == "\n" or char.isprintable() else "�" for char in shown)
    return [[Piece(found, role)] for found in clean.split("\n")]
