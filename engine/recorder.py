"""Facts on their way to the store: batched, in order, and never an event before the reply that it names."""

from __future__ import annotations

import time
from collections.abc import Callable

from cache.store import Store, StoredGeneration, StoredOutcome
from engine.events import Event, Noted, to_dict

FLUSH_SECONDS = 0.05
JUMP = 5.0
"""Seconds by which the time of day must go back to be worth a word."""


class Recorder:
    """Keeps what one run finds; what is not yet committed can already be looked up. Not thread-safe: one thread owns
    it.
    """

    def __init__(
        self,
        store: Store,
        run: int,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.run = run
        self._clock = clock
        self._wall = wall
        self._flushed = clock()
        self._latest = wall()
        self._generations: dict[str, StoredGeneration] = {}
        self._outcomes: dict[str, StoredOutcome] = {}
        self._prefixes: dict[tuple[str, int], str] = {}
        self._events: list[Event] = []

    def event(self, event: Event) -> None:
        """Add an event to the batch."""
        self._events.append(event)
        self.flush(at_once=False)

    def put_generation(self, generation: StoredGeneration) -> None:
        """Add a reply to the batch."""
        self._generations[generation.key] = generation

    def put_outcome(self, outcome: StoredOutcome) -> None:
        """Add an outcome to the batch."""
        self._outcomes[outcome.key] = outcome

    def put_prefix(self, key: str, tokens: int, text: str) -> None:
        """Add to the batch what a shorter limit reads of a reply: the text of its first tokens."""
        self._prefixes[key, tokens] = text

    def generation(self, key: str) -> StoredGeneration | None:
        """A reply, committed or in the batch."""
        return self._generations.get(key) or self.store.generation(key)

    def outcome(self, key: str) -> StoredOutcome | None:
        """An outcome, committed or in the batch."""
        return self._outcomes.get(key) or self.store.outcome(key)

    def flush(self, *, at_once: bool = True) -> None:
        """Commit the batch; without `at_once` only when the last commit is FLUSH_SECONDS ago."""
        if not at_once and self._clock() - self._flushed < FLUSH_SECONDS:
            return
        self._flushed = self._clock()
        self._watch_wall()
        if not (self._events or self._generations or self._outcomes or self._prefixes):
            return
        self.store.record(
            self.run,
            list(self._generations.values()),
            list(self._outcomes.values()),
            [to_dict(event) for event in self._events],
            self._prefixes,
        )
        self._generations.clear()
        self._outcomes.clear()
        self._prefixes.clear()
        self._events.clear()

    def _watch_wall(self) -> None:
        """Say when the time of day goes back: events bear it, and nothing else depends on it."""
        now = self._wall()
        back = self._latest - now
        self._latest = now
        if back >= JUMP:
            self._events.append(
                Noted(
                    "warning",
                    f"this machine's clock went back by {back / 60:.0f} min while the run went on: times before and "
                    "after do not compare; order, replies and scores do not depend on them",
                )
            )
