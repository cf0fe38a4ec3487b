"""From a configuration down to one reply and its program."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from app_kit import FakeSession, drawn, key_of, make_study, script, settled, shown, typed, until_shown

from cache.store import StoredGeneration
from engine.again import Again
from engine.errors import EngineError
from engine.events import Judged
from engine.protocols import Problem
from tui.app import ScoretraceApp
from tui.parts import Extracted, Parts, Prompt, Read
from tui.screens.configuration import ConfigurationScreen
from tui.screens.problem import ProblemScreen
from tui.screens.run import RunScreen
from tui.session import Status

HEADER = "def below(numbers: list, limit: int) -> bool:\n"
BUGGY = "    for number in numbers:\n        if number > limit:\n            return False\n    return True\n"
PROMPT = Prompt(
    (("template", "<|user|>\n"), ("problem", "Fix bugs in below."), ("header", HEADER)), ("bos comes first",)
)
FIXED = BUGGY.replace(">", ">=")


def problem(benchmark, task_id):
    """A benchmark of one problem under many names."""
    return Problem(task_id, "below", HEADER, HEADER + BUGGY, "Fix bugs in below.", "check(below)", FIXED, BUGGY)


def extractions(configuration, task_id, reply):
    """Two rules that agree, one that finds nothing, one that fails."""
    return [
        Extracted("harness", HEADER + reply), Extracted("raw", HEADER + reply),
        Extracted("first_fence", "nothing", code=False), Extracted("sanitize", "", problem="no Python in it"),
    ]  # fmt: skip


def opened(text=FIXED, again=None, **more):
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
        prompt=lambda configuration, task_id: PROMPT,
        extractions=extractions,
        again=again,
        read=lambda configuration, stored: Read(stored.text, "reads its first 60 tokens"),
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


async def test_how_an_outcome_was_judged_is_said_where_it_is_shown():
    """In the list, in its counts, over the problem and in its details; plain data compared outside needs no label."""
    app = opened()
    events = app.desk.session.events
    for place, event in enumerate(events):
        if isinstance(event, Judged):
            mode = "same interpreter" if event.task_id in ("Python/0", "Python/3") else "split"
            events[place] = replace(event, mode=mode)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await until_shown(pilot, "same interpreter: 2")
        rows = {text.split()[0]: text for text in drawn(app) if "Python/" in text}
        assert "same interpreter" in rows["▌Python/0"] and "same interpreter" in rows["Python/3"]
        assert "same interpreter" not in rows["Python/1"]
        await pilot.press("slash")
        await typed(pilot, "same interp")
        await settled(pilot, lambda: len(app.screen.query_one("#problems").keys) == 2, "the two")
        await pilot.press("enter", "enter")
        await until_shown(pilot, "Python/0 passed · same interpreter")
        assert "judged      same interpreter" in shown(app)


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


async def at_view(pilot, name):
    """Open the first problem and go round to a view."""

    def views():
        return re.findall(r"\[\w+\]", shown(pilot.app))

    await at_problems(pilot)
    await pilot.press("enter")
    await settled(pilot, lambda: isinstance(pilot.app.screen, ProblemScreen) and views(), "the problem")
    for _ in range(8):
        before = views()
        if f"[{name}]" in before:
            return
        await pilot.press("l")
        await settled(pilot, lambda before=before: views() not in ([], before), "the next view")
    raise AssertionError(f"no view {name}:\n{shown(pilot.app)}")


async def test_a_problem_shows_prompt_reply_programs_diff_tests_and_question():
    """The views go round with the arrow keys."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "60 tokens, ended by end")
        await pilot.press("l")
        await until_shown(pilot, "<|user|>")
        assert "bos comes first" in shown(app) and "211 tokens" in shown(app) and "return" not in shown(app)
        await pilot.press("l")
        await until_shown(pilot, "60 of at most 1837 tokens; ended by the extraction's cut; 211 prompt tokens")
        assert "if number >= limit:" in shown(app) and "reads its first 60 tokens" in shown(app)
        await pilot.press("l")
        await until_shown(pilot, "▸ harness, raw  this configuration")
        assert "first_fence (no code found)" in shown(app) and "3 different programs" in shown(app)
        await pilot.press("G")
        await until_shown(pilot, "no Python in it")
        await pilot.press("l")
        await until_shown(pilot, "-        if number > limit:")
        assert "+        if number >= limit:" in shown(app)
        await pilot.press("l")
        await until_shown(pilot, "import math")
        await pilot.press("l")
        await until_shown(pilot, "Fix bugs in below.")
        await pilot.press("h", "n")
        await until_shown(pilot, "Python/1 ")


async def test_the_template_s_marks_stand_out():
    """What the template writes has another colour role than what the problem brings."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_view(pilot, "prompt")
        lines = app.screen.query_one("#view").lines
        roles = {piece.text: piece.role for line in lines for piece in line}
        assert roles["<|user|>"] == "agree bold" and roles["Fix bugs in below."] == "text"


async def test_the_diff_is_against_the_buggy_or_the_correct_program():
    """b goes to the diff, then from one to the other; a program that is the correct one says so."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter", "b")
        await until_shown(pilot, "against the buggy program")
        await pilot.press("b")
        await until_shown(pilot, "The program is the correct one, unchanged.")


async def test_an_unchanged_program_is_named():
    """A reply that repeats the bug is told apart from a wrong fix."""
    app = opened(BUGGY)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_view(pilot, "diff")
        await until_shown(pilot, "The program is the buggy one, unchanged.")


async def test_control_characters_of_a_reply_do_not_reach_the_terminal():
    """A model may say anything; escape sequences are shown as a replacement mark."""
    app = opened("    return \x1b[2J\x07True\n")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_view(pilot, "reply")
        await until_shown(pilot, "return �[2J�True")


async def test_a_reply_that_is_not_kept_is_said():
    """No empty page, and nothing to copy."""
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("j", "enter", "l", "l")
        await until_shown(pilot, "No reply is kept for this sample.")
        await pilot.press("y")
        await until_shown(pilot, "There is no text in this view.")
        await pilot.press("s")
        await until_shown(pilot, "one sample per problem")


async def test_a_sample_is_run_again_beside_the_screen():
    """Reply and outcome stand under the recorded ones; while it runs the key says so; a difference is a warning."""
    found = Again(
        "passed", "different", "tokens differ from position 7 on", 58, "timeout", "10 s of CPU", "namespace", 10.0
    )
    wait = []

    def again(configuration, task_id, sample):
        wait.append((task_id, sample))
        while len(wait) < 2:
            time.sleep(0.01)
        return found

    app = opened(again=again)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter", "l", "R")
        await until_shown(pilot, "Running Python/0 again")
        await pilot.press("R")
        await until_shown(pilot, "Python/0 is being run again: wait for it.")
        wait.append(None)
        await until_shown(pilot, "Python/0 run again: reply different, outcome timeout.")
        text = " ".join(shown(app).split())
        assert "different (58 tokens, alone): tokens differ from position 7 on" in text
        assert "another outcome: timeout in 10.00 s, sandbox namespace" in text and "10 s of CPU" in text


async def test_a_rerun_beside_a_worker_needs_memory_for_a_second_model():
    """While the run goes on, a model that does not fit is not tried; once it has ended, it is."""
    asked = []

    def again(configuration, task_id, sample):
        raise EngineError("tried")

    def no_room(configuration):
        asked.append(configuration.precision)
        return "Not enough memory for the model once more: 15.0 GB needed, 2.0 GB free: let the run end first."

    app = opened(again=again)
    app.parts = replace(app.parts, no_room=no_room)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter", "R")
        await until_shown(pilot, "15.0 GB needed, 2.0 GB free")
        assert asked == ["f16"]
        app.desk.session.state = Status("finished")
        await settled(pilot, lambda: app.desk.run_state == "finished", "the end of the run")
        await pilot.press("R")
        await until_shown(pilot, "tried")
        assert asked == ["f16"]


async def test_a_rerun_that_fails_is_a_sentence():
    """The engine's reason, and the screen goes on."""

    def again(configuration, task_id, sample):
        raise EngineError("Python/0 cannot be run again: no room")

    app = opened(again=again)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter", "R")
        await until_shown(pilot, "Python/0 cannot be run again: no room")


async def test_copying_the_raw_reply(monkeypatch):
    """The text as it is, not as it is drawn, through the terminal's own clipboard."""
    monkeypatch.delenv("TMUX", raising=False)
    app = opened(FIXED + "\x07")
    async with app.run_test(size=(80, 24)) as pilot:
        await at_view(pilot, "reply")
        await pilot.press("y")
        await until_shown(pilot, "characters of the reply by OSC 52")
        assert app.clipboard == FIXED + "\x07"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "no editor is set: leave the app, set EDITOR"),
        ({"EDITOR": "no-such-editor-1"}, "$EDITOR is 'no-such-editor-1', but"),
        ({"VISUAL": "true"}, "an editor cannot be opened from here"),
    ],
)
async def test_an_editor_that_cannot_be_opened_says_what_to_do(monkeypatch, variables, said):
    """$EDITOR, then $VISUAL, then a sentence; the test's screen is no terminal, which is a sentence too."""
    for name in ("EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_view(pilot, "reply")
        await pilot.press("E")
        await settled(pilot, lambda: said in " ".join(shown(app).split()), said)


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


async def test_what_stands_under_the_score_is_beside_it():
    """The configuration's screen says how many were asked, answered, cut short and without code."""
    async with opened().run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await until_shown(pilot, "48/164 passed · 164 answered, 0 not generated, cut short: unknown")


async def test_an_ascii_terminal_gets_ascii_only():
    """Every view, and both sides of a comparison."""
    app = opened(ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("enter")
        for _ in range(7):
            await pilot.press("l")
            await pilot.pause()
            assert shown(app).isascii(), shown(app)
        await pilot.press("escape", "v", "enter")
        await until_shown(pilot, "left is")
        assert shown(app).isascii(), shown(app)
