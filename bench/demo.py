"""The embedded study, for real, in the app at 80x24: when scores come, and how fast keys answer meanwhile; prints JSON.

    python bench/demo.py

Runs in an empty data folder with a real worker and the real small model, some minutes. Seconds are wall time on the
machine at hand. A key's time runs from the moment a thread of its own sends it, so a blocked screen counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tui.app import ScoretraceApp
from tui.local import LocalSession
from tui.session import LIVE
from tui.study import embedded
from tui.widgets.rows import RowList

PRESS_EVERY_S = 0.25


class Keys:
    """Moves the cursor of the match matrix up and down from a thread, and keeps the seconds to each painted row."""

    def __init__(self, app: ScoretraceApp, loop: asyncio.AbstractEventLoop) -> None:
        self._app, self._loop = app, loop
        self._tasks: set[asyncio.Task[None]] = set()
        self.waits: list[float] = []
        self.done = threading.Event()

    def run(self) -> None:
        """Send keys until `done`."""
        count = 0
        while not self.done.wait(PRESS_EVERY_S):
            key = "j" if count % 20 < 10 else "k"
            self._loop.call_soon_threadsafe(self._press, key, time.perf_counter())
            count += 1

    def _press(self, key: str, asked: float) -> None:
        task = asyncio.ensure_future(self._watch(key, asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self, key: str, asked: float) -> None:
        found = self._app.screen.query("#matrix")
        if not found:
            return
        rows = found.first(RowList)
        old = rows.key
        self._app.simulate_key(key)
        while rows.key == old and time.perf_counter() - asked < 2:
            await asyncio.sleep(0)
        if rows.key != old:
            self._app.screen._on_timer_update()
            self.waits.append(time.perf_counter() - asked)


async def measure(session: LocalSession) -> dict[str, Any]:
    """Run the study in the app to its end."""
    app = ScoretraceApp(session, embedded(), autostart=True)
    began = time.time()
    async with app.run_test(size=(80, 24)) as pilot:
        keys = Keys(app, asyncio.get_running_loop())
        await pilot.pause(1.0)
        thread = threading.Thread(target=keys.run, daemon=True)
        thread.start()
        while session.run is None or session.status().state in LIVE:
            await asyncio.sleep(0.5)
        keys.done.set()
        thread.join()
    return figures(session, began, sorted(keys.waits))


def figures(session: LocalSession, began: float, waits: list[float]) -> dict[str, Any]:
    """What the store's facts and the keys' times say."""
    assert session.run is not None
    rows = session.store.events(session.run)
    finished = [moment - began for _, moment, body in rows if body["fact"] == "ConfigurationFinished"]
    made = [body for _, _, body in rows if body["fact"] == "Generated" and not body["reused"]]
    return {
        "state": session.status().state,
        "cores": len(os.sched_getaffinity(0)),
        "configurations": len(finished),
        "first_configuration_s": round(finished[0], 1) if finished else None,
        "all_configurations_s": round(finished[-1], 1) if finished else None,
        "generations": len(made),
        "tokens": sum(body["tokens"] for body in made),
        "keys": len(waits),
        "key_median_ms": round(1000 * statistics.median(waits), 1) if waits else None,
        "key_p99_ms": round(1000 * waits[int(0.99 * (len(waits) - 1))], 1) if waits else None,
        "key_worst_ms": round(1000 * waits[-1], 1) if waits else None,
        "keys_over_50_ms": sum(wait > 0.05 for wait in waits),
    }


def main() -> None:
    """Run in a data folder of its own and print."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SCORETRACE_HOME"] = folder
        session = LocalSession(Path(folder) / "store.sqlite")
        try:
            print(json.dumps(asyncio.run(measure(session)), indent=1))
        finally:
            if session.run is not None:
                session.wish("stop")
            session.close()


if __name__ == "__main__":
    main()
