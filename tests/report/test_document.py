"""The document behind all formats: what it holds of whole, broken and empty runs, and that its schema describes it."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest

from cache.store import Store
from engine.events import Noted
from literature.report import document, output
from tui import study as studies
from tui.reporting import collect
from tui.study import ModelChoice

MADE = 1_700_000_000.0
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CLAIMED = (ModelChoice("small", "small.gguf", ("DeepSeekCoder-Inst (1.3B)",)),)
BOTH = (*CLAIMED, ModelChoice("base", "base.gguf", ("DeepSeekCoder (1.3B)",)))


def texts(store: Store, made: Any) -> dict[str, str]:
    given = collect(store, made.write(store))
    return {name: data.decode() for name, data in output.contents(given, MADE, ("md", "json", "csv")).items()}


def claimed(study_of: Any, models: tuple[ModelChoice, ...] = CLAIMED) -> Any:
    """A study of reported scores, with two samples where it samples: enough for all that is tested here."""
    return study_of(tables=("humanevalfix",), models=models, grid=replace(study_of().grid, samples=(2,)))


BROKEN = {
    "whole": {},
    "half judged": {"judged": 2, "state": "stopped"},
    "nothing stated": {"started": False, "state": "created"},
    "nothing recorded": {"provenance": None, "cards": False, "check": False, "replies": False, "kept": False},
    "failed": {"judged": 1, "state": "failed", "detail": "the model file is broken"},
    "unavailable": {"kinds": {1: "unavailable"}},
    "no room": {"kinds": {1: "no room"}},
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_every_number_of_the_markdown_stands_in_the_json(
    store: Store, scene: Any, study_of: Any, change: dict[str, Any]
) -> None:
    """Markdown and JSON say the same: no number is in the one that is not in the other."""
    made = texts(store, scene(study=claimed(study_of, BOTH), problems=8, passing=range(3), **change))
    numbers = set(NUMBER.findall(made["report.md"]))
    assert len(numbers) > 10
    assert numbers <= set(NUMBER.findall(made["report.json"]))


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_the_document_keeps_its_published_schema(
    store: Store, scene: Any, study_of: Any, schema_problems: Any, change: dict[str, Any]
) -> None:
    """Whole or broken, a report's JSON is what its schema says."""
    made = texts(store, scene(study=claimed(study_of, BOTH), problems=8, passing=range(3), **change))
    assert schema_problems(json.loads(made["report.json"])) == []


def test_the_schema_refuses_what_is_none(store: Store, scene: Any, schema_problems: Any) -> None:
    """The schema test can fail: a missing key, a stray key and a wrong mark are found."""
    content = document.build(collect(store, scene().write(store)), MADE)
    del content["caveats"]
    content["extra"] = 1
    content["checklist"][0]["mark"] = "probably"
    assert len(schema_problems(content)) == 3


def test_scores_are_counts_over_what_was_asked_for(store: Store, scene: Any) -> None:
    """A finished configuration has its count and its percentage, over problems times samples."""
    rows = document.build(collect(store, scene(passing=(0, 2)).write(store)), MADE)["scores"]
    assert [(row["score"], row["percent"]) for row in rows] == [("2/4", "50.00"), ("40/80", "50.00")]


def test_open_samples_make_a_span_and_no_percentage(store: Store, scene: Any) -> None:
    """Two of four problems judged: the score is a span between the two bounds, and there is no rate."""
    content = document.build(collect(store, scene(judged=2, state="stopped").write(store)), MADE)
    row = content["scores"][0]
    assert (row["state"], row["score"], row["percent"]) == ("partial", "1..3/4", "")
    assert (row["percent_lowest"], row["percent_highest"]) == ("25.00", "75.00")
    assert "0 of 2 configurations are wholly judged" in content["caveats"][0]


def test_unavailable_samples_are_neither_passed_nor_failed(store: Store, scene: Any) -> None:
    """A sample that could not be judged keeps its configuration open, and the report says how many there are."""
    content = document.build(collect(store, scene(kinds={1: "unavailable"}).write(store)), MADE)
    assert [row["score"] for row in content["scores"]] == ["1..2/4", "20..40/80"]
    assert [row["unavailable"] for row in content["scores"]] == [1, 20]
    assert any("21 samples could not be judged" in caveat for caveat in content["caveats"])


def test_a_run_that_stated_nothing_says_so(store: Store, scene: Any) -> None:
    """A run without a single fact is reported as one: its configurations are named, nothing is measured."""
    made = texts(store, scene(started=False, state="created"))
    content = json.loads(made["report.json"])
    assert content["caveats"][0] == "This run has stated nothing: nothing below is measured."
    assert [row["state"] for row in content["scores"]] == ["not started", "not started"]
    assert [row["score"] for row in content["scores"]] == ["", ""]
    assert {item["mark"] for item in content["checklist"]} <= {"unknown", "no"}


def test_a_failed_run_gives_its_reason(store: Store, scene: Any, study_of: Any) -> None:
    """The run's last word and the reason of each failed configuration are in the report."""
    failing = {c.id: "the tokenizer does not know <|fim|>" for c in study_of().configurations()[:1]}
    made = texts(store, scene(failing=failing, state="failed", detail="the disk is full"))
    content = json.loads(made["report.json"])
    assert "The run's last word: the disk is full" in content["caveats"]
    assert content["run"]["failed"] == 1
    assert content["scores"][0]["failure"] == "the tokenizer does not know <|fim|>"
    assert "the tokenizer does not know" in made["report.md"]


def test_a_stopped_configuration_has_bounds_and_a_reason(store: Store, scene: Any, study_of: Any) -> None:
    """Asked no further, it is listed with its span and why, in every format; it counts as no score and not as open."""
    stopping = {study_of().configurations()[0].id: "exact bound: it ends within 1..4 of 4"}
    given = collect(store, scene(stopping=stopping).write(store))
    formats = ("md", "json", "html", "tex")
    made = {name: data.decode() for name, data in output.contents(given, MADE, formats).items()}
    content = json.loads(made["report.json"])
    assert content["scores"][0]["state"] == "stopped"
    assert (content["scores"][0]["score"], content["scores"][0]["percent"]) == ("1..4/4", "")
    assert content["run"]["stopped"] == 1
    assert content["run"]["partial"] == 0
    assert any("1 of 2 configurations were asked no further" in caveat for caveat in content["caveats"])
    for name in ("report.md", "report.html", "report.tex"):
        assert "asked no further" in made[name]
        assert "it ends within 1..4 of 4" in made[name], name


def test_a_match_comes_with_its_chance_and_how_many_match(store: Store, scene: Any, study_of: Any) -> None:
    """48 of 164 prints as 29.3: the claim names both configurations that do, and what such a match is worth."""
    made = texts(store, scene(study=claimed(study_of), problems=164, passing=range(48)))
    claim = next(row for row in json.loads(made["report.json"])["matches"] if row["label"] == "29.3 [21]")
    assert (claim["matching"], claim["configurations"]) == (2, 2)
    assert (claim["chance"]["local"], claim["chance"]["global"]) == ("none", "0.00")
    assert "there is no span to compare with" in claim["sentence"]
    assert "consistent with 2 of 2 configurations" in claim["sentence"]
    assert [match["kind"] for match in claim["matches"]] == ["exact", "rounding"]
    line = next(text for text in made["report.md"].splitlines() if "29.3 \\[21\\] | " in text and "2 of 2" in text)
    assert claim["chance"]["local"] in line and claim["chance"]["global"] in line


def test_a_claim_that_arithmetic_refuses_says_so_beside_the_verdict(store: Store, scene: Any, study_of: Any) -> None:
    """48.9 is no count of 164: its arithmetic is in the reported table, for one sample and for the stated twenty."""
    made = texts(store, scene(study=claimed(study_of), problems=164))
    rows = {row["label"]: row for row in json.loads(made["report.json"])["reported"]}
    one, _, twenty = rows["48.9 [27]"]["arithmetic"]
    assert (one["samples"], one["rounded"], one["nearest"]["count"]) == (1, [], 80)
    assert (twenty["samples"], twenty["rounded"]) == (20, [1603, 1604, 1605])
    assert {sum["known"] for sum in (one, twenty)} == {"inferred by arithmetic"}


def test_another_models_number_has_a_line_with_its_own_chance(store: Store, scene: Any, study_of: Any) -> None:
    """Where the base model prints the instruct model's number as well, that is said, with that model's chance."""
    content = json.loads(
        texts(store, scene(study=claimed(study_of, BOTH), problems=164, passing=range(48)))["report.json"]
    )
    line = next(row for row in content["misattribution"] if row["label"] == "29.3 [21]")
    assert (line["model"], line["other_model"]) == ("DeepSeekCoder-Inst (1.3B)", "base")
    assert line["chance"]["configurations"] == 2


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_no_word_claims_more_than_the_evidence(store: Store, scene: Any, study_of: Any, change: dict[str, Any]) -> None:
    """Nothing is proved, confirmed or a fraud; "reproduced" never stands without what qualifies it."""
    made = texts(store, scene(study=claimed(study_of, BOTH), problems=8, passing=range(3), **change))["report.md"]
    assert not re.search(r"\b(proves?|proved|proven|fraud|confirm(s|ed)|certain(ly)?)\b", made, re.IGNORECASE)
    assert not re.search(r"reproduced(?!, (not )?identified| in the searched space)", made)


def test_one_command_per_configuration_selects_exactly_it(store: Store, scene: Any) -> None:
    """Each rerun command splits in a shell into run, the study beside the report, and that configuration's id."""
    made = texts(store, scene())
    content = json.loads(made["report.json"])
    study = studies.loads(made[content["study_file"]])
    assert [shlex.split(row["command"]) for row in content["scores"]] == [
        ["scoretrace", "run", "study.toml", "--only", c.id] for c in study.configurations()
    ]
    assert all(row["command"] in made["report.md"] for row in content["scores"])
    assert shlex.split(content["command"]) == ["scoretrace", "run", "study.toml"]


def test_the_scores_as_csv_are_the_scores(store: Store, scene: Any) -> None:
    """scores.csv has a row per configuration, its axes as columns, and the same counts as the JSON."""
    made = texts(store, scene(judged=3, state="stopped"))
    rows = list(csv.DictReader(io.StringIO(made["tables/scores.csv"], newline="")))
    found = json.loads(made["report.json"])["scores"]
    assert [(r["configuration"], r["passed"], r["asked"], r["highest"]) for r in rows] == [
        (r["configuration"], str(r["passed"]), str(r["asked"]), str(r["highest"])) for r in found
    ]
    assert [(r["decoding"], r["samples"], r["length"]) for r in rows] == [
        ("greedy", "1", "2048"),
        ("T=0.2", "20", "2048"),
    ]
    assert {r["percent"] for r in rows} == {""}


def test_what_was_not_searched_is_listed(store: Store, scene: Any) -> None:
    """Axis values that this version knows and the run left out are named, as are dimensions without an axis."""
    content = document.build(collect(store, scene().write(store)), MADE)
    axes = {axis["axis"]: axis for axis in content["not_searched"]["axes"]}
    assert axes["prompt"]["searched"] == ["chat"]
    assert "deepseek" in axes["prompt"]["not_searched"]
    assert "q8_0" in axes["precision"]["not_searched"]
    assert any("revision" in text for text in content["not_searched"]["other"])


def test_notes_of_the_run_are_kept(store: Store, scene: Any) -> None:
    """What the run noted, an audit's finding for one, stands in the report with the event that said it."""
    content = document.build(
        collect(store, scene(notes=[Noted("info", "audit: 5 of 5 replies the same")]).write(store)), MADE
    )
    assert content["notes"][0]["value"] == "audit: 5 of 5 replies the same"
    assert content["notes"][0]["pointer"].startswith("event ")
