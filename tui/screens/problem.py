"""One problem under one configuration: prompt, raw reply, what each extraction makes of it, diffs, tests, once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult

from tui.commands import Command, bindings
from tui.errand import Errand
from tui.hand_over import copy, open_in_editor
from tui.screens.base import BaseScreen, numbered
from tui.screens.problem_views import REFERENCES, VIEWS, Sample, as_text
from tui.screens.prompt import USER_ERRORS
from tui.session import LIVE
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece
from tui.widgets.text import Line, TextView

if TYPE_CHECKING:
    from engine.again import Again

NAMES = tuple(VIEWS)


class ProblemScreen(BaseScreen):
    """A problem, in seven views."""

    PLACE = "problem"
    AUTO_FOCUS = "#view"
    TABLE: ClassVar[Sequence[Command]] = (
        Command(
            "l,right,tab", "right", "next view", "Problem: next view", "Outcome, prompt, reply, programs, diff ..."
        ),
        Command("h,left,shift+tab", "left", "view before", "Problem: previous view", "The view to the left.", True),
        Command("n,J", "next", "next", "Problem: next", "The next problem of the list."),
        Command("N,K", "previous", "previous", "Problem: previous", "The previous problem of the list.", True),
        Command("s", "sample", "sample", "Problem: next sample", "The next sample of this problem.", True),
        Command("b", "reference", "diff with", "Diff: other program", "Diff against the buggy or the correct program."),
        Command("R", "again", "rerun", "Problem: rerun this one", "Judge its program and make its reply once more."),
        Command("y", "copy", "copy", "View: copy", "Put the text of this view on the clipboard."),
        Command("E", "edit", "editor", "View: open in the editor", "Open the text of this view in $EDITOR."),
        Command("escape,backspace", "back", "back", "Go to: back", "Back to the configuration's problems."),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self, key: str, task_id: str, tasks: Sequence[str], sample: int = 0) -> None:
        super().__init__()
        self.key = key
        self.task_id = task_id
        self.sample = sample
        self.view = 0
        self.reference = 0
        self._tasks = tasks
        self._again: dict[tuple[str, str, int], Again] = {}
        self._errand: tuple[tuple[str, str, int], Errand[Again]] | None = None

    def body(self) -> ComposeResult:
        """Which problem, the views' names, the view."""
        yield TextLine(id="what")
        yield TextLine(id="views", classes="head")
        yield TextView(id="view")

    def focus_body(self) -> None:
        """Keys go to the text."""
        self.query_one("#view").focus()

    @property
    def shown(self) -> Sample:
        """The sample at hand."""
        place = (self.key, self.task_id, self.sample)
        return Sample(
            self.root.desk, self.root.parts, *place, again=self._again.get(place),
            reference=REFERENCES[self.reference],
        )  # fmt: skip

    def fill(self) -> None:
        """Everything anew."""
        super().fill()
        state = self.root.desk.state
        score = state.scores[self.key]
        reply = state.reply(self.key, self.task_id, self.sample)
        kind = score.kinds.get((self.task_id, self.sample), "waiting")
        mode = state.kept.label((self.key, self.task_id, self.sample))
        sample = f" sample {self.sample + 1}/{score.samples}" if score.samples > 1 else ""
        self.query_one("#what", TextLine).show(
            Piece(f" {self.task_id}{sample} ", "text bold"),
            Piece(kind, "agree" if kind == "passed" else "against"),
            Piece(f" · {mode}" if mode else "", "open"),
            Piece(" · flaky" if (self.key, self.task_id, self.sample) in state.flaky else "", "open"),
            Piece(f" · {reply.tokens} tokens, ended by {reply.stop}" if reply else " · no reply yet"),
            Piece(f" · {score.configuration.label}", "muted"),
        )
        self.query_one("#views", TextLine).show(
            Piece(" "),
            *(
                Piece(
                    f"[{name}] " if index == self.view else f" {name}  ", "text bold" if index == self.view else "muted"
                )
                for index, name in enumerate(NAMES)
            ),
        )
        self.query_one("#view", TextView).show(self._lines())
        self.focus_body()

    def _lines(self) -> list[Line]:
        try:
            return list(VIEWS[NAMES[self.view]](self.shown))
        except USER_ERRORS as error:
            return [[Piece(str(error), "against")]]

    # commands

    def do_right(self) -> None:
        """The next view."""
        self.view = (self.view + 1) % len(NAMES)
        self.fill()

    def do_left(self) -> None:
        """The view before."""
        self.view = (self.view - 1) % len(NAMES)
        self.fill()

    def do_reference(self) -> None:
        """The other program, in the diff."""
        if NAMES[self.view] == "diff":
            self.reference = 1 - self.reference
        self.view = NAMES.index("diff")
        self.fill()

    def why_not_again(self) -> str:
        """It must be judged, and one at a time."""
        if self.root.parts.again is None:
            return "Nothing can be run again from here."
        if self._errand is not None:
            return f"{self._errand[0][1]} is being run again: wait for it."
        if not self.shown.kind:
            return "It is not judged yet: there is nothing to compare with."
        try:
            return self.root.parts.no_room(self.shown.configuration) if self.root.desk.run_state in LIVE else ""
        except USER_ERRORS as error:
            return str(error)

    def do_again(self) -> None:
        """In a process of its own, beside the screen."""
        again, place = self.root.parts.again, (self.key, self.task_id, self.sample)
        assert again is not None
        self._errand = (place, Errand(lambda: again(*place)))
        more = " The run's worker is at work too, so it may be slow." if self.root.desk.run_state == "running" else ""
        self.say(f"Running {self.task_id} again: the model is loaded, its reply made alone, its program judged.{more}")

    def tick(self) -> None:
        """Fetch what was run again when it is there."""
        if self._errand is None or not self._errand[1].done:
            return
        (place, errand), self._errand = self._errand, None
        try:
            found = self._again[place] = errand.take()
        except USER_ERRORS as error:
            self.say(str(error), warning=True)
            return
        if place == (self.key, self.task_id, self.sample):
            self.view = 0
            self.fill()
        wrong = found.result == "different" or found.kind not in ("", found.recorded)
        self.say(f"{place[1]} run again: reply {found.result}, outcome {found.kind or 'not judged'}.", warning=wrong)

    def _text(self) -> str:
        try:
            return as_text(NAMES[self.view], self.shown, self.query_one("#view", TextView).lines)
        except USER_ERRORS:
            return ""

    def why_not_copy(self) -> str:
        """There must be a text."""
        return "" if self._text() else "There is no text in this view."

    why_not_edit = why_not_copy

    def do_copy(self) -> None:
        """The view's text."""
        text = self._text()
        how = copy(self.app, text)
        self.say(f"Copied {numbered(len(text), 'character')} of the {NAMES[self.view]} {how}.")

    def do_edit(self) -> None:
        """The view's text in the user's editor; nothing is read back."""
        name = NAMES[self.view]
        ending = {"diff": "diff", "judged": "py"}.get(name, "txt")
        try:
            open_in_editor(self.app, f"{self.task_id}-{name}.{ending}", self._text())
        except USER_ERRORS as error:
            self.say(str(error), warning=True)
            return
        self.say("The file was for looking at: nothing of it is read back.")

    def do_next(self) -> None:
        """The next problem."""
        self._step(1)

    def do_previous(self) -> None:
        """The previous problem."""
        self._step(-1)

    def _step(self, step: int) -> None:
        index = self._tasks.index(self.task_id) + step
        if not 0 <= index < len(self._tasks):
            self.say("That is the last problem of the list." if step > 0 else "That is the first problem of the list.")
            return
        self.task_id = self._tasks[index]
        self.sample = 0
        self.fill()

    def why_not_sample(self) -> str:
        """There must be several."""
        samples = self.root.desk.state.scores[self.key].samples
        return "" if samples > 1 else "This configuration has one sample per problem."

    def do_sample(self) -> None:
        """The next sample."""
        self.sample = (self.sample + 1) % self.root.desk.state.scores[self.key].samples
        self.fill()

    def do_back(self) -> None:
        """Back to the list."""
        self.app.pop_screen()
