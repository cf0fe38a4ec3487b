"""Keys of one's own, themes, and an app in which nothing moves by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from app_kit import FakeSession, drawn, make_study, script, settled, shown, typed, until_shown
from textual.widgets import Input

from tui.app import ScoretraceApp
from tui.errors import PreferencesError
from tui.opening import tables
from tui.preferences import Preferences, check_keys, preferences_path, read_preferences
from tui.screens.base import HELP
from tui.screens.literature import LiteratureScreen
from tui.screens.run import RunScreen


def written(text: str) -> Path:
    """The settings file with this text."""
    path = preferences_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def check(preferences: Preferences) -> None:
    """As the app does when it opens."""
    check_keys(preferences, tables(), (*ScoretraceApp.TABLE, HELP))


def test_without_a_file_everything_is_as_usual():
    """Dark, moving, the usual keys."""
    assert read_preferences() == Preferences()


def test_what_the_file_says_is_read():
    """Keys as a text or a list."""
    written('theme = "light"\nanimation = false\n[keys]\n"Run: stop" = "ctrl+x"\n"Go to: back" = ["b", ","]\n')
    found = read_preferences()
    assert (found.theme, found.animation) == ("light", False)
    assert found.keys == {"Run: stop": "ctrl+x", "Go to: back": "b,comma"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("theme = ", "app.toml: not a TOML file"),
        ("colour = 1", "key 'colour' is unknown; expected theme, animation or [keys]"),
        ('theme = "blue"', "key 'theme': 'blue'; expected one of dark, light, terminal"),
        ("animation = 1", "key 'animation': expected true or false, found 1"),
        ("keys = 1", "key 'keys': expected a table such as [keys]"),
        ('[keys]\n"Run: stop" = []', "keys: 'Run: stop': expected a key"),
        ('[keys]\n"Run: stp" = "x"', "no command is called 'Run: stp'; did you mean 'Run: stop'?"),
        ('[keys]\n"Run: stop" = "p"', "'p' would mean both 'Run: "),
        ('[keys]\n"Run: stop" = "q"', "'q' would mean both 'Run: stop' and 'Scoretrace: quit' on the screen run"),
    ],
)
def test_what_is_wrong_is_one_sentence(text, sentence):
    """It names the file, the key, and what was expected."""
    path = written(text)
    with pytest.raises(PreferencesError) as raised:
        check(read_preferences())
    assert sentence in str(raised.value) and str(path) in str(raised.value)


def test_two_commands_may_change_places():
    """What is given away may be taken."""
    check(Preferences(keys={"Run: stop": "p", "Run: pause or go on": "S"}))


def test_a_wrong_file_is_said_before_the_terminal_is_taken_over():
    """`scoretrace` in a terminal: one line on standard error, exit 2."""
    if shutil.which("script") is None:
        pytest.skip("script, which gives a command a terminal, is not installed")
    written('[keys]\n"Run: stp" = "x"')
    done = subprocess.run(
        ["script", "-qec", f"{sys.executable} -P -m tui 2>&1", "/dev/null"],
        capture_output=True, text=True, env={**os.environ}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert "scoretrace: " in done.stdout and "did you mean 'Run: stop'?" in done.stdout
    assert "Traceback" not in done.stdout and "\x1b[?1049h" not in done.stdout


async def test_given_keys_act_and_the_usual_ones_do_not():
    """And the key line, the title, the help and the palette show them."""
    study = make_study()
    session = FakeSession(script(study, [48], last=60), study)
    keys = {
        "Run: stop": "ctrl+x",
        "Matrix: sort": "comma",
        "Go to: literature": "f1",
        "Help: keys of this screen": "f2",
    }
    app = ScoretraceApp(session, study, autostart=True, preferences=Preferences(keys=keys))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..152/164")
        await pilot.press("S", "o")
        await pilot.pause(0.1)
        assert "stop" not in session.asked and app.screen.sort == 0
        await pilot.press("ctrl+x", "comma")
        await settled(pilot, lambda: "stop" in session.asked and app.screen.sort == 1, "both commands")
        assert "^x stop" in drawn(app)[-1] and ", sort" in drawn(app)[-1] and "f1 Literature" in drawn(app)[0]
        await pilot.press("f2")
        await until_shown(pilot, "Keys: Run")
        assert any(line.startswith("^x ") for line in app.screen.query_one("#help").text.splitlines())
        await pilot.press("escape", "colon")
        await typed(pilot, "run stop")
        await until_shown(pilot, "Run: stop  (^x)")
        await pilot.press("escape")
        await pilot.press("1")
        await pilot.pause(0.1)
        assert isinstance(app.screen, RunScreen)
        await pilot.press("f1")
        await settled(pilot, lambda: isinstance(app.screen, LiteratureScreen), "the literature")


async def test_the_terminal_theme_uses_the_terminal_s_own_colours():
    """No colour of ours is sent; T goes on to the dark theme."""
    study = make_study()
    app = ScoretraceApp(
        FakeSession(script(study, [48]), study), study, autostart=True, preferences=Preferences(theme="terminal")
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.pause(0.1)
        styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip]
        colours = [colour for style in styles if style for colour in (style.color, style.bgcolor) if colour]
        assert colours and all(colour.triplet is None for colour in colours)
        assert any(style.reverse for style in styles if style), "the cursor's row is not told apart"
        await pilot.press("T")
        await settled(pilot, lambda: app.theme == "scoretrace-dark", "the dark theme")
        assert "48/164" in shown(app)


async def test_nothing_moves_when_asked():
    """No scrolling by steps, no blinking cursor."""
    app = ScoretraceApp(FakeSession(), make_study(), preferences=Preferences(animation=False))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        assert app.animation_level == "none"
        for key in ("slash", "colon"):
            await pilot.press(key)
            await settled(pilot, lambda: isinstance(app.focused, Input), "a line to type into")
            await pilot.pause(0.05)
            assert not app.focused.cursor_blink
            await pilot.press("escape")
