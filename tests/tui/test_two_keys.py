"""No screen needs more than two keys from any other: found and tried by pressing the keys that the tables name."""

from __future__ import annotations

import itertools

import pytest
from app_kit import FakeSession, make_study, script, settled, until_shown
from textual.widgets import Input

from tui.app import ScoretraceApp
from tui.commands import Command
from tui.opening import tables

SCREENS = tuple(name for name in tables() if name != "import")
"""The preview of an import is none: it needs a file's name first."""
WAYS_IN = {
    "literature": ("1",), "grid": ("2",), "run": ("3", "home", "j"), "report": ("4",), "runs": ("5",),
    "configuration": ("6",), "problem": ("6", "enter"), "findings": ("7",), "compare": ("8",),
}  # fmt: skip
WAYS = ("open", "findings", "back")
"""Commands that lead to other screens, besides those called `Go to`."""


@pytest.fixture
def app():
    """An app on a run with something finished on every screen."""
    study = make_study()
    session = FakeSession(script(study, [48, 47, 20], last=164, state="finished"), study)
    return ScoretraceApp(session, study, autostart=True)


def place(app: ScoretraceApp) -> str:
    """The name of the screen on top; empty while a box is open over it."""
    return getattr(app.screen, "PLACE", "")


async def pressed(pilot, app, keys, wanted: str) -> None:
    """Press keys, each on the screen that the one before has led to."""
    for key in keys:
        before = app.screen
        await pilot.press(key)
        if app.screen is before:
            await pilot.pause(0.05)
    await settled(pilot, lambda: place(app) == wanted, f"{wanted} after {keys}")


async def settle(pilot, app, key: str) -> None:
    """Press a key and let it lead elsewhere; what leads nowhere is given the time that a slow machine may need."""
    before = app.screen, app.focused
    await pilot.press(key)
    for _ in range(5):
        if (app.screen, app.focused) != before:
            break
        await pilot.pause()
    await pilot.pause()


async def leads(pilot, app, start: str, command: Command) -> str:
    """The screen to which a command's first key leads from a screen; empty for none or a box."""
    await pressed(pilot, app, WAYS_IN[start], start)
    await settle(pilot, app, command.first_key)
    end = place(app)
    while not place(app) or isinstance(app.focused, Input):
        await settle(pilot, app, "escape")
    return end if end != start else ""


def test_every_screen_is_known_here():
    """A new screen needs a way in, and then its distances are tried too."""
    assert set(SCREENS) == set(WAYS_IN)


async def test_no_screen_needs_more_than_two_keys_from_any_other(app):
    """For every ordered pair: the way that the tables offer, really pressed."""
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        steps: dict[str, dict[str, str]] = {}
        for start in SCREENS:
            steps[start] = {}
            for command in (*tables()[start], *app.TABLE):
                if command.first_key and (command.name.startswith("Go to: ") or command.action in WAYS):
                    end = await leads(pilot, app, start, command)
                    if end:
                        steps[start].setdefault(end, command.first_key)
        for start, end in itertools.permutations(SCREENS, 2):
            way = shortest(steps, start, end)
            assert way and len(way) <= 2, (start, end, way)
            await pressed(pilot, app, WAYS_IN[start], start)
            await pressed(pilot, app, way, end)


def shortest(steps: dict[str, dict[str, str]], start: str, end: str) -> tuple[str, ...]:
    """The fewest keys from one screen to another; empty for none."""
    ways: dict[str, tuple[str, ...]] = {start: ()}
    for _ in range(len(SCREENS)):
        for screen, way in list(ways.items()):
            for found, key in steps[screen].items():
                if found not in ways or len(way) + 1 < len(ways[found]):
                    ways[found] = (*way, key)
    return ways.get(end, ())
