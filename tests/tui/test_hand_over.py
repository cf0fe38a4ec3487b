"""Text on its way to the clipboard and to the user's editor."""

from __future__ import annotations

import shutil
import stat
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from tui.errors import EditorError
from tui.hand_over import copy, editor, open_in_editor


class Terminal:
    """Stands for the app: remembers what it was asked to copy, and lets itself be suspended."""

    def __init__(self):
        self.copied = []

    def copy_to_clipboard(self, text):
        self.copied.append(text)

    def suspend(self):
        return nullcontext()


@pytest.fixture
def tmux(tmp_path, monkeypatch):
    """A tmux server of our own, and the environment of a program inside it."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    socket = tmp_path / "tmux"
    command = ["tmux", "-S", str(socket), "-f", "/dev/null"]
    subprocess.run([*command, "new-session", "-d", "-x", "80", "-y", "24", "sleep 3600"], check=True)
    monkeypatch.setenv("TMUX", f"{socket},1,0")
    monkeypatch.setattr("tui.hand_over.TMUX_SECONDS", 300.0)
    yield command
    subprocess.run([*command, "kill-server"], check=False)


def test_inside_tmux_its_own_buffer_takes_the_text(tmux):
    """tmux drops a program's OSC 52 by default: the text is handed to tmux itself, as it is."""
    app = Terminal()
    text = "def f():\n    return 'ä'\n"
    assert copy(app, text).startswith("through tmux")
    shown = subprocess.run([*tmux, "show-buffer"], capture_output=True, check=True).stdout
    assert shown.decode() == text and app.copied == []


def test_outside_tmux_the_terminal_is_asked(monkeypatch):
    """And where tmux does not answer."""
    app = Terminal()
    assert copy(app, "one", {}).startswith("by OSC 52")
    monkeypatch.setenv("TMUX", "/nowhere/socket,1,0")
    assert copy(app, "two", {"TMUX": "/nowhere/socket,1,0"}).startswith("by OSC 52")
    assert app.copied == ["one", "two"]


def test_editor_comes_before_visual():
    """Each with its options; neither is a sentence that says what to set."""
    assert editor({"EDITOR": "true --wait", "VISUAL": "false"}) == ["true", "--wait"]
    assert editor({"EDITOR": " ", "VISUAL": "false"}) == ["false"]
    with pytest.raises(EditorError, match="set EDITOR"):
        editor({})
    with pytest.raises(EditorError, match="no command"):
        editor({"EDITOR": "'vi"})


def test_the_file_is_for_looking_at_and_goes_away(tmp_path, monkeypatch):
    """The editor gets the text under a plain name, read-only, and nothing is left."""
    script = tmp_path / "ed"
    script.write_text(f'#!/bin/sh\ncp -p "$1" {tmp_path}/seen\nprintf %s "$1" > {tmp_path}/name\n')
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    open_in_editor(Terminal(), "Python/0-reply.txt", "text ä\n")
    name = (tmp_path / "name").read_text()
    assert name.endswith("/Python-0-reply.txt") and not Path(name).exists()
    assert (tmp_path / "seen").read_text(encoding="utf-8") == "text ä\n"
    assert stat.S_IMODE((tmp_path / "seen").stat().st_mode) == 0o400


def test_an_editor_that_fails_is_a_sentence(monkeypatch):
    """Its exit status is told."""
    monkeypatch.setenv("EDITOR", "false")
    with pytest.raises(EditorError, match="exit status 1"):
        open_in_editor(Terminal(), "x", "text")
