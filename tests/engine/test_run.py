"""A run over fakes at the seams and a real store: what is made, judged, kept, and never done twice."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cache.store import Store
from engine.errors import BenchmarkError
from engine.events import ConfigurationFailed, ConfigurationFinished, Judged, ReferenceChecked
from engine.judging import JudgePool, program_key
from engine.protocols import Limits, Program
from engine.settings import Decoding, Grid


def test_a_run_finishes_every_configuration(store: Store, fakes: Any) -> None:
    """Each configuration ends with all samples judged, and says its count over its full denominator."""
    life = fakes.Life(store)
    assert life.go() == "finished"
    assert all(score.finished for score in life.scores.values())
    finished = [e for e in life.events if isinstance(e, ConfigurationFinished)]
    assert {e.configuration for e in finished} == {c.id for c in life.job.configurations}
    assert {e.asked for e in finished} == {6, 12}


def test_what_can_be_shared_is_made_once(store: Store, fakes: Any) -> None:
    """2 templates x 2 precisions x 6 problems, greedy once and two samples: 72 replies for 16 configurations' 144."""
    life = fakes.Life(store)
    life.go()
    assert len(life.made) == len(set(life.made)) == 2 * 2 * 6 * 3


def test_a_finished_run_generates_and_judges_nothing_again(store: Store, fakes: Any) -> None:
    """Taking up a finished run makes no reply and runs no program."""
    life = fakes.Life(store)
    life.go()
    made, programs = len(life.made), len(life.sandbox.runs)
    assert life.go() == "finished"
    assert (len(life.made), len(life.sandbox.runs)) == (made, programs)


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(kills=st.lists(st.integers(1, 80), max_size=4))
def test_resumed_equals_uninterrupted(tmp_path_factory: Any, fakes: Any, kills: list[int]) -> None:
    """Wherever a run is stopped, however often, its replies and scores are those of an uninterrupted run."""
    lives = []
    for stops in ([], kills):
        store = Store(tmp_path_factory.mktemp("life") / "s.sqlite")
        life = fakes.Life(store)
        for stop in stops:
            life.go(stop_after=stop)
        assert life.go() == "finished"
        lives.append((life.outcome(), {key: store.generation(key) for key in sorted(set(life.made))}))
        store.close()
    (scores, replies), (scores_resumed, replies_resumed) = lives
    assert scores == scores_resumed
    assert {k: (g.text, g.tokens, g.stop) for k, g in replies.items() if g} == {
        k: (g.text, g.tokens, g.stop) for k, g in replies_resumed.items() if g
    }


def test_a_second_study_reuses_what_the_first_made(store: Store, fakes: Any) -> None:
    """A new run over the same settings finds every reply in the store."""
    fakes.Life(store).go()
    second = fakes.Life(store)
    second.go()
    assert second.made == []
    assert all(score.finished for score in second.scores.values())


def test_a_reply_cut_for_one_rule_is_not_reused_for_another(store: Store, fakes: Any) -> None:
    """Replies that ended at the harness's cut are made again, whole, when the raw text is asked for."""
    one = {"benchmark": ("fake-python",), "max_length": (200,)}
    fakes.Life(store, Grid(**one)).go()
    raw = fakes.Life(store, Grid(**one, extraction=("raw",)))
    raw.go()
    assert len(raw.made) == 6
    again = fakes.Life(store, Grid(**one))
    again.go()
    assert again.made == [], "the whole reply serves the cut as well"


def test_the_shorter_limit_equals_a_run_of_its_own(store: Store, fakes: Any, tmp_path: Any) -> None:
    """A configuration read as a prefix has the outcomes of one that ran alone under that limit."""
    both = fakes.Life(store, Grid(benchmark=("fake-python",), max_length=(105, 200), extraction=("raw",)))
    both.go()
    alone_store = Store(tmp_path / "alone.sqlite")
    alone = fakes.Life(alone_store, Grid(benchmark=("fake-python",), max_length=(105,), extraction=("raw",)))
    alone.go()
    (id_,) = (c.id for c in alone.job.configurations)
    assert both.scores[id_].kinds == alone.scores[id_].kinds
    alone_store.close()


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(short=st.integers(60, 150), rule=st.sampled_from(["raw", "harness"]))
def test_every_shorter_limit_equals_a_run_of_its_own(tmp_path_factory: Any, fakes: Any, short: int, rule: str) -> None:
    """Read as a prefix of a longer run or generated under its own limit: the same outcome, sample by sample."""
    kinds = []
    for lengths in ((short, 200), (short,)):
        store = Store(tmp_path_factory.mktemp("prefix") / "s.sqlite")
        grid = Grid(
            benchmark=("fake-python",), max_length=lengths, extraction=(rule,), decoding=(Decoding(), Decoding(0.8)),
            samples=(2,),
        )  # fmt: skip
        life = fakes.Life(store, grid)
        life.go()
        kinds.append({id_: dict(score.kinds) for id_, score in life.scores.items()})
        store.close()
    both, alone = kinds
    assert alone
    assert all(both[id_] == found for id_, found in alone.items())


def test_a_prompt_as_long_as_the_limit_is_no_room(store: Store, fakes: Any) -> None:
    """No reply is asked for, the sample counts as not passed, and its kind says why."""
    life = fakes.Life(store, Grid(benchmark=("fake-python",), max_length=(10,)))
    life.go()
    (score,) = life.scores.values()
    assert set(score.kinds.values()) == {"no room"}
    assert (score.text, life.made) == ("0/6", [])


def test_a_model_that_cannot_be_loaded_ends_its_configurations_only(store: Store, fakes: Any) -> None:
    """The other precision is finished; the refused ones carry the reason."""
    life = fakes.Life(store)
    life.refuse = {"q8_0"}
    assert life.go() == "finished"
    failed = {e.configuration for e in life.events if isinstance(e, ConfigurationFailed)}
    assert failed == {c.id for c in life.job.configurations if c.precision == "q8_0"}
    assert all(life.scores[c.id].finished for c in life.job.configurations if c.precision == "f16")


def test_a_failed_reference_check_stops_the_run_and_says_which(store: Store, fakes: Any) -> None:
    """When a correct body does not pass, no model is loaded, and the task id is named."""
    life = fakes.Life(store)

    class Wrong(type(life.sandbox)):  # type: ignore[misc]
        def run(self, program: Any, limits: Any) -> Any:
            outcome = super().run(program, limits)
            return outcome if "good3" not in program.candidate else type(outcome)("failed")

    life.sandbox = Wrong()
    with pytest.raises(BenchmarkError, match="P/3"):
        life.go()
    assert life.made == []
    (check,) = [e for e in life.events if isinstance(e, ReferenceChecked)]
    assert (check.correct, check.buggy, check.total) == (5, 6, 6)
    assert [text.split()[0] for text in check.wrong] == ["P/3"]


def test_a_stop_is_heard_during_the_reference_check(store: Store, fakes: Any) -> None:
    """A check that takes minutes, as of compiled languages, does not hold up a stop: nothing of it is kept, no program
    is begun any more, and the next life of the run checks again."""
    life = fakes.Life(store)
    seen: list[Any] = []

    class Slow(type(life.sandbox)):  # type: ignore[misc]
        def run(self, program: Any, limits: Any) -> Any:
            seen.append(program)
            if len(seen) == 1:
                store.wish(life.run, "stop")
            time.sleep(0.3)
            return super().run(program, limits)

    quick, life.sandbox = life.sandbox, Slow()
    assert life.go() == "stopped"
    assert len(seen) < 12
    assert not [e for e in life.events if isinstance(e, ReferenceChecked)]
    life.sandbox = quick
    assert life.go() == "finished"


def test_unavailable_is_no_failure_and_is_tried_again(store: Store, fakes: Any) -> None:
    """A broken sandbox leaves the score open; a later life of the run judges what is missing."""
    life = fakes.Life(store, Grid(benchmark=("fake-python",), extraction=("raw",), max_length=(200,)))
    life.sandbox.broken = True
    life.go()
    (score,) = life.scores.values()
    assert score.unavailable == 1
    assert not score.finished
    assert ".." in score.text
    life.sandbox.broken = False
    made = len(life.made)
    life.go()
    (score,) = life.scores.values()
    assert score.finished
    assert len(life.made) == made


def test_identical_programs_run_once(store: Store, fakes: Any) -> None:
    """No program is handed to the sandbox twice, however many configurations share it."""
    life = fakes.Life(store)
    life.go()
    programs = [(p.candidate, p.test) for p in life.sandbox.runs[2 * life.benchmark.size :]]
    assert len(programs) == len(set(programs))
    judged = [e for e in life.events if isinstance(e, Judged)]
    assert len(judged) == 144 > len(programs)


def test_every_field_of_a_program_is_in_its_key() -> None:
    """Other helpers, another mode or another language never finds the outcome of the program that looks alike."""
    base = Program("p", "c", "t", "f")
    others = [
        dataclasses.replace(base, **{field.name: True if field.type == "bool" else "other"})
        for field in dataclasses.fields(Program)
    ]
    keys = {program_key(program, Limits(), "s") for program in (base, *others)}
    assert len(keys) == 1 + len(others)


def test_a_slow_sandbox_holds_up_the_model(store: Store, fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many replies there are, only so many programs wait: the worker's memory does not grow with them."""
    monkeypatch.setattr("engine.judging.BACKLOG", 8)
    most, held_up = 0, threading.Event()

    class Watched(JudgePool):
        def submit(self, *arguments: Any) -> None:
            nonlocal most
            super().submit(*arguments)
            most = max(most, self.pending)

        def collect(self) -> Any:
            if self.pending > 8:
                held_up.set()
            return super().collect()

    class Slow(fakes.Sandbox):  # type: ignore[misc]
        def run(self, program: Program, limits: Limits) -> Any:
            # The reference check comes first, and no model waits for it; then nothing is judged until the model waits.
            if len(self.runs) >= 80:
                assert held_up.wait(300)
                time.sleep(0.006)
            return super().run(program, limits)

    monkeypatch.setattr("engine.run.JudgePool", Watched)
    life = fakes.Life(store, Grid(benchmark=("fake-python",), decoding=(Decoding(0.8),), samples=(10,)))
    life.benchmark, life.sandbox = fakes.Benchmark(size=40), Slow()
    assert life.go() == "finished"
    assert all(score.finished for score in life.scores.values())
    assert 8 < most <= 8 + 4 + 1, "a step ends at most one reply of each of four slots"


def test_a_stop_is_heard_while_kept_replies_are_read(store: Store, fakes: Any) -> None:
    """A run that finds everything in the store asks for no reply, and obeys all the same."""
    grid = Grid(benchmark=("fake-python",), decoding=(Decoding(0.8),), samples=(3,))
    fakes.Life(store, grid).go()
    second = fakes.Life(store, grid)
    assert second.go(stop_after=2) == "stopped"
    judged = sum(len(score.kinds) for score in second.scores.values())
    assert 0 < judged < 18
    assert second.go() == "finished"
    assert second.made == []
