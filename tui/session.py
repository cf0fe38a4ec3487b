"""What a front needs of a run: start it, watch it, ask things of it; hides which process owns the worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cache.store import Run, StoredGeneration
from engine.events import Event
from engine.live import SlotText
from tui.study import Study

LIVE = ("created", "running", "paused")
"""States in which a worker is at a run, or about to be."""


@dataclass(frozen=True)
class Preflight:
    """What a study would cost before anything starts.

    Counts after sharing: `configurations` of the grid, `passes` over the problems, `loads` of weights, `generations`
    to be kept, of which `stored` exist already as far as finished passes of the same file and engine tell (the worker
    looks each up), `naive` without sharing; `tokens`, `seconds` and `bytes` (replies, outcomes, derived model files)
    are estimates for what is not stored, and `basis` says what they rest on. `free` is the disk's free bytes; `repeats`
    the most executions that repeats under other seeds add, if every reply makes a program of its own.
    """

    configurations: int
    passes: int
    loads: int
    problems: int
    generations: int
    stored: int
    naive: int
    tokens: int
    seconds: float
    bytes: int
    basis: str
    free: int = 1 << 62
    repeats: int = 0


@dataclass(frozen=True)
class Status:
    """A run's state as seen from outside: `none`, `created`, `running`, `paused`, `stopped`, `finished`, `failed`,
    `died`.

    `died` is a worker that is gone without a last word; `detail` then holds the last lines of its stderr. `bytes` is
    the main memory that the worker holds, `device_bytes` the same on a GPU; 0 while unknown.
    """

    state: str
    detail: str = ""
    bytes: int = 0
    device_bytes: int = 0


class Session(Protocol):
    """One open run, or none yet. All calls return at once; none draws on a screen."""

    @property
    def run(self) -> int | None:
        """The attached run's id."""
        ...

    def runs(self) -> Sequence[Run]:
        """All runs in the store, newest first."""
        ...

    def preflight(self, study: Study) -> Preflight:
        """Count and estimate; may read benchmark files; raises the errors of `engine` and `cache`."""
        ...

    def start(self, study: Study) -> int:
        """Create a run of a study, start its worker, attach to it; its id."""
        ...

    def enqueue(self, study: Study) -> int:
        """Create a run of a study that begins when every run before it has ended, with or without the app; its id."""
        ...

    def queue(self) -> Sequence[int]:
        """The waiting runs, the next one first."""
        ...

    def move(self, run: int, step: int) -> None:
        """Let a waiting run change places with the one before it (-1) or behind it (1)."""
        ...

    def take_out(self, run: int) -> None:
        """Let a run wait no longer; it is kept, and can be resumed."""
        ...

    def amend(self, tables: Sequence[str]) -> None:
        """Let the attached run's study name these tables, so that its report reads the corrected scores."""
        ...

    def attach(self, run: int) -> None:
        """Watch a run from its first event on."""
        ...

    def resume(self) -> None:
        """Start a worker again for the attached run that stopped, failed or died; goes on where it was."""
        ...

    def poll(self, limit: int = 2000) -> Sequence[tuple[float, Event]]:
        """Events not yet polled, oldest first, as (Unix time, event); empty when there are none."""
        ...

    def read(self, run: int) -> Sequence[tuple[float, Event]]:
        """All events of any run, for a comparison; the attached one stays attached."""
        ...

    def wish(self, kind: str) -> None:
        """Ask the worker to `pause`, `resume` or `stop`."""
        ...

    def status(self) -> Status:
        """The attached run's state now."""
        ...

    def live(self) -> Sequence[SlotText]:
        """What the attached run's slots are writing now; empty while nothing is told, as at first: asking makes the
        worker tell it for some seconds. `StoreError` where it cannot be asked.
        """
        ...

    def generation(self, key: str) -> StoredGeneration | None:
        """A kept reply by its key."""
        ...

    def close(self) -> None:
        """Let go of the store; a worker that runs goes on."""
        ...
