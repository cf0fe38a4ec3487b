"""Stopping early: exact bounds lose nothing, the sequential rule next to nothing; the order of problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from engine.stopping import projected
from literature.chance import holm
from literature.exclusion import EXACT_BOUND, SEQUENTIAL, stopping

if TYPE_CHECKING:
    from conftest import Build, FakeMeasurement


def after(build: Build, outcomes: np.ndarray, look: int) -> FakeMeasurement:
    """The first `look` of twenty samples of every problem."""
    passes = [int(count) for count in outcomes[:look].sum(axis=0)]
    return build.sampled(passes, 20, judged=[look] * outcomes.shape[1])


@pytest.mark.parametrize("shape", [(0.051, 0.057), (0.3, 0.4), (0.5, 1.0)])
def test_the_projection_holds_the_final_count(build: Build, shape: tuple[float, float]) -> None:
    """After any number of samples of every problem, the final count lies within four spreads of the estimate."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        outcomes = rng.random((20, 164)) < rng.beta(*shape, 164)
        for look in (2, 3, 5, 8, 12, 16):
            one = after(build, outcomes, look)
            low, high = projected(one.passes, one.judged, 20)
            assert low <= outcomes.sum() <= high


def test_a_far_value_stops_early_and_a_near_one_never(build: Build) -> None:
    """Ten points off is given up after few samples, long before the exact bound; what it prints is kept to the end."""
    rng = np.random.default_rng(2)
    outcomes = rng.random((20, 164)) < rng.beta(0.3, 0.4, 164)
    final = 100 * outcomes.sum() / 3280
    far, near = (build.score(f"{value:.1f}", samples="20") for value in (final + 10, final))
    looks = [stopping(after(build, outcomes, look), [far], projected) for look in range(2, 20)]
    stop = next(found for found in looks if found is not None)
    assert looks.index(stop) <= 3
    assert stop.rule == SEQUENTIAL and stop.low <= outcomes.sum() <= stop.high
    assert not any(stopping(after(build, outcomes, look), [near], projected) for look in range(2, 20))
    assert not any(stopping(after(build, outcomes, look), [far, near], projected) for look in range(2, 20))
    assert stopping(after(build, outcomes, 3), [far]) is None, "the exact bound alone is the default"


def test_a_stop_is_an_interval(build: Build) -> None:
    """The exact bound's interval is what can still be reached; a finished configuration does not stop."""
    stop = stopping(build.greedy(16, judged=100), [build.score("60.0")])
    assert stop is not None and (stop.rule, stop.low, stop.high, stop.total) == (EXACT_BOUND, 16, 80, 164)
    assert "16..80 of 164" in stop.sentence and "no score" in stop.sentence
    assert stopping(build.greedy(16), [build.score("60.0")]) is None


def test_holm_is_a_published_case() -> None:
    """R's p.adjust(c(.01, .02, .03, .04, .05), "holm") is .05, .08, .09, .09, .09."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.04, 0.01, 0.6]) == pytest.approx([0.08, 0.03, 0.6])
    assert holm([]) == []
