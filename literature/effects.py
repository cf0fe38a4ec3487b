"""Paired comparison of two results on the same problems: exact McNemar, mid-p, interval, resolution, equivalence.

Sources: Fagerland, Lydersen and Laake 2013 (BMC Med Res Methodol 13:91) for mid-p; Bonett and Price 2012 for the
interval; Connor 1987 and Miettinen 1968 for the detectable difference; Miller 2024 (arXiv:2411.00640) for paired
errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from literature.errors import PairingError

MOST_UNMATCHED = 0.02
Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Comparison:
    """Two 0/1 results on `n` shared problems: `b` passed only in the first, `c` only in the second.

    `delta` is second minus first, `standard_error`, `resolution` (1.96 standard errors; None where these are 0: without
    a discordant problem, or where every problem turned the same way) and `interval` (95 %, Bonett-Price) are in points;
    `p_exact` and `p_mid` are McNemar's, two-sided; `unmatched` holds the problem ids that only one side has a result
    for.
    """

    n: int
    b: int
    c: int
    delta: float
    p_exact: float
    p_mid: float
    standard_error: float
    resolution: float | None
    interval: tuple[float, float]
    unmatched: tuple[str, ...]

    @property
    def discordant(self) -> int:
        """b + c."""
        return self.b + self.c

    @property
    def sentence(self) -> str:
        """For people."""
        if not self.discordant:
            bound = 100 * discordance_bound(self.n)
            return f"no discordant problem among {self.n}; 95 % upper bound on the discordance rate {bound:.1f} %"
        seen = "unknown" if self.resolution is None else f"{self.resolution:.2f} points"
        return (
            f"lost {self.b}, gained {self.c} of {self.n}: {self.delta:+.2f} points (95 % {self.interval[0]:+.1f} to "
            f"{self.interval[1]:+.1f}), exact p = {self.p_exact:.3g}, mid-p {self.p_mid:.3g}, resolution {seen}"
        )


def compare(
    a: Mapping[str, bool | None], b: Mapping[str, bool | None], *, most_unmatched: float = MOST_UNMATCHED
) -> Comparison:
    """Compare two results {problem id: passed}; None is a missing result, never a failure.

    `PairingError` when no problem is shared, or more than `most_unmatched` of all ids are on one side only.
    """
    shared = [key for key in a if a[key] is not None and b.get(key) is not None]
    every = dict.fromkeys((*a, *b))
    inside = set(shared)
    unmatched = tuple(key for key in every if key not in inside)
    if not shared:
        raise PairingError("the two results share no problem: compare results of one benchmark, keyed alike")
    if len(unmatched) > most_unmatched * len(every):
        raise PairingError(
            f"{len(unmatched)} of {len(every)} problems lack a result on one side (at most {most_unmatched:.0%} may): "
            f"{', '.join(unmatched[:5])}{', ...' if len(unmatched) > 5 else ''}"
        )
    lost = sum(bool(a[key]) and not b[key] for key in shared)
    gained = sum(bool(b[key]) and not a[key] for key in shared)
    return compare_counts(len(shared), lost, gained, unmatched)


def compare_counts(n: int, b: int, c: int, unmatched: tuple[str, ...] = ()) -> Comparison:
    """The comparison of two results that differ in `b` problems lost and `c` gained out of `n`."""
    exact, mid = mcnemar(b, c)
    error = 100 * math.sqrt(max(0.0, b + c - (b - c) ** 2 / n)) / n
    resolution = Z * error if error else None
    return Comparison(n, b, c, 100 * (c - b) / n, exact, mid, error, resolution, bonett_price(n, b, c), unmatched)


def mcnemar(b: int, c: int) -> tuple[float, float]:
    """(exact, mid-p) two-sided p-values of McNemar's test on `b` and `c` discordant problems; (1, 1) without any."""
    if b + c == 0:
        return 1.0, 1.0
    from scipy.stats import binom, binomtest

    exact = float(binomtest(b, b + c).pvalue)
    if b == c:
        # The tail holds the centre twice: take half of the centre's mass off once.
        return exact, 1.0 - 0.5 * float(binom.pmf(b, b + c, 0.5))
    return exact, exact - float(binom.pmf(min(b, c), b + c, 0.5))


def bonett_price(n: int, b: int, c: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of the paired difference (second minus first) in points, one pseudo-problem on either side."""
    lost, gained, size = (b + 1) / (n + 2), (c + 1) / (n + 2), n + 2
    centre = gained - lost
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt((lost + gained - centre**2) / size)
    return 100 * max(-1.0, centre - half), 100 * min(1.0, centre + half)


def discordance_bound(n: int, level: float = 0.95) -> float:
    """Upper bound on the discordance rate when none of `n` problems was discordant."""
    return 1 - float((1 - level) ** (1 / n))


def minimal_detectable(n: int, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest paired difference, in points, that McNemar's test on `n` problems finds with `power`.

    `discordance` is the share of problems that differ either way. Connor 1987; NaN when no difference up to the whole
    discordance is found.
    """
    first, second = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)

    def missing(delta: float) -> float:
        return first * math.sqrt(discordance) + second * math.sqrt(discordance - delta**2) - delta * math.sqrt(n)

    most = min(discordance, math.sqrt(discordance))
    if missing(most) > 0:
        return math.nan
    from scipy.optimize import brentq

    return 100 * float(brentq(missing, 0.0, most))


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests at 5 %: `equivalent` when the 90 % interval lies inside plus or minus `margin` points.

    `detectable` is the difference that such a comparison finds with 80 % power, NaN when none.
    """

    margin: float
    interval: tuple[float, float]
    equivalent: bool
    smallest_margin: float
    detectable: float

    @property
    def sentence(self) -> str:
        """For people."""
        if self.equivalent:
            return f"equivalent within {self.margin:g} points"
        found = (
            "with so few problems that differ no difference would be detected"
            if math.isnan(self.detectable)
            else f"minimal detectable difference {self.detectable:.1f} points"
        )
        return (
            f"not shown to be equivalent within {self.margin:g} points (smallest claimable margin "
            f"{self.smallest_margin:.1f}); {found}"
        )


def equivalence(found: Comparison, margin: float = 2.0) -> Equivalence:
    """TOST on a paired comparison; `margin`, in points, is to be set before looking."""
    low, high = bonett_price(found.n, found.b, found.c, 0.90)
    # One pseudo-problem on either side, as in the interval: equal results still allow for some discordance.
    detectable = minimal_detectable(found.n, (found.discordant + 2) / (found.n + 2))
    return Equivalence(margin, (low, high), -margin < low and high < margin, max(-low, high), detectable)


@dataclass(frozen=True)
class SeedNoise:
    """Pairs of runs of one recipe against an effect: the 97.5 % point of |net| for a further pair, in problems."""

    pairs: tuple[tuple[int, int], ...]
    discordant: int
    bound: int
    net: int
    outside: bool
    sentence: str


def seed_noise(effect: Comparison, runs: Sequence[Mapping[str, bool | None]]) -> SeedNoise:
    """Whether an effect is outside what two runs of one recipe differ by; at least two runs on the same problems.

    Given D discordant problems between two such runs, net = 2 Bin(D, 1/2) - D. The verdict needs |net effect| above its
    97.5 % point and mid-p < .05. It replicates problems, not training runs: with few runs it stays a lead.
    """
    if len(runs) < 2:
        raise PairingError("seed noise needs two runs of one recipe or more")
    from scipy.stats import binom

    found = [compare(runs[i], runs[j]) for i in range(len(runs)) for j in range(i + 1, len(runs))]
    discordant = max(one.discordant for one in found)
    bound = int(2 * binom.ppf(0.975, discordant, 0.5) - discordant) if discordant else 0
    net = effect.c - effect.b
    outside = abs(net) > bound and effect.p_mid < 0.05
    pairs = tuple((one.discordant, one.c - one.b) for one in found)
    shown = ", ".join(f"{count} discordant, net {difference:+d}" for count, difference in pairs)
    side = "outside" if outside else "not outside"
    alike = "; these agree on every problem, which says nothing if they are one run" if not discordant else ""
    sentence = (
        f"net {net:+d} problems is {side} seed noise (up to {bound} expected; runs of one recipe: {shown}{alike})"
    )
    return SeedNoise(pairs, discordant, bound, net, outside, sentence)
