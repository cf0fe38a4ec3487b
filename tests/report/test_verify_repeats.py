"""What a bundle says of other seeds is checked by executing its programs under them: nothing is taken on its word."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bundle_kit import FakeBenchmark, FakeSandbox, make_run, members, repack

from cache.store import Store
from engine.protocols import Limits, Outcome, Program
from engine.settings import Decoding, Grid
from tui.bundle import write_bundle
from tui.verify import Verification, verify_bundle

BENCHMARK = FakeBenchmark(size=12)
GRID = Grid((BENCHMARK.name,), decoding=(Decoding(), Decoding(0.8)), max_length=(512, 2048), samples=(2,))


def opener(name: str, data: str | None = None) -> FakeBenchmark:
    return BENCHMARK


@dataclass
class Seeded(FakeSandbox):
    """Under seed 2, the passes of f3 and f5 are timeouts; `turns` may be changed to stand for another judge."""

    seed: int = 0
    turns: tuple[str, ...] = ("def f3(", "def f5(")
    kind: str = "timeout"

    def __post_init__(self) -> None:
        self.identity = json.dumps({"mode": "fake", "seed": self.seed})

    def run(self, program: Program, limits: Limits) -> Outcome:
        outcome = super().run(program, limits)
        turned = self.seed == 2 and outcome.passed and any(name in program.candidate for name in self.turns)
        return Outcome(self.kind, level=self.level) if turned else outcome


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a run whose programs were executed under two other seeds."""
    folder = tmp_path_factory.mktemp("repeats")
    store = Store(folder / "store.sqlite")
    run = make_run(store, BENCHMARK, Seeded(), GRID, repeats=2, seeded=lambda seed: Seeded(seed=seed))
    (event,) = store.events_of(run, "Repeated")
    assert len(event["flaky"]) > 1
    write_bundle(store, run, folder / "made.zip", opener)
    store.close()
    return folder / "made.zip"


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A copy of the bundle to change."""
    return Path(shutil.copy(made, tmp_path / "bundle.zip"))


def verified(path: Path, sandbox: Callable[..., Any] = Seeded) -> Verification:
    return verify_bundle(path, sandbox, opener=opener)


def change(path: Path, how: Callable[[dict[str, Any]], None]) -> None:
    """Change what the run's fact says, make the report fit, and the manifest too."""
    rows = [json.loads(line) for line in members(path)["events.jsonl"].decode().splitlines()]
    (row,) = [row for row in rows if row["body"]["fact"] == "Repeated"]
    how(row["body"])
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    repack(path, {"events.jsonl": text.encode()}, honest=False)


def under_seeds(found: Verification) -> list[str]:
    return [f"{one.place}: {one.recorded} / {one.found}" for one in found.differences if "other seeds" in one.place]


def test_an_honest_bundle_holds_and_says_what_was_executed(path: Path) -> None:
    """Report, facts and outcomes under each seed agree; the report in it lists what is flaky."""
    found = verified(path)
    assert found.holds, list(found.lines())
    assert any("programs executed again under 2 other seeds" in text for text in found.remarks)
    report = json.loads(members(path)["report.json"])
    assert {row["task_id"] for row in report["repeats"]["samples"]} == {"P/3", "P/5"}
    assert "0: passed, 1: passed, 2: timeout" in members(path)["report.md"].decode()


def drop_one(body: dict[str, Any]) -> None:
    del body["flaky"][0]


def invent_one(body: dict[str, Any]) -> None:
    body["flaky"][0]["kinds"]["1"] = "crash"


def call_steady(body: dict[str, Any]) -> None:
    body["flaky"][0]["kinds"] = dict.fromkeys(body["flaky"][0]["kinds"], "passed")


def invent_sample(body: dict[str, Any]) -> None:
    body["flaky"][0]["samples"].append([body["flaky"][0]["samples"][0][0], "P/3", 77])


def more_programs(body: dict[str, Any]) -> None:
    body["programs"] += 100


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (drop_one, "by seed 0: passed, 1: passed, 2: passed / by seed 0: passed, 1: passed, 2: timeout"),
        (invent_one, "1: crash, 2: timeout / by seed 0: passed, 1: passed, 2: timeout"),
        (call_steady, "2: passed / by seed 0: passed, 1: passed, 2: timeout"),
        (invent_sample, "no such sample with a program"),
        (more_programs, "programs executed under other seeds"),
    ],
)
def test_what_was_changed_is_named(path: Path, how: Any, words: str) -> None:
    """Whatever the manifest says: a flaky program left out or made up, its kinds, its samples, how many there were."""
    change(path, how)
    told = under_seeds(verified(path))
    assert told and any(words in line for line in told), told


def test_a_program_that_is_otherwise_here_is_a_difference(path: Path) -> None:
    """A judge under which one more program changes: each of its samples is named, and nothing else."""
    found = verified(path, lambda **given: Seeded(**given, turns=("def f3(", "def f5(", "def f7(")))
    told = under_seeds(found)
    assert told and all("P/7" in line for line in told), told


def test_no_outcome_here_is_no_difference_and_no_success(path: Path) -> None:
    """Samples that could not be judged under another seed are not verified."""
    found = verified(path, lambda **given: Seeded(**given, kind="unavailable"))
    assert not found.differences
    assert any("under other seeds: could not be judged here" in text for text in found.unverified)


def set_to(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def how(body: dict[str, Any]) -> None:
        body[name] = value

    return how


@pytest.mark.parametrize(
    ("name", "value"),
    [("flaky", [3]), ("flaky", 7), ("seeds", "x"), ("skipped", 7), ("seeds", 10**9), ("seeds", 10**4)],
)
def test_a_fact_that_cannot_be_believed_is_not_verified(path: Path, name: str, value: Any) -> None:
    """A damaged or an endless one is said not to be verified, and ends nothing."""
    change(path, set_to(name, value))
    found = verified(path)
    assert any("other seeds" in text for text in found.unverified) and not found.holds
