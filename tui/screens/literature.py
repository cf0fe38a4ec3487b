"""The literature: models down, reported values on one 0-100 line, what arithmetic says, how far they are matched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from literature.records import ReportedScore
from tui.commands import Command, bindings
from tui.reading import Entry, arithmetic, shipped, size_of, stated
from tui.screens.base import BaseScreen, join, numbered
from tui.theme import MARKS
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece, cell, scale, scale_header
from tui.widgets.rows import RowList
from tui.widgets.text import Line, TextView

SORTS = ("table order", "spread", "name", "most values off the k/N grid")
NAME, SPREAD, GRID, STATUS = 25, 5, 4, 9


class LiteratureScreen(BaseScreen):
    """What was reported."""

    PLACE = "literature"
    TABLE: ClassVar[Sequence[Command]] = (
        Command(
            "enter", "open", "matches", "Model: its matches", "Show the model's matches in the run, if there are any."
        ),
        Command(
            "i", "import", "import", "Table: import", "Add a table of reported scores by its path or shipped name."
        ),
        Command(
            "slash", "filter", "filter", "Table: filter", "Show only rows that hold a text (model, benchmark, source)."
        ),
        Command("o", "sort", "sort", "Table: sort", "Sort by table order, spread, name, or values off the k/N grid."),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self) -> None:
        super().__init__()
        self.sort = 0
        self.text = ""
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
        self._head()
        self._details()
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
        wanted = self.text.casefold()
        entries = [entry for entry in self.root.desk.literature.entries if wanted in _haystack(entry)]
        if self.sort == 1:
            entries.sort(key=lambda entry: -entry.spread)
        elif self.sort == 2:
            entries.sort(key=lambda entry: entry.model.casefold())
        elif self.sort == 3:
            entries.sort(key=lambda entry: -_off_grid(entry))
        yield from entries

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
            yield Piece(*self.root.mark(found.kind)) if found else Piece("·", "muted")

    @on(RowList.Moved, "#models")
    def _moved(self) -> None:
        self._details()

    def _details(self, *, keep: bool = False) -> None:
        entry = self._entries.get(self.rows.key)
        self.query_one("#details", TextView).show(list(self._describe(entry)) if entry else [], keep=keep)

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
        for score in entry.scores:
            yield from self._describe_score(entry, score, size)
        for found in self.root.desk.literature.measured_by_reference(entry):
            low_high = " to ".join(dict.fromkeys(part for part in (found.low, found.high) if part))
            note = f" ({found.note})" if found.note else ""
            yield [Piece(f"the source of this table measured {low_high} itself, {found.setting}{note}", "muted")]

    def _describe_score(self, entry: Entry, score: ReportedScore, size: int | None) -> Iterator[Line]:
        line = [Piece(f"{score.label:<14} ", "against")]
        if size is None:
            line.append(Piece("number of problems unknown: no arithmetic"))
        else:
            line.append(Piece(arithmetic(score, size)))
        line.append(Piece(f"; {stated(score)}", "muted"))
        yield line
        found = self.root.desk.best(entry, score)
        if found is not None:
            glyph, role = self.root.mark(found.kind)
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
        """Ask for a path."""
        from tui.screens.prompt import PromptScreen

        self.app.push_screen(
            PromptScreen(
                "Import a table",
                "CSV, TSV, XLSX, Markdown, LaTeX, HTML or JSON; or a shipped name: " + ", ".join(shipped()),
                self.root.import_table,
            ),
            self._imported,
        )

    def _imported(self, text: str | None) -> None:
        if text:
            self.fill()
            self.say(text)

    def do_filter(self) -> None:
        """Type to filter."""
        self.open_filter(self.text, "text in model, benchmark or source; esc clears")

    def filtered(self, text: str) -> None:
        """Rows that hold the text."""
        self.text = text
        self.fill()
        self._sum()

    def do_sort(self) -> None:
        """The next order."""
        self.sort = (self.sort + 1) % len(SORTS)
        self.fill()
        self._sum()


def _haystack(entry: Entry) -> str:
    sources = " ".join(source for score in entry.scores for source in (*score.sources, score.value))
    return f"{entry.model} {entry.benchmark} {entry.metric} {sources}".casefold()


def _off_grid(entry: Entry) -> int:
    return 0 if entry.printable is None else len(entry.scores) - entry.printable
