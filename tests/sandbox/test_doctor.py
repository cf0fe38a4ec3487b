"""The doctor names the level in force and, where there is a better one, why it is not there and what would give it."""

from __future__ import annotations

import pytest

from engine import sandbox
from engine.sandbox.levels import Probe
from tui.doctor import _sandbox


class Opened:
    """A sandbox at a lower level."""

    level = "landlock"

    def close(self) -> None:
        """Nothing runs."""


def test_a_lower_level_comes_with_the_command_that_gives_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Landlock is in force because user namespaces are forbidden: the setting to change is the remedy."""
    better = Probe("namespaces", False, "unshare: Operation not permitted", "sudo sysctl -w a=0")
    monkeypatch.setattr(sandbox, "open_sandbox", lambda **_: Opened())
    monkeypatch.setattr(sandbox, "probe_levels", lambda: {"namespaces": better, "landlock": Probe("landlock", True)})
    found = _sandbox()
    assert (found.state, found.remedy) == ("ok", "sudo sysctl -w a=0")
    assert "landlock" in found.text and "namespaces does not work here: unshare" in found.text
