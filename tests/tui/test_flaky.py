"""Samples whose outcome is another one under other seeds are marked where outcomes are listed, with each kind."""

from __future__ import annotations

from app_kit import FakeSession, drawn, make_study, script, settled, shown, typed, until_shown

from engine.events import Noted, Repeated
from engine.repeating import summary
from tui.app import ScoretraceApp
from tui.state import RunState


def repeated(study, task="Python/3", seeds=2, sample=0):
    """One flaky program, of a sample of the first configuration."""
    first = study.configurations()[0].id
    kinds = {"0": "passed", "1": "timeout", "2": "passed"}
    return Repeated(seeds, 40, [{"kinds": kinds, "samples": [[first, task, sample]]}])


def opened():
    """App on a run that has repeated its programs."""
    study = make_study()
    event = repeated(study)
    events = [*script(study, [48, 50]), Noted("warning", f"repeats: {summary(event)}"), event]
    return ScoretraceApp(FakeSession(events, study), study, autostart=True)


async def test_a_flaky_sample_is_marked_in_the_list_and_explained_over_its_outcome():
    """The mark stands in the row, the filter finds it, and the problem's outcome says the kind under each seed."""
    app = opened()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("enter")
        await until_shown(pilot, "Python/0")
        rows = {text.split()[0].lstrip("▌"): text for text in drawn(app) if "Python/" in text}
        assert "flaky" in rows["Python/3"]
        assert "flaky" not in rows["Python/4"]
        await pilot.press("slash")
        await typed(pilot, "flaky")
        await settled(pilot, lambda: list(app.screen.query_one("#problems").keys) == ["Python/3"], "the one")
        await pilot.press("enter", "enter")
        await until_shown(pilot, "Python/3 passed · flaky")
        assert "by hash seed and random state 0: passed, 1: timeout, 2: passed" in shown(app)


def test_a_later_event_holds_for_the_whole_run():
    """What an earlier one called flaky and a later one does not is marked no more; both change what is drawn."""
    study = make_study()
    state = RunState()
    state.apply((0.0, event) for event in script(study, [48, 50]))
    first = study.configurations()[0].id
    state.take_dirty()
    state.apply([(1.0, repeated(study))])
    assert [p.task_id for p in state.problems(first) if p.flaky] == ["Python/3"]
    assert state.take_dirty() == {first}
    state.apply([(2.0, repeated(study, task="Python/9"))])
    assert [p.task_id for p in state.problems(first) if p.flaky] == ["Python/9"]
    state.apply([(3.0, Repeated(9, 40))])
    assert state.take_dirty() == {first}
    assert not any(p.flaky for p in state.problems(first))
