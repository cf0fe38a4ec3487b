"""One problem under one configuration: what was asked, the raw reply, the program as a diff, and what it showed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult

from cache.store import StoredGeneration
from engine.protocols import Problem
from tui.commands import Command, bindings
from tui.screens.base import BaseScreen
from tui.screens.prompt import USER_ERRORS
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece
from tui.widgets.text import Line, TextView, plain

VIEWS = ("outcome", "reply", "diff", "program", "problem")


class ProblemScreen(BaseScreen):
    """A problem, in five views."""

    PLACE = "problem"
    AUTO_FOCUS = "#view"
    TABLE: ClassVar[Sequence[Command]] = (
        Command("l,right,tab", "right", "next view", "Problem: next view", "Outcome, reply, diff, program, problem."),
        Command("h,left,shift+tab", "left", "view before", "Problem: previous view", "The view to the left.", True),
        Command("n,J", "next", "next", "Problem: next", "The next problem of the list."),
        Command("N,K", "previous", "previous", "Problem: previous", "The previous problem of the list."),
        Command("s", "sample", "sample", "Problem: next sample", "The next sample of this problem."),
        Command("escape,backspace", "back", "back", "Go to: back", "Back to the configuration's problems."),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self, key: str, task_id: str, tasks: Sequence[str]) -> None:
        super().__init__()
        self.key = key
        self.task_id = task_id
        self.sample = 0
        self.view = 0
        self._tasks = tasks

    def body(self) -> ComposeResult:
        """Which problem, the views' names, the view."""
        yield TextLine(id="what")
        yield TextLine(id="views", classes="head")
        yield TextView(id="view")

    def focus_body(self) -> None:
        """Keys go to the text."""
        self.query_one("#view").focus()

    def fill(self) -> None:
        """Everything anew."""
        super().fill()
        state = self.root.desk.state
        score = state.scores[self.key]
        reply = state.reply(self.key, self.task_id, self.sample)
        kind = score.kinds.get((self.task_id, self.sample), "waiting")
        sample = f" sample {self.sample + 1}/{score.samples}" if score.samples > 1 else ""
        self.query_one("#what", TextLine).show(
            Piece(f" {self.task_id}{sample} ", "text bold"),
            Piece(kind, "agree" if kind == "passed" else "against"),
            Piece(f" · {reply.tokens} tokens, ended by {reply.stop}" if reply else " · no reply yet"),
            Piece(f" · {score.configuration.label}", "muted"),
        )
        self.query_one("#views", TextLine).show(
            Piece(" "),
            *(
                Piece(
                    f"[{name}] " if index == self.view else f" {name}  ", "text bold" if index == self.view else "muted"
                )
                for index, name in enumerate(VIEWS)
            ),
        )
        self.query_one("#view", TextView).show(self._lines())
        self.focus_body()

    def _lines(self) -> list[Line]:
        try:
            return list(getattr(self, f"_{VIEWS[self.view]}")())
        except USER_ERRORS as error:
            return [[Piece(str(error), "against")]]

    def _generation(self) -> StoredGeneration | None:
        key = self.root.desk.state.kept.key((self.key, self.task_id, self.sample))
        return self.root.desk.generation(key) if key else None

    def _item(self) -> Problem | None:
        return self.root.parts.problem(self.root.desk.state.configuration(self.key).benchmark, self.task_id)

    def _candidate(self) -> str:
        reply = self._generation()
        if reply is None:
            return ""
        return self.root.parts.candidate(self.root.desk.state.configuration(self.key), self.task_id, reply.text)

    def _outcome(self) -> Iterator[Line]:
        state = self.root.desk.state
        place = (self.key, self.task_id, self.sample)
        kind = state.scores[self.key].kinds.get(place[1:], "")
        if not kind:
            yield [Piece("Not judged yet.", "muted")]
            return
        yield [Piece("outcome     "), Piece(kind, "agree bold" if kind == "passed" else "against bold")]
        detail = state.kept.detail(place)
        yield from (
            [Piece("detail      "), Piece(text.text)] for text in (found[0] for found in plain(detail) if detail)
        )
        yield [Piece(f"sandbox     {state.sandbox}")]
        reply = state.reply(*place)
        if reply is not None:
            yield [Piece(f"reply       {reply.tokens} tokens in {reply.seconds:.1f} s, ended by {_stop(reply.stop)}")]
            yield [Piece(f"kept as     {reply.key}", "muted")]
        yield [Piece("")]
        yield [Piece("settings", "text bold")]
        for axis, value in state.scores[self.key].axes.items():
            yield [Piece(f"{axis:<12}", "muted"), Piece(value)]

    def _reply(self) -> Iterator[Line]:
        found = self._generation()
        if found is None:
            yield [Piece("No reply is kept for this sample.", "muted")]
            return
        limit = f"{len(found.tokens)} of at most {found.asked} tokens; ended by {_stop(found.stop)}"
        yield [Piece(f"{limit}; {found.n_prompt} prompt tokens; {found.decoding}", "muted")]
        yield [Piece("")]
        yield from plain(found.text)

    def _diff(self) -> Iterator[Line]:
        item, candidate = self._item(), self._candidate()
        if item is None or not candidate:
            yield [Piece("No program yet, or the benchmark's problems are not at hand.", "muted")]
            return
        before = (item.header + item.buggy).strip("\n").splitlines()
        after = candidate.strip("\n").splitlines()
        if before == after:
            yield [Piece("The program is the buggy one, unchanged.", "against")]
        for text in difflib.unified_diff(before, after, "buggy", "candidate", lineterm="", n=30):
            role = {"+": "agree", "-": "against", "@": "muted"}.get(text[:1], "text")
            yield plain(text, role)[0]

    def _program(self) -> Iterator[Line]:
        found = self._generation()
        text = ""
        if found is not None:
            text = self.root.parts.program(self.root.desk.state.configuration(self.key), self.task_id, found.text)
        yield from plain(
            text or "No program yet, or the benchmark's problems are not at hand.", "text" if text else "muted"
        )

    def _problem(self) -> Iterator[Line]:
        item = self._item()
        if item is None:
            yield [Piece("The benchmark's problems are not at hand.", "muted")]
            return
        yield [Piece(item.instruction, "text bold"), Piece(f"  bug type: {item.bug_type}", "muted")]
        for title, text in (
            ("Shown to the model", item.context),
            ("Correct body", item.canonical),
            ("Tests", item.test),
        ):
            yield [Piece("")]
            yield [Piece(title, "muted")]
            yield from plain(text.strip("\n"))

    # commands

    def do_right(self) -> None:
        """The next view."""
        self.view = (self.view + 1) % len(VIEWS)
        self.fill()

    def do_left(self) -> None:
        """The view before."""
        self.view = (self.view - 1) % len(VIEWS)
        self.fill()

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


def _stop(stop: str) -> str:
    return {
        "end": "the model's end token", "limit": "the token limit", "cut": "the extraction's cut",
        "no room": "no room after the prompt",
    }.get(stop, stop)  # fmt: skip
