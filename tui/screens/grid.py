"""The grid: one row of toggles per axis, presets, and what it would cost before anything starts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.timer import Timer

from tui.axes import AXES, Axes, Axis
from tui.commands import Command, bindings
from tui.errand import Errand
from tui.needs import needs
from tui.screens.base import BaseScreen, join, numbered
from tui.screens.prompt import USER_ERRORS, ChoiceScreen, PromptScreen
from tui.session import LIVE, Preflight
from tui.state import duration
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece, cell
from tui.widgets.progress import grouped
from tui.widgets.rows import RowList
from tui.widgets.text import Line, TextView

DELAY, PATIENCE = 0.12, 1.0
NAME = 11
RECALLED = "as chosen when the app ended unasked; p: the study's own"


class GridScreen(BaseScreen):
    """Choose settings, see the cost, start."""

    PLACE = "grid"
    TABLE: ClassVar[Sequence[Command]] = (
        Command("space", "toggle", "on/off", "Grid: value on or off", "Switch the marked value on or off."),
        Command("h,left", "left", "", "Grid: value to the left", "Mark the value to the left.", True),
        Command("l,right", "right", "", "Grid: value to the right", "Mark the value to the right.", True),
        Command("a", "only", "only this", "Grid: only this value", "Switch every other value of the axis off."),
        Command("e", "custom", "add", "Grid: add a value", "Add a value of your own to the axis."),
        Command("p", "preset", "presets", "Grid: presets", "Take a whole grid: reference 60, quick, one, ladders."),
        Command(
            "n", "needs", "needs", "Scores: what they need", "What each reported score needs of this grid, or the cost."
        ),
        Command("W", "widen", "", "Scores: add what they need", "Add the stated values that the grid lacks.", True),
        Command("f", "file", "model file", "Model: add a file", "Add a model file to the study.", True),
        Command("s", "start", "start", "Run: start", "Start the run in the background; behind one at work it waits."),
        Command(
            "Q", "queue", "queue", "Run: put in the queue", "Let the run begin when those before it have ended.", True
        ),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self) -> None:
        super().__init__()
        self.axes: Axes | None = None
        self._recalled = False
        self.value = 0
        self.preflight: Preflight | None = None
        self.problem = ""
        self._timer: Timer | None = None
        self._errand: Errand[Preflight] | None = None
        self._asked = 0.0
        self._start_wanted = False
        self.needs = False

    def body(self) -> ComposeResult:
        """Axes above the cost."""
        yield TextLine(id="head", classes="head")
        yield RowList(self._paint, id="axes")
        yield TextView(id="cost")

    @property
    def rows(self) -> RowList:
        """The axes."""
        return self.query_one("#axes", RowList)

    def focus_body(self) -> None:
        """Keys go to the axes."""
        self.rows.focus()

    def fill(self) -> None:
        """Everything anew; the toggles start from the study's grid."""
        super().fill()
        study = self.root.desk.study
        if study is None:
            return
        if self.axes is None or self.axes.name != study.name:
            self.axes = Axes(study)
            self._recalled = not self.root.view_only and self.axes.recall(self.root.desk)
        self.rows.show([axis.key for axis in AXES])
        self.query_one("#head", TextLine).show(
            Piece(f" {'axis':<{NAME}}  ", "muted"),
            Piece(RECALLED, "open") if self._recalled else Piece("values (space switches, e adds one)", "muted"),
        )
        self._estimate()

    def _axis(self) -> Axis:
        return next(axis for axis in AXES if axis.key == self.rows.key)

    def _paint(self, key: str, width: int) -> Sequence[Piece]:
        assert self.axes is not None
        axis = next(axis for axis in AXES if axis.key == key)
        here = key == self.rows.key
        chosen = self.axes.chosen[key]
        chips: list[list[Piece]] = []
        for index, value in enumerate(self.axes.offered[key]):
            on = value in chosen
            text = f"[{'x' if on else ' '}] {axis.label(value)}"
            role = ("agree" if on else "muted") + (" bold" if here and index == self.value else "")
            mark = Piece("▸" if here and index == self.value else " ", "text bold")
            chips.append([mark, Piece(text, role), Piece(" ")])
        return [cell(axis.title, NAME, "text bold" if here else "text"), *self._window(chips, width - NAME, here)]

    def _window(self, chips: list[list[Piece]], room: int, here: bool) -> list[Piece]:
        """As many values as fit, with the marked one among them; `<` and `>` where there are more."""
        sizes = [sum(len(piece.text) for piece in chip) for chip in chips]
        first = 0
        if here:
            while first < min(self.value, len(chips) - 1) and sum(sizes[first : self.value + 1]) > room - 3:
                first += 1
        pieces = [Piece("<" if first else " ", "muted")]
        used = 1
        for index in range(first, len(chips)):
            if used + sizes[index] > room - 2:
                pieces.append(Piece(">", "muted"))
                break
            pieces += chips[index]
            used += sizes[index]
        return pieces

    # cost

    def _changed(self) -> None:
        assert self.axes is not None
        self._start_wanted = False
        problem = self.axes.apply(self.root.desk)
        self.rows.refresh()
        self._estimate()
        if self.needs:
            self._show_cost()
        if problem:
            self.say(problem, warning=True)

    def _estimate(self) -> None:
        """Ask for the cost once keys have come to rest."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DELAY, self._preflight)

    def _preflight(self) -> None:
        """Off the screen's thread: a benchmark may have to be fetched first."""
        self._timer = None
        self._errand = Errand(self.root.desk.preflight)
        self._asked = time.monotonic()

    def tick(self) -> None:
        """Fetch the cost when it is there; say so when it takes long."""
        if self._errand is None:
            return
        if self._errand.done:
            errand, self._errand = self._errand, None
            try:
                self.preflight, self.problem = errand.take(), ""
            except USER_ERRORS as error:
                self.preflight, self.problem = None, str(error)
            self._show_cost()
            if self._start_wanted and self._timer is None:
                self._start_wanted = False
                self.run_command("start")
        elif time.monotonic() - self._asked > PATIENCE and not self.needs:
            self.query_one("#cost", TextView).show(
                [[Piece("Counting; the benchmark may have to be fetched first.", "muted")]]
            )

    def _show_cost(self) -> None:
        """The cost, or what the reported scores need."""
        view = self.query_one("#cost", TextView)
        view.set_class(self.needs, "-needs")
        view.show(list(self._needs()) if self.needs else self._cost(), keep=self.needs)

    def _needs(self) -> Iterator[Line]:
        """One block for each reported score, those that lack something first."""
        desk = self.root.desk
        found = needs(desk.study, desk.literature) if desk.study is not None else []
        if not found:
            yield [
                Piece("No reported score of these models is in the tables: i on the literature screen imports some.")
            ]
            return
        lacking = sum(bool(need.missing) for need in found)
        yield [
            Piece(
                f"{numbered(len(found), 'reported score')}, {lacking} with a stated value that the grid lacks",
                "text bold",
            )
        ]
        for need in sorted(found, key=lambda need: not need.missing):
            role = "against" if need.missing else "open" if need.silent else "agree"
            yield [
                cell(f"{need.model} ", 16, "muted"), cell(need.score.label, 13), Piece(" "), Piece(need.sentence, role),
                Piece(f"; {need.counts}", "muted"),
            ]  # fmt: skip

    def _cost(self) -> list[Line]:
        found = self.preflight
        if found is None:
            return [[Piece(f"Cannot run: {self.problem}", "against")]]
        each = found.generations / max(1, found.problems)
        sharing = (
            f"{numbered(found.configurations, 'configuration')}, "
            f"{each:g} generation{'' if each == 1 else 's'} per problem, {numbered(found.loads, 'load')}"
        )
        saved = found.naive / max(1, found.generations)
        return [
            [Piece(sharing, "text bold")],
            [
                Piece(f"{grouped(found.generations)} generations on {numbered(found.problems, 'problem')}"),
                Piece(f" ({grouped(found.naive)} without sharing, {saved:.1f} x as many)" if saved > 1.05 else ""),
                Piece(f"; {grouped(found.stored)} are kept already" if found.stored else ""),
            ],
            [
                Piece(
                    "about "
                    + join(
                        [
                            duration(found.seconds),
                            f"{_short(found.tokens)} tokens",
                            f"{found.bytes / 1e6:.1f} MB on disk",
                        ]
                    )
                )
            ],
            [Piece(found.basis, "muted")],
        ]

    # keys

    @on(RowList.Moved, "#axes")
    def _moved(self) -> None:
        assert self.axes is not None
        self.value = min(self.value, len(self.axes.offered[self.rows.key]) - 1)
        self.rows.refresh()
        self.say(self._axis().help)

    @on(RowList.Opened, "#axes")
    def _opened(self) -> None:
        self.run_command("toggle")

    def do_left(self) -> None:
        """The value to the left."""
        self.value = max(0, self.value - 1)
        self.rows.refresh()

    def do_right(self) -> None:
        """The value to the right."""
        assert self.axes is not None
        self.value = min(len(self.axes.offered[self.rows.key]) - 1, self.value + 1)
        self.rows.refresh()

    def _marked(self) -> Any:
        assert self.axes is not None
        return self.axes.offered[self.rows.key][self.value]

    def why_not_toggle(self) -> str:
        """An axis keeps at least one value."""
        assert self.axes is not None
        if self.axes.chosen[self.rows.key] == (self._marked(),):
            return f"{self._axis().title} needs at least one value: switch another one on first."
        return ""

    def do_toggle(self) -> None:
        """On or off."""
        assert self.axes is not None
        self.axes.toggle(self.rows.key, self._marked())
        self._changed()

    def do_only(self) -> None:
        """Nothing but the marked value."""
        assert self.axes is not None
        self.axes.only(self.rows.key, self._marked())
        self._changed()

    def do_custom(self) -> None:
        """Ask for a value."""
        axis = self._axis()
        if axis.key == "model":
            self.do_file()
            return
        self.app.push_screen(PromptScreen(f"Add a value to {axis.title}", axis.help, self._add), self._added)

    def _add(self, text: str) -> str:
        assert self.axes is not None
        return self.axes.add(self.rows.key, text)

    def _added(self, text: str | None) -> None:
        assert self.axes is not None
        if text:
            self.value = len(self.axes.offered[self.rows.key]) - 1
            self._changed()

    def do_file(self) -> None:
        """Ask for a model file."""
        assert self.axes is not None
        hint = "PATH, pypi:NAME or hf:OWNER/REPO/FILE.gguf@REVISION; add `as NAME` to tie it to a model of the table"
        self.app.push_screen(PromptScreen("Add a model file", hint, self.axes.add_model), self._added_model)

    def _added_model(self, text: str | None) -> None:
        if text:
            self.rows.go("model")
            self._changed()
            self.say(f"Model {text} added.")

    def do_needs(self) -> None:
        """What the reported scores need, or the cost again."""
        self.needs = not self.needs
        self._show_cost()
        self.say("tab goes to the text below; n shows the cost again." if self.needs else "")

    def why_not_widen(self) -> str:
        """Something must be lacking."""
        desk = self.root.desk
        missing = desk.study is not None and any(need.missing for need in needs(desk.study, desk.literature))
        return "" if missing else "The grid has every value that the sources of these models' scores state."

    def do_widen(self) -> None:
        """Every stated value that can be one; what cannot is said."""
        desk = self.root.desk
        assert self.axes is not None and desk.study is not None
        wanted = dict.fromkeys(pair for need in needs(desk.study, desk.literature) for pair in need.missing)
        added, refused = [], []
        for axis, value in wanted:
            try:
                added.append(self.axes.add(axis, value))
            except USER_ERRORS as error:
                refused.append(str(error))
        self._changed()
        said = f"Added {', '.join(added)}." if added else "Nothing was added."
        self.say(" ".join([said, *refused[:1]]), warning=bool(refused))

    def do_preset(self) -> None:
        """Choose a whole grid."""
        assert self.axes is not None
        choices = [(name, str(number), text) for number, (name, text) in enumerate(self.axes.presets().items(), 1)]
        self.app.push_screen(ChoiceScreen("Presets", choices), self._preset)

    def _preset(self, name: str | None) -> None:
        assert self.axes is not None
        if name:
            self.axes.preset(name)
            self.value = 0
            self._changed()
            self.say(f"Preset: {name}.")

    def why_not_start(self) -> str:
        """It must be able to run."""
        return f"Cannot run: {self.problem}" if self.problem else ""

    def do_start(self) -> None:
        """Start, or wait behind a run at work; while the cost is still being counted, as soon as it is."""
        if self._errand is not None or self._timer is not None:
            self._start_wanted = True
            self.say("Starts as soon as its cost is counted.")
        elif self._taken():
            self.root.enqueue_run()
        else:
            self.root.start_run()

    def _taken(self) -> bool:
        """True while a run is at work or waits, whether it is watched here or not."""
        from tui.queue import at_work

        session = self.root.desk.session
        try:
            return self.root.desk.run_state in LIVE or bool(session.queue()) or at_work(session.runs()) is not None
        except USER_ERRORS:
            return False

    why_not_queue = why_not_start

    def do_queue(self) -> None:
        """Behind everything that is at work or waits."""
        self.root.enqueue_run()


def _short(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1e6:.1f} million"
    return grouped(number)
