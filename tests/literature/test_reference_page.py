"""The page on the shipped tables, and the published cases that it rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from literature.effects import compare_counts
from literature.fingerprint import fingerprints
from literature.fullprecision import recover
from literature.granularity import counts, missing_records, possible
from literature.records import ReportedScore
from literature.reference_page import PAGE, arithmetic_class, page, sizes_behind
from literature.table import read_table


def test_the_committed_page_is_what_the_tables_give() -> None:
    """The page in docs/ equals what is generated from the shipped tables now."""
    committed = Path(__file__).parents[2] / PAGE
    assert committed.read_text(encoding="utf-8") == page(), f"python -m literature.reference_page > {PAGE}"


def test_studies_of_the_reference_table_fall_into_their_classes() -> None:
    """[21] and [23] look like one sample, [1], [22] and [27] cannot be, [25] is quoted, the rest stay undecided."""
    found = {one.source: one.verdict for one in fingerprints(read_table("humanevalfix").scores, 164)}
    expected = {"21": "one sample", "23": "one sample", "25": "copied"}
    expected |= dict.fromkeys(("1", "22", "27"), "many samples")
    assert found == {source: expected.get(source, "undecided") for source in found}
    assert len(found) == 11


def test_two_studies_mix_old_and_new_mbpp_tasks() -> None:
    """[41] and [42] alone hold values that only 399 and values that only 378 tasks can print."""
    scores = read_table("mbpp_deepseekcoder").scores
    sources = {source for score in scores for source in score.sources}
    assert {source for source in sources if all(sizes_behind(scores, source))} == {"41", "42"}


@pytest.mark.parametrize(
    ("value", "stated", "expected"),
    [
        ("42.1", {"decoding": "greedy"}, "consistent with n=1"),
        ("48.9", {"decoding": "greedy"}, "cannot be as stated"),
        ("48.9", {"samples": "20"}, "consistent with n=20; cannot be one sample"),
        ("48.9", {}, "cannot be one sample"),
        ("42.1", {}, "can be one sample"),
    ],
)
def test_the_class_of_a_value_follows_from_its_digits_and_what_is_stated(
    value: str, stated: dict[str, str], expected: str
) -> None:
    """k/164 can be one sample, anything else cannot, and a stated n that cannot print the value is named as such."""
    assert arithmetic_class(ReportedScore("m", "b", "pass@1", value, ("1",), stated=stated)) == expected


def test_published_cases_come_out_as_they_are_known() -> None:
    """77.3 needs a lost record, a full-precision score gives k and n, and the paired figures follow from counts."""
    assert not possible("77.3", 164)
    assert (126, 163) in missing_records("77.3", 164)
    full = recover("0.4746951219512195", 164)
    assert full is not None
    assert (full.count, full.samples) == (1557, 20)
    lost = compare_counts(164, 8, 1)
    assert lost.p_exact == pytest.approx(0.0390625)
    assert lost.p_mid == pytest.approx(0.0215, abs=5e-5)
    assert lost.resolution == pytest.approx(3.53, abs=5e-3)
    assert [counts(value, 164).rounded for value in ("33.5", "31.1", "29.9", "28.66")] == [(55,), (51,), (49,), (47,)]
    assert compare_counts(164, 5, 1).p_exact == pytest.approx(0.219, abs=5e-4)
