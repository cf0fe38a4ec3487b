"""Paired comparisons: published cases, and laws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature.effects import (
    compare,
    compare_counts,
    discordance_bound,
    equivalence,
    mcnemar,
    minimal_detectable,
    seed_noise,
)
from literature.errors import PairingError
from literature.setting_effects import setting_effects, spreads

if TYPE_CHECKING:
    from conftest import Build


def results(n: int, failed: set[int]) -> dict[str, bool | None]:
    """Results of n problems in which these failed."""
    return {f"HumanEval/{index}": index not in failed for index in range(n)}


def test_contamination_post() -> None:
    """Lost 8, gained 1 of 164: p = 20/512 exactly, mid-p .0215, 3.53 points of resolution, -4.27 points."""
    found = compare(results(164, {100}), results(164, set(range(8))))
    assert (found.n, found.b, found.c) == (164, 8, 1)
    assert found.p_exact == pytest.approx(0.0390625, abs=1e-12)
    assert found.p_mid == pytest.approx(0.0215, abs=5e-5)
    assert found.resolution == pytest.approx(3.53, abs=0.005)
    assert found.delta == pytest.approx(-4.27, abs=0.005)
    assert found.standard_error == pytest.approx(1.80, abs=0.005)
    assert found.interval == (pytest.approx(-8.1, abs=0.05), pytest.approx(-0.35, abs=0.05))


@pytest.mark.parametrize(
    ("n", "b", "c", "p", "error", "resolution"),
    [(164, 4, 3, 1.0, 1.61, 3.16), (257, 24, 13, 0.099, 2.35, 4.61), (257, 23, 13, 0.132, 2.32, 4.55)],
)
def test_seed_pairs_of_the_same_post(n: int, b: int, c: int, p: float, error: float, resolution: float) -> None:
    """The post's other pairs, recomputed."""
    found = compare_counts(n, b, c)
    assert found.p_exact == pytest.approx(p, abs=0.001)
    assert found.standard_error == pytest.approx(error, abs=0.01)
    assert found.resolution == pytest.approx(resolution, abs=0.01)


def test_five_against_one_is_no_difference() -> None:
    """A verdict on 5 flips against 1 rests on p = .219."""
    assert mcnemar(5, 1)[0] == pytest.approx(0.219, abs=0.0005)


def test_no_discordant_problem() -> None:
    """Equal results have p = 1 and no resolution; what can be said is a bound on the discordance rate."""
    found = compare(results(164, {1}), results(164, {1}))
    assert (found.p_exact, found.p_mid, found.resolution) == (1.0, 1.0, None)
    assert discordance_bound(164) == pytest.approx(0.018, abs=0.0005)
    assert "1.8 %" in found.sentence


def test_missing_results_are_not_failures() -> None:
    """A None and an absent problem are listed as unmatched; too many are refused, by name."""
    left, right = results(164, set()), results(164, set())
    right["HumanEval/3"] = None
    del right["HumanEval/5"]
    found = compare(left, right)
    assert (found.n, found.b, found.unmatched) == (162, 0, ("HumanEval/3", "HumanEval/5"))
    with pytest.raises(PairingError, match="HumanEval/100"):
        compare(left, results(100, set()))
    with pytest.raises(PairingError, match="no problem"):
        compare({"a": True}, {"b": True})


@given(st.integers(0, 60), st.integers(0, 60))
def test_mid_p_never_exceeds_the_exact_p(b: int, c: int) -> None:
    """Both are probabilities, mid-p is the smaller, and swapping the sides changes neither."""
    exact, mid = mcnemar(b, c)
    assert 0 < mid <= exact <= 1
    assert mcnemar(c, b) == pytest.approx((exact, mid))


@pytest.mark.parametrize(
    ("n", "discordance", "points"),
    [(164, 0.05, 4.9), (164, 0.1, 6.9), (164, 0.2, 9.7), (378, 0.1, 4.5), (500, 0.1, 4.0)],
)
def test_minimal_detectable_difference(n: int, discordance: float, points: float) -> None:
    """Connor's formula at 80 % power."""
    assert minimal_detectable(n, discordance) == pytest.approx(points, abs=0.06)


def test_too_few_problems_detect_nothing() -> None:
    """Where even a one-sided discordance is not found, there is no detectable difference."""
    assert math.isnan(minimal_detectable(20, 0.05))


def test_equality_is_rarely_claimable() -> None:
    """Two discordant problems of 164 are equivalent within 2 points, sixteen are not."""
    assert equivalence(compare_counts(164, 1, 1), 2.0).equivalent
    wide = equivalence(compare_counts(164, 8, 8), 2.0)
    assert not wide.equivalent
    assert wide.smallest_margin == pytest.approx(4.2, abs=0.05)
    assert "minimal detectable difference" in wide.sentence


def test_a_comparison_that_could_detect_nothing_says_so() -> None:
    """Two flips of 64 problems: neither equal within 2 points, nor a difference that could have been seen."""
    found = equivalence(compare_counts(64, 2, 0), 2.0)
    assert not found.equivalent
    assert "no difference would be detected" in found.sentence and "nan" not in found.sentence


def test_seed_noise_is_the_measure_of_an_effect() -> None:
    """Against runs of one recipe that flip 7 problems, net -7 is outside; against runs that flip 36, it is not."""
    effect = compare_counts(164, 8, 1)
    calm = [results(164, {1, 2, 3}), results(164, {11, 12, 13, 14})]
    wild = [results(164, set(range(18))), results(164, set(range(40, 58)))]
    assert seed_noise(effect, calm).outside
    assert not seed_noise(effect, wild).outside
    with pytest.raises(PairingError):
        seed_noise(effect, calm[:1])


def test_setting_effects_pair_what_differs_in_one_axis(build: Build) -> None:
    """Length 512 loses 20 of 80 passes in each of two precisions: -12.2 points, -25 %, from two pairs."""
    ones = [
        build.greedy(
            count, id=f"{length}{precision}", axes={"decoding": "greedy", "length": length, "precision": precision}
        )
        for length, count in (("2048", 80), ("512", 60))
        for precision in ("bf16", "f16")
    ]
    found = {(one.axis, one.level): one for one in setting_effects(ones, {"length": "2048", "precision": "bf16"})}
    short = found["length", "512"]
    assert (short.pairs, short.models) == (2, ("m",))
    assert short.points == pytest.approx(-2000 / 164)
    assert short.relative == pytest.approx(-25)
    assert short.clear
    assert short.interval[0] < short.points < short.interval[1]
    assert not found["precision", "f16"].clear
    (single,) = setting_effects(ones, {"length": "2048", "precision": "bf16"}, around_baseline_only=True)[:1]
    assert single.comparison is not None
    assert (single.comparison.b, single.comparison.c) == (20, 0)


def test_decoding_effects_ignore_what_greedy_has_not(build: Build) -> None:
    """Greedy with one sample is paired with T=0.2 at twenty: samples and seed come with decoding."""
    greedy = build.greedy(80, axes={"decoding": "greedy", "samples": "1", "seed": "0"})
    warm = build.sampled([20] * 70 + [0] * 94, 20, axes={"decoding": "T=0.2", "samples": "20", "seed": "1"})
    (found,) = setting_effects([greedy, warm], {"decoding": "greedy"})
    assert found.points == pytest.approx(-1000 / 164)
    assert found.comparison is None


def test_spread_over_precisions_per_decoding(build: Build) -> None:
    """80, 82 and 84 of 164 under greedy: 1.22 points, 2.4 % of the score; one precision alone has no spread."""
    ones = [
        build.greedy(count, id=precision, axes={"decoding": "greedy", "precision": precision})
        for precision, count in (("f32", 80), ("f16", 82), ("q4_k_m", 84))
    ]
    ones.append(build.sampled([1] * 50 + [0] * 114, 1, axes={"decoding": "T=0.2", "precision": "f32"}))
    (found,) = spreads(ones)
    assert (found.level, found.groups, found.levels) == ("greedy", 1, 3)
    assert found.points == pytest.approx(200 / 164)
    assert found.relative == pytest.approx(100 * 2 / 82)
    assert "greedy: 1.22 points (2.4 % of the score) between 3 levels of precision" in found.sentence


def test_all_problems_turned_leaves_the_resolution_unknown() -> None:
    """Where every problem is lost the standard error is 0, which is no resolution of 0 points."""
    found = compare_counts(164, 164, 0)
    assert (found.standard_error, found.resolution) == (0, None)
    assert found.sentence.startswith("lost 164") and "resolution unknown" in found.sentence


def test_runs_without_a_difference_say_little_of_seed_noise() -> None:
    """Two results that agree everywhere may be one run: the sentence says so."""
    alike = results(164, set(range(40)))
    assert "which says nothing if they are one run" in seed_noise(compare_counts(164, 8, 1), [alike, alike]).sentence
    other = results(164, {*range(39), 100})
    assert "one run" not in seed_noise(compare_counts(164, 8, 1), [alike, other]).sentence.rpartition("recipe:")[2]
