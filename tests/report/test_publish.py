"""The report on the command line: formats, templates, what changed since another report; problems in a bundle."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bundle_kit import FakeSandbox, edited, make_run, members, repack

from cache.paths import store_path
from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.protocols import Limits, Outcome, Program
from engine.settings import Grid
from tui.bundle import write_bundle
from tui.cli import run_cli
from tui.verify import verify_bundle


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command works on a data folder of its own."""
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "home"))


@pytest.fixture
def two_runs(scene: Any) -> None:
    """Two runs of one study in the user's store; the second has one pass more."""
    store = Store(store_path())
    scene().write(store)
    scene(passing=(0, 1)).write(store)
    store.close()


def test_formats_are_chosen(two_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what was asked for is written, with the study and the crate; each path is one line of output."""
    assert run_cli(["report", "--out", str(tmp_path / "out"), "--formats", "md, html"]) == 0
    names = {"report.md", "report.html", "study.toml", "ro-crate-metadata.json"}
    assert {p.name for p in (tmp_path / "out").iterdir()} == names
    assert {Path(line).name for line in capsys.readouterr().out.splitlines()} == names


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--formats", "md,doc"], "'doc' is unknown"),
        (["--formats", ","], "expected some of md"),
        (["--templates", "nowhere"], "no such folder of templates"),
        (["--against", "nowhere.json"], "nowhere.json: cannot be read as a report"),
    ],
)
def test_wrong_options_are_named(
    two_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    """Exit 2, one line on stderr, and no half report."""
    assert run_cli(["report", "--out", str(tmp_path / "out"), *options]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_changed_since_another_report(two_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--against` prints each difference and writes changes.md and changes.json beside the new report."""
    assert run_cli(["report", "--run", "1", "--out", str(tmp_path / "old")]) == 0
    assert run_cli(["report", "--run", "2", "--out", str(tmp_path / "new"), "--against", str(tmp_path / "old")]) == 0
    said = capsys.readouterr().out
    assert "0 of 2 scores that both reports have are equal" in said
    assert "1/4 -> 2/4 (+1 of 4)" in said and "settings: no change" in said
    found = json.loads((tmp_path / "new" / "changes.json").read_text(encoding="utf-8"))
    assert [row["after"] for row in found["scores"]] == ["2/4 (+1 of 4)", "40/80 (+20 of 80)"]
    assert (tmp_path / "new" / "changes.md").exists()


@pytest.mark.parametrize("command", [["bundle", "--run", "9"], ["verify", "nowhere.zip"], ["bundle"]])
def test_what_is_not_there_is_named(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    """No such run, no such file, no run at all: exit 2 or 3 and one line."""
    assert run_cli(command) in (2, 3)
    assert "Traceback" not in capsys.readouterr().err


@dataclass
class KnowsAnswers(FakeSandbox):
    """Passes a program that holds a correct body of the benchmark."""

    bodies: tuple[str, ...] = ()

    def run(self, program: Program, limits: Limits) -> Outcome:
        right = any(f"{body}\n" in f"{program.candidate}\n" for body in self.bodies)
        return Outcome("passed" if right else "failed", level=self.level)


def test_known_problems_travel_with_their_notice(tmp_path: Path) -> None:
    """HumanEvalPack's rows, which are under MIT, are in the bundle: no --data is needed; changed rows are not run."""
    folder = os.environ.get("SCORETRACE_SHARED")
    if not folder:
        pytest.skip("SCORETRACE_SHARED is not set: HumanEvalPack is not part of the project")
    name = "humanevalfixtests-python"
    benchmark = open_benchmark(name, str(Path(folder) / "data" / "humanevalpack" / "python.jsonl"))
    answers = KnowsAnswers(bodies=tuple(p.canonical.rstrip() for p in benchmark.problems))
    store = Store(tmp_path / "store.sqlite")
    run = make_run(store, benchmark, answers, Grid((name,), max_length=(512, 2048)))
    made = write_bundle(store, run, tmp_path / "run.zip", lambda name, data=None: benchmark)
    store.close()
    inside = members(made.path)
    assert b"MIT" in inside["benchmarks/NOTICE.txt"]
    assert inside[f"benchmarks/{name}.jsonl"].count(b"\n") == 164
    found = verify_bundle(made.path, lambda: answers)
    assert found.holds and found.samples == 328, list(found.lines())
    rows = edited(inside[f"benchmarks/{name}.jsonl"], 3, lambda row: row.update(test="import os"))
    repack(made.path, {f"benchmarks/{name}.jsonl": rows}, honest=False)
    found = verify_bundle(made.path, lambda: answers)
    assert found.programs == 0 and "not those of a known benchmark" in found.unverified[0]
