"""A box with a few lines to fill in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui.screens.prompt import USER_ERRORS
from tui.widgets.rows import dress_all


@dataclass(frozen=True)
class Field:
    """One line of a form: its key in the answer, its name, its text at first, and what an empty one shows."""

    key: str
    label: str
    value: str = ""
    hint: str = ""


class FormScreen(ModalScreen[str | None]):
    """Asks for several texts and hands them to `accept`; stays open, with the error's sentence, until that works."""

    BINDINGS = [  # noqa: RUF012
        Binding("escape", "dismiss(None)", "cancel"),
        Binding("down", "app.focus_next", "next line", show=False),
        Binding("up", "app.focus_previous", "line before", show=False),
    ]

    def __init__(
        self, title: str, fields: Sequence[Field], accept: Callable[[Mapping[str, str]], str], *, first: str = ""
    ) -> None:
        super().__init__()
        self._title = title
        self._fields = fields
        self._accept = accept
        self._first = first

    def compose(self) -> ComposeResult:
        """Title, one line a field, error."""
        width = max(len(field.label) for field in self._fields) + 2
        with Vertical(classes="box form"):
            yield Static(self._title, classes="box-title", markup=False)
            for field in self._fields:
                with Horizontal(classes="field"):
                    label = Static(field.label, classes="field-name", markup=False)
                    label.styles.width = width
                    yield label
                    yield Input(field.value, id=f"field-{field.key}", placeholder=field.hint)
            yield Static("", id="problem", classes="box-problem", markup=False)
            yield Static("enter accepts, tab and arrows move, esc cancels", classes="box-foot", markup=False)

    def on_mount(self) -> None:
        """Begin at the line that matters."""
        look = getattr(self.app, "look", None)
        if look is not None:
            dress_all(self, look)
        if self._first:
            self.query_one(f"#field-{self._first}", Input).focus()

    def on_input_submitted(self) -> None:
        """Try the answers."""
        answers = {field.key: self.query_one(f"#field-{field.key}", Input).value.strip() for field in self._fields}
        try:
            done = self._accept(answers)
        except (*USER_ERRORS, ValueError) as error:
            self.query_one("#problem", Static).update(str(error))
            return
        self.dismiss(done)
