"""The literature: models down, reported values on one 0-100 line, what arithmetic says, how far they are matched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from literature.records import ReportedScore
from tui.commands import Command, bindings
from tui.errors import TypedError
from tui.reading import Entry, arithmetic, left_open, size_of, stated
from tui.rows_filter import HINT, SORTS, off_grid, ordered, parse_filter
from tui.screens.base import BaseScreen, join, numbered
from tui.screens.form import FormScreen
from tui.screens.prompt import USER_ERRORS
from tui.screens.score_forms import ask_table, read_fields, score_fields
from tui.theme import MARKS
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece, cell, scale, scale_header
from tui.widgets.rows import RowList
from tui.widgets.text import Line, TextView

NAME, SPREAD, GRID, STATUS = 25, 5, 4, 9


class LiteratureScreen(BaseScreen):
    """What was reported."""

    PLACE = "literature"
    FLEETING = ("undo",)
    TABLE: ClassVar[Sequence[Command]] = (
        Command(
            "enter", "open", "matches", "Model: its matches", "Show the model's matches in the run, if there are any."
        ),
        Command("i", "import", "import", "Table: import", "Add a table of reported scores: preview, columns, keep."),
        Command("e", "edit", "edit", "Score: edit", "Correct the marked value; kept in the study's own table."),
        Command("a", "add", "add", "Score: add", "Add a reported score; kept in the study's own table."),
        Command("slash", "filter", "filter", "Table: filter", "Show only rows that hold words, a source, a status."),
        Command("o", "sort", "sort", "Table: sort", "Sort by spread, model, benchmark, source, status, off grid."),
        Command("u", "undo", "undo", "Score: undo", "Take the last change of the study's own table back."),
        Command("U,ctrl+r", "redo", "redo", "Score: redo", "Make the change that was taken back again.", True),
        Command("D", "remove", "remove", "Score: take away", "Take the marked value out of this study.", True),
        Command("h,left", "left", "", "Score: the one before", "Mark the model's value before this one.", True),
        Command("l,right", "right", "", "Score: the next", "Mark the model's next value.", True),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self) -> None:
        super().__init__()
        self.sort = 0
        self.text = ""
        self.value = 0
        self._summed = ""
        self._entries: dict[str, Entry] = {}

    def body(self) -> ComposeResult:
        """List above or beside details."""
        with Container(classes="split"):
            with Container(classes="main"):
                yield TextLine(id="head", classes="head")
                yield RowList(self._paint, id="models", empty="No table yet: press i to import one.")
            yield TextView(id="details")

    @property
    def rows(self) -> RowList:
        """The list of models."""
        return self.query_one("#models", RowList)

    def fill(self) -> None:
        """Everything anew."""
        super().fill()
        self._entries = {entry.key: entry for entry in self._ordered()}
        self.rows.show(list(self._entries))
        # What a short list leaves free belongs to the details.
        self.query_one(".main").styles.max_height = max(1, len(self._entries)) + 1
        self._head()
        self._details()
        if self.value:
            self._reveal()
        if self.said in ("", self._summed):
            self._sum()

    def focus_body(self) -> None:
        """Keys go to the list."""
        self.rows.focus()

    def on_resize(self) -> None:
        """The scale's header depends on the width."""
        self.call_after_refresh(self._head)

    def follow(self, dirty: Collection[str]) -> None:
        """Scores have moved: repaint, rows are few."""
        if dirty:
            self.rows.refresh()
            self._details(keep=True)
            if self.said == self._summed:
                self._sum()

    def _sum(self) -> None:
        self._summed = self._summary()
        self.say(self._summed)

    def _summary(self) -> str:
        entries = self.root.desk.literature.entries
        scores = sum(len(entry.scores) for entry in entries)
        measured = sum(bool(self.root.desk.measured(entry)) for entry in entries)
        text = f"{numbered(scores, 'reported score')} of {numbered(len(entries), 'model')}, {measured} measured"
        return text + (f"; filter {self.text!r}" if self.text else "") + f"; {SORTS[self.sort]}"

    def _ordered(self) -> Iterator[Entry]:
        wanted = parse_filter(self.text)
        # Worked out for the rows that are asked about only: a table of a thousand scores opens without any.
        known: dict[str, list[str]] = {}

        def statuses(entry: Entry) -> list[str]:
            if entry.key not in known:
                known[entry.key] = self._statuses(entry)
            return known[entry.key]

        entries = [entry for entry in self.root.desk.literature.entries if wanted(entry, statuses)]
        yield from ordered(entries, self.sort, statuses)

    def _statuses(self, entry: Entry) -> list[str]:
        desk = self.root.desk
        found = [best.kind for score in entry.scores if (best := desk.best(entry, score)) is not None]
        found.sort(key=list(MARKS).index)
        if not desk.configurations_of(entry):
            found.append("not run")
        if desk.measured(entry):
            found.append("measured")
        if off_grid(entry):
            found.append("off grid")
        return found

    def _scale_width(self, width: int) -> int:
        return max(12, width - NAME - SPREAD - GRID - STATUS - 4)

    def _head(self) -> None:
        width = self.rows.size.width - 1
        room = self._scale_width(width)
        self.query_one("#head", TextLine).show(
            cell(" model", NAME + 2, "muted"),
            Piece(scale_header(room), "muted"),
            Piece(" "),
            cell("range", SPREAD, "muted", right=True),
            Piece(" "),
            cell(" k/N", GRID, "muted", right=True),
            Piece(" "),
            cell("best", STATUS, "muted"),
        )

    def _paint(self, key: str, width: int) -> Sequence[Piece]:
        entry = self._entries[key]
        measured = self.root.desk.measured(entry)
        printable = entry.printable
        grid = "?" if printable is None else f"{printable}/{len(entry.scores)}"
        odd = printable is not None and printable < len(entry.scores)
        return (
            cell(entry.model, NAME, "text bold" if measured else "text"),
            Piece(" "),
            *scale(entry.percents, measured, self._scale_width(width)),
            Piece(" "),
            cell(f"{entry.spread:.1f}", SPREAD, right=True),
            Piece(" "),
            cell(grid, GRID, "against" if odd else "muted", right=True),
            Piece(" "),
            *self._status(entry),
        )

    def _status(self, entry: Entry) -> Iterator[Piece]:
        if not self.root.desk.configurations_of(entry):
            yield cell("not run", STATUS, "muted")
            return
        for score in entry.scores[:STATUS]:
            found = self.root.desk.best(entry, score)
            if found is None:
                yield Piece("·", "muted")
            else:
                # One character a score: the star of an assumed class stands with the sentence below.
                glyph, role = self.root.mark(found)
                yield Piece(glyph[:1], role)

    @on(RowList.Moved, "#models")
    def _moved(self) -> None:
        self.value = 0
        self._details()

    def _marked(self, entry: Entry) -> int:
        return min(self.value, len(entry.scores) - 1)

    def _details(self, *, keep: bool = False) -> None:
        entry = self._entries.get(self.rows.key)
        self.query_one("#details", TextView).show(list(self._describe(entry)) if entry else [], keep=keep)

    def _reveal(self) -> None:
        """Bring the marked value's line into view."""
        view = self.query_one("#details", TextView)
        places = (index for index, line in enumerate(view.lines) if line and line[0].text == "▸")
        view.reveal(next(places, 0))

    def _describe(self, entry: Entry) -> Iterator[Line]:
        size = size_of(entry.benchmark)
        yield [
            Piece(entry.model, "text bold"),
            Piece(
                " · "
                + join(
                    [
                        entry.benchmark, entry.metric, "" if size is None else f"N={size}",
                        numbered(len(entry.scores), "value"),
                    ]
                ),
                "muted",
            ),
        ]  # fmt: skip
        for index, score in enumerate(entry.scores):
            yield from self._describe_score(entry, score, size, index == self._marked(entry))
        for found in self.root.desk.literature.measured_by_reference(entry):
            low_high = " to ".join(dict.fromkeys(part for part in (found.low, found.high) if part))
            note = f" ({found.note})" if found.note else ""
            yield [Piece(f"the source of this table measured {low_high} itself, {found.setting}{note}", "muted")]

    def _describe_score(self, entry: Entry, score: ReportedScore, size: int | None, marked: bool) -> Iterator[Line]:
        line = [Piece("▸" if marked else " ", "text bold"), Piece(f"{score.label:<14} ", "against")]
        if size is None:
            line.append(Piece("number of problems unknown: no arithmetic"))
        else:
            line.append(Piece(arithmetic(score, size)))
        line.append(Piece(f"; {stated(score)}", "muted"))
        yield line
        for sentence in left_open(score) if marked else ():
            yield [Piece(f"    {sentence}", "muted")]
        found = self.root.desk.best(entry, score)
        if found is not None:
            glyph, role = self.root.mark(found)
            label = self.root.desk.state.configuration(found.measurement).label
            yield [
                Piece("    "),
                Piece(f"{glyph} {MARKS[found.kind].word} ", role),
                Piece(f"{label}: {found.sentence}"),
            ]
        verdict = self.root.desk.matches.verdict(score.id)
        if verdict is not None:
            yield [Piece("    "), Piece(verdict.kind, "text bold"), Piece(f": {verdict.sentence}")]
            for other in verdict.misattributions:
                yield [Piece("    "), Piece(other.sentence, "open")]
            for lead in verdict.leads:
                yield [Piece(f"    a lead, not a finding: {lead.sentence}", "muted")]

    # commands

    def why_not_open(self) -> str:
        """A model without runs has no matches."""
        entry = self._entries.get(self.rows.key)
        if entry is None:
            return "No row is chosen."
        if not self.root.desk.configurations_of(entry):
            return f"{entry.model} is not among the models of this run: g opens the grid, where it can be started."
        return ""

    def do_open(self) -> None:
        """Go to the run, at this model."""
        entry = self._entries[self.rows.key]
        self.root.show_matches(self.root.desk.configurations_of(entry)[0])

    @on(RowList.Opened, "#models")
    def _opened(self) -> None:
        self.run_command("open")

    def do_import(self) -> None:
        """Ask for a file, then show what it holds."""
        ask_table(self.root, self._kept)

    def _kept(self, text: str) -> None:
        self.fill()
        self.app.call_after_refresh(self.say, text)

    def _score(self) -> ReportedScore:
        entry = self._entries[self.rows.key]
        return entry.scores[self._marked(entry)]

    def why_not_left(self) -> str:
        """There must be a row."""
        return "" if self.rows.key else "No row is chosen: i imports a table, a adds a score."

    why_not_right = why_not_edit = why_not_remove = why_not_left

    def do_left(self) -> None:
        """The value before."""
        self._mark(-1)

    def do_right(self) -> None:
        """The next value."""
        self._mark(1)

    def _mark(self, step: int) -> None:
        entry = self._entries[self.rows.key]
        self.value = max(0, min(len(entry.scores) - 1, self._marked(entry) + step))
        self._details(keep=True)
        self._reveal()
        score = self._score()
        self.say(f"{score.label}: e corrects it, D takes it away.")

    def do_edit(self) -> None:
        """Ask for the marked value anew."""
        old = self._score()

        def accept(answers: Mapping[str, str]) -> str:
            new = read_fields(answers, old)
            self.root.desk.correct(old, new)
            return f"{old.label} is now {new.label}, kept in {self.root.desk.own.name}; u takes it back."

        self.app.push_screen(
            FormScreen("Correct a reported score", score_fields(old), accept, first="value"), self._changed
        )

    def do_add(self) -> None:
        """Ask for a new score of the marked row's model."""
        entry = self._entries.get(self.rows.key)
        like = ReportedScore(
            entry.model if entry else "", entry.benchmark if entry else "", entry.metric if entry else "", "", ()
        )

        def accept(answers: Mapping[str, str]) -> str:
            new = read_fields(answers, None)
            if not self.root.desk.take_in([new], f"{new.model} {new.label} was added"):
                raise TypedError(f"{new.model}: {new.label} is there already")
            return f"{new.label} added to {self.root.desk.own.name}; u takes it back."

        form = FormScreen("Add a reported score", score_fields(like), accept, first="value" if entry else "model")
        self.app.push_screen(form, self._changed)

    def _changed(self, text: str | None) -> None:
        if text:
            self._kept(text)

    def do_remove(self) -> None:
        """Out of the study; the table it came from stays as it is."""
        old = self._score()
        self._attempt(lambda: self.root.desk.correct(old, None), f"{old.label} is taken away; u brings it back.")

    def why_not_undo(self) -> str:
        """There must be a change."""
        return "" if self.root.desk.own.undoable else "Nothing to take back: no score was changed since the app began."

    def do_undo(self) -> None:
        """The last change."""
        what = self.root.desk.own.undoable
        self._attempt(self.root.desk.undo, f"Taken back: {what}; U makes it again.")

    def why_not_redo(self) -> str:
        """Something must have been taken back."""
        return "" if self.root.desk.own.redoable else "Nothing to make again: u takes a change back first."

    def do_redo(self) -> None:
        """The change taken back last."""
        what = self.root.desk.own.redoable
        self._attempt(lambda: self.root.desk.undo(redo=True), f"Made again: {what}; u takes it back.")

    def _attempt(self, act: Callable[[], object], said: str) -> None:
        try:
            act()
        except USER_ERRORS as error:
            self.say(str(error), warning=True)
            return
        self.fill()
        self.say(said)

    def do_filter(self) -> None:
        """Type to filter."""
        self.open_filter(self.text, HINT + "; esc clears")

    def filtered(self, text: str) -> None:
        """Rows that hold every word; what is half typed leaves the rows as they are."""
        old, self.text = self.text, text
        try:
            self.fill()
        except TypedError as error:
            self.text = old
            self.say(str(error), warning=True)
            return
        self._sum()

    def do_sort(self) -> None:
        """The next order."""
        self.sort = (self.sort + 1) % len(SORTS)
        self.fill()
        self._sum()
