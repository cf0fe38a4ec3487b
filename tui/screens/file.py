"""A box that asks for a file: type its path, or choose it from the folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.screens.prompt import hand_over
from tui.widgets.rows import dress_all

MOST = 200
TABLES = (".csv", ".tsv", ".xlsx", ".xlsm", ".md", ".tex", ".html", ".htm", ".json", ".jsonl", ".yaml", ".yml", ".gz")


class FileScreen(ModalScreen[str | None]):
    """Asks for a path (or a name out of `names`) and hands it to `accept`; stays open with the error until that works.

    The list shows what the typed text begins; `down` goes into it, enter takes the marked one, a folder is entered.
    """

    BINDINGS = [Binding("escape", "dismiss(None)", "cancel")]  # noqa: RUF012

    def __init__(
        self, title: str, hint: str, endings: Sequence[str], accept: Callable[[str], str], names: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._endings = tuple(endings)
        self._accept = accept
        self._names = tuple(names)

    def compose(self) -> ComposeResult:
        """Title, hint, input, the folder, error."""
        with Vertical(classes="box"):
            yield Static(self._title, classes="box-title", markup=False)
            yield Static(self._hint, classes="box-hint", markup=False)
            yield Input("", id="answer")
            yield OptionList(id="files", markup=False)
            yield Static("", id="problem", classes="box-problem", markup=False)
            yield Static("type a path, or arrows choose; enter accepts, esc cancels", classes="box-foot", markup=False)

    def on_mount(self) -> None:
        """Show the folder that the app was started in."""
        look = getattr(self.app, "look", None)
        if look is not None:
            dress_all(self, look)
        self._list("")

    def _list(self, text: str) -> None:
        found = self.query_one("#files", OptionList)
        found.clear_options()
        names = [name for name in self._names if name.startswith(text)]
        found.add_options([Option(f" {name}  (ships with the product)", id=name) for name in names])
        found.add_options([Option(f" {path}", id=path) for path in entries(text, self._endings)])

    @on(Input.Changed, "#answer")
    def _typed(self, event: Input.Changed) -> None:
        self.query_one("#problem", Static).update("")
        self._list(event.value.strip())

    @on(Input.Submitted, "#answer")
    def _submitted(self, event: Input.Submitted) -> None:
        self._take(event.value.strip())

    @on(OptionList.OptionSelected, "#files")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self._take(str(event.option.id))

    def _take(self, text: str) -> None:
        line = self.query_one("#answer", Input)
        if text.endswith("/"):
            line.value = text
            line.cursor_position = len(text)
            line.focus()
            return
        if not text:
            self.query_one("#problem", Static).update("Type a path, choose one, or press esc.")
            return
        hand_over(self, text, self._accept)

    def on_key(self, event: events.Key) -> None:
        """Down goes from the line into the list, up from its first entry back."""
        line, found = self.query_one("#answer", Input), self.query_one("#files", OptionList)
        if event.key == "down" and line.has_focus and found.option_count:
            event.stop()
            found.focus()
            found.highlighted = 0
        elif event.key == "up" and found.has_focus and not found.highlighted:
            event.stop()
            event.prevent_default()
            line.focus()


def entries(text: str, endings: Sequence[str]) -> list[str]:
    """Folders (with a slash at the end) and files of these endings whose path begins with `text`; at most 200."""
    folder, _, start = text.rpartition("/")
    place = Path(folder or ("/" if text.startswith("/") else ".")).expanduser()
    try:
        inside = sorted(place.iterdir(), key=lambda path: (not path.is_dir(), path.name.casefold()))
    except OSError:
        return []
    head = f"{folder}/" if folder or text.startswith("/") else ""
    return [
        head + path.name + ("/" if path.is_dir() else "")
        for path in inside
        if path.name.startswith(start)
        and not (path.name.startswith(".") and not start.startswith("."))
        and (path.is_dir() or path.name.casefold().endswith(tuple(endings)))
    ][:MOST]
