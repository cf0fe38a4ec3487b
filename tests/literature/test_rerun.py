"""What a rerun would print: against simulation and against closed forms."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from literature.classify import MATCHING, match
from literature.rerun import (
    ASSUMED,
    MEASURED,
    dispersion,
    flip_rates,
    greedy_assumed,
    greedy_measured,
    other_problems,
    rerun_of,
    sampled_measured,
    widest,
    within_variance,
)

if TYPE_CHECKING:
    from conftest import Build


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


def test_measured_flips_follow_the_poisson_binomial() -> None:
    """Mean and variance of the total are those of independent flips around the measured vector."""
    passed = [1] * 30 + [0] * 70
    flips = [0.1] * 20 + [0.02] * 80
    found = greedy_measured(passed, flips)
    assert found.basis == MEASURED
    mean, spread = moments(found)
    expected = sum((1 - f) if y else f for y, f in zip(passed, flips, strict=True))
    assert mean == pytest.approx(expected)
    assert spread == pytest.approx(math.sqrt(sum(f * (1 - f) for f in flips)))


def test_a_problem_that_never_flipped_is_not_immune() -> None:
    """Flip rates are drawn towards the mean rate, more the fewer variants there are."""
    rates = flip_rates([[1, 0, 1], [1, 1, 1], [1, 0, 1]])
    assert 0 < rates[0] < rates[1] < 1


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
    alone, borrowed = rerun_of(single), rerun_of(single, within=0.03)
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
