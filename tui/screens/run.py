"""A run while it goes on: progress, and the match matrix with configurations down and reported scores across."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult

from tui import order
from tui.commands import Command, bindings
from tui.order import SORTS, Group
from tui.screens.asking import AskingScreen
from tui.screens.base import join, numbered
from tui.widgets.bars import TextLine
from tui.widgets.live import LiveView
from tui.widgets.matrix import Layout, group_row, header, lay_out, row
from tui.widgets.pieces import Piece, cell
from tui.widgets.progress import banner, fit_banner, progress
from tui.widgets.rows import RowList
from tui.widgets.text import TextView
from tui.widgets.told import legend, overall, sentences

HOLD_SECONDS, SORT_SECONDS = 6.0, 2.0


class RunScreen(AskingScreen):
    """What is going on, and which reported scores each configuration is consistent with."""

    PLACE = "run"
    FLEETING = ("pause", "stop", "resume", "model")
    TABLE: ClassVar[Sequence[Command]] = (
        Command("enter", "open", "problems", "Configuration: problems", "Open the configuration's problems."),
        Command("p", "pause", "pause", "Run: pause or go on", "Pause the run, or let it go on."),
        Command("S", "stop", "stop", "Run: stop", "Stop the run; what is finished is kept."),
        Command("R", "resume", "resume", "Run: resume", "Start a worker for a stopped, failed or died run."),
        Command("d", "detach", "detach", "Run: detach", "Leave the app; the run goes on without it.", True),
        Command("o", "sort", "sort", "Matrix: sort", "Sort by grid order, nearest match, or score."),
        Command("b", "group", "group by", "Matrix: group by an axis", "Group by the next axis; enter folds a group."),
        Command("slash", "filter", "filter", "Matrix: filter", "Show only configurations with these axis values."),
        Command("f", "findings", "findings", "Findings: show", "Effects of settings, and what sources point to."),
        Command("h,left", "left", "", "Matrix: reported score to the left", "Choose the score to the left.", True),
        Command("l,right", "right", "", "Matrix: reported score to the right", "Choose the one to the right.", True),
        Command("m", "model", "model", "Matrix: next model", "Show the next model of the run."),
        Command("v", "stream", "replies", "Reply: watch", "Show replies as they are written, or not."),
        Command("n", "next", "next slot", "Reply: next slot", "Watch what the next slot is writing.", True),
        Command("N", "previous", "slot before", "Reply: slot before", "Watch what the slot before is writing.", True),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self) -> None:
        super().__init__()
        self.sort = 0
        self.axis = ""
        self.folded: set[str] = set()
        self.following = False
        self.text = ""
        self._groups: dict[str, Group] = {}
        self.column = 0
        self.model = ""
        self._layout = Layout((), (), 7, 9, 0, 0)
        self._version = -1
        self._sorted = 0.0
        self._hold = 0.0

    def body(self) -> ComposeResult:
        """Progress, banner, matrix, the chosen cell in words, legend."""
        yield TextLine(id="what")
        yield TextLine(id="progress")
        yield TextView(id="banner")
        yield TextLine(id="head", classes="head")
        yield RowList(self._paint, id="matrix", empty="No configuration yet: the worker is getting ready.")
        yield TextView(id="cell")
        yield LiveView(id="live")
        yield TextLine(id="legend", classes="head")

    @property
    def rows(self) -> RowList:
        """The matrix."""
        return self.query_one("#matrix", RowList)

    @property
    def live(self) -> LiveView:
        """What the slots are writing."""
        return self.query_one(LiveView)

    def focus_body(self) -> None:
        """Keys go to the matrix."""
        self.rows.focus()

    # drawing

    def fill(self) -> None:
        """Everything anew."""
        super().fill()
        state = self.root.desk.state
        self._version = state.version
        models = state.models
        if self.model not in models:
            self.model = models[0] if models else ""
        self._relay()
        self.rows.show(self._order())
        self.tick()
        self._explain()
        self.query_one("#legend", TextLine).show(*legend(self.root.look, self.size.width))
        if not self.rows.has_focus and self.focused is None:
            self.focus_body()

    def _keys(self) -> list[str]:
        state = self.root.desk.state
        return [key for key in state.order if state.scores[key].model == self.model]

    def _order(self) -> list[str]:
        desk = self.root.desk
        scores = desk.state.scores
        found = order.chosen(scores, self._keys(), self.text.casefold().split())
        keys = order.ordered(scores, desk.matches, self.model, found, self.sort, self._reported[0])
        if not self.axis:
            return keys
        grouped = order.groups(scores, keys, self.axis)
        self._groups = {group.key: group for group in grouped}
        return order.rows(grouped, self.folded)

    @property
    def _reported(self) -> tuple[str, str]:
        """Id and label of the chosen reported score; empty without any."""
        columns = self.root.desk.matches.reported(self.model)
        return (columns[self.column].id, columns[self.column].label) if columns else ("", "")

    def _relay(self) -> None:
        desk = self.root.desk
        columns = desk.matches.reported(self.model)
        self.column = max(0, min(self.column, len(columns) - 1))
        scores = [desk.state.scores[key] for key in self._keys()]
        if scores:
            width = (self.rows.size.width or self.size.width) - 2
            self._layout = lay_out(scores, columns, width, self.column, self._layout.first)
        self.query_one("#head", TextLine).show(*header(self._layout, columns, self.column))

    def _paint(self, key: str, width: int) -> Sequence[Piece]:
        desk = self.root.desk
        if order.is_group(key):
            group = self._groups[key]
            text = order.said(group, desk.state.scores, desk.matches, *self._reported)
            return group_row(group.axis, group.value, text, folded=key in self.folded)
        columns = desk.matches.reported(self.model)
        cells = [desk.matches.cell(key, column.id) for column in self._layout.visible(columns)]
        score = desk.state.scores[key]
        return row(score, desk.state.row_state(key), self._layout, cells, self.column, self.root.look)

    def visible_keys(self) -> Sequence[str]:
        """The rows in view are matched first."""
        rows = self.rows
        top = rows.scroll_offset.y
        return rows.keys[top : top + rows.size.height]

    def follow(self, dirty: Collection[str]) -> None:
        """Rows that changed; all of them when the run began anew."""
        state = self.root.desk.state
        if self._version != state.version:
            self.fill()
            return
        self.rows.touch(dirty)
        self.rows.touch([group.key for group in self._groups.values() if any(key in dirty for key in group.members)])
        if self.rows.key in dirty and not self.following:
            self._explain()

    def tick(self) -> None:
        """Progress lines."""
        desk = self.root.desk
        state = desk.state
        width = self.size.width
        shown = desk.run_state
        left = ""
        if shown == "running":
            left = "catching up" if desk.behind else self.root.countdown.show(time.monotonic(), state.seconds_left())
        speed = state.pace.tokens_per_second if shown == "running" else 0.0
        right = join([f"{speed:.0f} tok/s" if speed else "", left, shown]) + " "
        what = join([self.model, *self._layout.fixed])
        room = max(10, width - len(right) - 2)
        role = "agree" if shown == "running" else "open"
        self.query_one("#what", TextLine).show(Piece(" "), cell(what, room, "text bold"), Piece(" " + right, role))
        self.query_one("#progress", TextLine).show(*progress(state, width, desk.status))
        fit_banner(self.query_one("#banner", TextView), banner(shown, desk.status.detail, state), width)
        self._overall()
        self._sort_again()
        if self.following:
            self.live.follow(desk, time.monotonic())
        if self.rows.size.width and self._layout.shown == 0 and desk.matches.reported(self.model):
            self._relay()

    def _sort_again(self) -> None:
        """A sorted matrix follows the scores, slowly enough to be read."""
        now = time.monotonic()
        if self.sort and now - self._sorted >= SORT_SECONDS:
            self._sorted = now
            keys = self._order()
            if keys != list(self.rows.keys):
                self.rows.show(keys)

    def _explain(self) -> None:
        """The chosen cell in words."""
        desk = self.root.desk
        if self.following:
            return
        columns = desk.matches.reported(self.model)
        view = self.query_one("#cell", TextView)
        if not columns:
            name = self.model or "this model"
            text = f" No reported score of {name} in the tables: i on the literature screen imports some."
            view.show([[Piece(text, "muted")]])
            return
        score = desk.state.scores.get(self.rows.key)
        if score is not None and score.failure:
            view.show([[Piece(" cannot run ", "against"), Piece(score.failure)]])
            return
        stopped = score.stopped if score is not None else ""
        shown = [columns[self.column]]
        shown += [column for column in columns if self.has_class("-tall") and column is not shown[0]]
        key = "" if order.is_group(self.rows.key) else self.rows.key
        lines: list[Sequence[Piece]] = [[Piece(" asked no further ", "text bold"), Piece(stopped)]] if stopped else []
        lines += [line for column in shown for line in sentences(desk, self.root.look, key, column)]
        view.show(lines, keep=True)

    def _overall(self) -> None:
        """The status line, while it has nothing newer: what all configurations together say of the chosen score."""
        columns = self.root.desk.matches.reported(self.model)
        if time.monotonic() >= self._hold and columns:
            super().say(overall(self.root.desk, columns[self.column]))

    def say(self, text: str, *, warning: bool = False) -> None:
        """One sentence, held for a while before the overall line comes back."""
        self._hold = time.monotonic() + HOLD_SECONDS if text else 0.0
        super().say(text, warning=warning)

    def on_resize(self, event: events.Resize) -> None:
        """Another width, other columns."""
        self.call_after_refresh(self._relay)
        self.call_after_refresh(self._explain)
        self.query_one("#legend", TextLine).show(*legend(self.root.look, self.size.width))

    @on(RowList.Moved, "#matrix")
    def _moved(self) -> None:
        self._explain()

    @on(RowList.Opened, "#matrix")
    def _opened(self) -> None:
        self.run_command("open")

    def show_configuration(self, key: str) -> None:
        """Put the cursor on a configuration, of whichever model."""
        self.model = self.root.desk.state.configuration(key).model
        self.text = self.axis = ""
        self.fill()
        self.rows.go(key)
        self.focus_body()

    # commands

    def why_not_open(self) -> str:
        """Nothing to see before anything is judged."""
        key = self.rows.key
        if not key:
            return "No configuration is chosen."
        if order.is_group(key):
            return ""
        return "" if self.root.desk.state.scores[key].kinds else "Nothing of this configuration is judged yet."

    def do_open(self) -> None:
        """The configuration's problems."""
        from tui.screens.configuration import ConfigurationScreen

        if order.is_group(self.rows.key):
            self.folded ^= {self.rows.key}
            self.rows.show(self._order())
            return
        self.app.push_screen(ConfigurationScreen(self.rows.key))

    def why_not_findings(self) -> str:
        """Something must be finished."""
        if order.is_group(self.rows.key):
            return "Put the cursor on a configuration: effects are measured against it."
        return "" if self.root.desk.state.finished else "No configuration is finished yet."

    def do_findings(self) -> None:
        """Against the configuration under the cursor."""
        from tui.screens.findings import FindingsScreen

        self.app.push_screen(FindingsScreen(self.rows.key))

    def do_sort(self) -> None:
        """The next order."""
        self.sort = (self.sort + 1) % len(SORTS)
        self.fill()
        self.say(f"Sorted: {SORTS[self.sort]}.")

    def why_not_group(self) -> str:
        """There must be an axis to group by."""
        return "" if order.varying(self.root.desk.state.scores, self._keys()) else "All configurations are the same."

    def do_group(self) -> None:
        """By the next axis that varies, and after the last by none."""
        axes = ["", *order.varying(self.root.desk.state.scores, self._keys())]
        self.axis = axes[(axes.index(self.axis) + 1) % len(axes)] if self.axis in axes else ""
        self.folded.clear()
        self._groups = {}
        self.fill()
        self.say(f"Grouped by {self.axis}; enter folds a group." if self.axis else "Not grouped.")

    def do_stream(self) -> None:
        """Watch what is being written in the lower part, or go back to the cell in words."""
        self.following = not self.following
        self.set_class(self.following, "-following")
        self.live.begin(time.monotonic())
        self.focus_body()
        self._explain()
        self.say("Replies as they are written; n N: other slots, v: the chosen cell." if self.following else "")

    def why_not_next(self) -> str:
        """Slots are seen while replies are watched."""
        return "" if self.following else "v shows what the slots are writing; n and N then go from one to another."

    why_not_previous = why_not_next

    def do_next(self) -> None:
        """The next slot."""
        self.say(self.live.step(1))

    def do_previous(self) -> None:
        """The slot before."""
        self.say(self.live.step(-1))

    def do_filter(self) -> None:
        """Type to filter."""
        self.open_filter(self.text, "axis values, e.g. q8_0 greedy; esc clears")

    def filtered(self, text: str) -> None:
        """Configurations whose axis values hold every word."""
        self.text = text
        self.rows.show(self._order())
        self._explain()
        count = sum(not order.is_group(key) for key in self.rows.keys)
        self.say(f"{count} of {numbered(len(self._keys()), 'configuration')} shown" if text else "")

    def do_left(self) -> None:
        """The reported score to the left."""
        self._choose(-1)

    def do_right(self) -> None:
        """The reported score to the right."""
        self._choose(1)

    def why_not_left(self) -> str:
        """There must be columns."""
        return "" if self.root.desk.matches.reported(self.model) else "No reported score of this model in the tables."

    why_not_right = why_not_left

    def _choose(self, step: int) -> None:
        self.column += step
        self._relay()
        self.rows.refresh()
        self._explain()

    def why_not_model(self) -> str:
        """There must be another one."""
        return "" if len(self.root.desk.state.models) > 1 else "This run has one model."

    def do_model(self) -> None:
        """The next model."""
        models = self.root.desk.state.models
        self.model = models[(models.index(self.model) + 1) % len(models)]
        self.column = 0
        self.fill()
        self.say(f"Model: {self.model}.")
