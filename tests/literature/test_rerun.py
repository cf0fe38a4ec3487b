"""What a rerun would print: against simulation and against closed forms."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from literature.classify import MATCHING, match
from literature.rerun import (
    ASSUMED,
    MEASURED,
    Repeats,
    dispersion,
    greedy_assumed,
    other_problems,
    rerun_of,
    sampled_measured,
    widest,
    within_variance,
)
from literature.siblings import siblings

if TYPE_CHECKING:
    from conftest import Build, FakeMeasurement


def moments(found: object) -> tuple[float, float]:
    """Mean and standard deviation of a rerun distribution, in counts."""
    first, mass = found.first, found.mass  # type: ignore[attr-defined]
    mean = math.fsum((first + i) * p for i, p in enumerate(mass))
    return mean, math.sqrt(math.fsum((first + i - mean) ** 2 * p for i, p in enumerate(mass)))


def test_assumed_jitter_is_labelled_and_narrow() -> None:
    """Unmeasured greedy jitter: 60 % and a little at the same total, two problems off is noise, four are not."""
    found = greedy_assumed(80, 164)
    assert found.basis == ASSUMED
    assert found.probability(80, 80) == pytest.approx(0.6 + 0.4 * 0.261, abs=0.01)
    assert found.p_value(82, 82) > 0.05 > found.p_value(83, 83) > 0.01 > found.p_value(84, 84)
    assert math.fsum(found.mass) == pytest.approx(1)


def test_numerics_variants_are_samples_of_a_greedy_run(build: Build) -> None:
    """Three float precisions that agree but for four problems: measured, narrow, and never without any spread."""
    ones = [
        build.greedy(80, id=precision, axes={"decoding": "greedy", "precision": precision})
        for precision in ("f32", "f16", "bf16", "q8_0")
    ]
    ones[1] = replace(ones[1], passes=[*[1] * 78, *[0] * 86])
    ones[2] = replace(ones[2], passes=[*[1] * 80, *[0] * 82, 1, 1])
    told = siblings(ones)
    assert set(told) == {"f32", "f16", "bf16"}, "quantised weights are another model"
    found = rerun_of(ones[0], 1, told["f32"])
    assert (found.basis, found.total) == (MEASURED, 164)
    assert "3 numerics variants" in found.note
    assert 0.5 < moments(found)[1] < 3
    same = rerun_of(
        ones[0], 1, siblings([ones[0], replace(ones[0], id="x", axes={**ones[0].axes, "precision": "f16"})])["x"]
    )
    assert same.interval() != (80, 80)


def test_spread_between_seeds_wins_over_the_binomial(build: Build) -> None:
    """Five seeds whose totals lie far apart widen the rerun; five that differ as samples do leave it as it was."""
    rng = np.random.default_rng(5)
    rates = rng.beta(0.5, 1, 164)

    def seeds(shock: float) -> list[FakeMeasurement]:
        odds = np.log(rates / (1 - rates))
        shocks = [shock * z for z in (-1.3, -0.6, 0.1, 0.7, 1.2)]
        return [
            build.sampled(
                [int(c) for c in rng.binomial(5, 1 / (1 + np.exp(-odds - z)))], 5, id=str(z), axes={"seed": str(z)}
            )
            for z in shocks
        ]

    def spread(ones: list[FakeMeasurement]) -> float:
        repeats = siblings(ones)
        assert repeats[ones[0].id].samples == 25
        return moments(rerun_of(ones[0], 5, repeats[ones[0].id]))[1]

    calm, wild = spread(seeds(1e-9)), spread(seeds(0.5))
    alone = moments(rerun_of(seeds(1e-9)[0], 5))[1]
    assert calm < 1.3 * alone
    assert wild > 2 * calm


def test_settings_nearby_lend_their_variance(build: Build) -> None:
    """One sample at T=0.8 borrows E[p(1-p)] from the same model's five-sample run at T=0.8, not from one at T=0.2."""
    hot, cold = {"decoding": "T=0.8", "length": "512"}, {"decoding": "T=0.2", "length": "512"}
    ones = [
        build.sampled([1] * 80 + [0] * 84, 1, id="one", axes={**hot, "length": "2048"}),
        build.sampled([0, 1, 3, 5] * 41, 5, id="hot", axes=hot),
        build.sampled([0, 5] * 82, 5, id="cold", axes=cold),
    ]
    assert siblings(ones)["one"].within == pytest.approx(within_variance(ones[1].passes, 5))
    assert "one" not in siblings([ones[0], ones[2]])
    sure = [ones[0], build.sampled([0, 5] * 82, 5, id="sure", axes=hot)]
    assert moments(rerun_of(ones[0], 1, siblings(sure)["one"]))[1] > 0, "a sibling without any spread lends some"
    assert rerun_of(ones[0], 1, siblings(ones)["one"]).identified


def test_the_predictive_agrees_with_the_variance_within_problems() -> None:
    """The rerun's spread is close to sqrt(2 s_w / (N n)), the standard error of a difference of two honest runs."""
    passes = ([0] * 8 + [1, 3, 9, 16, 19] + [20] * 7) * 8
    found = sampled_measured(tuple(passes), 20, 20)
    mean, spread = moments(found)
    assert mean / found.total == pytest.approx(sum(passes) / (20 * len(passes)), abs=0.005)
    within = within_variance(passes, 20)
    assert spread / found.total == pytest.approx(math.sqrt(2 * within / (20 * len(passes))), rel=0.15)
    assert found.basis == MEASURED


def test_two_honest_sampled_reruns_rarely_print_the_same() -> None:
    """With n=20 at low temperature the same decimal comes back in about one rerun of ten."""
    passes = tuple(([0] * 8 + [1, 3, 9, 16, 19] + [20] * 7) * 8)
    found = sampled_measured(passes, 20, 20)
    count = sum(passes)
    assert 0.03 < found.probability(count - 1, count + 1) < 0.15


def test_one_sample_tells_nothing_of_its_own_variance(build: Build) -> None:
    """n=1 at T>0 gives the widest case, not identified; a sibling's variance replaces it and is narrower."""
    single = build.sampled([1] * 80 + [0] * 84, 1)
    alone, borrowed = rerun_of(single), rerun_of(single, None, Repeats(within=0.03))
    assert not alone.identified
    assert borrowed.identified
    assert borrowed.basis == alone.basis == ASSUMED
    assert moments(borrowed)[1] < moments(alone)[1]


def test_other_problems_is_another_question(build: Build) -> None:
    """The Wilson interval of 78/164 is 40.1 to 55.2: several times wider than what a greedy rerun prints."""
    low, high = other_problems(build.greedy(78))
    assert (low, high) == (pytest.approx(40.1, abs=0.05), pytest.approx(55.2, abs=0.05))
    first, last = rerun_of(build.greedy(78)).interval()
    assert high - low > 3 * 100 * (last - first) / 164
    low, high = other_problems(build.sampled([0, 20] * 82, 20))
    assert high - low == pytest.approx(2 * 1.96 * 100 * 0.5 / math.sqrt(163), rel=0.01)


def test_common_shocks_show_in_the_dispersion() -> None:
    """Independent problems give about 1; problems that fall together give far more; constant ones nothing."""
    draw = random.Random(4)
    independent = [[int(draw.random() < 0.5) for _ in range(164)] for _ in range(40)]
    together = [[good] * 164 for good in (0, 1) * 20]
    assert dispersion(independent) == pytest.approx(1, abs=0.5)
    assert dispersion(together) > 100
    assert math.isnan(dispersion([[1, 0]] * 3))


def test_honest_reruns_are_rarely_ruled_out(build: Build) -> None:
    """Of 30 reruns with twenty samples of settings measured with twenty, one at most is ruled out."""
    rng = np.random.default_rng(7)
    kinds: Counter[str] = Counter()
    for _ in range(30):
        p = rng.beta(0.051, 0.057, 164)
        one = build.sampled([int(count) for count in rng.binomial(20, p)], 20)
        again = rng.binomial(20, p).sum() / 32.8
        kinds[match(one, build.score(f"{again:.1f}", decoding="sampled", samples="20")).kind] += 1
    assert kinds["ruled out"] <= 1
    assert sum(kinds[kind] for kind in MATCHING) >= 25


def test_intervals_hold_what_they_promise() -> None:
    """A central 95 % interval holds at least 95 % and each tail at most 2.5 %."""
    found = widest(80, 164, 1, 1)
    low, high = found.interval()
    assert found.probability(low, high) >= 0.95
    assert found.at_most(low - 1) <= 0.025
    assert 1 - found.at_most(high) <= 0.025 + 1e-12
