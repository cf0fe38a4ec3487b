"""What an honest rerun of one configuration would count: the same problems, new samples or other numerics.

Question-sampling intervals (Wilson, Clopper-Pearson) answer "other problems" and are 3 to 14 times too wide here.
Variance split into between and within problems: Miller 2024 (arXiv:2411.00640), section 2.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from literature.records import Measurement

MEASURED, ASSUMED = "MEASURED", "ASSUMED"
# Greedy decoding on other numerics, where no variant was measured: 60 % the same total, else a normal of 1.5 problems.
JITTER_SAME, JITTER_SPREAD, JITTER_REACH = 0.6, 1.5, 12
# Variance of a run's total over what independent problems give, equally likely beforehand; told from three runs on.
DISPERSIONS, FEWEST_RUNS = tuple(2.0**step for step in range(8)), 3
# E[p(1-p)] of Beta(0.5, 1), a T=0.8 run of a middling model; published T=0.2 pairs give .024 to .065.
WIDEST_WITHIN = 0.133
FEWEST_SAMPLES = 5
NO_MASS = 1e-14


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


@dataclass(frozen=True)
class Repeats:
    """What other runs of one configuration's settings tell of its rerun; `literature.siblings` collects it.

    `totals` counts the passes of each run, itself included, and `passes` those of each problem over all of them, with
    `samples` a problem in all: seeds of a sampled configuration, numerics-only variants of a greedy one. `within` is
    E[p(1-p)] of sibling settings, for a configuration with too few samples of its own.
    """

    passes: tuple[int, ...] = ()
    samples: int = 0
    totals: tuple[int, ...] = ()
    within: float | None = None

    @property
    def runs(self) -> int:
        """How many runs were pooled."""
        return len(self.totals)


NO_REPEATS = Repeats()


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
    if not spread:
        return float(-0.5 < offset <= 0.5)
    scale = spread * math.sqrt(2)
    return 0.5 * (math.erf((offset + 0.5) / scale) - math.erf((offset - 0.5) / scale))


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
def sampled_measured(passes: tuple[int, ...], samples: int, again: int, totals: tuple[int, ...] = ()) -> Rerun:
    """Count of a rerun with `again` samples, from `passes` of `samples` a problem: beta-binomial predictive.

    The fitted prior's mean is itself uncertain; to first order (Kass and Steffey 1989) that adds the variance
    N m^2 E[p(1-p)] (a+b) / (n (a+b+n)) to the count. `totals` are the runs that `passes` pools, for `shocks`.
    """
    import numpy as np
    from scipy.stats import betabinom

    total = len(passes) * again
    if sum(passes) in (0, len(passes) * samples):
        return _all_alike(passes, samples, again)
    a, b = fit_beta(passes, samples)
    length = 2 << total.bit_length()
    k = np.arange(again + 1)
    spectrum = np.ones(length // 2 + 1, dtype=complex)
    for c, problems in Counter(passes).items():
        spectrum *= np.fft.rfft(betabinom.pmf(k, again, a + c, b + samples - c), length) ** problems
    within = within_variance(passes, samples)
    spread = total * again * within * (a + b) / (samples * (a + b + samples))
    squares = (2 * np.pi * np.arange(length // 2 + 1) / length) ** 2
    for_shocks = [
        share * np.exp(-0.5 * (spread + variance) * squares)
        for share, variance in shocks(totals, len(passes), samples, again, within)
    ]
    mass = np.fft.irfft(spectrum * sum(for_shocks), length)[: total + 1]
    # The transform leaves rounding errors of about 1e-17 far out: they are no probability, and would fill the memory.
    inside = np.flatnonzero(mass > NO_MASS)
    first, last = int(inside[0]), int(inside[-1])
    note = f"{samples} samples per problem, beta prior ({a:.2g}, {b:.2g}) fitted to them"
    kept = np.clip(mass[first : last + 1], 0.0, None).tolist()
    return from_mass(kept, first, len(passes), again, MEASURED, note + _seed_note(totals))


def shocks(totals: Sequence[int], problems: int, samples: int, again: int, within: float) -> list[tuple[float, float]]:
    """(share, added variance of a rerun's count) of what moves all problems of a run together.

    `totals` counts the passes of runs of one recipe, `samples` a problem over all of them. Each ratio in DISPERSIONS of
    the variance between runs to the variance within them is weighted by the likelihood of the totals; below three runs
    nothing is added, because nothing can be told.
    """
    runs = len(totals)
    if runs < FEWEST_RUNS or within <= 0:
        return [(1.0, 0.0)]
    one = problems * (samples // runs) * within
    mean = sum(totals) / runs
    squares = sum((total - mean) ** 2 for total in totals)
    logs = [-(runs - 1) / 2 * math.log(ratio) - squares / (2 * ratio * one) for ratio in DISPERSIONS]
    weights = [math.exp(value - max(logs)) for value in logs]
    unit = problems * again * again * within * runs / samples * (1 + 1 / runs)
    return [
        (weight / math.fsum(weights), (ratio - 1) * unit) for ratio, weight in zip(DISPERSIONS, weights, strict=True)
    ]


def _all_alike(passes: Sequence[int], samples: int, again: int) -> Rerun:
    """Count of a rerun where no sample passed, or all did: one rate for all problems, under Jeffreys' prior.

    A prior fitted to such counts takes what has not been seen for impossible.
    """
    import numpy as np
    from scipy.stats import betabinom

    seen, total, passed = len(passes) * samples, len(passes) * again, sum(passes)
    mass = betabinom.pmf(np.arange(total + 1), total, 0.5 + passed, 0.5 + seen - passed)
    inside = np.flatnonzero(mass > NO_MASS)
    first, last = int(inside[0]), int(inside[-1])
    note = f"{samples} samples per problem, {'none passed' if not passed else 'all passed'}: one rate, Jeffreys' prior"
    return from_mass([float(value) for value in mass[first : last + 1]], first, len(passes), again, MEASURED, note)


def _seed_note(totals: Sequence[int]) -> str:
    return f", {len(totals)} runs" if len(totals) > 1 else ""


@lru_cache(maxsize=4096)
def sampled_borrowed(
    count: int,
    problems: int,
    samples: int,
    again: int,
    within: float,
    note: str,
    identified: bool,
    totals: tuple[int, ...] = (),
) -> Rerun:
    """Count of a rerun given E[p(1-p)] = `within`: a discretised normal; MEASURED where `totals` of runs show it."""
    mean = count * again / samples
    variance = again * again * problems * within * (1 / samples + 1 / again)
    added = shocks(totals, problems, samples, again, within)
    spreads = [(share, math.sqrt(variance + more)) for share, more in added]
    reach = 6 * max(spread for _, spread in spreads) + 1
    low, high = max(0, math.floor(mean - reach)), min(problems * again, math.ceil(mean + reach))
    mass = [
        math.fsum(share * _normal_bin(value - mean, spread) for share, spread in spreads)
        for value in range(low, high + 1)
    ]
    basis = MEASURED if totals else ASSUMED
    return from_mass(mass, low, problems, again, basis, note + _seed_note(totals), identified)


def widest(count: int, problems: int, samples: int, again: int) -> Rerun:
    """The widest reasonable rerun when no repeat was measured: E[p(1-p)] = .133, or p(1-p) where that is less."""
    share = (count + 0.5) / (problems * samples + 1)
    within = min(WIDEST_WITHIN, share * (1 - share))
    note = f"no repeats to estimate the rerun variance from; widest case E[p(1-p)] = {within:.3f}"
    return sampled_borrowed(count, problems, samples, again, within, note, False)


def rerun_of(measurement: Measurement, samples: int | None = None, repeats: Repeats = NO_REPEATS) -> Rerun:
    """The rerun distribution of a finished measurement, for a report with `samples` a problem (None: its own number).

    Numerics variants of a greedy run are treated as samples of it; seeds of a sampled run are pooled.
    """
    again, own = samples or measurement.samples, tuple(measurement.passes)
    if measurement.greedy:
        if repeats.runs > 1:
            found = sampled_measured(repeats.passes, repeats.samples, 1)
            return replace(found, note=f"{repeats.runs} numerics variants: {found.note}")
        return greedy_assumed(sum(own), measurement.problems)
    passes, pooled, totals = own, measurement.samples, repeats.totals if repeats.runs > 1 else ()
    if totals:
        passes, pooled = repeats.passes, repeats.samples
    if pooled >= FEWEST_SAMPLES:
        return sampled_measured(passes, pooled, again, totals)
    count, problems = sum(passes), measurement.problems
    if totals and (within := within_variance(passes, pooled)) > 0:
        note = f"E[p(1-p)] = {within:.3f} between its seeds"
        return sampled_borrowed(count, problems, pooled, again, within, note, True, totals)
    if repeats.within is not None:
        note = f"E[p(1-p)] = {repeats.within:.3f} borrowed from sibling settings"
        return sampled_borrowed(count, problems, pooled, again, repeats.within, note, True)
    return widest(count, problems, pooled, again)
