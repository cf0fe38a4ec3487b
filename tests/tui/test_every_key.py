"""Every command of every screen, with nothing to act on and with everything: it acts, or it says why not."""

from __future__ import annotations

import pytest
from app_kit import FakeSession, kept_run, make_study, script, settled, started, until_shown

from engine.errors import EngineError
from engine.events import StateChanged
from tui.app import ScoretraceApp
from tui.beside import Side
from tui.parts import Parts
from tui.screens.compare import CompareScreen
from tui.screens.configuration import ConfigurationScreen
from tui.screens.findings import FindingsScreen
from tui.screens.problem import ProblemScreen

LEAVES = ("back", "save", "detach")
"""Commands that end the screen or the app; other tests press them."""


async def try_all(pilot, screen):
    """Run every command of a screen; each either changes something or leaves a sentence on the status line."""
    app = pilot.app
    tried = 0
    for command in screen.TABLE:
        if command.action in LEAVES:
            continue
        reason = screen.reason_against(command.action)
        screen.say("")
        screen.run_command(command.action)
        await pilot.pause()
        if reason:
            assert reason[-1] in ".:;?" or len(reason) > 20, (screen, command.action, reason)
            assert screen.said, (screen, command.action)
        while app.screen is not screen and len(app.screen_stack) > 1 and screen in app.screen_stack:
            app.pop_screen()
            await pilot.pause()
        if app.screen is not screen:
            app.go(screen.PLACE)
            await pilot.pause()
        screen.close_filter()
        tried += 1
    assert app.is_running and tried


@pytest.mark.parametrize("place", ["literature", "runs"])
async def test_without_study_table_or_run(place):
    """The places that can be reached then."""
    app = ScoretraceApp(FakeSession(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "Nothing yet")
        app.go(place)
        await pilot.pause()
        await try_all(pilot, app.screen)


@pytest.mark.parametrize("place", ["literature", "grid", "runs"])
async def test_with_a_study_and_no_run(place):
    """Nothing is measured."""
    session = FakeSession()
    session.kept = [kept_run(make_study())]
    app = ScoretraceApp(session, make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        app.go(place)
        await pilot.pause()
        await try_all(pilot, app.screen)


@pytest.mark.parametrize("place", ["literature", "run", "report", "runs"])
@pytest.mark.parametrize("far", ["begun", "finished"])
async def test_with_a_run(place, far):
    """One that has judged nothing, and one that has ended."""
    study = make_study()
    events = [started(study), StateChanged("running")] if far == "begun" else script(study, [48, 30], state="finished")
    app = ScoretraceApp(FakeSession(events, study), study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot, lambda: bool(app.desk.state.order), "the run")
        app.go(place)
        await pilot.pause()
        await try_all(pilot, app.screen)


def refuse(configuration, task_id, sample):
    """A rerun that cannot be."""
    raise EngineError(f"{task_id} cannot be run again")


def screens(state):
    """The screens below the run."""
    first, second, *_ = state.order
    tasks = list(state.scores[first].task_ids)
    yield ConfigurationScreen(first)
    yield ProblemScreen(first, tasks[0], tasks)
    yield FindingsScreen(first)
    yield CompareScreen(Side(state, first), Side(state, second))


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("far", ["begun", "finished"])
async def test_below_a_run(which, far):
    """Lists that show nothing, because nothing is judged or a filter leaves nothing, and lists that show all."""
    study = make_study()
    events = [started(study), StateChanged("running")] if far == "begun" else script(study, [48, 30], state="finished")
    app = ScoretraceApp(FakeSession(events, study), study, autostart=True, parts=Parts(again=refuse))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot, lambda: bool(app.desk.state.order), "the run")
        screen = list(screens(app.desk.state))[which]
        app.push_screen(screen)
        await settled(pilot, lambda: screen.is_mounted, "the screen")
        await try_all(pilot, screen)
        if isinstance(screen, ConfigurationScreen):
            screen.other = app.desk.state.order[1]
            screen.filtered("nothing holds this")
            screen.fill()
            await try_all(pilot, screen)
        if isinstance(screen, CompareScreen):
            screen.rows.show([])
            await try_all(pilot, screen)
