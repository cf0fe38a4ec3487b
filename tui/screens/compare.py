"""Two configurations side by side: flips first, the paired test, and both replies of the marked problem."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.beside import Pair, Side, pairs, sentence
from tui.commands import Command, bindings
from tui.screens.base import BaseScreen, numbered
from tui.screens.problem_views import stop
from tui.screens.prompt import USER_ERRORS
from tui.widgets.bars import StatusLine, TextLine
from tui.widgets.pieces import Piece, cell
from tui.widgets.rows import RowList
from tui.widgets.text import Line, TextView, plain

SHOWN = ("all", "flips", "every difference")
VIEWS = ("reply", "program", "outcome")
ROLES = {"gained": "agree", "lost": "against", "other outcome": "open", "one side only": "muted"}


class CompareScreen(BaseScreen):
    """Two configurations."""

    PLACE = "compare"
    TABLE: ClassVar[Sequence[Command]] = (
        Command("enter", "open", "open left", "Problem: open", "Open the problem of the left configuration."),
        Command("v", "view", "reply or program", "Sides: show", "Show both replies, both programs, or both outcomes."),
        Command("f", "show", "show", "Problems: show", "Show all problems, flips, or every difference."),
        Command("n", "next", "next flip", "Problems: next flip", "Go to the next problem that flips."),
        Command("N", "previous", "", "Problems: previous flip", "Go to the previous problem that flips.", True),
        Command("l,right", "sample", "sample", "Sides: next sample", "The next sample of both sides.", True),
        Command("h,left", "sample_before", "", "Sides: sample before", "The sample before, on both sides.", True),
        Command("s", "swap", "swap", "Sides: swap", "Left becomes right.", True),
        Command("escape,backspace", "back", "back", "Go to: back", "Back to the configuration's problems."),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self, left: Side, right: Side) -> None:
        super().__init__()
        self.left = left
        self.right = right
        self.shown = 0
        self.view = 0
        self.sample = 0
        self._pairs: dict[str, Pair] = {}

    def body(self) -> ComposeResult:
        """Both titles, the test, the problems, both sides."""
        yield TextLine(id="left-title")
        yield TextLine(id="right-title")
        yield StatusLine(id="test")
        yield TextLine(id="head", classes="head")
        yield RowList(self._paint, id="pairs", empty="No problem to show: f shows others.")
        with Horizontal(id="sides"):
            yield TextView(id="left")
            yield TextView(id="right")

    @property
    def rows(self) -> RowList:
        """The problems."""
        return self.query_one("#pairs", RowList)

    def focus_body(self) -> None:
        """Keys go to the list."""
        self.rows.focus()

    def fill(self) -> None:
        """Everything anew."""
        super().fill()
        self._pairs = {pair.task_id: pair for pair in pairs(self.left, self.right)}
        for name, side in (("left", self.left), ("right", self.right)):
            self.query_one(f"#{name}-title", TextLine).show(
                cell(f" {name} ", 7, "muted"), Piece(f"{side.score.text:>8} ", "agree bold"), Piece(side.title)
            )
        self.query_one("#test", StatusLine).show(Piece(f" {sentence(self.left, self.right)}", "text bold"))
        self.query_one("#head", TextLine).show(
            cell(" problem", 19, "muted"), cell("left", 15, "muted"), cell("right", 15, "muted"),
            Piece("left is", "muted"),
        )  # fmt: skip
        self.rows.show(self._order())
        self._sides()
        if self.focused is None:
            self.focus_body()

    def follow(self, dirty: Collection[str]) -> None:
        """Only these two matter."""
        if self.left.key in dirty or self.right.key in dirty:
            self.fill()

    def _order(self) -> list[str]:
        wanted = ((*ROLES, ""), ("lost", "gained"), ("lost", "gained", "other outcome"))[self.shown]
        return [pair.task_id for pair in self._pairs.values() if pair.relation in wanted]

    def _paint(self, key: str, width: int) -> Sequence[Piece]:
        pair = self._pairs[key]
        return (
            cell(key, 18), cell(pair.left, 15, _role(pair.left)), cell(pair.right, 15, _role(pair.right)),
            cell(pair.relation, 14, ROLES.get(pair.relation, "muted")), Piece(self._modes(key), "open"),
        )  # fmt: skip

    def _modes(self, task_id: str) -> str:
        """How the shown samples were judged, where that is not by plain data alone; which side's stands below."""
        modes = (side.mode(task_id, self.sample) for side in (self.left, self.right))
        return ", ".join(dict.fromkeys(mode for mode in modes if mode))

    @on(RowList.Moved, "#pairs")
    def _moved(self) -> None:
        self._sides()

    def _sides(self) -> None:
        key = self.rows.key
        for name, side in (("left", self.left), ("right", self.right)):
            self.query_one(f"#{name}", TextView).show(list(self._side(side, key)) if key else [])

    def _side(self, side: Side, task_id: str) -> Iterator[Line]:
        yield self._heading(side, task_id)
        if VIEWS[self.view] == "outcome":
            yield from plain(side.detail(task_id, self.sample) or "nothing more was said")
            return
        key = side.reply_key(task_id, self.sample)
        stored = self.root.desk.generation(key) if key else None
        if stored is None:
            yield [Piece("No reply is kept for this sample.", "muted")]
            return
        yield [Piece(f"{len(stored.tokens)} tokens, ended by {stop(stored.stop)}", "muted")]
        configuration = side.score.configuration
        try:
            read = self.root.parts.read(configuration, stored)
            text = read.text
            if VIEWS[self.view] == "program":
                text = self.root.parts.candidate(configuration, task_id, text)
        except USER_ERRORS as error:
            yield [Piece(str(error), "against")]
            return
        yield from plain(text.strip("\n"))

    def _heading(self, side: Side, task_id: str) -> Line:
        """The outcome; of several samples which one is shown, and how many of all passed."""
        mode = side.mode(task_id, self.sample)
        label = Piece(f" · {mode}" if mode else "", "open")
        whole = side.outcome(task_id)
        if side.score.samples < 2:
            return [Piece(whole, _role(whole) + " bold"), label]
        kind = side.sample_kind(task_id, self.sample) or "waiting"
        number = f"sample {side.number(self.sample) + 1}/{side.score.samples} "
        return [Piece(number, "muted"), Piece(kind, _role(kind) + " bold"), label, Piece(f" · {whole}", "muted")]

    # commands

    def why_not_open(self) -> str:
        """Problems of the attached run can be opened."""
        if not self.rows.key:
            return "No problem is chosen."
        here = self.left.key in self.root.desk.state.scores and not self.left.run
        return "" if here else "The left side is of another run: s swaps the sides, or 5 opens that run."

    def do_open(self) -> None:
        """The problem of the left side."""
        from tui.screens.problem import ProblemScreen

        sample = self.left.number(self.sample)
        self.app.push_screen(ProblemScreen(self.left.key, self.rows.key, list(self.rows.keys), sample))

    @on(RowList.Opened, "#pairs")
    def _opened(self) -> None:
        self.run_command("open")

    def do_view(self) -> None:
        """Reply, program, outcome."""
        self.view = (self.view + 1) % len(VIEWS)
        self._sides()
        self.say(f"Both sides show the {VIEWS[self.view]}.")

    def do_show(self) -> None:
        """All, flips, differences."""
        self.shown = (self.shown + 1) % len(SHOWN)
        self.fill()
        self.say(f"Showing {SHOWN[self.shown]}: {numbered(len(self.rows.keys), 'problem')}.")

    def why_not_next(self) -> str:
        """There must be one."""
        flips = any(map(self._flips, self.rows.keys))
        return "" if flips else "No problem shown flips between the two."

    why_not_previous = why_not_next

    def do_next(self) -> None:
        """The next flip."""
        self.rows.hop(1, self._flips)

    def do_previous(self) -> None:
        """The flip before."""
        self.rows.hop(-1, self._flips)

    def _flips(self, key: str) -> bool:
        return self._pairs[key].relation in ("lost", "gained")

    @property
    def _samples(self) -> int:
        return max(side.score.samples for side in (self.left, self.right))

    def why_not_sample(self) -> str:
        """There must be several."""
        return "" if self._samples > 1 else "Both configurations have one sample per problem."

    why_not_sample_before = why_not_sample

    def do_sample(self) -> None:
        """The next one."""
        self._step(1)

    def do_sample_before(self) -> None:
        """The one before."""
        self._step(-1)

    def _step(self, step: int) -> None:
        self.sample = (self.sample + step) % self._samples
        self._sides()
        self.rows.refresh()
        self.say(f"Sample {self.sample + 1} of {self._samples}.")

    def do_swap(self) -> None:
        """Left becomes right."""
        self.left, self.right = self.right, self.left
        self.fill()

    def do_back(self) -> None:
        """Back to the list."""
        self.app.pop_screen()


def _role(outcome: str) -> str:
    if outcome in ("waiting", ""):
        return "muted"
    if outcome.endswith("passed"):
        return "agree" if outcome == "passed" else "partial"
    return "open" if outcome in ("unavailable", "no room") else "against"
