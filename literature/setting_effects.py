"""What changing one setting does to the score, paired per problem over configurations that differ in nothing else."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from literature.chance import finished
from literature.effects import Comparison, Z, compare
from literature.records import Measurement

# Axes that change by themselves when another does: greedy decoding has one sample and no seed.
TIED: Mapping[str, Collection[str]] = {"decoding": ("samples", "seed")}
Pair = tuple[Measurement, Measurement]


@dataclass(frozen=True)
class SettingEffect:
    """The effect of `axis` going from `base` to `level`, over `pairs` matched pairs of configurations.

    `points` is the mean difference in percentage points, `relative` the change of the pooled score in percent, both
    with 95 % intervals over problems (None for the relative one when the base score is 0); `mean_relative` averages
    the pairs' own relative changes. `comparison` is the exact paired test, for a single pair with one sample on
    either side.
    """

    axis: str
    base: str
    level: str
    models: tuple[str, ...]
    pairs: int
    points: float
    interval: tuple[float, float]
    relative: float | None
    relative_interval: tuple[float, float] | None
    mean_relative: float | None
    comparison: Comparison | None

    @property
    def clear(self) -> bool:
        """True when the interval in points excludes 0."""
        return self.interval[0] > 0 or self.interval[1] < 0

    @property
    def sentence(self) -> str:
        """For people."""
        relative = "" if self.relative is None else f" ({self.relative:+.1f} %)"
        low, high = self.interval
        count = f"{self.pairs} pair{'s' if self.pairs != 1 else ''}"
        return (
            f"{self.axis} {self.base} -> {self.level}: {self.points:+.2f} points{relative}, "
            f"95 % {low:+.1f} to {high:+.1f}, {count} of {len(self.models)} model"
            f"{'s' if len(self.models) != 1 else ''}"
        )


def setting_effects(
    measurements: Iterable[Measurement], baseline: Mapping[str, str], *, around_baseline_only: bool = False
) -> list[SettingEffect]:
    """The effect of every other level of every axis in `baseline` {axis: level}, in the order in which levels appear.

    Pairs are taken in all contexts, or, `around_baseline_only`, with all other axes at the baseline too.
    """
    done = [one for one in measurements if finished(one)]
    found = []
    for axis, base in baseline.items():
        levels = dict.fromkeys(one.axes[axis] for one in done if axis in one.axes)
        for level in levels:
            pairs = [] if level == base else matched_pairs(done, axis, base, level)
            if around_baseline_only:
                pairs = [pair for pair in pairs if _at_baseline(pair[0], baseline, axis)]
            if pairs:
                found.append(effect_of(pairs, axis, base, level))
    return found


def _at_baseline(one: Measurement, baseline: Mapping[str, str], axis: str) -> bool:
    free = {axis, *TIED.get(axis, ())}
    return all(one.axes.get(name) == level for name, level in baseline.items() if name not in free)


def matched_pairs(measurements: Iterable[Measurement], axis: str, base: str, level: str) -> list[Pair]:
    """(base, changed) configurations of one model that differ in `axis` alone, axes tied to it aside."""
    free = {axis, *TIED.get(axis, ())}
    sides: dict[tuple[object, ...], dict[str, Measurement]] = {}
    for one in measurements:
        key = (one.model, one.benchmark, one.problems, *(pair for pair in one.axes.items() if pair[0] not in free))
        if one.axes.get(axis) in (base, level):
            sides.setdefault(key, {}).setdefault(one.axes[axis], one)
    return [(side[base], side[level]) for side in sides.values() if base in side and level in side]


def effect_of(pairs: Sequence[Pair], axis: str, base: str, level: str) -> SettingEffect:
    """Pool matched pairs: models are fixed, problems are drawn, a problem is one cluster over its model's pairs."""
    before: dict[str, list[float]] = {}
    after: dict[str, list[float]] = {}
    changes = []
    for first, second in pairs:
        rates = _rates(first), _rates(second)
        for sums, values in zip((before, after), rates, strict=True):
            kept = sums.setdefault(f"{first.model}\x1f{first.benchmark}", [0.0] * len(values))
            kept[:] = [x + y for x, y in zip(kept, values, strict=True)]
        scores = [sum(values) / len(values) for values in rates]
        if scores[0] > 0:
            changes.append(100 * (scores[1] / scores[0] - 1))
    units = sum(first.problems for first, _ in pairs)
    total_before, total_after = (sum(map(sum, sums.values())) for sums in (before, after))
    points = 100 * (total_after - total_before) / units
    half = 100 * Z * _spread(before, after, 1.0) / units
    relative = relative_interval = None
    if total_before > 0:
        ratio = total_after / total_before
        relative, half_relative = 100 * (ratio - 1), 100 * Z * _spread(before, after, ratio) / total_before
        relative_interval = (relative - half_relative, relative + half_relative)
    return SettingEffect(
        axis, base, level, tuple(dict.fromkeys(first.model for first, _ in pairs)), len(pairs),
        points, (points - half, points + half), relative, relative_interval,
        sum(changes) / len(changes) if changes else None, paired(*pairs[0]) if len(pairs) == 1 else None,
    )  # fmt: skip


@dataclass(frozen=True)
class Spread:
    """How far scores lie apart over the levels of `axis`, all else equal, at one level of `by`.

    `points` is the standard deviation over the levels (n - 1), averaged over `groups` of configurations, `relative` the
    same in percent of a group's mean score (None where all scores are 0).
    """

    axis: str
    by: str
    level: str
    groups: int
    levels: int
    points: float
    relative: float | None

    @property
    def sentence(self) -> str:
        """For people."""
        relative = "" if self.relative is None else f" ({self.relative:.1f} % of the score)"
        return (
            f"{self.by} {self.level}: {self.points:.2f} points{relative} between {self.levels} levels of {self.axis}, "
            f"{self.groups} group{'s' if self.groups != 1 else ''}"
        )


def spreads(measurements: Iterable[Measurement], axis: str = "precision", by: str = "decoding") -> list[Spread]:
    """The spread of finished configurations over `axis`, for each level of `by` (the reference study's section 4.1)."""
    groups: dict[str, dict[tuple[object, ...], list[float]]] = {}
    for one in measurements:
        if finished(one) and axis in one.axes and by in one.axes:
            key = (one.model, one.benchmark, *(pair for pair in one.axes.items() if pair[0] != axis))
            score = 100 * sum(one.passes) / (one.problems * one.samples)
            groups.setdefault(one.axes[by], {}).setdefault(key, []).append(score)
    found = []
    for level, members in groups.items():
        several = [scores for scores in members.values() if len(scores) > 1]
        if several:
            points = [stdev(scores) for scores in several]
            shares = [100 * stdev(scores) / mean(scores) for scores in several if sum(scores) > 0]
            most = max(map(len, several))
            relative = mean(shares) if shares else None
            found.append(Spread(axis, by, level, len(several), most, mean(points), relative))
    return found


def _rates(one: Measurement) -> list[float]:
    return [passed / judged if judged else 0.0 for passed, judged in zip(one.passes, one.judged, strict=True)]


def _spread(before: Mapping[str, list[float]], after: Mapping[str, list[float]], ratio: float) -> float:
    """Standard deviation of the sum of after - ratio x before, clusters being problems within a model."""
    total = 0.0
    for name, values in before.items():
        rest = [y - ratio * x for x, y in zip(values, after[name], strict=True)]
        mean = sum(rest) / len(rest)
        total += sum((value - mean) ** 2 for value in rest) * len(rest) / max(1, len(rest) - 1)
    return math.sqrt(total)


def paired(first: Measurement, second: Measurement) -> Comparison | None:
    """The exact paired comparison of two finished single-sample measurements of one benchmark; None otherwise."""
    if first.samples != 1 or second.samples != 1 or first.problems != second.problems:
        return None
    sides = [
        {str(index): bool(passed) for index, passed in enumerate(one.passes) if one.judged[index]}
        for one in (first, second)
    ]
    return compare(*sides, most_unmatched=1.0)
