"""Which counts print as a value: worked cases, and laws that hold for all counts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature.arithmetic import arithmetic
from literature.errors import ScoreTextError
from literature.fullprecision import recover
from literature.granularity import (
    DOUBLE,
    RULES,
    counts,
    coverage,
    describe,
    fitting_samples,
    missing_records,
    percent_text,
    possible,
)

EVERY = (*RULES, DOUBLE)
totals = st.tuples(st.integers(1, 600), st.integers(1, 30))


def test_a_lost_record_is_found_behind_an_impossible_score() -> None:
    """77.3 is no count of 164; with one record lost it is 126 of 163."""
    assert not possible("77.3", 164)
    assert (126, 163) in missing_records("77.3", 164)
    assert "126/163 with 1 lost" in arithmetic("77.3", 164).sentence


def test_full_precision_tells_count_and_samples() -> None:
    """The float of a published results file is 1557 of 3280, so twenty samples a problem."""
    found = recover("0.4746951219512195", 164)
    assert found is not None
    assert (found.count, found.total, found.samples) == (1557, 3280, 20)
    assert found.chance < 1e-6


@pytest.mark.parametrize("value", ["47.5", "47.47", "0.4747"])
def test_few_digits_recover_nothing(value: str) -> None:
    """One to four digits fit some number of samples by chance and are refused."""
    assert recover(value, 164) is None


@pytest.mark.parametrize(("value", "count"), [("33.5", 55), ("31.1", 51), ("29.9", 49), ("28.66", 47)])
def test_published_values_of_one_model_are_counts_of_164(value: str, count: int) -> None:
    """The four published HumanEval scores of CodeLlama-7B are 55, 51, 49 and 47 of 164."""
    assert counts(value, 164).rounded == (count,)


def test_the_sentence_names_the_nearest_count() -> None:
    """A value off the grid is said to be so, with the nearest count beside it."""
    assert describe("48.9", 164) == "not k/164: one sample per problem cannot print it (nearest 80/164 = 48.78)"
    assert describe("48.9", 164, 20) == "1603-1605 of 3280"


def test_truncation_is_found_and_said() -> None:
    """16.4 rounds from no count of 164 but is 27/164 cut off."""
    assert counts("16.4", 164).truncate == (27,)
    assert "27/164 prints so if cut off" in describe("16.4", 164)


def test_double_rounding_is_found_and_said() -> None:
    """12 of 127 is 9.4488: 9.4 at once, but 9.45 and then 9.5 in two steps."""
    assert counts("9.4", 127).rounded == (12,)
    assert counts("9.5", 127).rounded == ()
    assert counts("9.5", 127).double == (12,)
    assert counts("9.4", 127).double == ()
    assert "12/127 prints so if rounded twice" in describe("9.5", 127)
    assert "12/127 if rounded twice" in arithmetic("9.5", 127).sentence


@given(totals, st.data(), st.integers(0, 3))
def test_what_is_rounded_twice_is_listed(sizes: tuple[int, int], data: st.DataObject, decimals: int) -> None:
    """A count printed to one place more and then rounded again is among the counts that double rounding gives."""
    problems, samples = sizes
    total = problems * samples
    count = data.draw(st.integers(0, total))
    first = (Fraction(100 * count * 10 ** (decimals + 1), total) + Fraction(1, 2)).__floor__()
    second = (Fraction(first, 10) + Fraction(1, 2)).__floor__()
    text = f"{second // 10**decimals}.{second % 10**decimals:0{decimals}d}" if decimals else str(second)
    assert count in counts(text + "%", problems, samples).double


def test_ties_are_accepted_from_both_sides() -> None:
    """41 of 3280 is 1.25 exactly: half up prints 1.3, half even 1.2, and both are accepted."""
    assert 41 in counts("1.3", 164, 20).half_up
    assert 41 not in counts("1.3", 164, 20).half_even
    assert 41 in counts("1.2", 164, 20).half_even
    assert 41 in counts("1.2", 164, 20).rounded
    assert 41 in counts("1.3", 164, 20).rounded


def test_known_cases_of_the_grim_test() -> None:
    """The example data of R's `scrutiny`: 8 of 12 means do not fit their sample size."""
    cases = (
        *(("7.22", 32), ("4.74", 25), ("5.23", 29), ("2.57", 24), ("6.77", 27), ("2.68", 28)),
        *(("7.01", 29), ("7.38", 26), ("3.14", 27), ("6.89", 31), ("5.00", 25), ("0.24", 28)),
    )
    found = [possible(mean + "%", 100 * size) for mean, size in cases]
    assert found[:4] == [True, False, False, False]
    assert found.count(False) == 8
    assert not possible("5.19%", 100 * 28)
    ratios = [1 - float(coverage(100 * size, 1, 2)) for _, size in cases]
    assert sum(ratios) / 12 == pytest.approx(0.724, abs=0.001)


def test_trailing_zeros_count() -> None:
    """28 and 28.0 are different statements: 28.2 prints as 28 but not as 28.0."""
    assert counts("28", 1000).rounded == tuple(range(275, 286))
    assert counts("28.0", 1000).rounded == (280,)


@pytest.mark.parametrize(
    ("problems", "samples", "share"),
    [(164, 1, 0.165), (164, 2, 0.329), (164, 6, 0.984), (164, 7, 1.0), (399, 1, 0.40), (378, 1, 0.38), (974, 1, 0.97)],
)
def test_coverage(problems: int, samples: int, share: float) -> None:
    """The share of one-decimal values that a denominator can print; from seven samples on 164, all of them."""
    assert float(coverage(problems, samples, 1)) == pytest.approx(share, abs=0.005)


def test_samples_can_be_excluded_but_never_told() -> None:
    """48.9 excludes one to three samples on 164 and none from seven on."""
    found = fitting_samples("48.9", 164)
    assert 1 not in found
    assert set(range(7, 21)) <= set(found)


@pytest.mark.parametrize("text", ["", "abc", "-3", "100.1", "1e9", "nan", "12 34"])
def test_what_is_no_score_is_refused(text: str) -> None:
    """Text that is no number from 0 to 100 raises, and says so."""
    with pytest.raises(ScoreTextError):
        counts(text, 164)


@given(totals, st.data(), st.integers(0, 4))
def test_printing_a_count_and_reading_it_back_includes_it(
    sizes: tuple[int, int], data: st.DataObject, decimals: int
) -> None:
    """Whatever count is printed, half up or half even, reading the text lists that count."""
    problems, samples = sizes
    total = problems * samples
    count = data.draw(st.integers(0, total))
    scaled = Fraction(100 * count * 10**decimals, total)
    even = round(scaled)
    text_even = f"{even // 10**decimals}.{even % 10**decimals:0{decimals}d}" if decimals else str(even)
    text_up = percent_text(count, total, decimals)
    assert count in counts(text_up + "%", problems, samples).half_up
    assert count in counts(text_even + "%", problems, samples).half_even
    floor, ceiling = scaled.__floor__(), scaled.__ceil__()
    for ticks, rule in ((floor, "truncate"), (ceiling, "ceiling")):
        text = f"{ticks // 10**decimals}.{ticks % 10**decimals:0{decimals}d}" if decimals else str(ticks)
        assert count in getattr(counts(text + "%", problems, samples), rule)


@given(st.integers(0, 3279), st.sampled_from([1, 100]))
def test_the_print_of_a_float_is_its_count(count: int, scale: int) -> None:
    """Full-precision output, as a fraction or in percent, is read as the one count that it is a float of."""
    text = repr(sum([scale * count / 3280 / 164] * 164))
    sign = "%" if scale == 100 else ""
    if "e" not in text:
        assert count in counts(text + sign, 164, 20).rounded


@given(totals, st.integers(0, 1000), st.lists(st.sampled_from(EVERY), unique=True), st.sampled_from(EVERY))
def test_widening_a_rounding_rule_never_removes_a_count(
    sizes: tuple[int, int], ticks: int, rules: list[str], more: str
) -> None:
    """Accepting one more rounding rule keeps every count that was accepted before."""
    found = counts(f"{ticks / 10:.1f}", *sizes)
    assert set(found.accepted(rules)) <= set(found.accepted([*rules, more]))


@given(totals, st.integers(0, 1000))
def test_counts_agree_with_exact_rationals(sizes: tuple[int, int], ticks: int) -> None:
    """The integer bounds list exactly the k with r - h <= 100 k / M < r + h."""
    problems, samples = sizes
    total = problems * samples
    low, high = Fraction(2 * ticks - 1, 20), Fraction(2 * ticks + 1, 20)
    centre = round(Fraction(ticks * total, 1000))
    near = range(max(0, centre - total // 500 - 3), min(total, centre + total // 500 + 3) + 1)
    assert counts(f"{ticks / 10:.1f}", *sizes).half_up == tuple(
        k for k in near if low <= Fraction(100 * k, total) < high
    )
