"""One configuration: its problems, what each program showed, and which flip against another configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult

from engine.denominator import of_score
from tui.beside import Side
from tui.commands import Command, bindings
from tui.findings import compared
from tui.screens.base import BaseScreen, numbered
from tui.screens.choose_other import OtherSide
from tui.state import Problem, flips
from tui.widgets.bars import StatusLine, TextLine
from tui.widgets.pieces import Piece, cell
from tui.widgets.rows import RowList

WAITING = "waiting"
SHOWN = ("all", "not passed", "flips")


def _marks(problem: Problem) -> list[str]:
    """What is to be known of its outcome: that it depends on a seed, and how it was judged."""
    return [*(["flaky"] if problem.flaky else []), *([problem.mode] if problem.mode else [])]


class ConfigurationScreen(BaseScreen):
    """The problems of a configuration."""

    PLACE = "configuration"
    TABLE: ClassVar[Sequence[Command]] = (
        Command("enter", "open", "open", "Problem: open", "Show prompt, reply, program and outcome of the problem."),
        Command(
            "c", "compare", "compare", "Configuration: compare", "Choose another configuration and mark what flips."
        ),
        Command(
            "v", "beside", "side by side", "Configuration: side by side", "Both replies of each problem, flips first."
        ),
        Command("o", "kind", "outcome", "Problems: outcome", "Show only problems with one kind of outcome."),
        Command("f", "show", "show", "Problems: show", "Show all problems, those not passed, or those that flip."),
        Command(
            "slash", "filter", "filter", "Problems: filter", "Show problems whose id, kind or detail holds a text."
        ),
        Command("n", "next", "next flip", "Problems: next flip", "Go to the next problem that flips.", True),
        Command("N", "previous", "", "Problems: previous flip", "Go to the previous problem that flips.", True),
        Command("escape,backspace", "back", "back", "Go to: back", "Back to the run."),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.other = ""
        self.shown = 0
        self.text = ""
        self.outcome = ""
        self._other_side: OtherSide | None = None
        self._problems: dict[str, Problem] = {}
        self._flips: dict[str, str] = {}

    def body(self) -> ComposeResult:
        """What it is, what it is compared with, the problems."""
        yield TextLine(id="what")
        yield StatusLine(id="counts")
        yield StatusLine(id="against")
        yield TextLine(id="head", classes="head")
        yield RowList(self._paint, id="problems", empty="No problem to show: f shows others.")

    @property
    def rows(self) -> RowList:
        """The list of problems."""
        return self.query_one("#problems", RowList)

    def focus_body(self) -> None:
        """Keys go to the list."""
        self.rows.focus()

    def fill(self) -> None:
        """Everything anew."""
        super().fill()
        state = self.root.desk.state
        score = state.scores[self.key]
        self._problems = {problem.task_id: problem for problem in state.problems(self.key)}
        self._flips = flips(score, state.scores[self.other]) if self.other else {}
        self.query_one("#what", TextLine).show(
            Piece(f" {score.model} ", "text bold"),
            Piece(score.configuration.label),
            Piece(f"   {score.text}", "agree bold"),
        )
        modes = "".join(f"; {mode}: {count}" for mode, count in state.kept.labelled(self.key).items())
        self.query_one("#counts", StatusLine).show(Piece(f" {of_score(score).text}", "muted"), Piece(modes, "open"))
        self.query_one("#against", StatusLine).show(*self._against())
        self.query_one("#head", TextLine).show(
            cell(" problem", 17, "muted"), cell("outcome", 15, "muted"), cell("tokens", 7, "muted", right=True),
            Piece("  "), cell("end", 7, "muted"), *((cell("flip", 7, "muted"),) if self.other else ()),
            cell("detail", 20, "muted"),
        )  # fmt: skip
        self.rows.show(self._order())
        if self.focused is None:
            self.focus_body()

    def follow(self, dirty: Collection[str]) -> None:
        """Only this configuration and the one it is compared with matter."""
        if self.key in dirty or self.other in dirty:
            self.fill()

    def _against(self) -> list[Piece]:
        if not self.other:
            count = sum(1 for problem in self._problems.values() if problem.judged)
            return [
                Piece(
                    f" {count} of {numbered(len(self._problems), 'problem')} judged; c compares with another", "muted"
                )
            ]
        state = self.root.desk.state
        other = state.scores[self.other]
        text = compared(state.scores[self.key], other)
        return [Piece(f" {text} "), Piece(f"against {other.text} {other.configuration.label}", "muted")]

    def _order(self) -> list[str]:
        wanted = self.text.casefold()
        return [
            problem.task_id
            for problem in self._problems.values()
            if self.outcome in ("", problem.kind or WAITING)
            and wanted in " ".join((problem.task_id, problem.kind, *_marks(problem), problem.detail)).casefold()
            and (
                self.shown == 0
                or (self.shown == 1 and problem.judged and problem.passed < problem.judged)
                or (self.shown == 2 and problem.task_id in self._flips)
            )
        ]

    def _paint(self, key: str, width: int) -> Sequence[Piece]:
        problem = self._problems[key]
        role = {"passed": "agree", "": "muted", "unavailable": "open", "no room": "open"}.get(problem.kind, "against")
        glyph = {"passed": "✓", "": "·", "unavailable": "?"}.get(problem.kind, "✗")
        word = problem.kind or "waiting"
        if problem.asked > 1 and problem.judged:
            word = f"{problem.passed}/{problem.judged} passed"
            role = "agree" if 2 * problem.passed > problem.judged else "against"
        reply = self.root.desk.state.reply(self.key, key, 0)
        flip = self._flips.get(key, "")
        return (
            cell(key, 16, "text"),
            cell(f"{glyph} {word}", 15, role),
            cell(str(reply.tokens) if reply else "", 7, "muted", right=True),
            Piece("  "),
            cell(reply.stop if reply else "", 7, "open" if reply and reply.stop in ("limit", "no room") else "muted"),
            *((cell(flip, 7, "agree" if flip == "gained" else "against"),) if self.other else ()),
            *(Piece(f"{mark}  ", "open") for mark in _marks(problem)),
            Piece(problem.detail, "muted"),
        )

    # commands

    def why_not_open(self) -> str:
        """There must be a row."""
        return "" if self.rows.key else "No problem is chosen."

    def do_open(self) -> None:
        """The problem."""
        from tui.screens.problem import ProblemScreen

        self.app.push_screen(ProblemScreen(self.key, self.rows.key, list(self.rows.keys)))

    @on(RowList.Opened, "#problems")
    def _opened(self) -> None:
        self.run_command("open")

    def why_not_compare(self) -> str:
        """Another configuration of the same model and benchmark."""
        return "" if self._others() else "No other configuration of this model and benchmark has been judged."

    def _others(self) -> list[str]:
        state = self.root.desk.state
        here = state.scores[self.key]
        return [
            key for key in state.order
            if key != self.key and (score := state.scores[key]).kinds
            and (score.model, score.benchmark) == (here.model, here.benchmark)
        ]  # fmt: skip

    def do_compare(self) -> None:
        """Choose one."""
        from tui.screens.prompt import ChoiceScreen

        state = self.root.desk.state
        choices = [
            (key, "", f"{state.scores[key].text:>9}  {state.configuration(key).label}") for key in self._others()
        ]
        self.app.push_screen(ChoiceScreen("Compare with", choices), self._compared)

    def _compared(self, key: str | None) -> None:
        if key:
            self.other = key
            self.shown = 2
            self.fill()
            self.say(f"{numbered(len(self._flips), 'problem')} flip; f shows all problems.")

    def do_beside(self) -> None:
        """Against the configuration that is compared with, else ask for one, of this run or of another."""
        if self.other:
            self._beside(Side(self.root.desk.state, self.other))
            return
        self._other_side = OtherSide(self.root, self.key, self._beside)
        self._other_side.ask()

    def _beside(self, other: Side) -> None:
        from tui.screens.compare import CompareScreen

        self.app.push_screen(CompareScreen(Side(self.root.desk.state, self.key), other))

    def tick(self) -> None:
        """A comparison may wait for a run to be read."""
        if self._other_side is not None:
            self._other_side.tick()

    def why_not_kind(self) -> str:
        """Something must be judged."""
        return "" if self._problems else "No problem is known yet."

    def do_kind(self) -> None:
        """One of the kinds that there are."""
        from tui.screens.prompt import ChoiceScreen

        counts = Counter(problem.kind or WAITING for problem in self._problems.values())
        choices = [("", "a", f"all {numbered(len(self._problems), 'problem')}")]
        choices += [(kind, "", f"{count:>5}  {kind}") for kind, count in counts.most_common()]
        self.app.push_screen(ChoiceScreen("Show the outcome", choices), self._kind)

    def _kind(self, kind: str | None) -> None:
        if kind is not None:
            self.outcome = kind
            self.rows.show(self._order())
            self.say(f"Showing {kind or 'every outcome'}: {numbered(len(self.rows.keys), 'problem')}.")

    def do_show(self) -> None:
        """All, not passed, flips."""
        self.shown = (self.shown + 1) % (3 if self.other else 2)
        self.fill()
        self.say(f"Showing {SHOWN[self.shown]}: {numbered(len(self.rows.keys), 'problem')}.")

    def do_filter(self) -> None:
        """Type to filter."""
        self.open_filter(self.text, "text in id, outcome or detail, e.g. timeout; esc clears")

    def filtered(self, text: str) -> None:
        """Problems that hold the text."""
        self.text = text
        self.rows.show(self._order())

    def why_not_next(self) -> str:
        """Flips need a comparison."""
        if not self.other:
            return "c chooses a configuration to compare with first."
        if not self._flips:
            return "No problem flips between the two."
        shown = any(key in self._flips for key in self.rows.keys)
        return "" if shown else "No flip is among the problems shown: f and / show others."

    why_not_previous = why_not_next

    def do_next(self) -> None:
        """The next flip."""
        self.rows.hop(1, self._flips.__contains__)

    def do_previous(self) -> None:
        """The previous flip."""
        self.rows.hop(-1, self._flips.__contains__)

    def do_back(self) -> None:
        """Back to the run."""
        self.app.pop_screen()
