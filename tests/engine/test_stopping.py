"""Configurations that are asked no further: whose replies are made, what is stated of them, and what a resume does."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cache.store import Store
from engine.events import ConfigurationFinished, ConfigurationStopped, Generated, Judged
from engine.job import Job
from engine.scoring import Score
from engine.settings import Decoding, Grid
from engine.stopping import BOUNDS, FAILURES, LOOKS, PASSES, SEQUENTIAL, Stopper, Target, ordered, rounds
from literature.classify import match, open_counts
from literature.records import ReportedScore

GREEDY = Grid(benchmark=("fake-python",), template=("instruct", "octocoder"))
SHARED = Grid(benchmark=("fake-python",), max_length=(120, 200), extraction=("raw",))
SAMPLED = Grid(benchmark=("fake-python",), decoding=(Decoding(0.8),), samples=(10,))


@pytest.fixture(autouse=True)
def _judged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program is judged before the model goes on, or a model that takes no time would be done before any stop."""
    monkeypatch.setattr("engine.judging.BACKLOG", 0)


def with_targets(life: Any, rule: str, targets: dict[str, Target]) -> Any:
    life.job = dataclasses.replace(life.job, stop=rule, targets=targets)
    return life


def scores_without_stop(tmp_path_factory: Any, fakes: Any, grid: Grid, size: int) -> dict[str, Score]:
    store = Store(tmp_path_factory.mktemp("whole") / "s.sqlite")
    life = fakes.Life(store, grid)
    life.benchmark = fakes.Benchmark(size)
    life.go()
    found = life.scores
    store.close()
    return found


def test_a_stopped_configuration_is_asked_no_further(store: Store, fakes: Any) -> None:
    """Out of reach after a few problems, its other replies are never made; its neighbour's all are."""
    life = fakes.Life(store, GREEDY)
    life.benchmark = fakes.Benchmark(40)
    gone, stays = (c.id for c in life.job.configurations)
    with_targets(life, BOUNDS, {gone: Target(40, ((40, 40),)), stays: Target(40, ((0, 40),))})
    assert life.go() == "finished"
    (stop,) = [e for e in life.events if isinstance(e, ConfigurationStopped)]
    assert stop.configuration == gone
    assert 0 < stop.judged < 40
    assert life.scores[stays].finished
    assert not life.scores[gone].finished
    assert len(life.made) < 80
    assert "40" in life.scores[gone].text
    assert ".." in life.scores[gone].text
    assert gone not in {e.configuration for e in life.events if isinstance(e, ConfigurationFinished)}


def test_nothing_is_stated_of_a_stopped_configuration_any_more(store: Store, fakes: Any) -> None:
    """What was in flight for it is kept as replies, and not judged: its bounds are those of the moment it stopped."""
    life = fakes.Life(store, GREEDY)
    life.benchmark = fakes.Benchmark(40)
    gone, _ = (c.id for c in life.job.configurations)
    with_targets(life, BOUNDS, {gone: Target(40, ((40, 40),))})
    life.go()
    kinds = [type(e) for e in life.events if getattr(e, "configuration", "") == gone]
    assert kinds[-1] is ConfigurationStopped
    assert kinds.count(ConfigurationStopped) == 1
    (stop,) = [e for e in life.events if isinstance(e, ConfigurationStopped)]
    assert life.scores[gone].judged_total == stop.judged


def test_a_reply_that_another_configuration_reads_is_still_made(store: Store, fakes: Any, tmp_path: Any) -> None:
    """Two lengths share their replies: with the shorter stopped, the longer has every reply and its whole score."""
    life = fakes.Life(store, SHARED)
    life.benchmark = fakes.Benchmark(30)
    short, long = (c.id for c in life.job.configurations)
    with_targets(life, BOUNDS, {short: Target(30, ((30, 30),))})
    life.go()
    assert life.scores[short].stopped
    assert life.scores[long].finished
    assert len(life.made) == 30
    alone_store = Store(tmp_path / "alone.sqlite")
    alone = fakes.Life(alone_store, Grid(benchmark=("fake-python",), max_length=(200,), extraction=("raw",)))
    alone.benchmark = fakes.Benchmark(30)
    alone.go()
    assert alone.scores[long].kinds == life.scores[long].kinds
    alone_store.close()


def test_what_only_the_shorter_limit_needs_is_made_no_longer(store: Store, fakes: Any) -> None:
    """With the longer stopped, the shorter one has the score it has beside it, from shorter replies."""
    life = fakes.Life(store, SHARED)
    life.benchmark = fakes.Benchmark(30)
    short, long = (c.id for c in life.job.configurations)
    life.go()
    whole = life.scores[short].kinds
    fresh = Store(store.path.with_name("fresh.sqlite"))
    other = fakes.Life(fresh, SHARED)
    other.benchmark = fakes.Benchmark(30)
    with_targets(other, BOUNDS, {long: Target(30, ((30, 30),))})
    other.go()
    assert other.scores[long].stopped
    assert other.scores[short].kinds == whole
    tokens = {e.task_id: e.tokens for e in life.events if isinstance(e, Generated)}
    assert sum(e.tokens for e in other.events if isinstance(e, Generated)) < sum(tokens.values())
    fresh.close()


def test_a_resumed_run_leaves_stopped_what_it_stopped(store: Store, fakes: Any) -> None:
    """Going on makes nothing for it, states it stopped, and does not stop it again."""
    life = fakes.Life(store, GREEDY)
    life.benchmark = fakes.Benchmark(40)
    gone, _ = (c.id for c in life.job.configurations)
    with_targets(life, BOUNDS, {gone: Target(40, ((40, 40),))})
    life.go()
    made = len(life.made)
    assert life.go() == "finished"
    assert len(life.made) == made
    assert life.scores[gone].stopped
    assert len([e for e in life.events if isinstance(e, ConfigurationStopped)]) == 1


def test_without_a_rule_a_resumed_run_takes_it_up_again(store: Store, fakes: Any) -> None:
    """Asked to stop nothing, going on makes what is missing: a score like any other."""
    life = fakes.Life(store, GREEDY)
    life.benchmark = fakes.Benchmark(40)
    gone, _ = (c.id for c in life.job.configurations)
    with_targets(life, BOUNDS, {gone: Target(40, ((40, 40),))})
    life.go()
    with_targets(life, "", {})
    life.go()
    assert life.scores[gone].finished
    assert not life.scores[gone].stopped


def test_a_target_over_another_total_stops_nothing(store: Store, fakes: Any) -> None:
    """When the benchmark has another size than the counts were worked out for, every score is finished."""
    life = fakes.Life(store, GREEDY)
    with_targets(life, BOUNDS, {c.id: Target(164, ((164, 164),)) for c in life.job.configurations})
    life.go()
    assert all(score.finished for score in life.scores.values())


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_bounds_lose_no_configuration_whose_count_was_wanted(tmp_path_factory: Any, fakes: Any, data: Any) -> None:
    """Whatever spans are wanted, those whose whole score lies in one are finished, with that score."""
    size, grid = 12, dataclasses.replace(GREEDY, decoding=(Decoding(), Decoding(0.8)), samples=(2,))
    whole = scores_without_stop(tmp_path_factory, fakes, grid, size)
    counts = st.integers(0, 24).flatmap(lambda low: st.tuples(st.just(low), st.integers(low, min(24, low + 3))))
    spans = {id_: tuple(data.draw(st.lists(counts, min_size=1, max_size=3))) for id_ in whole}
    store = Store(tmp_path_factory.mktemp("stop") / "s.sqlite")
    life = fakes.Life(store, grid)
    life.benchmark = fakes.Benchmark(size)
    with_targets(life, BOUNDS, {id_: Target(whole[id_].asked, spans[id_]) for id_ in whole})
    life.go()
    for id_, score in life.scores.items():
        wanted = any(low <= whole[id_].passed <= high for low, high in spans[id_])
        assert score.finished or not wanted
        assert bool(score.stopped) != score.finished
        if score.finished:
            assert score.kinds == whole[id_].kinds
    store.close()


def test_the_sequential_rule_asks_in_rounds_and_stops_between_them(store: Store, fakes: Any) -> None:
    """Two samples of every problem come first; far from what is wanted, the others are never asked for."""
    life = fakes.Life(store, SAMPLED)
    life.benchmark = fakes.Benchmark(60)
    (only,) = (c.id for c in life.job.configurations)
    with_targets(life, SEQUENTIAL, {only: Target(600, ((0, 600),), ((590, 600),))})
    life.go()
    (stop,) = [e for e in life.events if isinstance(e, ConfigurationStopped)]
    assert "sequential rule after 2 of 10" in stop.reason
    assert stop.judged < 60 * 3
    first = [e.sample for e in life.events if isinstance(e, Judged)][:100]
    assert set(first) <= {0, 1}


def test_rounds_change_no_outcome(store: Store, fakes: Any, tmp_path: Any) -> None:
    """The same replies and outcomes, whatever the order in which they were asked for."""
    life = with_targets(fakes.Life(store, SAMPLED), SEQUENTIAL, {})
    life.go()
    plain_store = Store(tmp_path / "plain.sqlite")
    plain = fakes.Life(plain_store, SAMPLED)
    plain.go()
    assert life.outcome() == plain.outcome()
    assert sorted(life.made) == sorted(plain.made)
    plain_store.close()


def test_rounds_cover_every_sample_once() -> None:
    """One round without the sequential rule; with it, one after each look, and together all samples."""
    assert rounds(BOUNDS, 20) == [(0, 20)]
    assert [last for _, last in rounds(SEQUENTIAL, 20)] == [*LOOKS, 20]
    for n in range(1, 25):
        assert [s for first, last in rounds(SEQUENTIAL, n) for s in range(first, last)] == list(range(n))


def test_a_look_counts_its_own_samples_only() -> None:
    """What is judged beyond a look changes nothing: the reason is the same in whatever order outcomes came."""
    (configuration,) = Grid(benchmark=("x",), decoding=(Decoding(0.8),), samples=(4,)).configurations(["m"])
    reasons = []
    for more in (False, True):
        score = Score(configuration, [f"P/{i}" for i in range(50)])
        for task_id in score.task_ids:
            for sample in range(2):
                score.add(task_id, sample, "failed")
        if more:
            score.add("P/0", 2, "passed")
        reasons.append(Stopper(SEQUENTIAL, {score.id: Target(200, ((0, 200),), ((150, 160),))}).reason(score))
    assert reasons[0] == reasons[1] != ""


def test_a_job_with_targets_reads_back() -> None:
    """Rule and targets survive the run's row; a job of an older version has none."""
    (configuration,) = Grid(benchmark=("x",)).configurations(["m"])
    job = Job((configuration,), {"m": "f"}, stop=BOUNDS, targets={configuration.id: Target(164, ((1, 2),), ((2, 2),))})
    assert Job.from_dict(job.as_dict()) == job
    old = {key: value for key, value in job.as_dict().items() if key not in ("stop", "targets")}
    assert Job.from_dict(old).targets == {}


@pytest.mark.parametrize("rule", [BOUNDS, SEQUENTIAL])
def test_nothing_reported_stops_nothing(store: Store, fakes: Any, rule: str) -> None:
    """A model of which nothing was reported is run to its end."""
    life = with_targets(
        fakes.Life(store, GREEDY), rule, {c.id: Target(6, ()) for c in fakes.Life(store).job.configurations}
    )
    life.go()
    assert all(score.finished for score in life.scores.values())


@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(values=st.lists(st.integers(0, 1000), min_size=1, max_size=2, unique=True), first=st.sampled_from(["", PASSES]))
def test_what_matches_is_the_same_with_and_without_stopping(
    tmp_path_factory: Any, fakes: Any, values: list[int], first: str
) -> None:
    """For whatever was reported: the finished configurations that match, and how, are those of the whole run."""
    size, grid = 24, dataclasses.replace(GREEDY, decoding=(Decoding(), Decoding(0.8)), samples=(2,))
    reported = [ReportedScore("fake", "fake-python", "pass@1", f"{value / 10:.1f}", ("1",)) for value in values]
    whole = scores_without_stop(tmp_path_factory, fakes, grid, size)

    def matching(scores: dict[str, Score]) -> set[tuple[str, str, str]]:
        cells = [match(score, one) for score in scores.values() if score.finished for one in reported]
        return {(cell.measurement, cell.reported, cell.kind) for cell in cells if cell.matches}

    store = Store(tmp_path_factory.mktemp("stop") / "s.sqlite")
    life = fakes.Life(store, grid)
    life.benchmark = fakes.Benchmark(size)
    targets = {
        score.id: Target(score.asked, tuple(open_counts(score, one) for one in reported), (), first)
        for score in whole.values()
    }
    with_targets(life, BOUNDS, targets)
    life.job = dataclasses.replace(life.job, order={"fake-python": [f"P/{i}" for i in reversed(range(size))]})
    life.go()
    assert matching(life.scores) == matching(whole)
    store.close()


def test_problems_come_in_the_order_that_most_configurations_want(fakes: Any) -> None:
    """Likely passes first, or last; the benchmark's own order where they are at odds or nothing is known."""
    problems = fakes.Benchmark(4).problems
    likely = ["P/2", "P/0", "P/3", "P/1"]

    def ids(*firsts: str) -> list[str]:
        return [problem.task_id for problem in ordered(problems, likely, firsts)]

    assert ids(PASSES, PASSES, FAILURES) == likely
    assert ids(FAILURES, "") == likely[::-1]
    assert ids(PASSES, FAILURES) == ids("") == [problem.task_id for problem in problems]
    assert ordered(problems, [], [PASSES]) == list(problems)


def test_an_order_changes_no_outcome(store: Store, fakes: Any, tmp_path: Any) -> None:
    """The same replies and outcomes, the likely passes first."""
    life = fakes.Life(store, GREEDY)
    targets = {c.id: Target(6, ((0, 6),), (), PASSES) for c in life.job.configurations}
    with_targets(life, BOUNDS, targets)
    life.job = dataclasses.replace(life.job, order={"fake-python": [f"P/{i}" for i in (5, 3, 1, 0, 2, 4)]})
    life.go()
    first = [e.task_id for e in life.events if isinstance(e, Generated)]
    assert set(first[:3]) != {"P/0", "P/1", "P/2"}
    plain_store = Store(tmp_path / "plain.sqlite")
    plain = fakes.Life(plain_store, GREEDY)
    plain.go()
    assert life.outcome() == plain.outcome()
    plain_store.close()


def test_what_is_in_flight_for_nobody_is_let_go(store: Store, fakes: Any) -> None:
    """Once all that a loaded model is asked for is finished or stopped, it is told to leave its unfinished replies."""
    told: list[bool] = []

    class Watched(fakes.Model):  # type: ignore[misc]
        def generate(self, requests: Any, tick: Any) -> Any:
            def watched() -> bool:
                told.append(tick())
                return told[-1]

            return super().generate(requests, watched)

    life = fakes.Life(store, Grid(benchmark=("fake-python",)))
    life.benchmark, life.kind = fakes.Benchmark(40), Watched
    with_targets(life, BOUNDS, {c.id: Target(40, ((40, 40),)) for c in life.job.configurations})
    assert life.go() == "finished"
    assert told[-1] is False
    assert all(told[:-1])
