"""From a configuration down to one reply and its program."""

from __future__ import annotations

from app_kit import FakeSession, drawn, key_of, make_study, script, settled, shown, typed, until_shown

from cache.store import StoredGeneration
from engine.protocols import Problem
from tui.app import ScoretraceApp
from tui.parts import Parts
from tui.screens.configuration import ConfigurationScreen
from tui.screens.problem import ProblemScreen
from tui.screens.run import RunScreen

HEADER = "def below(numbers: list, limit: int) -> bool:\n"
BUGGY = "    for number in numbers:\n        if number > limit:\n            return False\n    return True\n"
FIXED = BUGGY.replace(">", ">=")


def problem(benchmark, task_id):
    """A benchmark of one problem under many names."""
    return Problem(task_id, "below", HEADER, HEADER + BUGGY, "Fix bugs in below.", "check(below)", FIXED, BUGGY)


def opened(text=FIXED, **more):
    """App on a run whose first two configurations are finished; the first problem's reply is kept."""
    study = make_study()
    session = FakeSession(script(study, [48, 50]), study)
    first = study.configurations()[0]
    key = key_of(first, "Python/0")
    session.replies[key] = StoredGeneration(key, "ab" * 32, "greedy", 211, text, tuple(range(60)), "cut", 1837, 0.4)
    parts = Parts(
        problem=problem,
        candidate=lambda configuration, task_id, reply: HEADER + reply,
        program=lambda configuration, task_id, reply: "import math\n" + HEADER + reply + "\ncheck(below)",
    )
    return ScoretraceApp(session, study, autostart=True, parts=parts, **more)


async def at_problems(pilot):
    """Open the first configuration."""
    await until_shown(pilot, "48/164")
    await pilot.press("enter")
    await until_shown(pilot, "Python/0")


async def test_problems_show_outcome_tokens_and_detail():
    """Each row says what happened and why."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        assert "✓ passed" in next(text for text in drawn(app) if "Python/0 " in text)
        await pilot.press("end")
        await until_shown(pilot, "Python/163")
        row = next(text for text in drawn(app) if "Python/163" in text)
        assert "✗ failed" in row and "223" in row and "AssertionError" in row


async def test_only_what_did_not_pass():
    """f hides the passes."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("f")
        await until_shown(pilot, "Showing not passed: 116 problems")
        assert app.screen.query_one("#problems").keys[0] == "Python/48"


async def test_flips_against_another_configuration():
    """c chooses one; counts, points and the exact p stand above; n finds the next flip."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("n")
        await until_shown(pilot, "c chooses a configuration to compare with first")
        await pilot.press("c", "enter")
        await until_shown(pilot, "lost 2, gained 0 of 164: -1.22 points")
        assert list(app.screen.query_one("#problems").keys) == ["Python/48", "Python/49"]
        assert "lost" in next(text for text in drawn(app) if "Python/48" in text)
        await pilot.press("f", "home", "n")
        await settled(pilot, lambda: app.screen.query_one("#problems").key == "Python/48", "the flip")


async def test_filtering_problems_by_outcome():
    """/ finds a kind or a piece of the detail."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("slash")
        await typed(pilot, "python/16")
        await settled(pilot, lambda: len(app.screen.query_one("#problems").keys) == 5, "five problems")


async def test_a_problem_shows_reply_diff_program_and_question():
    """The views go round with the arrow keys."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "60 tokens, ended by end")
        await pilot.press("l")
        await until_shown(pilot, "60 of at most 1837 tokens; ended by the extraction's cut; 211 prompt tokens")
        assert "if number >= limit:" in shown(app)
        await pilot.press("l")
        await until_shown(pilot, "-        if number > limit:")
        assert "+        if number >= limit:" in shown(app)
        await pilot.press("l")
        await until_shown(pilot, "import math")
        await pilot.press("l")
        await until_shown(pilot, "Fix bugs in below.")
        await pilot.press("h", "n")
        await until_shown(pilot, "Python/1 ")


async def test_an_unchanged_program_is_named():
    """A reply that repeats the bug is told apart from a wrong fix."""
    app = opened(BUGGY)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter", "l", "l")
        await until_shown(pilot, "The program is the buggy one, unchanged.")


async def test_control_characters_of_a_reply_do_not_reach_the_terminal():
    """A model may say anything; escape sequences are shown as a replacement mark."""
    app = opened("    return \x1b[2J\x07True\n")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter", "l")
        await until_shown(pilot, "return �[2J�True")


async def test_a_reply_that_is_not_kept_is_said():
    """No empty page."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("j", "enter", "l")
        await until_shown(pilot, "No reply is kept for this sample.")
        await pilot.press("s")
        await until_shown(pilot, "one sample per problem")


async def test_escape_goes_back_step_by_step():
    """Problem, configuration, run."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, ProblemScreen), "the problem")
        await pilot.press("escape")
        await settled(pilot, lambda: isinstance(app.screen, ConfigurationScreen), "the problems")
        await pilot.press("escape")
        await settled(pilot, lambda: isinstance(app.screen, RunScreen), "the run")
