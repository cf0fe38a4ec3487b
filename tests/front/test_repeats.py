"""`run --repeats` from the command line: what is printed, and what a killed run repeats, with a worker over fakes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.benchmarks import open_benchmark
from engine.sandbox import probe_levels
from engine.settings import Decoding, Grid
from tui import study as studies
from tui.cli import DONE, WRONG_INPUT, run_cli
from tui.errors import StudyError
from tui.local import LocalSession
from tui.session import LIVE
from tui.study import ModelChoice, Study

GRID = Grid(("fake-python",), decoding=(Decoding(), Decoding(0.8)), max_length=(200,), precision=("f16",))
STUDY = Study("repeated", GRID, (ModelChoice("fake", "fake.gguf"),), repeats=3)


def executed(folder: Path) -> list[tuple[int, str]]:
    """(seed, candidate) of every program that workers executed under other seeds."""
    return [tuple(json.loads(line)) for line in (folder / "repeated.jsonl").read_text().splitlines()]


def test_a_study_that_asks_for_repeats_is_repeated(run_to_end: Callable[[Study], LocalSession], tmp_path: Path) -> None:
    """The key `repeats` of a study is enough: every program once under each of the seeds."""
    session = run_to_end(STUDY)
    (event,) = session.store.events_of(session.run or 0, "Repeated")
    runs = executed(tmp_path)
    assert len(set(runs)) == len(runs) == 3 * event["programs"]
    assert event["seeds"] == 3


def test_a_finished_run_is_repeated_and_told(
    run_to_end: Callable[[Study], LocalSession], capsys: pytest.CaptureFixture[str]
) -> None:
    """`run --resume RUN --repeats 2` names what changed, and ends well: it is a finding about programs, not a failure.
    The study that is kept with the run asks for it, too, so that its report can be made again.
    """
    session = run_to_end(studies.loads(studies.dumps(STUDY).replace("repeats = 3\n", "")))
    run = session.run or 0
    assert session.store.events_of(run, "Repeated") == []
    assert run_cli(["run", "--resume", str(run), "--repeats", "2"]) == DONE
    told = capsys.readouterr().out
    (event,) = session.store.events_of(run, "Repeated")
    assert f"{event['programs']} programs executed again under seeds 1 to 2: {len(event['flaky'])} gave another" in told
    assert event["flaky"]
    assert told.count("flaky: ") == len(event["flaky"])
    assert "by seed 0: passed, 1: passed, 2: failed" in told
    assert studies.loads(session.store.run(run).study).repeats == 2


def test_a_worker_that_is_killed_while_it_repeats_goes_on(
    run_to_end: Callable[[Study], LocalSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcomes that were kept when it was killed are not had again; the findings are those of a run without a kill."""
    helper = str(Path(__file__).parents[1] / "engine" / "doomed_worker.py")
    whole = run_to_end(STUDY)
    (expected,) = whole.store.events_of(whole.run or 0, "Repeated")
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "other"))
    (tmp_path / "other").mkdir()
    monkeypatch.setattr("tui.local.WORKER", (helper, "killed repeating"))
    session = LocalSession(tmp_path / "other" / "store.sqlite")
    session.start(STUDY)
    assert last_state(session) == "died"
    own = "SELECT count(*) FROM outcomes"
    (kept,) = session.store._db.execute(own).fetchone()
    first = executed(tmp_path / "other")
    assert {seed for seed, _ in first} == {1, 2}
    monkeypatch.setattr("tui.local.WORKER", (helper, "sound"))
    session.resume()
    assert last_state(session) == "finished"
    (event,) = session.store.events_of(session.run or 0, "Repeated")
    assert event == expected
    (every,) = session.store._db.execute(own).fetchone()
    assert len(executed(tmp_path / "other")) - len(first) == every - kept
    session.close()


def last_state(session: LocalSession) -> str:
    """The state once the worker is gone."""
    end = time.monotonic() + 600
    while (state := session.status().state) in LIVE:
        assert time.monotonic() < end
        time.sleep(0.05)
    return state


def test_a_run_that_goes_on_is_not_repeated(
    run_to_end: Callable[[Study], LocalSession], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its worker would not hear of it: the message says to wait."""
    session = run_to_end(STUDY)
    session.store.claim_run(session.run or 0, os.getpid())
    assert run_cli(["run", "--resume", str(session.run), "--repeats", "2"]) == WRONG_INPUT
    assert "is being worked on; repeat its programs when it has ended" in capsys.readouterr().err
    session.store.set_state(session.run or 0, "finished", release=True)


@pytest.mark.parametrize("wrong", ["-1", "0", "many"])
def test_a_number_of_seeds_is_expected(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says so."""
    with pytest.raises(SystemExit) as ended:
        run_cli(["run", "s.toml", "--repeats", wrong])
    assert ended.value.code == WRONG_INPUT
    assert "expected a whole number from 1" in capsys.readouterr().err


def test_a_negative_number_in_a_study_is_refused() -> None:
    """The message names the key."""
    text = studies.dumps(STUDY).replace("repeats = 3", "repeats = -3")
    with pytest.raises(StudyError, match="key 'repeats': expected a number of other seeds"):
        studies.loads(text)


def test_the_command_line_goes_before_the_study(tmp_path: Path, monkeypatch: Any) -> None:
    """`--repeats 2` on a study that asks for three."""
    seen: list[Study] = []
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path))
    monkeypatch.setattr("tui.headless._run", lambda session, study, *rest: seen.append(study) or DONE)
    (tmp_path / "s.toml").write_text(studies.dumps(STUDY))
    assert run_cli(["run", str(tmp_path / "s.toml"), "--repeats", "2"]) == DONE
    assert seen[0].repeats == 2


def test_an_imported_run_is_repeated_in_the_machines_own_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other people's programs, whatever made them: the one that looks at the order of a set of strings is named, the
    report lists it, and a bundle of it verifies here.
    """
    if not any(p.available for p in probe_levels().values() if p.level != "limits"):
        pytest.skip("no level of confinement works on this machine")
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "home"))
    problems = open_benchmark("bugfix-mini").problems
    unsteady = "    if list({'a', 'b', 'c', 'd', 'e', 'f'})[0] < 'd':\n        return None\n"
    rows = [
        {"task_id": p.task_id, "solution": p.header + (unsteady if p is problems[4] else "") + p.canonical}
        for p in problems
    ]
    (tmp_path / "others.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--benchmark", "bugfix-mini", "--no-reference-check"]
    assert run_cli(["import-generations", str(tmp_path / "others.jsonl"), *words]) == DONE
    assert run_cli(["run", "--resume", "1", "--repeats", "7", "--report", str(tmp_path / "report")]) == DONE
    assert "64 programs executed again under seeds 1 to 7: 1 gave another outcome (1 sample)" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "report" / "report.json").read_text())["repeats"]["samples"]
    assert row["task_id"] == problems[4].task_id
    assert run_cli(["bundle", "--run", "1", "--out", str(tmp_path / "b.zip")]) == DONE
    assert run_cli(["verify", str(tmp_path / "b.zip")]) == DONE
    assert "64 programs executed again under 7 other seeds" in capsys.readouterr().out
