"""The time left, as the screen shows it, against a run that was recorded with its times on a busy machine."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import pairwise

from recorded import recording, tasks

from engine.events import Event, Generated, Started, StateChanged, from_dict
from tui.state import Countdown, RunState
from tui.study import embedded


def recorded() -> tuple[list[tuple[float, Event]], float]:
    """The facts of the recorded configurations as a run of their own, and when its last reply was there."""
    ids = set(recording()["configurations"])
    configurations = {c.id: c.as_dict() for c in embedded().configurations() if c.id in ids}
    body = [(moment, from_dict(fact)) for moment, fact in recording()["facts"]]
    made = [moment for moment, fact in body if isinstance(fact, Generated)]
    begin: list[tuple[float, Event]] = [
        (0.0, Started(configurations, {"bugfix-mini": tasks()}, 5, len(made), 0, "namespaces")),
        (0.0, StateChanged("running")),
    ]
    return [*begin, *(found for found in body if found[0] <= made[-1])], made[-1]


def shown() -> Iterator[tuple[float, float, float]]:
    """(seconds since the start, seconds left as shown, seconds left in truth), once a second while something is."""
    events, end = recorded()
    state, countdown, taken = RunState(), Countdown(), 0
    for second in range(int(end)):
        while taken < len(events) and events[taken][0] <= second:
            state.apply([events[taken]])
            taken += 1
        if countdown.show(second, state.seconds_left()):
            assert countdown.seconds is not None
            yield second, countdown.seconds, end - second


def test_an_estimate_comes_within_a_tenth_of_the_run():
    """Nobody waits long for a first one."""
    _, end = recorded()
    assert next(shown())[0] < 0.1 * end


def test_what_is_shown_is_near_the_truth():
    """Between a tenth and nine tenths of the run never off by a factor of two, at the median by less than half."""
    _, end = recorded()
    ratios = [left / true for second, left, true in shown() if 0.1 * end < second < 0.9 * end]
    assert len(ratios) > 200
    assert all(0.5 < ratio < 2 for ratio in ratios), (min(ratios), max(ratios))
    assert 1 / 1.5 < statistics.median(ratios) < 1.5


def test_what_is_shown_does_not_jump():
    """From one second to the next it goes down by a second, more or less; it hardly ever goes up."""
    found = [left for _, left, _ in shown()]
    steps = [after - before for before, after in pairwise(found)]
    assert max(steps) < 0.05 * max(found) and min(steps) > -0.1 * max(found)
    assert sum(step > 1 for step in steps) < 0.1 * len(steps)
