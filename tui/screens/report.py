"""The checklist report of a run: what is unanswered first, then a preview; writing it, and where it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult

from tui.commands import Command, bindings
from tui.screens.base import BaseScreen, numbered
from tui.screens.prompt import USER_ERRORS
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece
from tui.widgets.text import Line, TextView, plain


class ReportScreen(BaseScreen):
    """Preview and write."""

    PLACE = "report"
    AUTO_FOCUS = "#view"
    TABLE: ClassVar[Sequence[Command]] = (
        Command("w", "write", "write", "Report: write", "Write the report and its data files."),
        Command(
            "u", "refresh", "update", "Report: update the preview", "Make the preview again from what is known now."
        ),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self) -> None:
        super().__init__()
        self.written: tuple[str, ...] = ()
        self._run: int | None = None

    def body(self) -> ComposeResult:
        """One line on what this is, then the text."""
        yield TextLine(id="what", classes="head")
        yield TextView(id="view")

    def focus_body(self) -> None:
        """Keys go to the text."""
        self.query_one("#view").focus()

    def fill(self) -> None:
        """The preview; of another run, nothing is known to be written."""
        super().fill()
        run = self.root.desk.session.run
        if run != self._run:
            self._run, self.written = run, ()
        state = self.root.desk.state
        what = f" Run {run}: {state.finished_count} of {numbered(len(state.order), 'configuration')} finished"
        self.query_one("#what", TextLine).show(Piece(what, "text bold"))
        self.query_one("#view", TextView).show(list(self._lines()))

    def _lines(self) -> Iterator[Line]:
        run, parts = self._run, self.root.parts
        for path in self.written:
            yield [Piece("written  ", "agree"), Piece(path)]
        if self.written:
            yield [Piece("")]
        if run is None or parts.preview_report is None:
            yield [Piece("No report can be made: " + self.why_not_write(), "against")]
            return
        try:
            items = parts.open_items(run)
            text = parts.preview_report(run)
        except USER_ERRORS as error:
            yield [Piece(str(error), "against")]
            return
        if items:
            yield [Piece(f"{numbered(len(items), 'checklist item')} without an answer", "against bold")]
            yield from ([Piece("? ", "open"), Piece(item)] for item in items)
            yield [Piece("")]
        for line in plain(text):
            yield _dressed(line[0].text)

    def why_not_write(self) -> str:
        """A run and a way to write are needed."""
        if self.root.desk.session.run is None:
            return "no run is open: 5 lists recent runs."
        return "" if self.root.parts.write_report else "this build has no report writer."

    def do_write(self) -> None:
        """Write it, and say where."""
        run, write = self._run, self.root.parts.write_report
        assert run is not None and write is not None
        try:
            paths = write(run)
        except USER_ERRORS as error:
            self.say(str(error), warning=True)
            return
        self.written = tuple(str(path) for path in paths)
        self.fill()
        self.say(
            f"Wrote {numbered(len(paths), 'file')}; the first is {self.written[0]}" if paths else "Nothing to write."
        )

    def why_not_refresh(self) -> str:
        """See `why_not_write`."""
        return self.why_not_write()

    def do_refresh(self) -> None:
        """Again, from what is known now."""
        self.fill()
        self.say("Preview made anew.")


def _dressed(text: str) -> Line:
    """A line of Markdown with headings bold and table rules muted."""
    if text.startswith("#"):
        return [Piece(text, "agree bold")]
    if text.startswith("|") and not text.strip("|-: "):
        return [Piece(text, "muted")]
    return [Piece(text)]
