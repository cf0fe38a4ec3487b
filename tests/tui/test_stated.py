"""What only a person knows: asked for where the checklist lacks it, and kept as stated by the user."""

from __future__ import annotations

import pytest
from app_kit import BENCHMARK, FakeSession, kept_run, make_study, script, settled, shown, until_shown
from textual.widgets import Input

from cache.store import Store
from engine.events import to_dict
from engine.settings import Grid
from tui.app import ScoretraceApp
from tui.errors import TypedError
from tui.local import job_of
from tui.parts import Parts
from tui.reporting import open_items, preview
from tui.stated import Ask, asks, state
from tui.study import dumps, loads


@pytest.fixture
def store(tmp_path):
    """A real store with one finished run."""
    found = Store(tmp_path / "store.sqlite")
    study = make_study(Grid((BENCHMARK,)))
    run = found.create_run(study.name, dumps(study), job_of(study).as_dict())
    found.append(run, [to_dict(event) for event in script(study, [48], state="finished")])
    found.set_state(run, "finished", release=True)
    yield found
    found.close()


def test_what_the_evidence_lacks_is_asked_for_once(store):
    """Each key that the report would read, with the point it belongs to; unanswered ones first."""
    found = asks(store, 1)
    keys = [ask.key for ask in found]
    assert len(keys) == len(set(keys)) and "DSC-1.3B: model name" in keys and "DSC-1.3B: version" in keys
    assert all(ask.point[0].isdigit() and ask.hint and not ask.value for ask in found)


def test_an_answer_is_kept_as_stated_by_the_user(store):
    """The next report has it with its origin; the rest of the study is as it was; an empty answer takes it away."""
    before = loads(store.run(1).study)
    state(store, 1, "DSC-1.3B: version", " 2023-11 ")
    after = loads(store.run(1).study)
    assert after.stated == {"DSC-1.3B: version": "2023-11"} and after.grid == before.grid
    answered = next(ask for ask in asks(store, 1) if ask.key == "DSC-1.3B: version")
    assert answered.value == "2023-11" and asks(store, 1)[-1] == answered
    line = next(line for line in preview(store, 1).splitlines() if "2023-11" in line and "stated by the user" in line)
    assert "version" in line
    state(store, 1, "DSC-1.3B: version", "")
    assert loads(store.run(1).study).stated == {}


def test_an_answer_of_several_lines_is_refused(store):
    """The study file and the report have one line for it."""
    with pytest.raises(TypedError, match="one line"):
        state(store, 1, "DSC-1.3B: version", "a\nb")


def test_answers_settle_points(store):
    """A point that only lacked what a person knows is unknown no longer once it is stated."""
    unknown = "3 The authors' prompt format: unknown"
    assert unknown in open_items(store, 1)
    for ask in asks(store, 1):
        if ask.point.startswith("3 "):
            state(store, 1, ask.key, "instruct")
    assert unknown not in open_items(store, 1)


async def test_one_key_fills_what_only_a_person_knows():
    """e lists what is asked for, asks for one, keeps it for this run and the next, and makes the preview anew."""
    study = make_study()
    kept: dict[str, str] = {}

    def found(run):
        return [Ask("6 Exact model name", "DSC-1.3B: version", kept.get("DSC-1.3B: version", ""))]

    parts = Parts(
        preview_report=lambda run: f"# Report {kept}",
        write_report=lambda run: (),
        open_items=lambda run: () if kept else ("6 Exact model name: unknown",),
        asks=found,
        state=lambda run, key, value: kept.__setitem__(key, value),
    )
    app = ScoretraceApp(FakeSession(script(study, [48]), study), study, autostart=True, parts=parts)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("x")
        await until_shown(pilot, "e  states what only a person knows: DSC-1.3B: version")
        assert shown(app).index("without an answer") < shown(app).index("# Report")
        await pilot.press("e", "enter")
        await settled(pilot, lambda: isinstance(app.focused, Input), "the form")
        assert "the revision or date of the weights" in shown(app)
        app.focused.value = "2023-11"
        await pilot.press("enter")
        await until_shown(pilot, "DSC-1.3B: version: kept as stated by you.")
        await until_shown(pilot, "# Report {'DSC-1.3B: version': '2023-11'}")
        assert "without an answer" not in shown(app)
        assert app.desk.study.stated == {"DSC-1.3B: version": "2023-11"}


async def test_without_a_run_nothing_can_be_stated():
    """The key says what to do first."""
    session = FakeSession()
    session.kept = [kept_run(make_study())]
    app = ScoretraceApp(session, make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("x")
        await until_shown(pilot, "No run yet")
