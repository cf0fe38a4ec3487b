"""Fixtures of the app's tests; their fake session and helpers are in app_kit.py beside this file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from app_kit import make_study
from textual.pilot import Pilot

from tui.study import Study

# By itself a pilot gives a screen 30 s to take in a key, which a slow, busy machine may need.
Pilot._wait_for_screen.__defaults__ = (300.0,)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's data folder, and none inherits terminal switches."""
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "home"))
    for name in ("NO_COLOR", "SCORETRACE_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def study() -> Study:
    """A study of sixteen configurations of one model."""
    return make_study()
