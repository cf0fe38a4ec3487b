"""Findings of a run: the effect of each setting against a baseline, and which settings each source points to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult

from tui.commands import Command, bindings
from tui.errand import Errand
from tui.findings import Findings, find
from tui.screens.base import BaseScreen, join, numbered
from tui.screens.prompt import USER_ERRORS
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece, cell, interval
from tui.widgets.text import Line, TextView

if TYPE_CHECKING:
    from literature.identify import Identification
    from literature.setting_effects import SettingEffect

NARROWEST, WIDEST, TEXT = 15, 61, 61
"""Cells of an interval's line, and what the rest of its row takes."""
LEVELS = 8


class FindingsScreen(BaseScreen):
    """Effects and identification, from finished configurations."""

    PLACE = "findings"
    AUTO_FOCUS = "#view"
    TABLE: ClassVar[Sequence[Command]] = (
        Command("u", "refresh", "update", "Findings: update", "Work the findings out again from what is finished now."),
        Command("escape,backspace", "back", "back", "Go to: back", "Back to the run."),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self, baseline: str) -> None:
        super().__init__()
        self.baseline = baseline
        self._errand: Errand[Findings] | None = None
        self._known = False

    def body(self) -> ComposeResult:
        """What they rest on, then the text."""
        yield TextLine(id="what", classes="head")
        yield TextView(id="view")

    def focus_body(self) -> None:
        """Keys go to the text."""
        self.query_one("#view").focus()

    def fill(self) -> None:
        """Begin to work them out, beside the screen."""
        super().fill()
        if self._errand is not None or self._known:
            return
        desk = self.root.desk
        scores = list(desk.state.scores.values())
        base = desk.state.scores[self.baseline]
        reported = [score for entry in desk.literature.entries for score in entry.scores]
        names = desk.matches.names
        self._errand = Errand(lambda: find(scores, base, reported, names))
        self.query_one("#view", TextView).show([[Piece("Working them out.", "muted")]])

    def tick(self) -> None:
        """Show them when they are there."""
        if self._errand is None or not self._errand.done:
            return
        errand, self._errand = self._errand, None
        try:
            found = errand.take()
        except USER_ERRORS as error:
            self.say(str(error), warning=True)
            return
        self._known = True
        self.query_one("#what", TextLine).show(
            Piece(f" from {numbered(found.finished, 'finished configuration')}, against ", "muted"),
            Piece(join(list(found.baseline.values())) or "nothing to compare", "text bold"),
        )
        room = max(NARROWEST, min(WIDEST, self.size.width - TEXT))
        self.query_one("#view", TextView).show([*_effects(found, room), [Piece("")], *_identified(found)])

    def do_refresh(self) -> None:
        """Again."""
        self._known = False
        self.fill()

    def do_back(self) -> None:
        """Back to the run."""
        self.app.pop_screen()


def _effects(found: Findings, room: int) -> Iterator[Line]:
    yield [Piece("Effects of settings", "text bold"), Piece("  points of the score, 95 % over problems", "muted")]
    if not found.effects:
        yield [Piece("No two finished configurations differ in one setting only.", "muted")]
        return
    reach = max(max(abs(end) for end in effect.interval) for effect in found.effects)
    for effect in found.effects:
        yield _effect(effect, max(1.0, reach), room)


def _effect(effect: SettingEffect, reach: float, room: int) -> Line:
    role = "muted" if not effect.clear else "agree" if effect.points > 0 else "against"
    low, high = effect.interval
    return [
        cell(effect.axis, 10, "muted"),
        cell(effect.level, 14),
        *interval(low, effect.points, high, reach, room, role),
        Piece(f" {effect.points:+6.2f} ", role + " bold"),
        Piece(f"{low:+.1f} to {high:+.1f}", role),
        Piece(f"  {numbered(effect.pairs, 'pair')}", "muted"),
    ]


def _identified(found: Findings) -> Iterator[Line]:
    yield [
        Piece("Which settings each source points to", "text bold"),
        Piece("  probability before → after its values", "muted"),
    ]
    if not found.identified:
        yield [Piece("No source has a value of a measured model.", "muted")]
    for one in found.identified:
        yield [Piece(one.sentence, "agree" if one.identified else "text")]
        yield from _levels(one)


def _levels(one: Identification) -> Iterator[Line]:
    """Prior and posterior of each value of each axis; never one winning setting alone."""
    axes: dict[str, list[str]] = {}
    for level in one.levels:
        axes.setdefault(level.axis, []).append(f"{level.level} {level.prior:.2f} → {level.posterior:.2f}")
    for axis, texts in axes.items():
        more = f"  and {len(texts) - LEVELS} more" if len(texts) > LEVELS else ""
        yield [Piece(f"   {axis:<11}  ", "muted"), Piece("   ".join(texts[:LEVELS]) + more)]
    if one.levels:
        yield [Piece(f"   prior {one.priors[0]}; also tried: {'; '.join(one.priors[1:])}", "muted")]
