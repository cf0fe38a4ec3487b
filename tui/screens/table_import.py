"""A table before it is kept: what each column is read as, the scores it gives, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult

from tui.commands import Command, bindings
from tui.reading import stated
from tui.screens.base import BaseScreen, join, numbered
from tui.screens.form import Field, FormScreen
from tui.screens.prompt import ChoiceScreen
from tui.table_import import CHOICES, LEFT_OUT, Column, TableImport
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece, cell
from tui.widgets.rows import RowList
from tui.widgets.text import Line, TextView

HEADER, ROLE, SHOWN = 26, 22, 200
WORDS = {role: text for role, _, text in CHOICES}
HELD = (("model", "one model"), ("benchmark", "e.g. humanevalfix-python"), ("metric", "pass@1"),
        ("sources", "e.g. 21"), ("unit", "percent or fraction"))  # fmt: skip


class TableImportScreen(BaseScreen):
    """Preview and column mapper."""

    PLACE = "import"
    TABLE: ClassVar[Sequence[Command]] = (
        Command("enter,space", "choose", "read as", "Column: read as", "Choose what the marked column holds."),
        Command("o", "leave", "leave out", "Column: leave out", "Do not read the marked column, or read it again."),
        Command("u", "found", "as found", "Column: as found", "Read the marked column as it was found.", True),
        Command("c", "hold", "for all rows", "Rows: one text for all", "Name what holds for all rows."),
        Command("s", "save", "keep", "Table: keep", "Put the scores into the study's own table."),
        Command("escape,backspace", "back", "cancel", "Table: cancel", "Keep nothing and go back."),
    )  # fmt: skip
    BINDINGS = bindings(TABLE)

    def __init__(self, table: TableImport, kept: Callable[[str], None]) -> None:
        super().__init__()
        self.table = table
        self._kept = kept
        self._columns: dict[str, Column] = {}

    def body(self) -> ComposeResult:
        """The file, its columns, what comes of them."""
        yield TextLine(id="what")
        yield TextLine(id="head", classes="head")
        yield RowList(self._paint, id="columns", empty="No columns: the file holds its scores as such.")
        yield TextView(id="preview")

    def on_mount(self) -> None:
        """Say where the columns' meanings come from, when not from the file."""
        super().on_mount()
        if self.table.recalled:
            self.say("Columns with (you) are read as you said the last time; u reads one as it is found.")

    @property
    def rows(self) -> RowList:
        """The columns."""
        return self.query_one("#columns", RowList)

    def focus_body(self) -> None:
        """Keys go to the columns."""
        self.rows.focus()

    def fill(self) -> None:
        """Everything anew."""
        super().fill()
        table = self.table
        self._columns = {column.header: column for column in table.columns()}
        self.query_one("#what", TextLine).show(
            Piece(f" {numbered(len(table.scores), 'score')}", "agree bold" if table.scores else "against bold"),
            Piece(f" from {table.path}", "text"),
            Piece(f", {numbered(len(table.unread), 'place')} not read" if table.unread else "", "against"),
            Piece("".join(f" · {role}: {text}" for role, text in table.constants.items()), "muted"),
        )
        self.query_one("#head", TextLine).show(
            cell(" column", HEADER + 1, "muted"), Piece(" "), cell("read as", ROLE, "muted"), Piece(" "),
            Piece("first texts", "muted"),
        )  # fmt: skip
        self.rows.styles.height = max(1, len(self._columns))
        self.rows.show(list(self._columns))
        self.query_one("#preview", TextView).show(list(self._preview()))

    def _paint(self, key: str, width: int) -> Sequence[Piece]:
        column = self._columns[key]
        odd = column.role in ("not understood", LEFT_OUT)
        role = "against" if column.role == "not understood" else "muted" if odd else "agree"
        return (
            cell(key, HEADER, "text bold"), Piece(" "),
            cell(column.role + (" (you)" if column.chosen else ""), ROLE, role), Piece(" "),
            Piece(" | ".join(column.examples), "muted"),
        )  # fmt: skip

    def _preview(self) -> Iterator[Line]:
        table = self.table
        if table.problem:
            yield [Piece("Nothing can be kept yet: ", "against bold"), Piece(table.problem)]
            yield [Piece("enter says what the marked column holds, c names what holds for all rows.", "muted")]
        if table.unread:
            yield [Piece(f"{numbered(len(table.unread), 'place')} not read", "against bold")]
            for found in table.unread[:SHOWN]:
                text = "" if repr(found.text) in found.reason else f"{found.text!r} "
                yield [Piece(f"{found.place}  ", "muted"), Piece(text, "against"), Piece(found.reason)]
            yield [Piece("")]
        if any(not score.benchmark for score in table.scores):
            yield [Piece("No benchmark is named: c names it for all rows; without it there is no arithmetic.", "open")]
        wide = max((len(score.label) for score in table.scores[:SHOWN]), default=0)
        for score in table.scores[:SHOWN]:
            yield [
                cell(score.model, 25), Piece(" "), Piece(f"{score.label:<{wide}}", "against"),
                Piece("  " + join([score.benchmark, score.metric, stated(score) if score.stated else ""]), "muted"),
            ]  # fmt: skip
        if len(table.scores) > SHOWN:
            yield [Piece(f"and {len(table.scores) - SHOWN} more", "muted")]

    # commands

    def why_not_choose(self) -> str:
        """There must be a column."""
        return "" if self.rows.key else "This file holds its scores as such: there is no column to read otherwise."

    def do_choose(self) -> None:
        """One of the roles."""
        choices = [(role, key, text) for role, key, text in CHOICES]
        self.app.push_screen(ChoiceScreen(f"Column {self.rows.key!r} holds", choices), self._chose)

    @on(RowList.Opened, "#columns")
    def _opened(self) -> None:
        self.run_command("choose")

    def _chose(self, role: str | None) -> None:
        if role:
            self.table.choose(self.rows.key, role)
            self.fill()
            self.say(f"{self.rows.key}: {WORDS[role]}; {numbered(len(self.table.scores), 'score')}.")

    why_not_leave = why_not_choose

    def do_leave(self) -> None:
        """Out, or in again as it was understood."""
        key = self.rows.key
        if self._columns[key].role == LEFT_OUT:
            self.table.forget(key)
        else:
            self.table.choose(key, LEFT_OUT)
        self.fill()

    def why_not_found(self) -> str:
        """Something must have been said of it."""
        return "" if self.rows.key in self.table.chosen else "This column is read as it was found."

    def do_found(self) -> None:
        """Without a word of the user's."""
        self.table.forget(self.rows.key)
        self.fill()

    def do_hold(self) -> None:
        """Ask for texts that hold for every row."""
        fields = [Field(role, role, self.table.constants.get(role, ""), hint) for role, hint in HELD]
        self.app.push_screen(FormScreen("What holds for all rows", fields, self._hold, first="benchmark"), self._held)

    def _hold(self, answers: Mapping[str, str]) -> str:
        for role, text in answers.items():
            self.table.hold(role, text)
        return "held"

    def _held(self, done: str | None) -> None:
        if done:
            self.fill()

    def why_not_save(self) -> str:
        """There must be a score."""
        return self.table.problem

    def do_save(self) -> None:
        """Into the own table."""
        self._kept(self.root.take_in(self.table))
        self.table.remember()
        self.app.pop_screen()

    def do_back(self) -> None:
        """Nothing is kept."""
        self.app.pop_screen()
