"""What every screen has: title line, body, status line, key line, and commands that say why they cannot act."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Input

from tui.commands import Command, Commanded, bindings
from tui.preferences import remapped
from tui.widgets.bars import KeyLine, StatusLine, TitleBar
from tui.widgets.pieces import Piece
from tui.widgets.progress import grouped
from tui.widgets.rows import dress_all

if TYPE_CHECKING:
    from tui.app import ScoretraceApp

HELP = Command("question_mark", "help", "help", "Help: keys of this screen", "Show every key of this screen.")


class BaseScreen(Commanded, Screen[None]):
    """A full screen of the app."""

    PLACE: ClassVar[str] = ""
    FLEETING: ClassVar[Collection[str]] = ()
    """Commands that stand on the key line only while they can act; their `why_not_` is asked at every tick."""
    AUTO_FOCUS = "RowList"
    BINDINGS = bindings((HELP,))
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - Textual's own declaration
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]  # noqa: RUF012

    @property
    def root(self) -> ScoretraceApp:
        """The app, by its own type."""
        return cast("ScoretraceApp", self.app)

    @property
    def commands(self) -> Sequence[Command]:
        """The table, with the keys that the user gave."""
        return remapped(self.TABLE, self.root.preferences.keys)

    def compose(self) -> ComposeResult:
        """Title, body, status, keys."""
        yield TitleBar(self.PLACE, {command.action: command.key_text for command in self.root.commands})
        yield from self.body()
        box = Input(id="filter", placeholder="filter")
        box.display = False
        yield box
        yield StatusLine(id="status")
        yield KeyLine([c for c in (*self.commands, *self.root.key_line, HELP) if not self.barred(c.action)])

    def body(self) -> ComposeResult:
        """The widgets between title and status."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Give the widgets the look of the terminal, then fill them."""
        # A screen that is left before it was ever drawn has no widgets.
        if self.query(TitleBar):
            self.apply_look()
            self.fill()

    def on_screen_resume(self) -> None:
        """State may have moved on while another screen was shown."""
        if self.is_mounted:
            self.apply_look()
            self.fill()

    def apply_look(self) -> None:
        """Hand the current styles to everything that paints lines."""
        dress_all(self, self.root.look)

    def barred(self, action: str) -> str:
        """A view only looks."""
        return self.root.refusal(self.PLACE, action)

    def fill(self) -> None:
        """Show the state as it is now, whole."""
        self.query_one(TitleBar).show(join(["view only" if self.root.view_only else "", self.root.desk.name]))

    def follow(self, dirty: Collection[str]) -> None:
        """Repaint what changed; `dirty` are configuration ids."""

    def visible_keys(self) -> Sequence[str]:
        """Configurations whose matches are wanted first."""
        return ()

    def tick(self) -> None:
        """Once a tick: what depends on the clock."""

    def show_keys(self) -> None:
        """Leave out of the key line what cannot be done now."""
        if self.FLEETING:
            self.query_one(KeyLine).leave_out({action for action in self.FLEETING if self.reason_against(action)})

    def say(self, text: str, *, warning: bool = False) -> None:
        """One sentence on the status line."""
        self.query_one("#status", StatusLine).show(Piece(" "), Piece(text, "against" if warning else "text"))

    @property
    def said(self) -> str:
        """What the status line shows."""
        return self.query_one("#status", StatusLine).text.strip()

    def do_help(self) -> None:
        """Show the keys."""
        from tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.help_title, [*self.commands, *self.root.commands]))

    @property
    def help_title(self) -> str:
        """The screen's name over its help."""
        return self.PLACE.capitalize() or type(self).__name__.removesuffix("Screen")

    def open_filter(self, text: str, hint: str) -> None:
        """Show the filter line in place of the status line."""
        box = self.query_one("#filter", Input)
        box.placeholder = hint
        box.value = text
        box.display = True
        self.query_one("#status").display = False
        # At once: what is typed in the meantime would be taken for commands.
        self.set_focus(box)

    def close_filter(self) -> None:
        """Back to the list."""
        self.query_one("#filter").display = False
        self.query_one("#status").display = True
        self.focus_body()

    def focus_body(self) -> None:
        """Give the keys to the main widget."""
        self.set_focus(None)
        self.focus_next()

    def filtered(self, text: str) -> None:
        """The filter's text has changed."""

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        if event.input.id == "filter" and event.input.display:
            self.filtered(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter keeps the filter."""
        if event.input.id == "filter":
            self.close_filter()

    def on_key(self, event: Any) -> None:
        """Escape in the filter line drops the filter."""
        if event.key == "escape" and isinstance(self.focused, Input) and self.focused.id == "filter":
            event.stop()
            event.prevent_default()
            self.focused.value = ""
            self.filtered("")
            self.close_filter()


def numbered(count: int, noun: str) -> str:
    """`1 model`, `2 models`, `1 440 generations`."""
    return f"{grouped(count)} {noun}{'' if count == 1 else 's'}"


def join(parts: Sequence[str]) -> str:
    """Parts with a middle dot, empty ones left out."""
    return " · ".join(part for part in parts if part)
