"""What an honest rerun of one configuration would count: the same problems, new samples or other numerics.

Question-sampling intervals (Wilson, Clopper-Pearson) answer "other problems" and are 3 to 14 times too wide here.
Variance split into between and within problems: Miller 2024 (arXiv:2411.00640), section 2.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from literature.records import Measurement

MEASURED, ASSUMED = "MEASURED", "ASSUMED"
# Greedy decoding on other numerics, where no variant was measured: 60 % the same total, else a normal of 1.5 problems.
JITTER_SAME, JITTER_SPREAD, JITTER_REACH = 0.6, 1.5, 12
# E[p(1-p)] of Beta(0.5, 1), a T=0.8 run of a middling model; published T=0.2 pairs give .024 to .065.
WIDEST_WITHIN = 0.133
FEWEST_SAMPLES = 5


@dataclass(frozen=True)
class Rerun:
    """Distribution of a rerun's count over `problems` x `samples`: `mass[i]` is the probability of `first` + i.

    `basis` is MEASURED or ASSUMED, `note` says of what; `identified` is False when one sample per problem tells nothing
    about the rerun variance and the widest case stands in.
    """

    problems: int
    samples: int
    first: int
    mass: tuple[float, ...]
    below: tuple[float, ...]
    basis: str
    note: str
    identified: bool = True

    @property
    def total(self) -> int:
        """N m, the rerun's denominator."""
        return self.problems * self.samples

    def at_most(self, count: int) -> float:
        """P(rerun counts `count` or fewer)."""
        index = count - self.first
        return 0.0 if index < 0 else self.below[min(index, len(self.below) - 1)]

    def p_value(self, low: int, high: int) -> float:
        """Two-sided probability of a rerun as far out as the counts `low`..`high` (low > high: a gap between two)."""
        return min(1.0, 2 * min(self.at_most(high), 1.0 - self.at_most(low - 1)))

    def probability(self, low: int, high: int) -> float:
        """P(rerun counts `low`..`high`), 0 when empty."""
        return max(0.0, self.at_most(high) - self.at_most(low - 1)) if low <= high else 0.0

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """The central prediction interval, as counts."""
        tail = (1 - level) / 2
        low = bisect_left(self.below, tail)
        high = bisect_left(self.below, 1 - tail)
        return self.first + low, self.first + min(high, len(self.below) - 1)


def from_mass(
    mass: Sequence[float], first: int, problems: int, samples: int, basis: str, note: str, identified: bool = True
) -> Rerun:
    """A distribution from non-negative weights, normalised."""
    total = math.fsum(mass)
    shares = tuple(value / total for value in mass)
    below = tuple(min(1.0, value) for value in accumulate(shares))
    return Rerun(problems, samples, first, shares, (*below[:-1], 1.0), basis, note, identified)


@lru_cache(maxsize=4096)
def greedy_assumed(count: int, problems: int) -> Rerun:
    """Jitter of a greedy total on other numerics, ASSUMED: 60 % none, 40 % a normal of 1.5 problems, cut to 0..N."""
    low, high = max(0, count - JITTER_REACH), min(problems, count + JITTER_REACH)
    mass = [(1 - JITTER_SAME) * _normal_bin(value - count, JITTER_SPREAD) for value in range(low, high + 1)]
    mass[count - low] += JITTER_SAME
    return from_mass(mass, low, problems, 1, ASSUMED, "jitter of greedy decoding on other numerics")


def _normal_bin(offset: float, spread: float) -> float:
    scale = spread * math.sqrt(2)
    return 0.5 * (math.erf((offset + 0.5) / scale) - math.erf((offset - 0.5) / scale))


def flip_rates(variants: Sequence[Sequence[int]]) -> list[float]:
    """Per problem, how often numerics-only variants (precision aside: batch, device) depart from their majority.

    `variants` holds one 0/1 vector a variant, at least two. Rates are drawn towards the mean rate by one
    pseudo-variant, so that a problem that never flipped in few variants is not taken to be immune.
    """
    if len(variants) < 2:
        raise ValueError("flip rates need two variants or more")
    flips = [min(sum(column), len(variants) - sum(column)) for column in zip(*variants, strict=True)]
    mean = sum(flips) / (len(flips) * len(variants))
    return [(flip + mean) / (len(variants) + 1) for flip in flips]


def greedy_measured(passed: Sequence[int], flips: Sequence[float]) -> Rerun:
    """Total of a greedy rerun when problem i flips with probability `flips[i]`: Poisson-binomial."""
    import numpy as np
    from scipy.stats import poisson_binom

    rates = [1 - flip if outcome else flip for outcome, flip in zip(passed, flips, strict=True)]
    mass = np.clip(poisson_binom.pmf(np.arange(len(rates) + 1), rates), 0.0, None)
    return from_mass(mass.tolist(), 0, len(passed), 1, MEASURED, "flips between numerics-only variants")


def within_variance(passes: Sequence[int], samples: int) -> float:
    """Unbiased estimate of E[p(1-p)], the variance of one sample within a problem; `samples` at least 2."""
    if samples < 2:
        raise ValueError("the variance within a problem needs two samples or more")
    return sum(c * (samples - c) for c in passes) / (len(passes) * samples * (samples - 1))


def dispersion(runs: Sequence[Sequence[int]]) -> float:
    """Variance of the totals of repeated single-sample runs over what independent problems would give.

    Well above 1 means shocks common to the problems (version, hardware, shared random numbers): then the spread of
    whole runs counts, not the binomial one. `runs` holds one 0/1 vector a run, three or more; NaN when nothing varies.
    """
    if len(runs) < 3:
        raise ValueError("dispersion needs three runs or more")
    totals = [sum(run) for run in runs]
    mean = sum(totals) / len(runs)
    spread = sum((total - mean) ** 2 for total in totals) / (len(runs) - 1)
    within = within_variance([sum(column) for column in zip(*runs, strict=True)], len(runs)) * len(runs[0])
    return spread / within if within else math.nan


def other_problems(measurement: Measurement, level: float = 0.95) -> tuple[float, float]:
    """Interval, in percent, for the score on *other problems* of the same kind; not what a rerun would print.

    Wilson for one sample per problem, else the standard error over problems (Miller 2024, section 2.1).
    """
    from scipy.stats import binomtest, norm

    size = measurement.problems
    if measurement.samples == 1:
        found = binomtest(sum(measurement.passes), size).proportion_ci(level, method="wilson")
        return 100 * float(found.low), 100 * float(found.high)
    rates = [passed / measurement.samples for passed in measurement.passes]
    mean = sum(rates) / size
    half = float(norm.ppf((1 + level) / 2)) * math.sqrt(sum((rate - mean) ** 2 for rate in rates) / (size - 1) / size)
    return 100 * max(0.0, mean - half), 100 * min(1.0, mean + half)


@lru_cache(maxsize=1024)
def fit_beta(passes: tuple[int, ...], samples: int) -> tuple[float, float]:
    """(a, b) of the Beta prior on pass probabilities that maximises the beta-binomial likelihood (empirical Bayes)."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import betaln, digamma

    tally = Counter(passes)
    c = np.array(list(tally), dtype=float)
    weight = np.array(list(tally.values()), dtype=float)

    def loss(logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, list[float]]:
        a, b = np.exp(logs)
        both = digamma(a + b) - digamma(a + b + samples)
        slope_a = (weight * (digamma(a + c) - digamma(a) + both)).sum()
        slope_b = (weight * (digamma(b + samples - c) - digamma(b) + both)).sum()
        value = (weight * (betaln(a + c, b + samples - c) - betaln(a, b))).sum()
        return -float(value), [-float(a * slope_a), -float(b * slope_b)]

    bounds = [(math.log(0.005), math.log(500))] * 2
    # TNC needs no linear algebra library: L-BFGS-B spends 30 ms in threads that wait for each other.
    found = minimize(loss, np.log([0.3, 0.3]), jac=True, method="TNC", bounds=bounds)
    a, b = np.exp(found.x)
    return float(a), float(b)


@lru_cache(maxsize=1024)
def sampled_measured(passes: tuple[int, ...], samples: int, again: int) -> Rerun:
    """Count of a rerun with `again` samples, from `passes` of `samples` a problem: beta-binomial predictive."""
    import numpy as np
    from scipy.stats import betabinom

    a, b = fit_beta(passes, samples)
    total = len(passes) * again
    length = 1 << total.bit_length()
    k = np.arange(again + 1)
    spectrum = np.ones(length // 2 + 1, dtype=complex)
    for c, problems in Counter(passes).items():
        spectrum *= np.fft.rfft(betabinom.pmf(k, again, a + c, b + samples - c), length) ** problems
    mass = np.clip(np.fft.irfft(spectrum, length)[: total + 1], 0.0, None)
    note = f"{samples} samples per problem, beta prior ({a:.2g}, {b:.2g}) fitted to them"
    return from_mass(mass.tolist(), 0, len(passes), again, MEASURED, note)


@lru_cache(maxsize=4096)
def sampled_borrowed(
    count: int, problems: int, samples: int, again: int, within: float, note: str, identified: bool
) -> Rerun:
    """Count of a rerun when E[p(1-p)] = `within` comes from elsewhere: a discretised normal, ASSUMED."""
    mean = count * again / samples
    spread = math.sqrt(again * again * problems * within * (1 / samples + 1 / again))
    reach = 6 * spread + 1
    low, high = max(0, math.floor(mean - reach)), min(problems * again, math.ceil(mean + reach))
    mass = [_normal_bin(value - mean, spread) for value in range(low, high + 1)]
    return from_mass(mass, low, problems, again, ASSUMED, note, identified)


def widest(count: int, problems: int, samples: int, again: int) -> Rerun:
    """The widest reasonable rerun when no repeat was measured: E[p(1-p)] = .133, or p(1-p) where that is less."""
    share = (count + 0.5) / (problems * samples + 1)
    within = min(WIDEST_WITHIN, share * (1 - share))
    note = f"no repeats to estimate the rerun variance from; widest case E[p(1-p)] = {within:.3f}"
    return sampled_borrowed(count, problems, samples, again, within, note, False)


def rerun_of(
    measurement: Measurement,
    samples: int | None = None,
    *,
    flips: Sequence[float] | None = None,
    within: float | None = None,
) -> Rerun:
    """The rerun distribution of a finished measurement, for a report with `samples` a problem (None: its own number).

    `flips` are measured flip rates of greedy decoding; `within` is E[p(1-p)] of sibling settings, used below 5 samples.
    """
    passes, again = tuple(measurement.passes), samples or measurement.samples
    count = sum(passes)
    if measurement.greedy:
        if flips is not None:
            return greedy_measured(passes, flips)
        return greedy_assumed(count, measurement.problems)
    if measurement.samples >= FEWEST_SAMPLES:
        return sampled_measured(passes, measurement.samples, again)
    if within is not None:
        note = f"E[p(1-p)] = {within:.3f} borrowed from sibling settings"
        return sampled_borrowed(count, measurement.problems, measurement.samples, again, within, note, True)
    return widest(count, measurement.problems, measurement.samples, again)
