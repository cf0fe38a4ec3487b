"""Which studies look like one sample per problem: the shipped tables as facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from literature.fingerprint import COPIED, MANY, ONE, UNDECIDED, fingerprints, fitting_sizes, own_values
from literature.granularity import fitting_problems
from literature.table import read_table


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """Source -> verdict for the bug-fixing table."""
    return {found.source: found.verdict for found in fingerprints(read_table("humanevalfix").scores, 164)}


@pytest.mark.parametrize(
    ("sources", "verdict"),
    [(("21", "23"), ONE), (("1", "22", "27"), MANY), (("25",), COPIED), (("16", "17", "20", "24", "30"), UNDECIDED)],
)
def test_studies_are_told_apart_by_their_own_values(
    verdicts: dict[str, str], sources: tuple[str, ...], verdict: str
) -> None:
    """[21] and [23] are single-sample, [1], [22], [27] many-sample, [25] quotes only, the rest stays open."""
    assert {source: verdicts[source] for source in sources} == dict.fromkeys(sources, verdict)


def test_values_printed_elsewhere_are_not_a_studys_own() -> None:
    """30.4 stands in six papers and counts only for the one that introduced the model."""
    scores = read_table("humanevalfix").scores
    assert "30.4" in {score.value for score in own_values(scores, "1")}
    assert "30.4" not in {score.value for score in own_values(scores, "22")}


def test_the_number_of_problems_is_tested() -> None:
    """The 13 own values of [23] fit 164 problems and no other number below 328."""
    assert fitting_sizes(read_table("humanevalfix").scores, "23", range(100, 328)) == [164]


def test_benchmark_versions_show_in_the_denominator() -> None:
    """MBPP+ scores of two studies fit its first release of 399 tasks, not the later 378; a third fits 378, not 399."""
    scores = read_table("mbpp_deepseekcoder").scores

    def sizes(source: str) -> list[int]:
        return fitting_problems([score.value for score in scores if source in score.sources], (378, 399))

    assert [sizes(source) for source in ("22", "38", "40")] == [[399], [399], [378]]


def test_pass_at_ten_tells_nothing_of_samples() -> None:
    """A study's pass@10 values lie on another grid: they are none of the counts that tell one sample from many."""
    scores = read_table("humanevalfix").scores
    both = [*scores, *(replace(score, metric="pass@10", value="50.1", sources=("23",)) for score in scores)]
    assert fingerprints(both, 164) == fingerprints(scores, 164)
