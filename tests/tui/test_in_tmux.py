"""The embedded study from beginning to end in a real terminal: tmux at 80x24, real keys, the real store.

The engine is recorded (see `recorded.py`); everything else is what `scoretrace` starts.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PLAYER = Path(__file__).with_name("recorded.py")


class Terminal:
    """A terminal of 80x24 under a tmux server of its own."""

    def __init__(self, name: str, command: str) -> None:
        self._tmux = ["tmux", "-L", name, "-f", "/dev/null"]
        self._run("new-session", "-d", "-x", "80", "-y", "24", command)
        self._run("set-option", "-g", "escape-time", "0")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def screen(self) -> str:
        """What the terminal shows."""
        return self._run("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._run("send-keys", *keys)

    def until(self, *texts: str, seconds: float = 300.0) -> str:
        """Wait until all texts are shown; the screen."""
        end = time.monotonic() + seconds
        while True:
            found = self.screen()
            if all(text in found for text in texts):
                return found
            if time.monotonic() > end:
                missing = [text for text in texts if text not in found]
                raise AssertionError(f"waited {seconds} s for {missing}; the terminal shows:\n{found}")
            time.sleep(0.05)

    def until_gone(self, text: str) -> None:
        """Wait until a text is shown no more: what follows an escape too closely would be another key."""
        end = time.monotonic() + 120
        while text in self.screen():
            assert time.monotonic() < end, f"{text!r} does not go"
            time.sleep(0.05)

    def close(self) -> None:
        """End the server, and with it whatever runs in it."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, timeout=120)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """The app on the embedded study, not started yet; afterwards its exit status stands on the screen."""
    home = tmp_path / "home"
    command = shlex.join(
        ["env", f"SCORETRACE_HOME={home}", "LC_ALL=C.UTF-8", sys.executable, str(PLAYER), "app", "--speed", "1500"]
    )
    found = Terminal(f"scoretrace-{os.getpid()}", f"{command}; echo exit status $?; exec sleep 3600")
    yield found
    found.close()


def test_the_whole_embedded_study(terminal: Terminal) -> None:
    """Literature, grid, run, configuration, comparison, problem, findings, report, runs, and out."""
    literature(terminal)
    run(terminal)
    configuration(terminal)
    problem(terminal)
    findings_and_report(terminal)
    leaving(terminal)


def literature(terminal: Terminal) -> None:
    """What was reported and what arithmetic says of it, before anything ran."""
    shown = terminal.until("[1 Literature]", "SmolLM2-Inst (135M)", "44.6")
    assert "not run" in shown and "34 of 64" in shown
    terminal.press("2")
    shown = terminal.until("[2 Grid]", "61 configurations, 31 generations per problem, 6 loads")
    assert "1 984 generations on 64 problems (3 904 without sharing, 2.0 x as many)" in shown


def run(terminal: Terminal) -> None:
    """Started, paused, let go on, finished; the matrix sorted, filtered and grouped."""
    terminal.press("s")
    terminal.until("[3 Run]", "running")
    terminal.press("p")
    terminal.until("paused")
    terminal.press("p")
    shown = terminal.until("61/61", "generation 1 984/1 984", "finished", "6 of 60 consistent")
    assert "● exact ◑ rounding ○ near ~ noise ± inconclusive ? open ✗ ruled out * assumed" in shown
    terminal.press("b")
    shown = terminal.until("▾ prompt instruct  30/30 done", "Grouped by prompt")
    terminal.press("b", "b", "b", "b")
    terminal.until("Not grouped")
    terminal.press("/")
    terminal.press("-l", "instruct greedy f16")
    terminal.press("Enter")
    shown = terminal.until("2 of 60 configurations shown", "35/64")
    assert re.search(r"instruct greedy +160 +f16 +33/64 +○ -1.5", shown)


def configuration(terminal: Terminal) -> None:
    """Its problems, and against the longer limit: two flips, no more."""
    terminal.press("Home", "Enter")
    shown = terminal.until("33/64", "64 of 64 problems judged")
    assert "✓ passed" in shown and "✗ " in shown
    terminal.press("c")
    shown = terminal.until("Compare with", "35/64")
    end = time.monotonic() + 120
    while not re.search(r"35/64 +instruct · greedy · 320 · f16", terminal.screen()):
        assert time.monotonic() < end, terminal.screen()
        terminal.press("j")
        time.sleep(0.05)
    choose(terminal, "instruct · greedy · 320 · f16")
    shown = terminal.until("against 35/64", "lost")
    assert "2 problems flip" in shown


def choose(terminal: Terminal, text: str) -> None:
    """Move to the choice that holds a text, and take it."""
    lines = [line for line in terminal.screen().splitlines() if re.search(r"\d+/64 ", line)]
    place = next(index for index, line in enumerate(lines) if text in line)
    terminal.press(*(["Home"] + ["Down"] * place), "Enter")


def problem(terminal: Terminal) -> None:
    """One that flips: outcome, raw reply, difference from the buggy program."""
    terminal.press("Enter")
    terminal.until("tokens, ended by")
    while "[reply]" not in (before := terminal.until("[")):
        (view,) = re.findall(r"\[[a-z]+\]", before)
        terminal.press("l")
        terminal.until_gone(view)
    terminal.until("[reply]", "prompt tokens")
    terminal.press("Escape")
    terminal.until("against 35/64")


def findings_and_report(terminal: Terminal) -> None:
    """What each setting does, and the report, written."""
    terminal.press("3")
    terminal.until("[3 Run]")
    terminal.press("f")
    terminal.until("Effects of settings")
    terminal.press("4")
    terminal.until("[4 Report]", "61 of 61 configurations finished", "checklist items without an answer")
    terminal.press("w")
    terminal.until("Wrote ")


def leaving(terminal: Terminal) -> None:
    """The run is listed, help and palette work, and q leaves with status 0 and a clean terminal."""
    terminal.press("5")
    terminal.until("[5 Runs]", "finished", "bugfix-mini demo")
    terminal.press("?")
    terminal.until("Keys: Runs")
    terminal.press("Escape")
    terminal.until_gone("Keys: Runs")
    terminal.press(":")
    terminal.until("name of a command", "Study: open a file")
    terminal.press("Escape")
    terminal.until_gone("name of a command")
    terminal.press("q")
    shown = terminal.until("exit status 0")
    assert "Scoretrace" not in shown
