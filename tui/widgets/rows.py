"""A list of any length that paints only the rows in view: an index list, a cursor, and a painter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from tui.theme import Look
from tui.widgets.pieces import Piece, fit

Painter: TypeAlias = Callable[[str, int], Sequence[Piece]]
"""(row key, width) -> pieces of one line, left to right."""


class AsciiScrollBar(ScrollBarRender):
    """A scroll bar of blanks on a ground, without block characters."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def dress(widget: Widget, look: Look) -> None:
    """Give a widget that paints lines its styles and glyphs; other widgets are left alone."""
    if hasattr(widget, "look"):
        widget.look = look
        widget.refresh()
    if look.ascii_only and isinstance(widget, ScrollView):
        widget.vertical_scrollbar.renderer = AsciiScrollBar  # type: ignore[misc]
    if look.still and isinstance(widget, Input):
        widget.cursor_blink = False


def dress_all(root: Widget, look: Look) -> None:
    """Dress everything below a screen."""
    for widget in root.query("*").results(Widget):
        dress(widget, look)


class RowList(ScrollView, can_focus=True):
    """Rows by key, drawn by a painter when they come into view; the caller owns everything the rows show."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "down", show=False),
        Binding("k,up", "move(-1)", "up", show=False),
        Binding("pagedown,ctrl+d,ctrl+f", "page(1)", "page down", show=False),
        Binding("pageup,ctrl+u,ctrl+b", "page(-1)", "page up", show=False),
        Binding("home,less_than_sign", "edge(-1)", "first", show=False),
        Binding("end,greater_than_sign,G", "edge(1)", "last", show=False),
        Binding("enter", "open", "open", show=False),
    ]

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: RowList, key: str) -> None:
            super().__init__()
            self.rows = rows
            self.key = key

        @property
        def control(self) -> RowList:
            """The list that sent it."""
            return self.rows

    class Opened(Moved):
        """A row was asked to open (enter, or a second click)."""

    def __init__(self, painter: Painter, *, id: str | None = None, empty: str = "") -> None:
        super().__init__(id=id)
        self._painter = painter
        self._keys: list[str] = []
        self._places: dict[str, int] = {}
        self._cursor = 0
        self._ground: Style | None = None
        self.empty_text = empty
        self.look = Look(dark=True, colour=True, ascii_only=False)

    @property
    def keys(self) -> Sequence[str]:
        """The rows in view order."""
        return self._keys

    @property
    def key(self) -> str:
        """The key of the row under the cursor; empty without rows."""
        return self._keys[self._cursor] if self._keys else ""

    def show(self, keys: Sequence[str]) -> None:
        """Show these rows; the cursor stays on its row while that is among them."""
        old = self.key
        self._keys = list(keys)
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._cursor = self._places.get(old, min(self._cursor, max(0, len(self._keys) - 1)))
        self._resize()
        self._reveal()
        self.refresh()
        if self.key != old and self.is_mounted:
            self.post_message(self.Moved(self, self.key))

    def touch(self, keys: Collection[str]) -> None:
        """Repaint those of `keys` that are in view."""
        first = self.scroll_offset.y
        last = first + self.size.height
        for key in keys:
            place = self._places.get(key)
            if place is not None and first <= place < last:
                self.refresh_line(place)

    def go(self, key: str) -> None:
        """Put the cursor on a row."""
        place = self._places.get(key)
        if place is not None:
            self._go(place)

    def hop(self, step: int, wanted: Callable[[str], bool]) -> None:
        """Put the cursor on the next wanted row (`step` 1) or the one before (-1), around the ends; stay if none is."""
        start, count = self._places.get(self.key, 0), len(self._keys)
        places = ((start + step * distance) % count for distance in range(1, count + 1))
        found = next((place for place in places if wanted(self._keys[place])), None)
        if found is not None:
            self._go(found)

    def _resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._keys))

    def on_resize(self) -> None:
        """Lines are as wide as the list."""
        self._resize()

    def _go(self, place: int) -> None:
        if not self._keys:
            return
        place = max(0, min(place, len(self._keys) - 1))
        old, self._cursor = self._cursor, place
        self._reveal()
        if old != place:
            self.refresh_line(old)
            self.refresh_line(place)
            self.post_message(self.Moved(self, self.key))

    def _reveal(self) -> None:
        height = max(1, self.scrollable_content_region.height)
        top = self.scroll_offset.y
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= top + height:
            self.scroll_to(y=self._cursor - height + 1, animate=False)

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self._go(self._cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by pages."""
        self._go(self._cursor + step * max(1, self.scrollable_content_region.height - 1))

    def action_edge(self, side: int) -> None:
        """Go to the first or last row."""
        self._go(0 if side < 0 else len(self._keys) - 1)

    def action_open(self) -> None:
        """Ask to open the row under the cursor."""
        if self._keys:
            self.post_message(self.Opened(self, self.key))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; on the cursor's row, it opens."""
        place = event.y + self.scroll_offset.y
        if not 0 <= place < len(self._keys):
            return
        if place == self._cursor:
            self.action_open()
        else:
            self._go(place)

    def on_focus(self) -> None:
        """The cursor is drawn only where keys go."""
        self.refresh()

    def on_blur(self) -> None:
        """See `on_focus`."""
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of one frame, which stand on one ground: working it out took a fifth of a line's time."""
        self._ground = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._ground = None

    def render_line(self, y: int) -> Strip:
        """One line of the viewport."""
        width = self.scrollable_content_region.width
        place = y + self.scroll_offset.y
        ground = self._ground or self.rich_style
        if not self._keys and y == 0 and self.empty_text:
            return line((Piece(" " + self.empty_text, "muted"),), width, self.look, ground)
        if place >= len(self._keys):
            return Strip.blank(width, ground)
        cursor = place == self._cursor
        mark = Piece("▌" if cursor else " ", "agree" if self.has_focus else "muted")
        pieces = (mark, *self._painter(self._keys[place], width - 1))
        return line(pieces, width, self.look, ground, cursor=cursor)


def line(pieces: Sequence[Piece], width: int, look: Look, ground: Style, *, cursor: bool = False) -> Strip:
    """Pieces as one strip of exactly `width` cells."""
    segments = [Segment(look.draw(text), ground + look.style(role, cursor=cursor)) for text, role in fit(pieces, width)]
    return Strip(segments, width)
