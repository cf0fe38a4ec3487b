"""`--audit` from the command line: what is printed, and the exit status, with a worker process over fakes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.audit import checked
from engine.settings import Decoding, Grid
from tui.cli import DONE, UNMET, WRONG_INPUT, run_cli
from tui.local import LocalSession
from tui.study import ModelChoice, Study

GRID = Grid(("fake-python",), decoding=(Decoding(), Decoding(0.8)), max_length=(200,), precision=("f16",))
STUDY = Study("audited", GRID, (ModelChoice("fake", "fake.gguf"),), audit=3)


@pytest.fixture
def session(run_to_end: Callable[[Study], LocalSession]) -> LocalSession:
    """A finished run of STUDY in the store that the command line uses."""
    return run_to_end(STUDY)


def test_a_study_that_asks_for_an_audit_is_audited(session: LocalSession) -> None:
    """The key `audit` of a study is enough."""
    assert len(checked(session.store, session.run or 0)) == 3


def test_a_finished_run_can_be_audited(session: LocalSession, capsys: pytest.CaptureFixture[str]) -> None:
    """`run --resume RUN --audit 4` makes four more samples again and says so; nothing is generated for the grid."""
    before = len(session.store.events_of(session.run or 0, "Generated"))
    assert run_cli(["run", "--resume", str(session.run), "--audit", "4"]) == DONE
    assert "audit: 7 of 7 samples recomputed alone are the same" in capsys.readouterr().out
    assert len(session.store.events_of(session.run or 0, "Generated")) == before


def test_a_difference_is_exit_1(session: LocalSession, capsys: pytest.CaptureFixture[str]) -> None:
    """Replies altered behind the store's back: each audited one is named on stderr, and the status says it."""
    with sqlite3.connect(session.store.path) as db:
        db.execute("UPDATE generations SET text = text || ' '")
    assert run_cli(["run", "--resume", str(session.run), "--audit", "2"]) == UNMET
    error = capsys.readouterr().err
    assert error.count("scoretrace: audit: ") == 2
    assert "the kept text is not that of the kept tokens" in error


def test_a_run_that_goes_on_is_not_audited(session: LocalSession, capsys: pytest.CaptureFixture[str]) -> None:
    """Its worker would not hear of it: the message says to wait."""
    session.store.claim_run(session.run or 0, os.getpid())
    assert run_cli(["run", "--resume", str(session.run), "--audit", "2"]) == WRONG_INPUT
    assert "is being worked on; audit it when it has ended" in capsys.readouterr().err
    session.store.set_state(session.run or 0, "finished", release=True)


def test_a_negative_count_is_refused(tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says what is expected."""
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path))
    assert run_cli(["run", "s.toml", "--audit", "-1"]) == WRONG_INPUT
    assert "--audit -1: expected a number of samples" in capsys.readouterr().err
