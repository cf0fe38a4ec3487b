"""`python -P -m tui.queue_keeper --store PATH`: starts each waiting run when no other is at work, until none waits.

A process of its own, so that a queue goes on without the app. Its standard error is the log `queue.log`.
"""

from __future__ import annotations

import argparse
import fcntl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from cache.errors import CacheError
from cache.paths import logs_folder
from cache.store import Store
from tui.local import WORKER
from tui.queue import Queue, at_work

LOOK_SECONDS = 0.5
LOCK_SECONDS = 5.0
"""How long to wait for a keeper that is about to leave: a run that is queued just then must not be forgotten."""


def keep(store: Store, work: Callable[[Store, int], int], sleep: Callable[[float], None] = time.sleep) -> None:
    """Take the queue forward until it is empty; `work` starts a run's worker and waits for it, and gives its status."""
    queue = Queue(store)
    while waiting := queue.runs():
        if at_work(store.runs()) is not None:
            sleep(LOOK_SECONDS)
            continue
        run = waiting[0]
        store.set_state(run, "created", release=True)
        status = work(store, run)
        if store.run(run).state == "created":
            # The worker ended before it claimed the run: say so, or the run would look as if it were about to begin.
            detail = f"its worker ended with status {status} before it began; see {log_path(run)}"
            store.set_state(run, "failed", detail, release=True)


def log_path(run: int) -> Path:
    """Where a run's worker writes its standard error."""
    return logs_folder() / f"run-{run}.log"


def work(store: Store, run: int) -> int:
    """Start the worker of a run and wait for it; its exit status."""
    log = log_path(run)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stderr:
        worker = subprocess.Popen(
            [sys.executable, *WORKER, str(run), "--store", str(store.path)],
            stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, start_new_session=True,
        )  # fmt: skip
    return worker.wait()


def alone(path: Path, seconds: float = LOCK_SECONDS) -> TextIO | None:
    """The lock that one keeper holds for a store, or None while another does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(path.name + ".queue").open("w")
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            if time.monotonic() >= end:
                lock.close()
                return None
            time.sleep(0.1)


def main(arguments: list[str] | None = None) -> int:
    """Keep the queue of a store; 0 when nothing waits any more or another keeper is at it."""
    parser = argparse.ArgumentParser(prog="python -m tui.queue_keeper")
    parser.add_argument("--store", type=Path, required=True)
    path = parser.parse_args(arguments).store
    lock = alone(path)
    if lock is None:
        return 0
    try:
        keep(Store(path), work)
    except CacheError as error:
        print(f"queue: {error}", file=sys.stderr)
        return 3
    finally:
        lock.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
