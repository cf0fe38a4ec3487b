"""What slots are writing, told to watchers and to nobody else: the scheduler, a decoder that spells, a real store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cache.errors import StoreError
from cache.store import Store
from engine.control import Control
from engine.live import MARK_SECONDS, TAIL, TELL_SECONDS, SlotText, Teller, Watch
from engine.models import schedule
from engine.models.decoder import Logits
from engine.recorder import Recorder
from engine.run import Parts, Runner
from engine.settings import Decoding, Grid

GRID = Grid(benchmark=("fake-python",), decoding=(Decoding(), Decoding(0.8)), max_length=(400,), samples=(2,))
TEXT = "\n    return good" + "1" * 60


class Speller:
    """A decoder of bytes that writes TEXT into every slot, then ends; `step` is called at each step."""

    width, block, slot_tokens = 3, 1, 1000
    end_tokens = frozenset({0})

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step
        self._prompt = 0
        self._lengths = [0] * self.width

    def _logits(self, place: int) -> Logits:
        row = np.full(256, -50.0, dtype=np.float32)
        row[ord(TEXT[place]) if place < len(TEXT) else 0] = 50.0
        return row

    def prefill(self, prompt: Sequence[int]) -> Logits:
        self._prompt = len(prompt)
        return self._logits(0)

    def share(self, slot: int) -> None:
        self._lengths[slot] = self._prompt

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        self._step()
        rows = [self._logits(place - length + 1) for place, length in zip(positions, self._lengths, strict=True)]
        return np.stack(rows)[:, None, :]

    def piece(self, token: int) -> bytes:
        return bytes([token])


class Clock:
    """Goes on by a tenth of a second each time it is read."""

    now = 100.0

    def __call__(self) -> float:
        self.now += 0.1
        return self.now


class Lives:
    """Runs the grid with the spelling decoder; `step` is called at each decoding step, `asked` counts `writing`."""

    def __init__(self, store: Store, fakes: Any) -> None:
        self.life = fakes.Life(store, GRID)
        self.store, self.run = store, self.life.run
        self.step: Callable[[], None] = lambda: None
        self.asked = 0
        self.clock = Clock()
        lives = self

        class Written(fakes.Model):  # type: ignore[misc]
            view = schedule.View()

            def generate(self, requests: Any, tick: Any = lambda: True) -> Iterator[Any]:
                yield from schedule.generate(Speller(lambda: lives.step()), requests, tick, view=self.view)

            def writing(self) -> Sequence[Any]:
                lives.asked += 1
                return self.view.now()

        self.life.kind = Written

    def go(self) -> None:
        recorder = Recorder(self.store, self.run)
        parts = Parts(lambda name: self.life.benchmark, self.life.model, lambda: self.life.sandbox)
        assert Runner(self.life.job, parts, recorder, Control(recorder, clock=self.clock)).run() == "finished"

    @property
    def replies(self) -> dict[tuple[str, int, int], str]:
        """Kept texts by task id, sample and pass."""
        made = self.store.events_of(self.run, "Generated")
        texts = {e["key"]: self.store.generation(e["key"]).text for e in made}  # type: ignore[union-attr]
        return {(e["task_id"], e["sample"], e["index"]): texts[e["key"]] for e in made}

    @property
    def files(self) -> list[str]:
        """What lies in the folder of marks."""
        folder = self.store.path.with_name(f"{self.store.path.name}-live")
        return sorted(path.name for path in folder.glob("*"))


@pytest.fixture
def lives(store: Store, fakes: Any) -> Lives:
    """One run."""
    return Lives(store, fakes)


def test_a_watcher_sees_the_beginnings_of_the_replies_that_are_kept(lives: Lives) -> None:
    """Every slot grows token by token, named by problem, sample and pass; nothing of it stays when the run is over."""
    watch = Watch(lives.store.path, lives.run, lives.clock)
    seen: list[SlotText] = []
    lives.step = lambda: seen.extend(watch.look())
    lives.go()
    assert {one.slot for one in seen} == {0, 1, 2}
    assert {one.label for one in seen} == {"f16 · instruct · greedy", "f16 · instruct · T=0.8"}
    assert {(one.task_id, one.sample) for one in seen} == {(f"P/{i}", sample) for i in range(6) for sample in (0, 1)}
    for one in seen:
        number = 1 if "T=0.8" in one.label else 0
        whole = lives.replies[one.task_id, one.sample, number]
        assert one.start == 0 and len(one.text) == one.tokens <= len(whole) <= one.limit
        assert whole.startswith(one.text)
    first = [one.tokens for one in seen if (one.label[-6:], one.task_id) == ("greedy", "P/0")]
    assert first == sorted(first) and len(set(first)) > 5, "it grows"
    assert lives.files == []


def test_looking_on_changes_nothing_that_is_kept(lives: Lives, fakes: Any, tmp_path: Path) -> None:
    """The facts and the replies of a watched run are those of one that nobody watched."""
    store = Store(tmp_path / "watched.sqlite")
    alone, watched = lives, Lives(store, fakes)
    alone.go()
    watch = Watch(store.path, watched.run, watched.clock)
    watched.step = lambda: [*watch.look()].clear()
    watched.go()
    assert watched.asked > 10
    assert watched.replies == alone.replies
    assert watched.life.outcome() == alone.life.outcome()
    kinds = [sorted(body["fact"] for _, _, body in one.store.events(one.run)) for one in (alone, watched)]
    assert kinds[0] == kinds[1]
    store.close()


def test_nobody_watches_so_nothing_is_worked_out(lives: Lives) -> None:
    """The model is never asked what it is writing, and no file is made."""
    lives.go()
    assert lives.asked == 0
    assert lives.files == []


def test_a_watcher_that_is_gone_is_forgotten(lives: Lives) -> None:
    """It looked for some steps and died: telling ends MARK_SECONDS later, the file goes, the run goes on."""
    watch = Watch(lives.store.path, lives.run, lives.clock)
    steps, died, late, told = 0, 0.0, 0, []

    def step() -> None:
        nonlocal steps, died, late
        steps += 1
        if steps < 12:
            watch.look()
            died = lives.clock.now
        elif lives.clock.now > died + MARK_SECONDS + 3 * TELL_SECONDS:
            late += 1
            told.append((lives.asked, tuple(lives.files)))

    lives.step = step
    lives.go()
    assert late > 20, "the run went on long enough for the watch to end"
    assert lives.asked > 3
    assert set(told) == {(told[0][0], ())}


def test_one_of_two_watchers_dies_and_the_other_goes_on_seeing(lives: Lives) -> None:
    """Marks are shared: whoever still looks keeps the telling alive, for views of the same run too."""
    one, two = (Watch(lives.store.path, lives.run, lives.clock) for _ in range(2))
    steps, seen = 0, [0, 0]

    def step() -> None:
        nonlocal steps
        steps += 1
        seen[0] += bool(one.look()) if steps < 12 else 0
        seen[1] += bool(two.look())

    lives.step = step
    lives.go()
    assert seen[0] > 3
    assert seen[1] > 60 + seen[0]


def test_a_paused_run_tells_a_watcher_who_comes_late(store: Store) -> None:
    """What the slots hold stands still, and is told all the same; no oftener than five times a second."""
    run = store.create_run("paused", "", {})
    clock = Clock()
    watch = Watch(store.path, run, clock)
    text = SlotText(0, "f16", "P/0", 0, 3, 9, 0, "abc")
    seen: list[Sequence[SlotText]] = []
    asked = 0

    def writing() -> list[SlotText]:
        nonlocal asked
        asked += 1
        return [text]

    def sleep(seconds: float) -> None:
        clock.now += seconds
        seen.append(watch.look())
        if len(seen) == 40:
            store.wish(run, "resume")

    control = Control(Recorder(store, run), clock=clock, sleep=sleep)
    store.wish(run, "pause")
    with control.telling(writing):
        began = clock.now
        assert control.tick()
        assert seen[0] == [] and seen[-1] == [text]
        assert 10 < asked <= (clock.now - began) / TELL_SECONDS + 1


def test_only_the_end_of_a_long_reply_is_told(lives: Lives, monkeypatch: pytest.MonkeyPatch) -> None:
    """`start` says which part of the reply the told characters are."""
    monkeypatch.setattr("engine.passes.TAIL", 10)
    watch = Watch(lives.store.path, lives.run, lives.clock)
    seen: list[SlotText] = []
    lives.step = lambda: seen.extend(watch.look())
    lives.go()
    long = [one for one in seen if one.tokens > 10]
    assert long and TAIL > 10
    assert all(one.text == TEXT[one.start : one.tokens] and len(one.text) == 10 for one in long)


def test_marks_and_texts_of_an_earlier_life_do_not_count(store: Store) -> None:
    """What a killed life left is neither a watcher nor something that is being written now."""
    run = store.create_run("old", "", {})
    watch = Watch(store.path, run)
    watch.look()
    teller = Teller(store.path, run)
    told = store.path.with_name(f"{store.path.name}-live") / f"run-{run}.json"
    told.write_text(json.dumps([]), encoding="utf-8")
    teller.tell(lambda: pytest.fail("asked for nobody"))
    with Control(Recorder(store, run)).telling(list):
        assert not told.exists()


@pytest.mark.parametrize("content", ["", "[", '[{"slot": 1}]', "7", '[{"slot": 1, "colour": "red"}]', "\x80"])
def test_a_text_that_cannot_be_read_is_no_text(store: Store, content: str) -> None:
    """A worker of another version leads to an empty answer, not to a fault of the app."""
    watch = Watch(store.path, 1)
    assert watch.look() == []
    told = store.path.with_name(f"{store.path.name}-live") / "run-1.json"
    told.write_bytes(content.encode("latin-1"))
    assert watch.look() == []


def test_a_run_goes_on_where_telling_fails(lives: Lives) -> None:
    """The file cannot be written (here: a folder has its name): the run finishes, and the watcher sees nothing."""
    watch = Watch(lives.store.path, lives.run, lives.clock)
    blocked = Path(f"{lives.store.path}-live") / f"run-{lives.run}.part"
    seen: list[SlotText] = []

    def step() -> None:
        seen.extend(watch.look())
        blocked.mkdir(exist_ok=True)

    lives.step = step
    lives.go()
    assert lives.asked > 3 and seen == []


def test_a_mark_that_cannot_be_made_is_an_error_with_the_reason(store: Store) -> None:
    """A file stands where the folder of marks should be."""
    Path(f"{store.path}-live").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot ask the worker for what it is writing"):
        Watch(store.path, 1).look()
