"""What the other finished configurations of a run tell of each one's rerun: seeds, numerics variants, near settings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from literature.chance import finished
from literature.records import Measurement
from literature.rerun import FEWEST_SAMPLES, Repeats, within_variance

# Precisions between which nothing but rounding in the arithmetic differs; quantised weights are another model.
NUMERICS = frozenset({"f32", "f16", "bf16"})


def siblings(measurements: Iterable[Measurement]) -> dict[str, Repeats]:
    """Configuration id -> what its siblings tell; a configuration without any is not in it.

    Sampled configurations that differ in the seed alone are pooled; greedy ones that differ in float precision alone
    are numerics variants of each other; a sampled one that still has fewer than five samples a problem borrows
    E[p(1-p)] from its model's other settings at the same decoding.
    """
    done = [one for one in measurements if finished(one)]
    found: dict[str, Repeats] = {}
    for members in _groups([one for one in done if not one.greedy], _recipe):
        if len(members) > 1:
            found |= _pooled(members)
    variants = [one for one in done if one.greedy and one.axes.get("precision") in NUMERICS]
    for members in _groups(variants, _numerics):
        if len(members) > 1:
            found |= _pooled(members)
    return found | _borrowed(done, found)


def _groups(
    measurements: Iterable[Measurement], key: Callable[[Measurement], Hashable]
) -> Iterable[Sequence[Measurement]]:
    groups: dict[Hashable, list[Measurement]] = {}
    for one in measurements:
        groups.setdefault(key(one), []).append(one)
    return groups.values()


def _without(one: Measurement, *axes: str) -> Hashable:
    rest = tuple(sorted(pair for pair in one.axes.items() if pair[0] not in axes))
    return one.model, one.benchmark, one.problems, one.samples, rest


def _recipe(one: Measurement) -> Hashable:
    # Without a seed axis nothing says that two runs of one label are repeats: each stands alone.
    return _without(one, "seed") if "seed" in one.axes else one.id


def _numerics(one: Measurement) -> Hashable:
    return _without(one, "precision", "seed")


def _pooled(members: Sequence[Measurement]) -> dict[str, Repeats]:
    passes = tuple(map(sum, zip(*(one.passes for one in members), strict=True)))
    totals = tuple(sum(one.passes) for one in members)
    together = Repeats(passes, sum(one.samples for one in members), totals)
    return {one.id: together for one in members}


def _borrowed(done: Sequence[Measurement], known: dict[str, Repeats]) -> dict[str, Repeats]:
    """E[p(1-p)] for sampled configurations with too few samples, from those of the same model and decoding."""
    rates: dict[Hashable, list[float]] = {}
    for one in done:
        samples = one.samples if one.id not in known else known[one.id].samples
        if not one.greedy and samples >= 2:
            passes = one.passes if one.id not in known else known[one.id].passes
            rates.setdefault(_near(one), []).append(within_variance(passes, samples))
    # Agreement in a few samples is not certainty: the variance of one undecided problem is the least that is lent.
    return {
        one.id: Repeats(within=max(sum(near) / len(near), 0.25 / one.problems))
        for one in done
        if not one.greedy and one.id not in known and one.samples < FEWEST_SAMPLES and (near := rates.get(_near(one)))
    }


def _near(one: Measurement) -> Hashable:
    return one.model, one.benchmark, one.axes.get("decoding", "")
