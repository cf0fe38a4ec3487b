"""What a run's facts say of each sample, kept small: a grid with samples states a million of them. No screen in it."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from typing import NamedTuple

from engine.events import Generated, Judged, Place
from engine.protocols import SPLIT


class Reply(NamedTuple):
    """What the facts say of one reply: the key it is kept under, its tokens, why it ended, seconds it took."""

    key: str
    tokens: int
    stop: str
    seconds: float


class Replies:
    """Replies by their key, numbered in the order in which they were first named."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._keys: list[str] = []
        self._tokens = array("i")
        self._seconds = array("f")
        self._stops: list[str] = []

    def __len__(self) -> int:
        """How many there are."""
        return len(self._keys)

    def number(self, key: str) -> int:
        """A reply's number; a new one when its key was not named before."""
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            self._tokens.append(-1)
            self._seconds.append(0.0)
            self._stops.append("")
        return found

    def add(self, event: Generated) -> None:
        """A reply exists, or a longer one in its place."""
        number = self.number(event.key)
        self._tokens[number] = event.tokens
        self._seconds[number] = event.seconds
        self._stops[number] = sys.intern(event.stop)

    def key(self, number: int) -> str:
        """The key of a number."""
        return self._keys[number]

    def get(self, number: int) -> Reply | None:
        """A reply; None while only an outcome has named it."""
        if self._tokens[number] < 0:
            return None
        return Reply(self._keys[number], self._tokens[number], self._stops[number], self._seconds[number])


class Samples:
    """One configuration's samples: which reply each read, what its outcome said, and in which mode it was judged."""

    def __init__(self, task_ids: Mapping[str, int], samples: int) -> None:
        self._task_ids = task_ids
        self._samples = samples
        count = len(task_ids) * samples
        self._replies = array("i", [-1]) * count
        self._details: list[str] = [""] * count
        self._modes = bytearray(count)

    def _place(self, task_id: str, sample: int) -> int | None:
        found = self._task_ids.get(task_id)
        return None if found is None or sample >= self._samples else found * self._samples + sample

    def put(self, event: Judged, reply: int, detail: str, mode: int) -> None:
        """Set what one outcome says; `mode` is a number below 256."""
        place = self._place(event.task_id, event.sample)
        if place is not None:
            self._replies[place] = reply
            self._details[place] = detail
            self._modes[place] = mode

    def reply(self, task_id: str, sample: int) -> int:
        """The number of the reply that a sample read; -1 before it is judged."""
        place = self._place(task_id, sample)
        return -1 if place is None else self._replies[place]

    def detail(self, task_id: str, sample: int) -> str:
        """What the outcome said; empty for none."""
        place = self._place(task_id, sample)
        return "" if place is None else self._details[place]

    def mode(self, task_id: str, sample: int) -> int:
        """The number of the mode in which it was judged; 0 for none that is known."""
        place = self._place(task_id, sample)
        return 0 if place is None else self._modes[place]

    def count(self, mode: int) -> int:
        """How many samples were judged in a mode."""
        return self._modes.count(mode)


class Kept:
    """Replies and samples of a run."""

    def __init__(self) -> None:
        self.replies = Replies()
        self._samples: dict[str, Samples] = {}
        self._texts: dict[str, str] = {}
        self._modes: dict[str, int] = {"": 0}
        self._made: dict[tuple[int, int], bytearray] = {}
        self._tasks: dict[str, int] = {}

    def open(self, configuration: str, task_ids: Mapping[str, int], samples: int) -> None:
        """Make room for a configuration; one that has some keeps it."""
        if configuration not in self._samples:
            self._samples[configuration] = Samples(task_ids, samples)

    def judged(self, event: Judged) -> None:
        """An outcome."""
        # The same words come again and again, each time as another object.
        detail = self._texts.setdefault(event.detail, event.detail)
        mode = self._modes.get(event.mode)
        if mode is None:
            # One byte a sample; there are five modes, and a store that names hundreds is none of ours.
            mode = self._modes[event.mode] = len(self._modes) if len(self._modes) < 256 else 0
        self._samples[event.configuration].put(event, self.replies.number(event.key), detail, mode)

    def made(self, event: Generated) -> bool:
        """Note a reply; True when its pass had none yet for this sample."""
        self.replies.add(event)
        row = self._made.setdefault((event.index, event.sample), bytearray())
        task = self._tasks.setdefault(event.task_id, len(self._tasks))
        if task >= len(row):
            row.extend(bytes(task + 1 - len(row)))
        new = not row[task]
        row[task] = 1
        return new

    def key(self, place: Place) -> str:
        """The key of the reply that a sample read; empty before it is judged."""
        configuration, task_id, sample = place
        found = self._samples.get(configuration)
        number = found.reply(task_id, sample) if found else -1
        return self.replies.key(number) if number >= 0 else ""

    def reply(self, place: Place) -> Reply | None:
        """The reply that a sample read."""
        configuration, task_id, sample = place
        found = self._samples.get(configuration)
        number = found.reply(task_id, sample) if found else -1
        return self.replies.get(number) if number >= 0 else None

    def detail(self, place: Place) -> str:
        """What an outcome said; empty for none."""
        configuration, task_id, sample = place
        found = self._samples.get(configuration)
        return found.detail(task_id, sample) if found else ""

    def mode(self, place: Place) -> str:
        """How a sample was judged (`engine.protocols.Outcome.mode`); empty where that is not known."""
        configuration, task_id, sample = place
        found = self._samples.get(configuration)
        number = found.mode(task_id, sample) if found else 0
        return next(name for name, value in self._modes.items() if value == number)

    def label(self, place: Place) -> str:
        """The mode of a sample where more than plain data decided its outcome; empty where that is not so."""
        mode = self.mode(place)
        return "" if mode == SPLIT else mode

    def labelled(self, configuration: str) -> dict[str, int]:
        """Such modes and how many samples of a configuration were judged in each."""
        found = self._samples.get(configuration)
        counts = {name: found.count(number) for name, number in self._modes.items() if number} if found else {}
        return {name: count for name, count in counts.items() if count and name != SPLIT}
