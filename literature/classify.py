"""The relation of one configuration's score to one reported score: the setting-level match classes."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

from literature.arithmetic import misfit, stated_problems, stated_samples
from literature.granularity import Span, count_list, count_span, percent_text, rounded_span
from literature.records import Measurement, ReportedScore
from literature.rerun import ASSUMED, NO_REPEATS, Repeats, Rerun, greedy_assumed, rerun_of, sampled_borrowed
from literature.values import Printed, printed

ALPHA, ALPHA_OUT, NEAR = 0.05, 0.01, 1
EXACT, ROUNDING, CLOSE, NOISE = "exact", "rounding", "near", "within noise"
INCONCLUSIVE, OUT, IMPOSSIBLE, OPEN = "inconclusive", "ruled out", "impossible", "open"
KINDS = (EXACT, ROUNDING, CLOSE, NOISE, INCONCLUSIVE, OUT, IMPOSSIBLE, OPEN)
MATCHING = KINDS[:4]
GLYPHS, STAR = dict(zip(KINDS, "●◑○~±✗!?", strict=True)), "*"


# Greedy runs of which 10 % of the problems depend on numerics are the widest that bench/calibration.py tries.
UNDECIDED = 0.1
LEANING = (
    "; this rests on the ASSUMED jitter: if 10 % of the problems depended on numerics it would not be ruled out, which "
    "variants of it that finish can show"
)


def leans(problems_off: float, problems: int) -> bool:
    """True where a greedy score so many problems off would not be ruled out if UNDECIDED of them depended on numerics.

    Each such problem adds 1/4 to the variance of either run.
    """
    spread = math.sqrt(UNDECIDED * problems / 2)
    return math.erfc(max(0.0, abs(problems_off) - 0.5) / (spread * math.sqrt(2))) >= ALPHA_OUT


@dataclass(frozen=True)
class Match:
    """How one configuration's score stands to one reported score.

    `kind` is one of KINDS. `low`..`high` are the counts of `total` that the configuration can still end with (equal
    when finished). Differences are measured minus reported, in problems and in percentage points; while unfinished, of
    the nearest count still reachable. `p_rerun` is the two-sided probability that a rerun lies as far out, `p_same`
    that it prints the same; `interval` the central 95 % prediction interval in percent; None where nothing is said.
    `basis` says whether the rerun variance is MEASURED or ASSUMED. `beside` is the claim's arithmetic misfit as stated.
    `leaning` is True where "ruled out" rests on the assumed jitter: more of it, as `leans` has it, would not rule out.
    """

    kind: str
    sentence: str
    measurement: str
    reported: str
    low: int
    high: int
    total: int
    difference_problems: float
    difference_points: float
    p_rerun: float | None = None
    p_same: float | None = None
    interval: tuple[float, float] | None = None
    basis: str = ""
    beside: str = ""
    leaning: bool = False

    @property
    def glyph(self) -> str:
        """One character for the match matrix, and `*` behind it where the class is `assumed`."""
        return GLYPHS[self.kind] + (STAR if self.assumed else "")

    @property
    def assumed(self) -> bool:
        """True where the class rests on the ASSUMED jitter: ruled out, but not by more of it, or within its noise."""
        return self.leaning or (self.kind == NOISE and self.basis == ASSUMED)

    @property
    def matches(self) -> bool:
        """True for exact, rounding, near and within noise."""
        return self.kind in MATCHING

    @property
    def impossible(self) -> bool:
        """True when the claim as stated cannot be, whatever the run says."""
        return bool(self.beside)


@dataclass(frozen=True)
class _Side:
    """One comparison in whole numbers: the printed value against counts of the measurement's own total."""

    value: Printed
    text: str
    problems: int
    samples: int
    claimed: int | None
    claimed_problems: int | None = None

    @property
    def other_size(self) -> str:
        """The source's number of problems where it states another than was measured; else empty."""
        if self.claimed_problems in (None, self.problems):
            return ""
        return f"the source states N={self.claimed_problems}, this is N={self.problems}"

    @property
    def total(self) -> int:
        return self.problems * self.samples

    @property
    def span(self) -> Span:
        return rounded_span(self.value, self.total)

    def bounds(self, total: int) -> Span:
        """The counts of `total` within half a last place of the value; first above last when none is."""
        half, scale = 2 * self.value.ticks, 200 * 10**self.value.decimals
        return -(-(half - 1) * total // scale), (half + 1) * total // scale

    def problems_off(self, count: int) -> float:
        """Distance of `count` from the counts that print the value, in problems."""
        low, high = self.span
        if low <= high:
            return (count - high if count > high else min(0, count - low)) / self.samples
        return float(count / self.samples - self.value.percent * self.problems / 100)

    def points_off(self, count: int) -> float:
        """Measured minus reported, in percentage points."""
        return 100 * count / self.total - float(self.value.percent)


def _side(measurement: Measurement, reported: ReportedScore) -> _Side:
    return _Side(
        printed(reported.value), reported.value, measurement.problems, measurement.samples,
        stated_samples(reported), stated_problems(reported),
    )  # fmt: skip


def match(measurement: Measurement, reported: ReportedScore, repeats: Repeats = NO_REPEATS) -> Match:
    """Classify one configuration, finished or not, against one reported score; the first class that applies.

    `repeats` is what its siblings tell of the rerun (`siblings.siblings`). An unfinished configuration is "open", or
    "ruled out" by the exact bound as soon as no count it can still reach would be more than ruled out.
    """
    side = _side(measurement, reported)
    passed = sum(measurement.passes)
    left = side.total - sum(measurement.judged)
    beside = misfit(reported, measurement.problems)
    if left > 0:
        return _running(measurement, reported, side, passed, passed + left, beside)
    return _finished(measurement, reported, side, passed, beside, repeats)


def _running(measurement: Measurement, reported: ReportedScore, side: _Side, low: int, high: int, beside: str) -> Match:
    first, last = side.bounds(side.total)
    if high < first:
        end = high
    elif low > last:
        end = low
    else:
        end = min(max(low, first), high)
    judged = sum(1 for count in measurement.judged if count)
    span = f"{low}..{high} of {side.total} ({percent_text(low, side.total, 1)}..{percent_text(high, side.total, 1)})"
    reachable = low <= last and first <= high
    p = None if reachable else _largest(side, measurement.greedy, end)
    may_match = _open(side, measurement.greedy)
    if high < may_match[0] or low > may_match[1]:
        kind = OUT
        leaning = measurement.greedy and leans(side.problems_off(end), side.problems)
        sentence = (
            f"exact bound after {judged} of {side.problems} problems: ends within {span}, at least "
            f"{abs(side.points_off(end)):.1f} points from {side.text}; ruled out for this revision and harness"
            f"{LEANING if leaning else ''}"
        )
    else:
        kind, leaning = OPEN, False
        how = "can still print" if reachable else "is still within rerun noise of"
        sentence = f"{judged} of {side.problems} problems judged; ends within {span}, which {how} {side.text}"
    return Match(
        kind, sentence, measurement.id, reported.id, low, high, side.total,
        side.problems_off(end), side.points_off(end), p, basis=ASSUMED if kind == OUT else "", beside=beside,
        leaning=leaning,
    )  # fmt: skip


def open_counts(measurement: Measurement, reported: ReportedScore) -> Span:
    """First and last final count with which a measurement can match a report, whichever samples make the count.

    The variance within problems is the largest that a count can have, and counts that print the value only when cut off
    are inside. What siblings tell of the rerun is left aside.
    """
    return _open(_side(measurement, reported), measurement.greedy)


@lru_cache(maxsize=4096)
def _open(side: _Side, greedy: bool) -> Span:
    (first, last), (cut_first, cut_last) = side.bounds(side.total), count_span(side.value, side.total, "truncate")

    def beyond(count: int) -> bool:
        # p falls with the distance, on either side.
        return not first <= count <= last and _largest(side, greedy, count) < ALPHA_OUT

    start, end = min(max(first, 0), side.total), min(max(last, 0), side.total)
    low = bisect_left(range(start), True, key=lambda count: not beyond(count))
    high = end + bisect_left(range(end + 1, side.total + 1), True, key=beyond)
    return (min(low, cut_first), max(high, cut_last)) if cut_first <= cut_last else (low, high)


@lru_cache(maxsize=16384)
def _largest(side: _Side, greedy: bool, count: int) -> float:
    """p of a final count when its problems are as undecided as they can be: E[p(1-p)] is at most that of their mean."""
    if greedy:
        rerun = greedy_assumed(count, side.problems)
        return rerun.p_value(*side.bounds(rerun.total))
    share = (count + 0.5) / (side.total + 1)
    again = side.claimed or 1
    rerun = sampled_borrowed(
        count, side.problems, side.samples, again, share * (1 - share), "largest", identified=False
    )
    return rerun.p_value(*side.bounds(rerun.total))


def _finished(
    measurement: Measurement,
    reported: ReportedScore,
    side: _Side,
    count: int,
    beside: str,
    repeats: Repeats,
) -> Match:
    rerun = rerun_of(measurement, side.claimed or 1, repeats)
    low, high = rerun.interval()
    interval = (100 * low / rerun.total, 100 * high / rerun.total)
    p = rerun.p_value(*side.bounds(rerun.total))
    # Where the source's samples are not stated, "again" is this configuration's own number.
    own = rerun if side.claimed else rerun_of(measurement, measurement.samples, repeats)
    same = own.probability(*rounded_span(side.value, own.total))
    kind, sentence = _by_count(measurement, side, count, same) or _by_noise(
        side, count, rerun, p, interval, measurement.greedy
    )
    jitter = measurement.greedy and rerun.basis == ASSUMED
    leaning = kind == OUT and jitter and leans(side.problems_off(count), side.problems)
    return Match(
        kind, sentence + (LEANING if leaning else ""), measurement.id, reported.id, count, count, side.total,
        side.problems_off(count), side.points_off(count), p, same, interval, rerun.basis, beside, leaning,
    )  # fmt: skip


def _by_count(measurement: Measurement, side: _Side, count: int, same: float) -> tuple[str, str] | None:
    """The classes that need no probability: exact, rounding-consistent, near."""
    low, high = side.span
    shown = f"{count}/{side.total}"
    if low <= count <= high:
        if side.other_size:
            return ROUNDING, f"{shown} prints as {side.text}; {side.other_size}"
        if low == high and side.claimed in (None, side.samples):
            often = "" if measurement.greedy else f"; an honest rerun prints it again {same:.0%} of the time"
            unstated = "" if side.claimed else "; the source does not state its samples"
            return EXACT, (
                f"{shown} prints as {side.text} and no other count of {side.total} does; whether the same problems "
                f"passed there is unknown{often}{unstated}"
            )
        if side.claimed not in (None, side.samples):
            return (
                ROUNDING,
                f"{shown} prints as {side.text}; the source states n={side.claimed}, this is n={side.samples}",
            )
        return ROUNDING, f"{shown} prints as {side.text}, as {count_list(range(low, high + 1))} of {side.total} do"
    cut_low, cut_high = count_span(side.value, side.total, "truncate")
    if cut_low <= count <= cut_high:
        return ROUNDING, f"{shown} prints as {side.text} only if the source cut off instead of rounding"
    deterministic = measurement.greedy and side.claimed in (None, 1) and not side.other_size
    if deterministic and low <= high and low - NEAR <= count <= high + NEAR:
        off = side.problems_off(count)
        return CLOSE, (
            f"{shown} is {off:+.0f} problem from {count_list(range(low, high + 1))}/{side.total} that prints as "
            f"{side.text}; both sides deterministic in theory"
        )
    return None


def _by_noise(
    side: _Side, count: int, rerun: Rerun, p: float, interval: tuple[float, float], greedy: bool
) -> tuple[str, str]:
    """The classes that rest on the rerun distribution."""
    off = f"{side.points_off(count):+.1f} points ({side.problems_off(count):+.1f} problems)"
    chance = f"p = {p:.2g}" if p >= 1e-4 else "p < .0001"
    widest_case = "" if side.claimed or greedy else ", the source's samples taken as 1"
    widest_case += f"; {side.other_size}" if side.other_size else ""
    within = (
        f"95 % of reruns print {interval[0]:.1f}..{interval[1]:.1f}; {chance}; {rerun.basis} {rerun.note}{widest_case}"
    )
    if p < ALPHA_OUT:
        return OUT, f"{off}: ruled out for this revision and harness; {within}"
    if not rerun.identified:
        return INCONCLUSIVE, f"{off}: inconclusive, run n=5 samples per problem or more; {within}"
    if p < ALPHA:
        return INCONCLUSIVE, f"{off}: inconclusive, run more samples or seeds; {within}"
    return NOISE, f"{off}: within resampling noise; {within}"


def distance_key(found: Match) -> tuple[int, float]:
    """Sort key: the best class first, then the smallest distance in points."""
    return KINDS.index(found.kind), math.fabs(found.difference_points)
