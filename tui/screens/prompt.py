"""Small boxes that ask one thing: a line of text, or one out of a few choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cache.errors import CacheError
from engine.errors import EngineError
from literature.errors import LiteratureError
from tui.errors import FrontError
from tui.widgets.rows import dress_all

USER_ERRORS = (CacheError, EngineError, LiteratureError, FrontError, OSError)
"""Errors whose text is a sentence for users; anything else is a fault of the program."""


def hand_over(box: ModalScreen[str | None], text: str, accept: Callable[[str], str]) -> None:
    """Close a box with what `accept` makes of an answer, or show the error's sentence in it and leave it open."""
    try:
        done = accept(text)
    except (*USER_ERRORS, ValueError) as error:
        box.query_one("#problem", Static).update(str(error))
        return
    box.dismiss(done)


class PromptScreen(ModalScreen[str | None]):
    """Asks for a text and hands it to `accept`; stays open, showing the error's sentence, until that works or esc."""

    BINDINGS = [Binding("escape", "dismiss(None)", "cancel")]  # noqa: RUF012

    def __init__(self, title: str, hint: str, accept: Callable[[str], str], value: str = "") -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._accept = accept
        self._value = value

    def compose(self) -> ComposeResult:
        """Title, hint, input, error."""
        with Vertical(classes="box"):
            yield Static(self._title, classes="box-title", markup=False)
            yield Static(self._hint, classes="box-hint", markup=False)
            yield Input(self._value, id="answer")
            yield Static("", id="problem", classes="box-problem", markup=False)
            yield Static("enter accepts, esc cancels", classes="box-foot", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Try the answer."""
        text = event.value.strip()
        if not text:
            self.query_one("#problem", Static).update("Type something, or press esc.")
            return
        hand_over(self, text, self._accept)


class ChoiceScreen(ModalScreen[str | None]):
    """Asks for one of a few choices: (answer, key, sentence); arrows and enter, or the key itself."""

    BINDINGS = [  # noqa: RUF012
        Binding("escape", "dismiss(None)", "cancel"),
        Binding("j", "move(1)", "down", show=False),
        Binding("k", "move(-1)", "up", show=False),
    ]

    def __init__(self, title: str, choices: Sequence[tuple[str, str, str]]) -> None:
        super().__init__()
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        """Title and choices."""
        with Vertical(classes="box"):
            yield Static(self._title, classes="box-title", markup=False)
            yield OptionList(
                *(Option(f" {key}  {text}", id=answer) for answer, key, text in self._choices), markup=False
            )
            yield Static("enter chooses, esc cancels", classes="box-foot", markup=False)

    def on_mount(self) -> None:
        """The look of the terminal."""
        look = getattr(self.app, "look", None)
        if look is not None:
            dress_all(self, look)

    def action_move(self, step: int) -> None:
        """The list keys work here too."""
        found = self.query_one(OptionList)
        found.action_cursor_down() if step > 0 else found.action_cursor_up()

    def on_key(self, event: events.Key) -> None:
        """A choice's own key chooses it, and goes no further."""
        for answer, key, _ in self._choices:
            if event.key == key:
                event.stop()
                self.dismiss(answer)
                return

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        self.dismiss(event.option.id)
