"""What goes wrong within a run: which configurations end, with which sentence, and that the others go on."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cache.store import Store
from engine.crowding import crowding
from engine.errors import ModelError
from engine.events import ConfigurationFailed, ConfigurationFinished, ModelLoaded, Noted, PassStarted
from engine.models.threads import Load
from engine.recorder import Recorder
from engine.settings import Decoding, Grid
from tui.run_evidence import fold

GRID = Grid(benchmark=("fake-python",), decoding=(Decoding(), Decoding(0.8)), precision=("f16", "q8_0"))


def failing(fakes: Any, error: BaseException, after: int, precision: str = "f16") -> Any:
    """A model that fails at one precision after so many replies."""

    class Failing(fakes.Model):  # type: ignore[misc]
        def generate(self, requests: Any, tick: Any = lambda: True) -> Any:
            for count, generation in enumerate(super().generate(requests, tick)):
                if self.precision == precision and count >= after:
                    raise error
                yield generation

    return Failing


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModelError("CUDA error: out of memory"), "CUDA error: out of memory"),
        (MemoryError(), "no memory was left while fake ran at f16; choose a smaller width"),
    ],
)
def test_a_failure_while_decoding_ends_its_load_only(
    store: Store, fakes: Any, error: BaseException, words: str
) -> None:
    """Configurations of that precision carry the reason, the device is freed, the next precision is finished."""
    life = fakes.Life(store, GRID)
    closed: list[str] = []

    class Freed(failing(fakes, error, after=3)):  # type: ignore[misc]
        def close(self) -> None:
            closed.append(self.precision)

    life.kind = Freed
    assert life.go() == "finished"
    assert closed == ["f16", "q8_0"]
    failed = {e.configuration: e.reason for e in life.events if isinstance(e, ConfigurationFailed)}
    assert set(failed) == {c.id for c in life.job.configurations if c.precision == "f16"}
    assert all(words in reason for reason in failed.values())
    assert all(life.scores[c.id].finished for c in life.job.configurations if c.precision == "q8_0")


def test_what_was_complete_before_a_failure_stays_finished(store: Store, fakes: Any) -> None:
    """All but one reply of a load was there: one configuration fails, and the score of the other stands."""
    life = fakes.Life(store, GRID)
    life.kind = failing(fakes, ModelError("gone"), after=11)
    life.go()
    finished = {e.configuration for e in life.events if isinstance(e, ConfigurationFinished)}
    failed = {e.configuration for e in life.events if isinstance(e, ConfigurationFailed)}
    assert not finished & failed
    assert len(finished) == 3
    assert len(failed) == 1


def test_passes_keep_their_numbers_after_a_failure(store: Store, fakes: Any) -> None:
    """A pass goes by the same number whether or not an earlier load failed: screens count replies by it."""
    whole, torn = fakes.Life(store, GRID), fakes.Life(store, GRID)
    whole.go()
    torn.kind = failing(fakes, ModelError("gone"), after=0)
    torn.go()
    names = [{e.label: e.index for e in life.events if isinstance(e, PassStarted)} for life in (whole, torn)]
    assert names[1].items() <= names[0].items()
    assert any("q8_0" in label for label in names[1])


def test_a_failed_configuration_can_be_resumed(store: Store, fakes: Any) -> None:
    """Taken up again where the failure is gone, the run makes what is missing and nothing twice."""
    life = fakes.Life(store, GRID)
    life.kind = failing(fakes, ModelError("gone"), after=2)
    life.go()
    life.kind = fakes.Model
    assert life.go() == "finished"
    assert all(score.finished for score in life.scores.values())


class OtherFile:
    """Makes a fake model of another file, or of another engine."""

    def __init__(self, fakes: Any, **changes: Any) -> None:
        class Other(fakes.Model):  # type: ignore[misc]
            @property
            def card(self) -> Any:
                return dataclasses.replace(super().card, **changes)

        self.kind = Other


def test_a_model_file_changed_during_a_run_is_refused(store: Store, fakes: Any) -> None:
    """Resumed with another file under the same name: nothing is made, and the sentence names file and remedy."""
    life = fakes.Life(store, GRID)
    life.go(stop_after=5)
    before = len(life.made)
    life.kind = OtherFile(fakes, sha256="b" * 64, source_sha256="b" * 64).kind
    life.go()
    assert len(life.made) == before
    reasons = {e.reason for e in life.events if isinstance(e, ConfigurationFailed)}
    (reason,) = reasons
    assert reason.startswith("fake.gguf is not the file that this run began with fake (sha256 bbbbbbbbbbbb, then ")
    assert reason.endswith("put the first file back and resume, or start a new run")
    assert len([e for e in life.events if isinstance(e, ModelLoaded)]) == 1, "the other file is stated nowhere"
    life.kind = fakes.Model
    assert life.go() == "finished"
    assert all(score.finished for score in life.scores.values())


def test_a_file_changed_between_two_loads_of_one_run_is_refused(store: Store, fakes: Any) -> None:
    """The precisions of a model come from one file, also when it is replaced while the run goes on."""
    life = fakes.Life(store, GRID)
    other = OtherFile(fakes, source_sha256="c" * 64).kind
    right = life.model
    life.model = lambda name, precision, slots: (  # type: ignore[method-assign]
        right(name, precision, slots) if precision == "f16" else other(name, precision, made=life.made)
    )
    life.go()
    failed = {e.configuration for e in life.events if isinstance(e, ConfigurationFailed)}
    assert failed == {c.id for c in life.job.configurations if c.precision == "q8_0"}


def test_a_changed_file_of_a_new_run_is_another_model(store: Store, fakes: Any) -> None:
    """Between runs nothing is mixed and nothing refused: the new file's replies are all made anew."""
    grid = dataclasses.replace(GRID, precision=("f16",))
    first = fakes.Life(store, grid)
    first.go()
    second = fakes.Life(store, grid)
    second.kind = OtherFile(fakes, sha256="b" * 64, source_sha256="b" * 64).kind
    assert second.go() == "finished"
    assert len(second.made) == len(first.made)


def test_another_engine_is_refused_where_scores_are_open(store: Store, fakes: Any) -> None:
    """Half a score at width 4 is not completed at width 8; a precision that was not begun runs with what there is."""
    life = fakes.Life(store, GRID)
    life.go(stop_after=16)
    assert any(score.kinds for score in life.scores.values())
    wider = OtherFile(fakes, numerics={"width": "8"}).kind
    life.kind = wider
    life.go()
    failed = {e.configuration: e.reason for e in life.events if isinstance(e, ConfigurationFailed)}
    begun = {c.id for c in life.job.configurations if c.precision == "f16"}
    assert set(failed) == begun
    assert all("width 4, now 8" in reason and "--width" in reason for reason in failed.values())
    assert all(life.scores[c.id].finished for c in life.job.configurations if c.precision == "q8_0")


def test_a_clock_that_goes_back_is_noted_once(store: Store) -> None:
    """Facts stay in order, the jump is said with its length, and nothing else changes."""
    run = store.create_run("r", "", {})
    steady, wall = iter(range(100)), [1000.0]
    recorder = Recorder(store, run, clock=lambda: float(next(steady)), wall=lambda: wall[0])
    for text in ("a", "b", "c", "d"):
        recorder.event(Noted("info", text))
        recorder.flush()
        wall[0] += 1.0
        if text == "b":
            wall[0] -= 3600.0
    texts = [body["text"] for _, _, body in store.every_event(run)]
    assert [text for text in texts if len(text) == 1] == ["a", "b", "c", "d"]
    (jump,) = [text for text in texts if len(text) > 1]
    assert "went back by" in jump
    assert "60 min" in jump


def test_a_run_never_ends_before_it_began(store: Store) -> None:
    """The report's first and last moment stay in order when the clock was set back."""
    run = store.create_run("r", "", {})
    store.append(run, [{"fact": "Noted", "level": "info", "text": "a"}])
    store.append(run, [{"fact": "Noted", "level": "info", "text": "b"}])
    store._db.execute("UPDATE events SET time = time - 3600 * seq")
    found = fold(store, run)
    assert (found.events, found.last) == (2, found.first)


@pytest.mark.parametrize(("others", "said"), [(0.1, ""), (1.0, "about 1 of the 2 cores"), (3.0, "about 1 of the 2")])
def test_crowded_cores_are_said(others: float, said: str) -> None:
    """A sentence names how many cores others hold; what this process computes itself does not count."""
    now = [0.0]

    def read() -> Load:
        return Load(now[0], (others + 0.5) * now[0], 0.5 * now[0])

    def sleep(seconds: float) -> None:
        now[0] += seconds

    text = crowding(2, read, sleep)
    assert (said in text) if said else (text == "")


def test_a_short_burst_of_others_is_no_crowd() -> None:
    """A program that starts up during the first look, and is quiet in the second, is not worth a word."""
    now, busy = [0.0], [0.0]

    def sleep(seconds: float) -> None:
        busy[0] += 2 * seconds if now[0] < 0.1 else 0.0
        now[0] += seconds

    assert crowding(2, lambda: Load(now[0], busy[0], 0.0), sleep) == ""


def test_a_run_says_that_cores_are_held_by_others(store: Store, fakes: Any) -> None:
    """The sentence stands among the run's notes, before anything else."""
    life = fakes.Life(store, GRID)
    life.parts = {"crowding": lambda: "other processes hold about 1 of the 2 cores"}
    life.go()
    assert life.events[0] == Noted("warning", "other processes hold about 1 of the 2 cores")
