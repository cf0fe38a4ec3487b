"""The list widget: its cursor, its keys, and that it paints only what is in view."""

from __future__ import annotations

import pytest
from app_kit import settled
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tui.widgets.pieces import Piece, fit
from tui.widgets.rows import RowList


@pytest.mark.parametrize(
    ("texts", "width", "line"),
    [
        (("abc", "def"), 8, "abcdef  "),
        (("abc", "def"), 6, "abcdef"),
        (("abc", "def"), 5, "abcd…"),
        (("abc", "def"), 3, "ab…"),
        (("abc", "   "), 3, "abc"),
        (("abc  ", " ", "d"), 4, "abc…"),
        (("表表表",), 5, "表表…"),
        (("表表表",), 4, "表 …"),
        (("abc",), 0, ""),
    ],
)
def test_a_line_that_is_cut_says_so(texts, width, line):
    """What does not fit ends in `…`; blanks that go are no loss. Every line is exactly as wide as asked."""
    found = "".join(text for text, _ in fit([(text, "text") for text in texts], width))
    assert found == line and cell_len(found) == width


class Host(App[int]):
    """A list of many rows, and the rows that were painted."""

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.painted: list[str] = []
        self.opened: list[str] = []

    def compose(self) -> ComposeResult:
        """Nothing but the list."""
        yield RowList(self.paint, id="rows")

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one(RowList).show([f"row {index}" for index in range(self.count)])
        self.query_one(RowList).focus()

    def paint(self, key, width):
        """Note which rows are asked for."""
        self.painted.append(key)
        return [Piece(key)]

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        """Note which rows were opened."""
        self.opened.append(event.key)


def in_view(rows):
    """True when the cursor's row is on the screen."""
    place = rows.keys.index(rows.key)
    return rows.scroll_offset.y <= place < rows.scroll_offset.y + rows.size.height


async def test_the_cursor_is_always_in_view():
    """Whatever key moved it."""
    app = Host(1000)
    async with app.run_test(size=(40, 12)) as pilot:
        rows = app.query_one(RowList)
        for keys, key in (
            (["j"] * 14, "row 14"), (["k"], "row 13"), (["G"], "row 999"), (["pageup"], "row 988"), (["home"], "row 0"),
            (["ctrl+d", "ctrl+d"], "row 22"), (["greater_than_sign"], "row 999"), (["less_than_sign"], "row 0"),
            (["up"], "row 0"),
        ):  # fmt: skip
            await pilot.press(*keys)
            await settled(pilot, lambda key=key: rows.key == key, key)
            assert in_view(rows), key


async def test_only_rows_in_view_are_painted():
    """A hundred thousand rows cost no more than a screenful."""
    app = Host(100_000)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("G")
        rows = app.query_one(RowList)
        await settled(pilot, lambda: rows.key == "row 99999", "the last row")
        app.painted.clear()
        rows.touch(["row 3", "row 99998", "row 99999"])
        await settled(pilot, lambda: bool(app.painted), "the rows that were touched")
        await pilot.pause(0.05)
        assert set(app.painted) <= {"row 99998", "row 99999"}


async def test_the_cursor_keeps_its_row_when_others_come_and_go():
    """Sorting and filtering move the row, not the choice."""
    app = Host(50)
    async with app.run_test(size=(40, 12)) as pilot:
        rows = app.query_one(RowList)
        rows.go("row 20")
        rows.show([f"row {index}" for index in reversed(range(50))])
        assert rows.key == "row 20"
        await pilot.pause()
        assert in_view(rows)
        rows.show(["row 1", "row 2"])
        assert rows.key == "row 2"
        rows.show([])
        assert rows.key == ""
        await pilot.press("j", "enter")
        assert app.opened == []


async def test_enter_opens_the_row_under_the_cursor():
    """One message with its key."""
    app = Host(5)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("j", "enter")
        await settled(pilot, lambda: app.opened == ["row 1"], "the message")
