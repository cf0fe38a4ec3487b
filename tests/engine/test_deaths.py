"""A worker process that dies: what the user is told, what is kept, and that going on gives what was to come."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cache.errors import StoreError
from cache.store import Store
from engine.events import from_dict
from engine.scoring import Score, fold_scores
from engine.settings import Decoding, Grid
from tui.local import LocalSession
from tui.session import LIVE, Status
from tui.study import ModelChoice, Study

GRID = Grid(("fake-python",), decoding=(Decoding(), Decoding(0.8)), max_length=(200,), precision=("f16", "q8_0"))
STUDY = Study("doomed", GRID, (ModelChoice("fake", "fake.gguf"),))
SOUND = "sound"


@pytest.fixture
def session_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Opens a session over a store, whose workers meet the fault that is set."""
    opened: list[LocalSession] = []

    def fault(how: str) -> None:
        helper = str(Path(__file__).with_name("doomed_worker.py"))
        monkeypatch.setattr("tui.local.WORKER", (helper, how))

    def open_session(how: str, path: Path = tmp_path / "store.sqlite") -> LocalSession:
        monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "home"))
        fault(how)
        opened.append(LocalSession(path))
        return opened[-1]

    open_session.fault = fault  # type: ignore[attr-defined]
    yield open_session
    for session in opened:
        session.close()


def ended(session: LocalSession, seconds: float = 600) -> Status:
    """The state once the worker is gone."""
    end = time.monotonic() + seconds
    while (status := session.status()).state in LIVE:
        assert time.monotonic() < end, status
        time.sleep(0.05)
    return status


def scores(session: LocalSession) -> dict[str, Score]:
    """What the run's events say."""
    assert session.run is not None
    return fold_scores(from_dict(body) for _, _, body in session.store.every_event(session.run))


def finished(session: LocalSession, session_of: Any) -> dict[str, Any]:
    """Go on without the fault, to the end; the outcomes of every configuration."""
    session_of.fault(SOUND)
    session.resume()
    assert ended(session).state == "finished"
    return {id_: score.kinds for id_, score in scores(session).items()}


@pytest.fixture
def sound(session_of: Any, tmp_path: Path) -> dict[str, Any]:
    """The outcomes of an uninterrupted run."""
    session = session_of(SOUND, tmp_path / "sound.sqlite")
    session.start(STUDY)
    assert ended(session).state == "finished"
    return {id_: score.kinds for id_, score in scores(session).items()}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("abort", "native code of the engine gave up (signal 6)"),
        ("killed", "by somebody, or by the system because memory ran out"),
    ],
)
def test_a_dead_worker_is_told_by_its_signal(session_of: Any, sound: dict[str, Any], how: str, words: str) -> None:
    """One sentence says how it died and that all is kept; taken up again the run ends as if nothing had happened."""
    session = session_of(how)
    session.start(STUDY)
    status = ended(session)
    assert status.state == "died"
    assert words in status.detail
    assert "what it found is kept" in status.detail
    assert "Traceback" not in status.detail
    assert finished(session, session_of) == sound


def test_a_dead_worker_of_another_process_is_still_seen(session_of: Any) -> None:
    """Whoever attaches later cannot know the signal, and says so instead of guessing."""
    session = session_of("abort")
    run = session.start(STUDY)
    ended(session)
    later = session_of("abort")
    later.attach(run)
    status = later.status()
    assert status.state == "died"
    assert "without a word" in status.detail


def test_memory_that_runs_out_ends_one_load(session_of: Any, sound: dict[str, Any]) -> None:
    """A real allocation fails under a real limit: that precision ends with the reason, the next one is finished."""
    session = session_of("memory")
    session.start(STUDY)
    assert ended(session).state == "finished"
    for score in scores(session).values():
        if score.configuration.precision == "f16":
            assert "no memory was left while fake ran at f16" in score.failure
        else:
            assert score.finished
    assert finished(session, session_of) == sound


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 160 KiB, where the system lets one be made."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ("-t", "tmpfs", "-o", "size=160k", "tmpfs", str(folder))
    if os.geteuid() != 0 or subprocess.run(("mount", *options), capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(("umount", "-l", str(folder)), check=True)


def test_a_full_disk_stops_the_run_and_loses_nothing(session_of: Any, small_disk: Path, sound: dict[str, Any]) -> None:
    """On a really full disk the user is told to free space; with space again the run goes on to the same end."""
    session = session_of(SOUND, small_disk / "store.sqlite")
    session.start(STUDY)
    status = ended(session)
    assert status.state == "died"
    assert "full: free disk space" in status.detail
    assert "what was kept before is safe" in status.detail
    before = scores(session)
    assert not all(score.finished for score in before.values())
    subprocess.run(("mount", "-o", "remount,size=64m", str(small_disk)), check=True)
    after = finished(session, session_of)
    assert after == sound
    assert all(score.kinds.items() <= after[id_].items() for id_, score in before.items())


HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
db.execute("COMMIT")
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Any]:
    """Another process that holds a store until it is told to let go."""
    held: list[subprocess.Popen[str]] = []

    def hold(path: Path) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        held.append(child)
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        return child

    yield hold
    for child in held:
        child.communicate("\n")


def test_a_locked_store_names_the_remedy(tmp_path: Path, holder: Any) -> None:
    """A store that another process does not let go of: who, how long, what to do; reading it still works."""
    store = Store(tmp_path / "store.sqlite", patience=0.2)
    run = store.create_run("r", "", {})
    holder(store.path)
    with pytest.raises(StoreError, match=r"store\.sqlite: another process has held it for 0\.2 s .*end that process"):
        store.append(run, [{"fact": "x"}])
    assert store.events(run) == []
    store.close()


def test_a_short_lock_is_waited_for(tmp_path: Path, holder: Any) -> None:
    """A process that writes for a moment delays the others, and nothing is said."""
    store = Store(tmp_path / "store.sqlite")
    run = store.create_run("r", "", {})
    child = holder(store.path)
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()
    store.append(run, [{"fact": "x"}])
    assert len(store.events(run)) == 1
    store.close()


def test_a_store_that_is_no_longer_a_database_is_named(tmp_path: Path) -> None:
    """A damaged file gives one sentence with the file and the remedy, no traceback."""
    path = tmp_path / "store.sqlite"
    store = Store(path)
    store.create_run("r", "", {})
    store.close()
    path.write_bytes(b"\x00" * 4096 + path.read_bytes()[4096:])
    with pytest.raises((StoreError, sqlite3.DatabaseError), match=r"store\.sqlite.*SCORETRACE_HOME"):
        Store(path)
