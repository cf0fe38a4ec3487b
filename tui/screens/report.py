"""The checklist report of a run: what is unanswered first, then a preview; writing it, and where it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult

from tui.commands import Command, bindings
from tui.errand import Errand
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
        self._errand: Errand[tuple[Sequence[str], str]] | None = None
        self._writing: Errand[tuple[Path, ...]] | None = None

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
        self._show("Making the preview.")
        preview = self.root.parts.preview_report
        if run is None or preview is None:
            self._show("No report can be made: " + self.why_not_write())
            return
        open_items = self.root.parts.open_items
        # A large run takes seconds to sum up.
        self._errand = Errand(lambda: (open_items(run), preview(run)))

    def tick(self) -> None:
        """Fetch the preview, or what was written, when it is there."""
        try:
            if self._errand is not None and self._errand.done:
                errand, self._errand = self._errand, None
                self.query_one("#view", TextView).show([*self._head(), *_preview(*errand.take())])
            if self._writing is not None and self._writing.done:
                writing, self._writing = self._writing, None
                self._wrote(writing.take())
        except USER_ERRORS as error:
            self._show(str(error))
            self.say(str(error), warning=True)

    def _show(self, text: str) -> None:
        self.query_one("#view", TextView).show([*self._head(), [Piece(text, "muted")]])

    def _head(self) -> Iterator[Line]:
        for path in self.written:
            yield [Piece("written  ", "agree"), Piece(path)]
        if self.written:
            yield [Piece("")]

    def why_not_write(self) -> str:
        """A run and a way to write are needed."""
        if self.root.desk.session.run is None:
            return "no run is open: 5 lists recent runs."
        return "" if self.root.parts.write_report else "this build has no report writer."

    def do_write(self) -> None:
        """Write it, and say where."""
        run, write = self._run, self.root.parts.write_report
        assert run is not None and write is not None
        self._writing = Errand(lambda: write(run))
        self.say("Writing.")

    def _wrote(self, paths: Sequence[Path]) -> None:
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


def _preview(items: Sequence[str], text: str) -> Iterator[Line]:
    """Unanswered items first, then the report."""
    if items:
        yield [Piece(f"{numbered(len(items), 'checklist item')} without an answer", "against bold")]
        yield from ([Piece("? ", "open"), Piece(item)] for item in items)
        yield [Piece("")]
    for line in plain(text):
        yield _dressed(line[0].text)


def _dressed(text: str) -> Line:
    """A line of Markdown with headings bold and table rules muted."""
    if text.startswith("#"):
        return [Piece(text, "agree bold")]
    if text.startswith("|") and not text.strip("|-: "):
        return [Piece(text, "muted")]
    return [Piece(text)]
