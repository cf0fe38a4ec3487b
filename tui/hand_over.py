"""Text handed to other programs: the clipboard (through tmux where there is one) and the user's editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import SuspendNotSupported

from tui.errors import EditorError

TMUX_SECONDS = 5.0


def copy(app: Any, text: str, environ: Mapping[str, str] | None = None) -> str:
    """Put text on the clipboard; how it went there.

    The terminal is asked by OSC 52. tmux drops that unless `set-clipboard` is on, so inside tmux it is asked itself:
    the text then is its newest buffer, and goes on to the outer terminal where that can take it.
    """
    found = os.environ if environ is None else environ
    tmux = shutil.which("tmux") if found.get("TMUX") else None
    if tmux is not None:
        try:
            # Detached from our streams: the screen is the app's.
            done = subprocess.run(
                [tmux, "load-buffer", "-w", "-"], input=text.encode(), capture_output=True, timeout=TMUX_SECONDS,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            done = None
        if done is not None and done.returncode == 0:
            return "through tmux; prefix ] pastes it there"
    app.copy_to_clipboard(text)
    return "by OSC 52; where the terminal does not take that, E opens the text in an editor"


def editor(environ: Mapping[str, str] | None = None) -> list[str]:
    """The user's editor as a command: $EDITOR, else $VISUAL. `EditorError` says what to do when there is none."""
    found = os.environ if environ is None else environ
    for name in ("EDITOR", "VISUAL"):
        text = found.get(name, "").strip()
        if not text:
            continue
        try:
            command = shlex.split(text)
        except ValueError as error:
            raise EditorError(
                f"${name} is {text!r}, which is no command ({error}): set it to one, such as vi"
            ) from None
        if shutil.which(command[0]) is None:
            raise EditorError(f"${name} is {text!r}, but {command[0]!r} is not to be found: install it or set another")
        return command
    raise EditorError("no editor is set: leave the app, set EDITOR (export EDITOR=vi), and open it again")


def open_in_editor(app: Any, name: str, text: str) -> None:
    """Show text in the user's editor, as a file that is for looking at; the app waits. `EditorError` when it cannot."""
    command = editor()
    with _file(name, text) as path:
        try:
            with app.suspend():
                done = subprocess.run([*command, str(path)], check=False)
        except SuspendNotSupported:
            raise EditorError("an editor cannot be opened from here: the app does not run in a terminal") from None
        except OSError as error:
            raise EditorError(f"{command[0]} does not start: {error.strerror}") from None
    if done.returncode:
        raise EditorError(f"{command[0]} ended with exit status {done.returncode}")


@contextmanager
def _file(name: str, text: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="scoretrace-") as folder:
        path = Path(folder) / "".join(char if char.isalnum() or char in "._-" else "-" for char in name)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o400)
        yield path
