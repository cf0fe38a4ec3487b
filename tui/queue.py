"""The queue: runs that wait for their turn, in an order that the store keeps."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from cache.paths import logs_folder
from cache.store import Run, Store
from tui.session import LIVE

QUEUED = "queued"
"""The state of a run that waits; no worker is at it, and none was."""
ORDER = "queue"
"""The fact that holds the order, as run ids; a run that it does not name comes last."""
GRACE_SECONDS = 30.0
"""How long a worker that was just started may take to claim its run."""
KEEPER = ("-P", "-m", "tui.queue_keeper")


class Queue:
    """The waiting runs of a store; what is asked of it is on disk when the call returns."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def runs(self) -> list[int]:
        """The waiting runs, the next one first."""
        waiting = [run.id for run in reversed(self._store.runs()) if run.state == QUEUED]
        order = [*(self._store.fact(ORDER) or {}).get("runs", ())]
        places = {run: place for place, run in enumerate(order)}
        return sorted(waiting, key=lambda run: (places.get(run, len(order)), run))

    def add(self, run: int) -> None:
        """Put a new run at the end."""
        before = self.runs()
        self._store.set_state(run, QUEUED, release=True)
        self._keep([*before, run])

    def move(self, run: int, step: int) -> None:
        """Let a waiting run change places with the one before (-1) or behind it (1); nothing at either end."""
        order = self.runs()
        place = order.index(run) if run in order else -1
        if place >= 0 and 0 <= place + step < len(order):
            order[place], order[place + step] = order[place + step], order[place]
            self._keep(order)

    def take_out(self, run: int) -> None:
        """Let a run wait no longer; it can be resumed like one that was stopped."""
        if run in self.runs():
            self._store.set_state(run, "stopped", "taken out of the queue before it began", release=True)

    def _keep(self, order: Sequence[int]) -> None:
        self._store.put_fact(ORDER, {"runs": list(order)})


def at_work(runs: Sequence[Run], now: float | None = None) -> int | None:
    """The run that a worker is at, or is about to be; None when the machine is free."""
    moment = time.time() if now is None else now
    for run in runs:
        fresh = moment - max(run.created, run.heartbeat or 0.0) < GRACE_SECONDS
        if run.state in LIVE and (run.alive or (run.pid is None and run.state == "created" and fresh)):
            return run.id
    return None


def start_keeper(store: Store) -> None:
    """Start the process that takes the queue forward; one that is there already stays the only one."""
    log = logs_folder() / "queue.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stderr:
        subprocess.Popen(
            [sys.executable, *KEEPER, "--store", str(store.path)],
            stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, start_new_session=True,
        )  # fmt: skip
