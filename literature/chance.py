"""How much a match is worth: the share of unrelated numbers that some measured configuration would have matched too.

Chance match = |union of the configurations' acceptance sets inside U| / |U|, for two universes U: all values 0..100,
and the values between the lowest and the highest measured score. Sideband shifts after Gross and Vitells 2010
(arXiv:1005.1891).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from literature.arithmetic import stated_samples
from literature.classify import CLOSE, EXACT, MATCHING, NOISE, ROUNDING
from literature.granularity import rounded_span
from literature.records import Measurement, ReportedScore, configurations_text
from literature.rerun import NO_REPEATS, Repeats, rerun_of
from literature.values import Printed, printed

Ticks = tuple[int, int]
PRINTED, CUT = "same printed value", "same printed value, rounded or cut off"
NEAR, WITHIN = "within one problem", "within rerun noise"
RULE_OF = {EXACT: PRINTED, ROUNDING: CUT, CLOSE: NEAR, NOISE: WITHIN}
LITTLE = 0.5


@dataclass(frozen=True)
class Chance:
    """Chance match of `settings` finished configurations under `rule`.

    `everywhere` over all values 0..100 of the claim's decimals, `in_span` over those between the lowest and highest
    measured score, `on_grid` over those of them that one sample per problem can print (None: not a one-sample claim).
    `spread` is False when all configurations have one score: then there is no span for a number to fall into by
    accident, and only `everywhere` says something.
    """

    rule: str
    settings: int
    everywhere: float
    in_span: float
    on_grid: float | None
    spread: bool = True

    @property
    def local(self) -> float | None:
        """The one to print beside a match: within the span, on the grid where the claim is one; None without a span."""
        if not self.spread:
            return None
        return self.in_span if self.on_grid is None else self.on_grid

    @property
    def little(self) -> bool:
        """True when a match carries little information."""
        return (self.everywhere if self.local is None else self.local) > LITTLE

    @property
    def brief(self) -> str:
        """The two chances in a few words."""
        here = "one score measured, no span" if self.local is None else f"{chance_text(self.local)} in the span"
        tail = ", little information" if self.little else ""
        return f"chance match {here}, {chance_text(self.everywhere)} in 0..100{tail}"

    @property
    def sentence(self) -> str:
        """For people."""
        tail = "; a match carries little information" if self.little else ""
        rule = f"({self.rule}, {configurations_text(self.settings)})"
        if self.local is None:
            return (
                "only one score is measured, so there is no span to compare with: an unrelated number in 0..100 "
                f"matches with chance {chance_text(self.everywhere)} {rule}{tail}"
            )
        return (
            f"an unrelated number in the measured span matches with chance {chance_text(self.local)}, one in 0..100 "
            f"with {chance_text(self.everywhere)} {rule}{tail}"
        )


def chance_text(chance: float) -> str:
    """Two decimals; `<.01` for what is small and not nothing."""
    return "<.01" if 0 < chance < 0.005 else f"{chance:.2f}"


def finished(measurement: Measurement) -> bool:
    """True when every sample of every problem is judged."""
    return sum(measurement.judged) >= measurement.problems * measurement.samples


def chance_match(
    reported: ReportedScore,
    measurements: Iterable[Measurement],
    kind: str,
    *,
    repeats: Mapping[str, Repeats] | None = None,
) -> Chance | None:
    """Chance that a number unrelated to these configurations would match one of them in class `kind` or better.

    `measurements` are those of one model on one benchmark; unfinished ones are left out; None when none is finished.
    `repeats` maps configuration ids to what their siblings tell, as for `matching.verdicts`.
    """
    done = [measurement for measurement in measurements if finished(measurement)]
    if not done or kind not in MATCHING:
        return None
    rule, number, claimed = RULE_OF[kind], printed(reported.value), stated_samples(reported)
    decimals, known = min(number.decimals, 4), repeats or {}
    spans = merge(
        span for one in done for span in acceptance(one, rule, decimals, claimed, known.get(one.id, NO_REPEATS))
    )
    scores = [Fraction(sum(one.passes), one.problems * one.samples) for one in done]
    least, most = min(scores), max(scores)
    low, high = (round(share * 100 * 10**decimals) for share in (least, most))
    problems = done[0].problems
    single = claimed == 1 or (claimed is None and _prints(number, problems))
    return Chance(
        rule,
        len(done),
        covered(spans, 0, 100 * 10**decimals) / (100 * 10**decimals + 1),
        covered(spans, low, high) / (high - low + 1),
        _grid_share(spans, low, high, problems, decimals) if single else None,
        least < most,
    )


def _prints(number: Printed, problems: int) -> bool:
    first, last = rounded_span(number, problems)
    return first <= last


def acceptance(
    measurement: Measurement, rule: str, decimals: int, claimed: int | None, repeats: Repeats = NO_REPEATS
) -> tuple[Ticks, ...]:
    """The printed values that a finished configuration accepts, as closed spans of 10**-`decimals` percent."""
    count, total = sum(measurement.passes), measurement.problems * measurement.samples
    if rule == PRINTED:
        # Exact is one count of the source's own N n.
        exact = _tick(count, total, decimals)
        return (exact,) if claimed in (None, measurement.samples) and _alone(exact, total, decimals) else ()
    near = rule != CUT and measurement.greedy and claimed in (None, 1)
    # The classes take a value that only cutting off prints for rounding-consistent.
    cut = count * 100 * 10**decimals // total
    spans = (*_by_count(count, total, int(near), decimals), (cut, cut))
    rerun = rerun_of(measurement, claimed or 1, repeats) if rule == WITHIN else None
    if rerun is None or not rerun.identified:
        return spans
    first, last = rerun.interval()
    return (*spans, (_tick(first, rerun.total, decimals)[0], _tick(last, rerun.total, decimals)[1]))


def _alone(span: Ticks, total: int, decimals: int) -> bool:
    low, high = rounded_span(Printed(span[1], decimals), total)
    return low == high


@lru_cache(maxsize=16384)
def _by_count(count: int, total: int, reach: int, decimals: int) -> tuple[Ticks, ...]:
    return tuple(_tick(k, total, decimals) for k in range(max(0, count - reach), min(total, count + reach) + 1))


def _tick(count: int, total: int, decimals: int) -> Ticks:
    """The tick as which `count` of `total` prints; at a tie whose even neighbour is the lower one, both."""
    up, rest = divmod(2 * count * 100 * 10**decimals + total, 2 * total)
    return (up - 1, up) if rest == 0 and up % 2 else (up, up)


def merge(spans: Iterable[Ticks]) -> list[Ticks]:
    """Closed integer spans, sorted and joined where they touch."""
    found: list[Ticks] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def covered(spans: Sequence[Ticks], low: int, high: int) -> int:
    """How many whole numbers of `low`..`high` lie in the merged `spans`."""
    return sum(max(0, min(last, high) - max(first, low) + 1) for first, last in spans)


def _grid_share(spans: Sequence[Ticks], low: int, high: int, problems: int, decimals: int) -> float:
    """Share of the values `low`..`high` that one sample per problem can print which lie in `spans`."""
    scale = 100 * 10**decimals
    counts = range(max(0, low * problems // scale - 1), min(problems, high * problems // scale + 2) + 1)
    # At a tie a count prints either way.
    ticks = {tick for count in counts for tick in _tick(count, problems, decimals) if low <= tick <= high}
    return sum(holds(spans, tick) for tick in ticks) / len(ticks) if ticks else 1.0


def holds(spans: Sequence[Ticks], tick: int) -> bool:
    """True when the merged, sorted `spans` hold `tick`."""
    index = bisect_right(spans, (tick, 1 << 62)) - 1
    return index >= 0 and spans[index][0] <= tick <= spans[index][1]


@dataclass(frozen=True)
class Placebo:
    """Matches of the reported values as they are, and after each shift; `p` is the share of shifts with as many."""

    matches: int
    claims: int
    shifts: tuple[Fraction, ...]
    shifted: tuple[int, ...]
    p: float

    @property
    def sentence(self) -> str:
        """For people."""
        usual = sorted(self.shifted)[len(self.shifted) // 2]
        return (
            f"{self.matches} of {self.claims} reported values print as the count of some configuration; shifted by "
            f"1 to 10 points, {usual} do in the middle case, and as many as {self.matches} in {self.p:.0%} of "
            f"{len(self.shifts)} shifts"
        )


def placebo(
    claims: Sequence[tuple[ReportedScore, Sequence[Measurement]]],
    kind: str = ROUNDING,
    shifts: Sequence[Fraction] = (),
    repeats: Mapping[str, Repeats] | None = None,
) -> Placebo:
    """Shift every reported value by 1 to 10 points either way and count matches again.

    `claims` pairs each score with the measurements of its model. `shifts` are percentage points; the default takes 82
    evenly spread ones. A shifted value outside 0..100 matches nothing.
    """
    deltas = tuple(shifts) or tuple(Fraction(sign * step, 40) for step in range(40, 401, 9) for sign in (1, -1))
    prepared = []
    for reported, measurements in claims:
        number = printed(reported.value)
        done = [one for one in measurements if finished(one)]
        rule, claimed, told = RULE_OF[kind], stated_samples(reported), repeats or {}
        spans = (acceptance(one, rule, number.decimals, claimed, told.get(one.id, NO_REPEATS)) for one in done)
        prepared.append((number, merge(span for found in spans for span in found)))
    real = sum(holds(spans, number.ticks) for number, spans in prepared)
    counts = tuple(
        sum(holds(spans, number.ticks + round(delta * 10**number.decimals)) for number, spans in prepared)
        for delta in deltas
    )
    return Placebo(real, len(prepared), deltas, counts, sum(count >= real for count in counts) / len(counts))


def best_rule(kinds: Iterable[str]) -> str:
    """The strictest class among `kinds` that is a match; "" when none is."""
    found: Mapping[str, int] = {kind: MATCHING.index(kind) for kind in kinds if kind in MATCHING}
    return min(found, key=lambda kind: found[kind]) if found else ""


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number, in the order given (Holm 1979, Scand. J. Statist. 6:65-70)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    found, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        found[index] = largest
    return found
