"""What a run's slots are writing at this moment: told while somebody watches, and kept nowhere.

Two small files beside the store: a mark that watchers touch, and what the worker tells, replaced a few times a second.
A mark counts for MARK_SECONDS after its last touch, so a watcher that is gone is forgotten by itself. The store is not
used: views open it for reading only, and what is half written is no fact.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cache.errors import StoreError

MARK_SECONDS = 3.0
RENEW_SECONDS = 1.0
TELL_SECONDS = 0.2
TAIL = 2000
"""The most characters that are told of one reply, from its end: more than a screen shows."""

Stamp = tuple[int, int]


@dataclass(frozen=True)
class SlotText:
    """An unfinished reply: its slot, its pass in words, whose sample it is, and the tokens so far of `limit` at most.

    `text` is the end of what is written, from character `start` on.
    """

    slot: int
    label: str
    task_id: str
    sample: int
    tokens: int
    limit: int
    start: int
    text: str


def _mark(store: Path, run: int) -> Path:
    return store.with_name(f"{store.name}-live") / f"run-{run}.watched"


def _told(store: Path, run: int) -> Path:
    return _mark(store, run).with_suffix(".json")


def _stamp(path: Path) -> Stamp | None:
    """Changes whenever a file is touched or replaced; None without it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


class Teller:
    """The worker's end. Until a mark is touched, each call of `tell` looks whether one was, and does no more."""

    def __init__(self, store: Path, run: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._mark, self._file = _mark(store, run), _told(store, run)
        self._clock = clock
        self._seen = _stamp(self._mark)
        # By this process's own clock: one that was put back cannot keep a watch alive.
        self._until = self._last = clock() - MARK_SECONDS
        self._telling = False

    def tell(self, slots: Callable[[], Sequence[SlotText]]) -> None:
        """Tell what `slots()` says if somebody watches, at most once in TELL_SECONDS."""
        now = self._clock()
        if now - self._last < TELL_SECONDS:
            return
        self._last = now
        stamp = _stamp(self._mark)
        if stamp != self._seen and stamp is not None:
            self._until = now + MARK_SECONDS
        self._seen = stamp
        if now < self._until:
            self._telling = True
            self._write(slots())
        elif self._telling:
            self.end()

    def _write(self, slots: Sequence[SlotText]) -> None:
        part = self._file.with_suffix(".part")
        # Nobody's run shall end because somebody looks on: a full disk is told by what must be kept.
        with contextlib.suppress(OSError):
            part.write_text(json.dumps([asdict(slot) for slot in slots]), encoding="utf-8")
            part.replace(self._file)

    def end(self) -> None:
        """Nothing is being written any more, or nobody watches: leave no file behind."""
        self._telling = False
        with contextlib.suppress(OSError):
            for path in (self._file, self._file.with_suffix(".part"), self._mark):
                path.unlink(missing_ok=True)


class Watch:
    """A watcher's end; any number of them, of processes that may only read the store too."""

    def __init__(self, store: Path, run: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._mark, self._file = _mark(store, run), _told(store, run)
        self._clock = clock
        self._renewed = clock() - RENEW_SECONDS
        self._seen: Stamp | None = None
        self._slots: list[SlotText] = []

    def look(self) -> Sequence[SlotText]:
        """What the slots are writing, as last told; empty while nothing is told. Asks for more of it.

        `StoreError` where the mark cannot be made.
        """
        now = self._clock()
        if now - self._renewed >= RENEW_SECONDS:
            self._renewed = now
            try:
                self._mark.parent.mkdir(exist_ok=True)
                self._mark.touch()
            except OSError as error:
                raise StoreError(f"cannot ask the worker for what it is writing: {error}") from error
        stamp = _stamp(self._file)
        if stamp != self._seen:
            self._seen, self._slots = stamp, self._read()
        return self._slots

    def _read(self) -> list[SlotText]:
        try:
            return [SlotText(**slot) for slot in json.loads(self._file.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            # It ended just now, or the worker is of another version.
            return []
