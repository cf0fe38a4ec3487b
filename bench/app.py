"""How fast the app answers: start, key presses while facts pour in, attaching to a long run; prints one line a figure.

    python bench/app.py

Uses a session that replays scripted facts; no model, no store. Figures are wall time on the machine at hand.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "tui"))

from app_kit import BENCHMARK, FakeSession, judged, make_study, script, started

from cache.store import Store
from engine.events import Event, to_dict
from engine.settings import Decoding, Grid, reference_grid
from tui.app import ScoretraceApp
from tui.local import LocalSession
from tui.state import RunState
from tui.study import Study, dumps
from tui.widgets.rows import RowList


def reference() -> tuple[Study, list[Event]]:
    """The reference study's sixty configurations, and all facts of a finished run of them."""
    study = make_study(reference_grid(BENCHMARK))
    return study, script(study, [20 + 7 * (index % 12) for index in range(60)])


def start_up() -> float:
    """Seconds from the process's start to the first screen, median of five."""
    code = (
        "import sys, asyncio; sys.path.insert(0, 'tests/tui')\n"
        "from app_kit import FakeSession, make_study\n"
        "from tui.app import ScoretraceApp\n"
        "async def main():\n"
        "    async with ScoretraceApp(FakeSession(), make_study()).run_test(size=(80, 24)) as pilot:\n"
        "        pass\n"
        "asyncio.run(main())\n"
    )
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def fold() -> float:
    """Facts folded per second."""
    _, events = reference()
    state = RunState()
    begin = time.perf_counter()
    state.apply((float(index), event) for index, event in enumerate(events))
    return len(events) / (time.perf_counter() - begin)


async def keys(study: Study, events: Sequence[Event], rate: int, presses: int = 60) -> list[float]:
    """Seconds from a cursor key to the painted row, while `rate` facts a second arrive."""
    session = FakeSession(events[:4], study)
    app = ScoretraceApp(session, study, autostart=True)
    waits: list[float] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.5)
        rows = app.screen.query_one("#matrix", RowList)
        begin = time.perf_counter()
        for step in range(presses):
            fed = 4 + int(rate * (time.perf_counter() - begin))
            session.events += events[len(session.events) : fed]
            key = "j" if step % 20 < 10 else "k"
            old = rows.key
            asked = time.perf_counter()
            app.simulate_key(key)
            while rows.key == old:
                await asyncio.sleep(0)
            app.screen._on_timer_update()
            waits.append(time.perf_counter() - asked)
            await asyncio.sleep(0.03)
    return waits


async def attach(study: Study, events: Sequence[Event]) -> tuple[float, float]:
    """Seconds until a finished run's facts are all on screen, and the longest gap between two loop turns meanwhile."""
    session = FakeSession((), study)
    app = ScoretraceApp(session, study, autostart=True)
    longest = 0.0
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.5)
        session.events += events
        begin = last = time.perf_counter()
        while app.desk.state.events < len(events) or app.desk.matches.busy:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        return time.perf_counter() - begin, longest


def sampled() -> tuple[Study, list[Event]]:
    """Four configurations of twenty samples each: 13 120 outcomes, as two facts each."""
    grid = Grid(
        benchmark=(BENCHMARK,), template=("instruct", "chat"), decoding=(Decoding(0.2), Decoding(0.8)), samples=(20,)
    )
    study = make_study(grid)
    events: list[Event] = [started(study)]
    for place, configuration in enumerate(study.configurations()):
        for sample in range(20):
            for event in judged(configuration, 40 + 3 * ((sample + place) % 5)):
                if hasattr(event, "sample"):
                    event = type(event)(**{**vars(event), "sample": sample})
                    events.append(event)
    return study, events


def stored(study: Study, events: Sequence[Event]) -> None:
    """The same through the real store: reading and decoding included."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store.sqlite")
        run = store.create_run(study.name, dumps(study), {})
        store.append(run, (to_dict(event) for event in events))
        store.set_state(run, "finished", release=True)
        store.close()
        session = LocalSession(Path(folder) / "store.sqlite")
        seconds, gap = asyncio.run(attach_stored(session, run, len(events)))
        show(f"the same through the store, {len(events)} facts", f"{seconds:.2f} s, longest turn {1000 * gap:.0f} ms")


async def attach_stored(session: LocalSession, run: int, count: int) -> tuple[float, float]:
    """Attach to a stored run; as `attach`."""
    app = ScoretraceApp(session, None)
    longest = 0.0
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.5)
        begin = last = time.perf_counter()
        app.attach_run(session.store.run(run))
        while app.desk.state.events < count or app.desk.matches.busy:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        seconds = time.perf_counter() - begin
    session.close()
    return seconds, longest


def show(name: str, text: str) -> None:
    """One line."""
    print(f"{name:<58} {text}", flush=True)


def main() -> None:
    """All figures."""
    show("start to first screen, whole process", f"{start_up():.2f} s")
    show("facts folded", f"{fold():,.0f}/s")
    study, events = reference()
    for rate in (0, 2000, 5000):
        waits = sorted(asyncio.run(keys(study, events, rate)))
        show(
            f"cursor key to painted row, {rate} facts/s",
            f"median {1000 * statistics.median(waits):.1f} ms, p95 {1000 * waits[int(0.95 * len(waits))]:.1f} ms, "
            f"worst {1000 * waits[-1]:.1f} ms",
        )
    seconds, gap = asyncio.run(attach(study, events))
    show(f"attach to a finished run, {len(events)} facts", f"{seconds:.2f} s, longest turn {1000 * gap:.0f} ms")
    stored(study, events)
    study, events = sampled()
    seconds, gap = asyncio.run(attach(study, events))
    show(f"attach to a sampled run, {len(events)} facts", f"{seconds:.2f} s, longest turn {1000 * gap:.0f} ms")


if __name__ == "__main__":
    main()
