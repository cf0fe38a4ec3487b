"""The embedded study: its reported numbers were measured, and the tool finds where each came from."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.scoring import Score
from engine.settings import Configuration, parse_decoding
from literature.matching import ClaimVerdict
from tui.claims import claims
from tui.reading import Literature
from tui.study import embedded

HERE = Path(__file__).parent
TRUTH: dict[str, dict[str, Any]] = tomllib.loads((HERE / "demo_truth.toml").read_text(encoding="utf-8"))


def measured() -> list[Score]:
    """The scores of one real run of the embedded study, problem by problem, as this project measured them."""
    recorded = json.loads((HERE / "demo_measured.json").read_text(encoding="utf-8"))
    by_id = {configuration.id: configuration for configuration in embedded().configurations()}
    task_ids = [f"BugfixMini/{number}" for number in range(64)]
    scores = []
    for id_, passed in recorded["passed"].items():
        score = Score(by_id[id_], task_ids)
        for task_id, mark in zip(task_ids, passed, strict=True):
            score.add(task_id, 0, "passed" if mark == "1" else "failed")
        scores.append(score)
    return scores


@pytest.fixture(scope="module")
def verdicts() -> dict[str, ClaimVerdict]:
    """What the product says of each source's number, given the measured scores."""
    study, literature = embedded(), Literature()
    for table in study.tables:
        literature.add(table)
    return {verdict.reported.sources[0]: verdict for verdict in claims(study, literature, measured())}


def true_configuration(source: str) -> Configuration:
    """The configuration that the truth names, with one sample a problem."""
    truth = TRUTH[source]
    return Configuration(
        truth["model"], "bugfix-mini", truth["template"], parse_decoding(truth["decoding"]), truth["max_length"],
        truth["precision"],
    )  # fmt: skip


def test_every_configuration_was_measured() -> None:
    """The record holds the whole study: 60 settings of the small model and one of the other."""
    assert {score.id for score in measured()} == {c.id for c in embedded().configurations()}


def test_the_table_prints_what_was_measured(verdicts: dict[str, ClaimVerdict]) -> None:
    """Each reported text is the true count over its denominator, with one decimal; none is invented."""
    for source, truth in TRUTH.items():
        assert verdicts[source].reported.value == f"{100 * truth['count'] / truth['asked']:.1f}"
    by_id = {score.id: score for score in measured()}
    for source in "ABDE":
        assert by_id[true_configuration(source).id].passed == TRUTH[source]["count"]
    assert by_id[true_configuration("F").id].passed == TRUTH["F"]["count"] + 1


@pytest.mark.parametrize("source", ["A", "B", "D"])
def test_a_one_sample_number_is_found(verdicts: dict[str, ClaimVerdict], source: str) -> None:
    """The true configuration is among the exact matches, with the chance of a match beside it."""
    verdict = verdicts[source]
    exact = {match.measurement for match in verdict.matches if match.kind == "exact"}
    assert true_configuration(source).id in exact
    assert verdict.chance is not None and verdict.chance.sentence in verdict.sentence


def test_a_fully_stated_number_singles_out_its_configuration(verdicts: dict[str, ClaimVerdict]) -> None:
    """34 of 64 is the count of one configuration of 60."""
    exact = [match.measurement for match in verdicts["A"].matches if match.kind == "exact"]
    assert exact == [true_configuration("A").id]


def test_twenty_samples_are_no_count_of_one_sample(verdicts: dict[str, ClaimVerdict]) -> None:
    """44.4 is no k/64; the one-sample run of the true setting is within noise or undecided, not ruled out."""
    verdict = verdicts["C"]
    assert not [match for match in verdict.matches if match.kind == "exact"]
    (true,) = [match for match in verdict.matches if match.measurement == true_configuration("C").id]
    assert true.kind in ("within noise", "inconclusive")


def test_the_misattributed_number_is_found(verdicts: dict[str, ClaimVerdict]) -> None:
    """No configuration of the named model reaches 9.4; the other model's does, on a line of its own."""
    verdict = verdicts["E"]
    assert verdict.matching == 0
    (other,) = verdict.misattributions
    assert other.model == TRUTH["E"]["model"]
    assert other.configurations == (true_configuration("E").id,)
    assert other.sentence


def test_a_lost_record_shows_in_the_denominator(verdicts: dict[str, ClaimVerdict]) -> None:
    """54.0 is no k/64, and 34 of 63 prints so."""
    from literature.granularity import counts, missing_records, possible

    assert not possible("54.0", 64)
    assert counts("54.0", 63).rounded == (TRUTH["F"]["count"],)
    assert (TRUTH["F"]["count"], 63) in missing_records("54.0", 64)
    assert not [match for match in verdicts["F"].matches if match.kind == "exact"]
