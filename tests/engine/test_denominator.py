"""What stands under a score, folded from a run's facts: asked, answered, without room, cut short, without code."""

from __future__ import annotations

from typing import Any

from cache.store import Store
from engine.denominator import of_score
from engine.events import Generated, Judged
from engine.failures import READINGS, failure_of
from engine.scoring import Score
from engine.settings import Configuration, Decoding, Grid


def score(samples: int = 1) -> Score:
    """Three problems, nothing judged yet."""
    return Score(Configuration("m", "b", "t", Decoding(), 100, "f16", samples=samples), ["P/0", "P/1", "P/2"])


def test_every_sample_is_asked_whatever_became_of_it() -> None:
    """Open samples are not generated, those without room failed without a reply, and the count is a range meanwhile."""
    one = score(samples=2)
    one.add("P/0", 0, "passed", "cut short")
    one.add("P/0", 1, "exception", "cut short, no code")
    one.add("P/1", 0, "no room")
    found = of_score(one)
    assert (found.asked, found.answered, found.no_room, found.missing) == (6, 2, 1, 3)
    assert (found.truncated, found.no_code) == (2, 1)
    assert found.text == (
        "1..4/6 passed · 2 answered, 3 not generated, 2 cut short, 1 without code, 1 without room for a reply"
    )


def test_a_run_that_did_not_state_it_leaves_it_unknown() -> None:
    """Facts of older versions say nothing of what the extraction found: that is no zero."""
    one = score()
    for task_id in one.task_ids:
        one.add(task_id, 0, "failed")
    found = of_score(one)
    assert (found.truncated, found.no_code) == (None, None)
    assert found.text == "0/3 passed · 3 answered, 0 not generated, cut short: unknown, without code: unknown"


def test_judging_a_sample_again_replaces_its_reading() -> None:
    """The last word counts."""
    one = score()
    one.add("P/0", 0, "failed", "no code")
    one.add("P/0", 0, "passed", "whole")
    assert (of_score(one).no_code, of_score(one).passed, of_score(one).answered) == (0, 1, 1)


def test_a_run_states_what_each_reply_was(store: Store, fakes: Any) -> None:
    """Every outcome with a reply says how the extraction found it; replies at their limit are cut short."""
    life = fakes.Life(store, Grid(("fake-python",), max_length=(40, 200)))
    life.go()
    judged = [event for event in life.events if isinstance(event, Judged) and event.kind != "no room"]
    stops = {event.key: event.stop for event in life.events if isinstance(event, Generated)}
    assert judged and all(event.reading in READINGS for event in judged)
    assert all("cut short" in event.reading for event in judged if stops[event.key] == "limit")
    for one in life.scores.values():
        found = of_score(one)
        assert found.truncated is not None and found.asked == found.answered + found.no_room + found.missing


def test_why_a_sample_failed_is_one_word() -> None:
    """What the extraction knows comes before what the program showed."""
    assert failure_of("failed", "", "whole") == "assertion"
    assert failure_of("exception", "NameError: x", "") == "NameError"
    assert failure_of("syntax error", "SyntaxError: x", "cut short") == "truncated"
    assert failure_of("syntax error", "SyntaxError: x", "cut short, no code") == "no code found"
