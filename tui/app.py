"""The terminal app: one desk, one clock that brings it forward, and the screens that show it."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.command import CommandPalette
from textual.events import Event, Key
from textual.widgets import Input

from cache.store import Run
from tui.commands import Command, CommandProvider, bindings
from tui.crash import write_crash
from tui.desk import Desk
from tui.parts import Parts
from tui.places import SCREENS, Places
from tui.preferences import Preferences, remapped
from tui.screens.base import BaseScreen
from tui.screens.prompt import USER_ERRORS, ChoiceScreen
from tui.session import LIVE, Session
from tui.state import Countdown
from tui.study import Study
from tui.theme import MARKS, Look, themes, wants_ascii
from tui.widgets.rows import dress_all

if TYPE_CHECKING:
    from literature.matching import Match
    from tui.table_import import TableImport

TICK = 1 / 15
FOLD_SECONDS = 0.008
MATCH_SECONDS = 0.010
STATUS_SECONDS = 1.0
SPARE_EVENTS = 5000


class ScoretraceApp(Places, App[int]):
    """Everything the screens share, and the clock that brings it forward."""

    CSS_PATH = "app.tcss"
    TITLE = "Scoretrace"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = {CommandProvider}
    SCREENS: ClassVar = SCREENS

    TABLE: ClassVar[Sequence[Command]] = (
        Command(
            "1,L",
            "literature",
            "literature",
            "Go to: literature",
            "Reported scores and what arithmetic says of them.",
            True,
        ),
        Command("2,g", "grid", "grid", "Go to: grid", "Choose settings, see what they cost, start a run.", True),
        Command("3,r", "run", "run", "Go to: run", "Progress and the match matrix.", True),
        Command("4,x", "report", "report", "Go to: report", "Preview the checklist report and write it.", True),
        Command("5", "runs", "runs", "Go to: runs", "Recent runs: attach, resume.", True),
        Command("6", "problems", "problems", "Go to: problems", "The problems of the configuration at hand.", True),
        Command(
            "7", "findings", "findings", "Go to: findings", "Effects of settings, and what sources point to.", True
        ),
        Command("8", "compare", "compare", "Go to: compare", "The configuration at hand and its nearest other.", True),
        Command("T", "theme", "theme", "Theme: dark or light", "Dark, light, or the terminal's own colours.", True),
        Command("ctrl+p,colon", "palette", "commands", "Commands: search", "Every command by name."),
        Command("q,ctrl+c", "quit", "quit", "Scoretrace: quit", "Leave; a run may go on without the app."),
    )
    BINDINGS: ClassVar = bindings(TABLE)
    COMMAND_PALETTE_BINDING = "ctrl+p"

    def __init__(
        self,
        session: Session,
        study: Study | None = None,
        *,
        parts: Parts | None = None,
        studies: Sequence[Study] = (),
        autostart: bool = False,
        ascii_only: bool | None = None,
        view_only: bool = False,
        view_of: Run | None = None,
        preferences: Preferences | None = None,
    ) -> None:
        # Textual drops all colour for NO_COLOR only when it may use the terminal's own colours from the start.
        colour = not os.environ.get("NO_COLOR")
        super().__init__(ansi_color=None if colour else True)
        for theme in themes():
            self.register_theme(theme)
        self.preferences = preferences or Preferences()
        self.theme = f"scoretrace-{self.preferences.theme}"
        if not self.preferences.animation:
            self.animation_level = "none"
        self.set_keymap(dict(self.preferences.keys))
        self._colour = colour
        self._ascii = wants_ascii() if ascii_only is None else ascii_only
        self.look = self._make_look()
        self.set_class(self._ascii, "-ascii")
        self.desk = Desk(session, study, studies)
        self.parts = parts or Parts()
        self.countdown = Countdown()
        self.run_model = ""
        self.crash_path = ""
        self.view_only = view_only
        self._autostart = autostart
        self._view_of = view_of
        self._asked_status = 0.0
        self._catching_up = False
        self._spared = 0

    @property
    def commands(self) -> Sequence[Command]:
        """The table, with the keys that the user gave."""
        return remapped(self.TABLE, self.preferences.keys)

    @property
    def key_line(self) -> Sequence[Command]:
        """The app's commands on every key line."""
        return [command for command in self.commands if not command.hidden]

    def on_mount(self) -> None:
        """First screen, tables, clock."""
        study = self.desk.study
        problem = self._attempt(self.desk.open_tables if study is None else lambda: self.desk.open_study(study))
        self.push_screen("runs" if self.desk.study is None else "literature")
        self.set_interval(TICK, self.drain)
        if self._autostart and self.desk.study is not None:
            self.call_after_refresh(self.start_run)
        if self._view_of is not None:
            self.call_after_refresh(self.attach_run, self._view_of)
        if problem:
            self.call_after_refresh(self.say, problem, warning=True)

    async def on_event(self, event: Event) -> None:
        """A character that comes back from a list while a line has the focus was typed faster than the focus moved."""
        if isinstance(event, Key) and event.is_forwarded and event.is_printable and isinstance(self.focused, Input):
            self.focused.post_message(Key(event.key, event.character))
            return
        await super().on_event(event)

    # the clock

    def drain(self) -> None:
        """One tick: poll, fold, match, repaint what changed; each within its time box."""
        screen = self.base_screen
        if screen is None:
            return
        now = time.monotonic()
        more = self.desk.drain(now + FOLD_SECONDS)
        dirty = self.desk.state.take_dirty()
        self.desk.matches.mark(dirty)
        visible = screen.visible_keys()
        dirty |= self.desk.match(time.monotonic() + MATCH_SECONDS, visible)
        if now - self._asked_status >= STATUS_SECONDS:
            self._asked_status = now
            self.desk.refresh_status()
        with self.batch_update():
            if dirty:
                screen.follow(dirty)
            screen.tick()
            screen.show_keys()
        self._spare_collector()
        if more and not self._catching_up:
            self._catching_up = True
            self.set_timer(0.005, self._catch_up)

    def _spare_collector(self) -> None:
        """Facts live as long as the app: looking through all of them again and again cost pauses of 100 ms and more."""
        events = self.desk.state.events
        if events < self._spared:
            self._spared = 0
        if events - self._spared >= SPARE_EVENTS:
            self._spared = events
            gc.freeze()

    @property
    def base_screen(self) -> BaseScreen | None:
        """The topmost full screen that is ready, below whatever box is open."""
        for screen in reversed(self.screen_stack if self.is_running else []):
            if isinstance(screen, BaseScreen):
                return screen if screen.is_mounted else None
        return None

    def _catch_up(self) -> None:
        """Far behind: go on at once, with a gap in which keys are answered."""
        self._catching_up = False
        self.drain()

    # what screens ask

    def mark(self, found: Match) -> tuple[str, str]:
        """Glyph and colour role of a match."""
        return self.look.glyph(found.kind, assumed=found.assumed), MARKS.get(found.kind, MARKS["open"]).role

    def import_table(self, name: str) -> str:
        """Add a table by path or shipped name as it is; the sentence that says what was read."""
        count = self.desk.add_table(str(Path(name).expanduser()))
        unread = self.desk.literature.unread
        rest = f"; {len(unread)} could not be read, the first: {unread[0]}" if unread else ""
        return f"Read {count} reported scores from {name}{rest}"

    def take_in(self, table: TableImport) -> str:
        """Put a previewed table into the study's own one; the sentence that says what is new there."""
        count = self.desk.take_in(table.scores, f"import of {table.path}")
        there = len(table.scores) - count
        rest = f"; {there} were there already" if there else ""
        return f"Kept {count} reported scores from {table.path} in {self.desk.own.name}{rest}; u takes it back"

    def open_study(self, study: Study) -> bool:
        """Take up a study; False, with the reason on the status line, when one of its tables cannot be read."""
        return not self._attempt(lambda: self.desk.open_study(study))

    # runs

    def start_run(self) -> None:
        """Start a run of the study and show it."""
        if not self._attempt(self.desk.start):
            self.go("run")

    def enqueue_run(self) -> None:
        """Let a run of the study wait until the ones before it have ended."""
        found: list[int] = []
        if self.desk.study is not None and not self._attempt(lambda: found.append(self.desk.enqueue())):
            place = list(self.desk.session.queue()).index(found[0]) + 1 if found[0] in self.desk.session.queue() else 1
            self.say(
                f"Run {found[0]} waits in place {place}: it begins by itself, with or without the app; 5 lists it."
            )

    def attach_run(self, run: Run) -> None:
        """Watch a run and show it."""
        problem = self._attempt(lambda: self.desk.attach(run))
        if self.desk.attached:
            self.go("run")
        if problem:
            self.call_after_refresh(self.say, problem, warning=True)

    def resume_run(self) -> None:
        """Start a worker again for the attached run."""
        if not self._attempt(self.desk.session.resume):
            self.desk.refresh_status()
            self.say("A worker takes the run up where it was; nothing is generated twice.")

    def wish(self, kind: str, said: str) -> None:
        """Ask the worker for something."""
        if not self._attempt(lambda: self.desk.session.wish(kind)):
            self.say(said)

    def _attempt(self, act: Callable[[], object]) -> str:
        """Do something that may fail for a reason users understand; the reason, shown, or empty."""
        try:
            act()
        except USER_ERRORS as error:
            self.say(str(error), warning=True)
            return str(error)
        return ""

    def say(self, text: str, *, warning: bool = False) -> None:
        """One sentence on the current screen's status line."""
        screen = self.base_screen
        if screen is not None:
            screen.say(text, warning=warning)

    # commands

    def refusal(self, place: str, action: str) -> str:
        """Why a view does not run a command of a place; empty in the app itself."""
        if not self.view_only:
            return ""
        from tui.view import refusal

        return refusal(place, action)

    def barred(self, action: str) -> str:
        """A view only looks."""
        return self.refusal("app", action)

    def do_palette(self) -> None:
        """Open the palette."""
        if not isinstance(self.screen, CommandPalette):
            palette = CommandPalette(placeholder="name of a command")
            self.push_screen(palette)
            palette.call_after_refresh(dress_all, palette, self.look)

    def action_command_palette(self) -> None:
        """Textual's own way to the palette leads to the same."""
        self.do_palette()

    def do_theme(self) -> None:
        """The next theme."""
        names = [theme.name for theme in themes()]
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        self.look = self._make_look()
        for screen in self.screen_stack:
            if isinstance(screen, BaseScreen):
                screen.apply_look()

    def _make_look(self) -> Look:
        return Look(
            dark=self.theme != "scoretrace-light",
            colour=self._colour,
            ascii_only=self._ascii,
            terminal=self.theme == "scoretrace-terminal",
            still=self.animation_level == "none",
        )

    def do_quit(self) -> None:
        """Leave at once when nothing runs, else ask."""
        if self.view_only or self.desk.run_state not in LIVE:
            self.exit(0)
            return
        self.push_screen(
            ChoiceScreen(
                "A run is at work",
                [
                    ("leave", "l", "Leave it running and come back later (5 Runs lists it)"),
                    ("stop", "s", "Stop it; what is finished is kept, R resumes it"),
                    ("cancel", "c", "Stay here"),
                ],
            ),
            self._quit,
        )

    def _quit(self, answer: str | None) -> None:
        if answer == "stop":
            self._attempt(lambda: self.desk.session.wish("stop"))
        if answer in ("leave", "stop"):
            self.exit(0)

    # faults

    def _handle_exception(self, error: Exception) -> None:
        """Keep the traceback in the logs folder and leave with its path; what the worker does goes on."""
        self.crash_path = write_crash(error)
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Leave with one sentence instead of a page of traceback."""
        from rich.text import Text

        self._return_code = 3
        self._exit_renderables.append(
            Text(
                f"Scoretrace met a fault of its own. The details are in {self.crash_path}. "
                "Nothing is lost: a run at work goes on, and `scoretrace open` shows it again."
            )
        )
        self._close_messages_no_wait()
