"""Repeats under other seeds in the report: what was asked for, every flaky sample, and the counts that it could be."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from cache.store import Store
from engine.events import Noted, Repeated
from engine.repeating import summary
from literature.report import output
from literature.report.document import build
from tui.reporting import collect

MADE = 1_700_000_000.0
NAME = "programs under other hash seeds and random states"


def document(store: Store, made: Any, event: Repeated | None) -> dict[str, Any]:
    """The document of a run of four problems with 20 samples, of which those of the first problem pass."""
    if event is not None:
        made.notes = [*made.notes, event]
    return build(collect(store, made.write(store)), MADE)


def repeated(ids: list[str], **changes: Any) -> Repeated:
    """Two flaky programs: one of a passing sample of two configurations, one of a failing sample of the first."""
    kinds = {"0": "passed", "1": "failed", "2": "timeout", "3": "passed"}
    other = {"0": "failed", "1": "failed", "2": "failed", "3": "passed"}
    flaky = [
        {"kinds": kinds, "samples": [[ids[0], "Python/0", 0], [ids[1], "Python/0", 3]]},
        {"kinds": other, "samples": [[ids[0], "Python/2", 0]]},
    ]
    values: dict[str, Any] = {"seeds": 3, "programs": 17, "flaky": flaky, "skipped": {"no room": 5}}
    return Repeated(**{**values, **changes})


def fact(content: dict[str, Any]) -> dict[str, str]:
    """What the audit says of repeats."""
    (found,) = [one for one in content["audit"] if one["name"] == NAME]
    return found


def test_a_run_without_repeats_says_so(store: Store, scene: Any, schema_problems: Any) -> None:
    """As with the audit: unknown, with the reason, and no table."""
    content = document(store, scene(), None)
    assert (fact(content)["known"], fact(content)["pointer"]) == ("unknown", "no repeats of this run are recorded")
    assert content["repeats"] == {
        "seeds": 0, "programs": 0, "flaky": 0, "unavailable": 0, "skipped": {}, "samples": [], "counts": [],
    }  # fmt: skip
    assert not schema_problems(content)
    assert not [name for name, text in output.texts(content, output.DEFAULT_FORMATS).items() if "another hash" in text]


def test_flaky_samples_and_counts(store: Store, scene: Any, schema_problems: Any) -> None:
    """Each sample with its kinds; a configuration's count under each seed, its lowest and its highest, the score kept.

    Samples 20, passes of the first problem: all. A sample that fails under two seeds is one less under these; another
    one that passes under the third is one more under that.
    """
    made = scene()
    ids = [c.id for c in made.configurations]
    content = document(store, made, repeated(ids))
    assert not schema_problems(content)
    assert fact(content)["value"] == (
        "17 programs executed again under seeds 1 to 3: 2 gave another outcome (3 samples); "
        "samples not repeated: 5 (no room)"
    )
    assert fact(content)["pointer"].startswith("event ")
    rows = {(row["configuration"], row["task_id"], row["sample"]): row for row in content["repeats"]["samples"]}
    assert set(rows) == {(ids[0], "Python/0", 0), (ids[1], "Python/0", 3), (ids[0], "Python/2", 0)}
    assert rows[ids[0], "Python/2", 0]["kinds"] == {"0": "failed", "1": "failed", "2": "failed", "3": "passed"}
    greedy, drawn = content["repeats"]["counts"]
    assert (greedy["by_seed"], greedy["lowest"], greedy["highest"]) == ({"0": "1", "1": "0", "2": "0", "3": "2"}, 0, 2)
    assert greedy["sentence"] == "1 of 4 under seed 0, 0..2 under seeds 0 to 3"
    assert drawn["sentence"] == "20 of 80 under seed 0, 19..20 under seeds 0 to 3"
    assert [row["passed"] for row in content["scores"]] == [1, 20]


def test_every_format_lists_them(store: Store, scene: Any) -> None:
    """Both tables stand in Markdown, HTML and LaTeX, and as CSV with a row a seed."""
    made = scene()
    content = document(store, made, repeated([c.id for c in made.configurations]))
    texts = output.texts(content, output.DEFAULT_FORMATS)
    for name in ("report.md", "report.html", "report.tex"):
        assert "0: failed, 1: failed, 2: failed, 3: passed" in texts[name]
        assert "another hash seed and random state" in texts[name]
    assert "1 of 4 under seed 0, 0..2 under seeds 0 to 3" in texts["report.md"]
    rows = list(csv.DictReader(io.StringIO(texts["tables/flaky.csv"], newline="")))
    assert len(rows) == 3 * 4
    assert {(row["task_id"], row["seed"], row["kind"]) for row in rows} >= {("Python/0", "2", "timeout")}
    counts = list(csv.DictReader(io.StringIO(texts["tables/seeds.csv"], newline="")))
    assert counts[0]["by_seed"] == "0: 1; 1: 0; 2: 0; 3: 2"


def test_an_execution_without_an_outcome_may_be_either(store: Store, scene: Any) -> None:
    """Under that seed the count is a span, and the lowest and highest count with it."""
    made = scene()
    ids = [c.id for c in made.configurations]
    kinds = {"0": "passed", "1": "unavailable", "2": "failed"}
    flaky = [{"kinds": kinds, "samples": [[ids[0], "Python/0", 0]]}]
    content = document(store, made, repeated(ids, seeds=2, flaky=flaky, unavailable=1))
    (row,) = content["repeats"]["counts"]
    assert (row["by_seed"], row["lowest"], row["highest"]) == ({"0": "1", "1": "0..1", "2": "0"}, 0, 1)
    assert "1 execution gave no outcome" in fact(content)["value"]


def test_where_samples_are_open_the_count_is_of_those_judged(store: Store, scene: Any) -> None:
    """A count of what is not wholly judged is never given over all samples."""
    made = scene(judged=2)
    content = document(store, made, repeated([c.id for c in made.configurations]))
    assert content["repeats"]["counts"][1]["sentence"].startswith("20 of 40 judged samples under seed 0")


@pytest.mark.parametrize(
    "damage", [{"flaky": [{"kinds": {"0": "passed"}, "samples": []}]}, {"flaky": 3}, {"skipped": 7}, {"seeds": "x"}]
)
def test_a_damaged_fact_is_left_aside(store: Store, scene: Any, damage: dict[str, Any]) -> None:
    """Whoever changed the store, the report says that an event cannot be read, and goes on."""
    made = scene()
    event = repeated([c.id for c in made.configurations])
    broken = Repeated(**{**event.__dict__, **damage})
    if damage.get("flaky") and isinstance(damage["flaky"], list):
        broken.flaky[0]["samples"] = event.flaky[0]["samples"]
    content = document(store, made, broken)
    assert any("cannot be read by this version" in caveat for caveat in content["caveats"])
    assert fact(content)["known"] == "unknown"


def test_the_last_repeats_count(store: Store, scene: Any) -> None:
    """A later one holds for the whole run, so the earlier one is not added to it."""
    made = scene()
    ids = [c.id for c in made.configurations]
    made.notes = [repeated(ids), Noted("info", "more seeds")]
    later = repeated(ids, seeds=3, flaky=[], programs=18)
    content = document(store, made, later)
    assert (content["repeats"]["programs"], content["repeats"]["samples"]) == (18, [])
    assert fact(content)["value"] == summary(later)
