"""Choosing settings and seeing what they cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from app_kit import FakeSession, make_study, settled, shown, typed, until_shown

from engine.errors import BenchmarkError
from engine.settings import Decoding
from tui import drafts
from tui.app import ScoretraceApp
from tui.axes import Axes
from tui.drafts import draft_path
from tui.opening import run_app
from tui.screens.grid import GridScreen


async def at_grid(pilot):
    """Open the grid and wait for its cost."""
    await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
    await pilot.press("g")
    await until_shown(pilot, "configurations,")


async def test_the_reference_preset_shows_what_sharing_saves():
    """Sixty configurations are thirty generations per problem and five loads."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        assert "16 configurations" in shown(app)
        await pilot.press("p", "2")
        await until_shown(pilot, "60 configurations, 30 generations per problem, 5 loads")
        assert "9 840 without sharing" in shown(app)
        assert "measured here before" in shown(app)
        assert len(app.desk.study.configurations()) == 60


async def test_space_switches_a_value_and_the_cost_follows():
    """Every key press updates the preflight."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        await pilot.press(*"jjjj", "l", "space")
        await until_shown(pilot, "8 configurations")
        assert app.desk.study.grid.decoding == (Decoding(),)


async def test_the_last_value_of_an_axis_stays():
    """An axis without a value is no grid; the reason is said."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        await pilot.press("space")
        await until_shown(pilot, "model needs at least one value")


async def test_a_value_of_one_s_own():
    """A decoding as people write it; a wrong one is refused with what was expected."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        await pilot.press(*"jjjj", "e")
        await typed(pilot, "hot")
        await pilot.press("enter")
        await until_shown(pilot, "expected 'greedy' or")
        await pilot.press("ctrl+u")
        await typed(pilot, "T=0.4")
        await pilot.press("enter")
        await until_shown(pilot, "[x] T=0.4")
        assert Decoding(0.4) in app.desk.study.grid.decoding


async def test_ladders_and_single_configurations():
    """The other presets choose what their names say."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        for key, count in (("3", 2), ("4", 1), ("5", 5), ("6", 6), ("1", 16)):
            await pilot.press("p", key)
            await settled(pilot, lambda count=count: len(app.desk.study.configurations()) == count, f"preset {key}")


async def test_a_model_file_can_be_added_and_tied_to_the_table():
    """FILE as NAME gives the model its reported scores."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        await pilot.press("f")
        await typed(pilot, "/m/small.gguf as CodeGemma (2B)")
        await pilot.press("enter")
        await until_shown(pilot, "[x] small")
        assert app.desk.study.models[-1].reported_as == ("CodeGemma (2B)",)
        assert [score.value for score in app.desk.matches.reported("small")] == ["4.3", "22.7"]


async def test_start_begins_a_run_of_what_is_chosen():
    """s hands the chosen study to the session and shows the run."""
    session = FakeSession()
    app = ScoretraceApp(session, make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        await pilot.press("p", "4", "s")
        await settled(pilot, lambda: "start" in session.asked, "the start")
        assert session.study is not None and len(session.study.configurations()) == 1
        await until_shown(pilot, "the worker is getting ready")


async def test_what_cannot_run_says_so_before_and_after_the_key():
    """A benchmark that is missing is one sentence, and s repeats it."""
    session = FakeSession()
    session.error = BenchmarkError("humanevalfixtests-python: no file; give data = PATH in the study")
    app = ScoretraceApp(session, make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("g")
        await until_shown(pilot, "Cannot run: humanevalfixtests-python: no file")
        await pilot.press("s")
        assert "start" not in session.asked
        assert isinstance(app.screen, GridScreen)
        assert app.screen.said.startswith("Cannot run")


async def test_many_values_scroll_under_the_marked_one():
    """At 80 columns the marked value is always in view."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        await pilot.press(*"jjjjjjjj")
        assert "[ ] as released" not in shown(app)
        await pilot.press(*"llllll")
        await until_shown(pilot, "▸[ ] as released")


async def test_the_grid_outlives_a_fault_of_the_app():
    """Toggles and added values are there when it is opened again; once it was left properly, they are not."""
    app = ScoretraceApp(FakeSession(), make_study())
    with pytest.raises(ZeroDivisionError):
        async with app.run_test(size=(80, 24)) as pilot:
            await at_grid(pilot)
            await pilot.press(*"jjjj", "e")
            await typed(pilot, "T=0.6")
            await pilot.press("enter")
            await until_shown(pilot, "24 configurations")
            app.call_later(lambda: 1 / 0)
            await settled(pilot, lambda: not app.is_running, "the app to leave")
    again = ScoretraceApp(FakeSession(), make_study())
    async with again.run_test(size=(80, 24)) as pilot:
        await at_grid(pilot)
        await until_shown(pilot, "24 configurations")
        assert "as chosen when the app ended unasked; p: the study's own" in shown(again)
        assert again.desk.study.grid.decoding == (Decoding(), Decoding(0.2), Decoding(0.6))
        await pilot.press("p", "1")
        await until_shown(pilot, "16 configurations")
    assert not draft_path("HumanEvalFix 2025").exists(), "what is as in the study is no draft"


@pytest.mark.parametrize(("code", "kept"), [(0, False), (3, True)])
def test_leaving_the_app_ends_the_draft(monkeypatch, code, kept):
    """A user who leaves has the study's own grid the next time, as its file says; after a fault the draft stays."""

    def run(app):
        app.desk.open_study(make_study())
        axes = Axes(app.desk.study)
        axes.only("decoding", Decoding())
        assert not axes.apply(app.desk) and draft_path("HumanEvalFix 2025").exists()
        app._return_code = code

    monkeypatch.setattr(ScoretraceApp, "run", run)
    assert run_app(FakeSession(), make_study()) == code
    assert draft_path("HumanEvalFix 2025").exists() == kept


def test_a_draft_of_another_study_is_not_taken():
    """The file was changed meanwhile, or is broken: its own grid holds."""
    study = make_study()
    drafts.keep(study, study.with_grid(replace(study.grid, precision=("f16",))))
    assert drafts.recall(study).grid.precision == ("f16",)
    changed = study.with_grid(replace(study.grid, seed=(0, 1)))
    assert drafts.recall(changed) is None and drafts.recall(replace(study, name="other")) is None
    for text in ("", "7", "{}", '{"own": "", "changed": ""}'):
        draft_path(study.name).write_text(text)
        assert drafts.recall(study) is None
