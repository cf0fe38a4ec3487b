"""The checklist report of a run: what is unanswered first, then a preview; writing it, and where it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult

from tui.commands import Command, bindings
from tui.errand import Errand
from tui.screens.base import BaseScreen, numbered
from tui.screens.form import Field, FormScreen
from tui.screens.prompt import USER_ERRORS, ChoiceScreen
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece
from tui.widgets.text import Line, TextView, plain

if TYPE_CHECKING:
    from tui.stated import Ask


class ReportScreen(BaseScreen):
    """Preview and write."""

    PLACE = "report"
    AUTO_FOCUS = "#view"
    FLEETING = ("answer",)
    TABLE: ClassVar[Sequence[Command]] = (
        Command("w", "write", "write", "Report: write", "Write the report and its data files."),
        Command("e", "answer", "answer", "Checklist: answer", "State what only a person knows; kept as stated by you."),
        Command(
            "u", "refresh", "update", "Report: update the preview", "Make the preview again from what is known now."
        ),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self) -> None:
        super().__init__()
        self.written: tuple[str, ...] = ()
        self._run: int | None = None
        self._errand: Errand[tuple[Sequence[str], Sequence[Ask], str]] | None = None
        self._asks: Sequence[Ask] = ()
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
        what = f" Run {run}: {len(state.finished)} of {numbered(len(state.order), 'configuration')} finished"
        stopped = sum(bool(score.stopped) for score in state.scores.values())
        what += f", {stopped} asked no further" if stopped else ""
        self.query_one("#what", TextLine).show(Piece(what, "text bold"))
        self._show("Making the preview.")
        preview = self.root.parts.preview_report
        if run is None or preview is None:
            self._show("No report can be made: " + self.why_not_write())
            return
        open_items, asks = self.root.parts.open_items, self.root.parts.asks
        # A large run takes seconds to sum up.
        self._errand = Errand(lambda: (open_items(run), asks(run), preview(run)))

    def tick(self) -> None:
        """Fetch the preview, or what was written, when it is there."""
        try:
            if self._errand is not None and self._errand.done:
                errand, self._errand = self._errand, None
                items, self._asks, text = errand.take()
                self.query_one("#view", TextView).show([*self._head(), *_preview(items, self._asks, text)])
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

    def why_not_answer(self) -> str:
        """There must be something to state."""
        if self.root.desk.session.run is None or self.root.parts.state is None:
            return self.why_not_write() or "Nothing can be stated from here."
        if self._errand is not None:
            return "The preview is still being made."
        return "" if self._asks else "The checklist asks for nothing that only a person knows."

    def do_answer(self) -> None:
        """Choose what to state, then ask for it."""
        choices = [
            (ask.key, str(number) if number < 10 else "", f"{ask.key}{f': {ask.value}' if ask.value else ''}")
            for number, ask in enumerate(self._asks, 1)
        ]
        self.app.push_screen(ChoiceScreen("What do you know that the run cannot show?", choices), self._answer)

    def _answer(self, key: str | None) -> None:
        ask = next((ask for ask in self._asks if ask.key == key), None)
        run, state = self._run, self.root.parts.state
        if ask is None or run is None or state is None:
            return

        def accept(answers: Mapping[str, str]) -> str:
            state(run, ask.key, answers["value"])
            self.root.desk.state_too(ask.key, answers["value"])
            return f"{ask.key}: kept as stated by you." if answers["value"] else f"{ask.key}: stated no longer."

        form = FormScreen(f"Checklist {ask.point}", [Field("value", ask.key, ask.value, ask.hint)], accept)
        self.app.push_screen(form, self._answered)

    def _answered(self, said: str | None) -> None:
        if said:
            self.fill()
            self.say(said)

    def why_not_refresh(self) -> str:
        """See `why_not_write`."""
        return self.why_not_write()

    def do_refresh(self) -> None:
        """Again, from what is known now."""
        self.fill()
        self.say("Preview made anew.")


def _preview(items: Sequence[str], asks: Sequence[Ask], text: str) -> Iterator[Line]:
    """Unanswered items first, with what of them a person can state, then the report."""
    if items:
        yield [Piece(f"{numbered(len(items), 'checklist item')} without an answer", "against bold")]
        yield from ([Piece("? ", "open"), Piece(item)] for item in items)
    missing = [ask.key for ask in asks if not ask.value]
    if missing:
        yield [
            Piece("e  ", "agree bold"),
            Piece("states what only a person knows: ", "muted"),
            Piece(", ".join(missing)),
        ]
    if items or missing:
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
