"""The first screen: studies to begin with, what was open lately, and what this machine lacks, each with its remedy."""

from __future__ import annotations

import pytest
from app_kit import FakeSession, drawn, kept_run, make_study, settled, shown, typed, until_shown

from engine.errors import EngineError
from tui.app import ScoretraceApp
from tui.doctor import Finding
from tui.facts import look
from tui.parts import Parts
from tui.recent import note, recent
from tui.study import dumps

FINDINGS = [
    Finding("machine", "ok", "Linux, 2 cores"),
    Finding("GPU", "limited", "this build of llama.cpp offers none", "on an NVIDIA machine: build it with CUDA"),
    Finding("sandbox", "missing", "no level of confinement is there", "programs need another machine"),
]


def written(folder, name):
    """A study file."""
    path = folder / f"{name}.toml"
    path.write_text(dumps(make_study(name=name)))
    return path


def test_the_file_opened_last_comes_first(tmp_path):
    """Each once; files that are gone are left out, one that cannot be read says why."""
    one, two, three = (written(tmp_path, name) for name in ("one", "two", "three"))
    for path in (one, two, three, one):
        note(path)
    two.unlink()
    three.write_text("nonsense")
    found = recent()
    assert [entry.path.name for entry in found] == ["one.toml", "three.toml"]
    assert found[0].study == make_study(name="one")
    assert found[1].study is None and "not a TOML file" in found[1].problem


@pytest.mark.parametrize("text", ["", "nonsense", '{"a": 1}', "[1, 2]"])
def test_a_broken_list_is_no_reason_to_stop(text):
    """It is only a list of names."""
    from cache.paths import studies_folder

    studies_folder().mkdir(parents=True)
    (studies_folder() / "recent.json").write_text(text)
    assert recent() == []


async def test_recent_studies_are_offered_before_the_embedded_one(tmp_path):
    """enter opens the one opened last; a broken one says why on the row and on the key."""
    note(written(tmp_path, "older study"))
    broken = written(tmp_path, "broken")
    note(broken)
    broken.write_text("nonsense")
    app = ScoretraceApp(FakeSession(), None, studies=(make_study(name="bugfix-mini"),))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "older study")
        assert shown(app).index("older study") < shown(app).index("bugfix-mini")
        await pilot.press("enter")
        await settled(pilot, lambda: "expected" in app.screen.said or "not a TOML" in app.screen.said, "the reason")
        await pilot.press("j", "enter")
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        assert app.desk.name == "older study"


async def test_a_study_opened_by_its_path_is_recent(tmp_path, monkeypatch):
    """The box lists study files only."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "mine")
    (tmp_path / "table.csv").write_text("model,value\n")
    app = ScoretraceApp(FakeSession(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "Nothing yet")
        await pilot.press("o")
        await until_shown(pilot, "mine.toml")
        assert "table.csv" not in shown(app)
        await typed(pilot, "mine.toml")
        await pilot.press("enter")
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
    assert [found.path.name for found in recent()] == ["mine.toml"]


async def test_what_the_machine_lacks_stands_below_with_its_remedy():
    """Only what asks for something; d shows the rest too."""
    session = FakeSession()
    session.kept = [kept_run(make_study())]
    app = ScoretraceApp(session, None, studies=(make_study(name="bugfix-mini"),), parts=Parts(look=lambda: FINDINGS))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "to do: programs need another machine")
        text = shown(app)
        assert "limited  GPU: this build of llama.cpp offers none" in text and "Linux, 2 cores" not in text
        assert "1 finding without anything to do" in text and "bugfix-mini" in text and "run 7" in text
        await pilot.press("d")
        await until_shown(pilot, "ok       machine: Linux, 2 cores")


async def test_a_look_that_fails_is_a_sentence():
    """The list works all the same."""

    def fail():
        raise EngineError("the machine could not be looked at: x; run `scoretrace doctor`")

    app = ScoretraceApp(FakeSession(), None, studies=(make_study(),), parts=Parts(look=fail))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "the machine could not be looked at")
        await pilot.press("d")
        await until_shown(pilot, "Nothing is known of this machine here")
        assert any("HumanEvalFix 2025" in line for line in drawn(app))


def test_the_real_look_finds_this_machine():
    """What the command says, as values; this process is not changed by it."""
    import os

    before = os.environ.get("HF_HUB_OFFLINE")
    found = {finding.subject: finding for finding in look()}
    assert "cores" in found["machine"].text and "sandbox" in found and "llama.cpp" in found
    assert os.environ.get("HF_HUB_OFFLINE") == before
