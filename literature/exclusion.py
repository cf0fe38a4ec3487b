"""Stopping a configuration early: exact bounds without any loss, and a sequential rule for many samples at a small one.

After k problems with s passes the final count lies in s..s+remaining, in any order. Problems in the order of a
predicted direction make these bounds bite: passes first when the score is expected above the target, failures first
when below. After j of n samples of every problem the final count is also estimated, with a known spread, by whoever
runs the samples (`Projection`); the sequential rule stops when no accepted count lies inside. How often it loses a
match is measured by `bench/calibration.py`. A stopped configuration has an interval, never a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from literature.classify import OUT, match
from literature.granularity import Span, percent_text, rounded_span
from literature.records import Measurement, ReportedScore
from literature.values import printed

EXACT_BOUND, SEQUENTIAL = "exact bound", "sequential"
FEWEST_LOOKED_AT = 2
STATED_ERROR = 0.01
"""At most this share of true matches may be lost by the sequential rule; measured far below it."""
Projection: TypeAlias = Callable[[Sequence[int], Sequence[int], int], Span]
"""From passes and judged samples a problem, and the samples planned: first and last final count to be expected."""


@dataclass(frozen=True)
class Stop:
    """Why an unfinished configuration may stop: under `rule`, its count of `total` ends within `low`..`high`.

    The exact bound holds for certain; the sequential rule's interval is the projection, cut to what can still be
    reached.
    """

    rule: str
    low: int
    high: int
    total: int

    @property
    def sentence(self) -> str:
        """For people; an interval, never a score."""
        span = f"{percent_text(self.low, self.total, 1)}..{percent_text(self.high, self.total, 1)} %"
        sure = "loses no match" if self.rule == EXACT_BOUND else f"loses at most {STATED_ERROR:.0%} of true matches"
        return f"may stop ({self.rule}, {sure}): ends within {self.low}..{self.high} of {self.total}, {span}; no score"


def stopping(
    measurement: Measurement,
    reported: Sequence[ReportedScore],
    project: Projection | None = None,
    *,
    allowance: int = 1,
) -> Stop | None:
    """Whether an unfinished configuration may stop, because none of `reported` can be reached any more; else None.

    Without `project` only the exact bound stops it. The sequential rule looks at configurations with two samples or
    more of every problem; it accepts counts that print a value, and `allowance` problems on either side.
    """
    passed, total = sum(measurement.passes), measurement.problems * measurement.samples
    left = total - sum(measurement.judged)
    if left <= 0 or not reported:
        return None
    if settled(measurement, reported):
        return Stop(EXACT_BOUND, passed, passed + left, total)
    if project is None or min(measurement.judged) < FEWEST_LOOKED_AT:
        return None
    low, high = project(measurement.passes, measurement.judged, measurement.samples)
    low, high = max(low, passed), min(high, passed + left)
    accepted = targets(reported, measurement.problems, measurement.samples, allowance)
    return None if any(a <= high and low <= b for a, b in accepted) else Stop(SEQUENTIAL, low, high, total)


def targets(reported: Iterable[ReportedScore], problems: int, samples: int, allowance: int = 0) -> list[Span]:
    """Counts of N n that print as each reported value, widened by `allowance` problems on either side."""
    total, found = problems * samples, []
    for score in reported:
        number = printed(score.value)
        low, high = rounded_span(number, total)
        if low > high:
            # No count prints so: the two counts around the value stand for it.
            high, low = low, high
        found.append((max(0, low - allowance * samples), min(total, high + allowance * samples)))
    return found


def reachable(passed: int, judged: int, total: int, accepted: Iterable[Span]) -> bool:
    """True while the final count can still fall into one of the `accepted` spans; exact in any order of problems."""
    last = passed + total - judged
    return any(low <= last and passed <= high for low, high in accepted)


def settled(measurement: Measurement, reported: Iterable[ReportedScore]) -> bool:
    """True when an unfinished configuration is ruled out for all of `reported` (one or more) and may stop.

    It then has an interval, not a score. Uses the classes of `match`: what is ruled out now is ruled out at the end.
    """
    kinds = [match(measurement, score).kind for score in reported]
    return bool(kinds) and all(kind == OUT for kind in kinds)


def problem_order(pass_rates: Sequence[float], predicted: float, target: float) -> list[int]:
    """Problem indices in the order that decides soonest whether a configuration can reach `target`.

    `pass_rates` are estimated per problem from finished configurations; `predicted` and `target` are scores on one
    scale. Predicted above the target: likely passes first, so that they pile up beyond it; below: likely failures
    first.
    """
    sign = -1.0 if predicted > target else 1.0
    return sorted(range(len(pass_rates)), key=lambda index: (sign * pass_rates[index], index))


def estimated_pass_rates(finished: Sequence[Measurement]) -> list[float]:
    """Per problem, the share of passes over finished configurations, one pseudo-pass and one pseudo-failure added."""
    if not finished:
        return []
    passes = [sum(column) for column in zip(*(one.passes for one in finished), strict=True)]
    judged = [sum(column) for column in zip(*(one.judged for one in finished), strict=True)]
    return [(passed + 1) / (done + 2) for passed, done in zip(passes, judged, strict=True)]


def predicted_score(configuration: Measurement, finished: Sequence[Measurement]) -> float | None:
    """Score (0..1) expected of a configuration from finished ones of its model, weighted by 4 per shared axis level."""
    weighted = [
        (4.0 ** sum(configuration.axes.get(axis) == level for axis, level in one.axes.items()), one)
        for one in finished
        if one.model == configuration.model and one.benchmark == configuration.benchmark
    ]
    if not weighted:
        return None
    # Dividing by the largest weight keeps the sums small.
    most = max(weight for weight, _ in weighted)
    total = sum(weight / most for weight, _ in weighted)
    return sum(weight / most * sum(one.passes) / (one.problems * one.samples) for weight, one in weighted) / total
