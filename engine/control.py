"""Between decoding steps: commit what was found, obey pause, resume and stop, tell watchers what is being written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from engine.events import StateChanged
from engine.live import SlotText, Teller
from engine.recorder import Recorder

WISH_SECONDS = 0.2


class Stopped(Exception):
    """The user asked the run to stop; everything found so far is kept."""


class Control:
    """The worker's ear. `tick` is called before each decoding step and returns False once a stop was asked for."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        housekeeping: Callable[[], None] = lambda: None,
    ) -> None:
        self._recorder = recorder
        self._clock = clock
        self._sleep = sleep
        self.housekeeping = housekeeping
        self._asked = -WISH_SECONDS
        self._teller = Teller(recorder.store.path, recorder.run, clock)
        self._writing: Callable[[], Sequence[SlotText]] | None = None
        self.stopped = False
        # Wishes from before this worker's life were for an earlier one.
        self._seen = max((seq for seq, _ in recorder.store.wishes(recorder.run)), default=0)

    def tick(self) -> bool:
        """Do what is due; blocks while paused."""
        self.housekeeping()
        self._recorder.flush(at_once=False)
        if self._clock() - self._asked >= WISH_SECONDS and not self.stopped:
            self._listen()
        return not self.stopped

    def check(self) -> None:
        """Like `tick`, for places outside of decoding: raises `Stopped`."""
        if not self.tick():
            raise Stopped

    @contextmanager
    def telling(self, writing: Callable[[], Sequence[SlotText]]) -> Iterator[None]:
        """Inside, whoever watches the run is told what `writing()` says; it is not called while nobody does."""
        # What a killed life of this run told last is no longer so.
        self._teller.end()
        self._writing = writing
        try:
            yield
        finally:
            self._writing = None
            self._teller.end()

    def _tell(self) -> None:
        if self._writing is not None:
            self._teller.tell(self._writing)

    def _listen(self) -> None:
        self._asked = self._clock()
        self._tell()
        if self._heard() != "pause":
            return
        self._state("paused")
        while not self.stopped:
            self._sleep(WISH_SECONDS / 2)
            self.housekeeping()
            self._recorder.flush()
            self._tell()
            if self._heard() == "resume":
                self._state("running")
                return

    def _heard(self) -> str:
        heard = ""
        for seq, kind in self._recorder.store.wishes(self._recorder.run, self._seen):
            self._seen, heard = seq, kind
            self.stopped = self.stopped or kind == "stop"
        return heard

    def _state(self, state: str) -> None:
        self._recorder.event(StateChanged(state))
        self._recorder.flush()
        self._recorder.store.set_state(self._recorder.run, state)
