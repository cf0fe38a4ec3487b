"""How fast and how small the app is: start, keys while facts pour in, long lists, a million facts; prints JSON.

    python bench/app.py [--repeats 3] [--presses 150] [--facts 1000000]

About four minutes on two quiet cores. No model and no network. Each figure is the median of `--repeats` rounds, which
are interleaved; the rounds stand beside it. Times are wall time on the machine at hand, memory is resident memory.

start        a process of its own in a pseudo-terminal of 80x24 opens a study with 1 000 reported scores; until the
             first row of the literature has arrived on the terminal
keys         from a thread's key press to the painted row, while 2 000 (or 5 000) facts a second arrive
scroll       one page of a list of 100 000 rows, from the key to the painted frame
memory       a process of its own after so many facts: outcomes and replies of sampled configurations
attach       until all facts of a finished run of the reference grid are on screen, read from a real store
"""

from __future__ import annotations

import argparse
import asyncio
import contextvars
import gc
import itertools
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tui"))

AIMS = {"start_s": 0.6, "key_p99_ms": 50, "scroll_p99_ms": 16, "memory_mb": 300}


# start


def start(folder: Path) -> float:
    """Seconds until the first row is on the terminal."""
    import fcntl
    import termios

    head, tail = pty.openpty()
    fcntl.ioctl(tail, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {**os.environ, "SCORETRACE_HOME": str(folder), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tui", "open", str(folder / "study.toml")],
        stdin=tail, stdout=tail, stderr=tail, env=env, cwd=folder, start_new_session=True,
    )  # fmt: skip
    os.close(tail)
    got = b""
    try:
        while b"Model 0000" not in got:
            if not select.select([head], [], [], 30)[0]:
                raise RuntimeError(f"nothing came for 30 s; before that: {got[-500:]!r}")
            got += os.read(head, 65536)
        return time.perf_counter() - begin
    finally:
        os.write(head, b"q")
        _drain(process, head)
        os.close(head)


def _drain(process: subprocess.Popen[bytes], head: int) -> None:
    """Read until the process has ended: one that cannot write does not end."""
    end = time.perf_counter() + 20
    while process.poll() is None and time.perf_counter() < end:
        if select.select([head], [], [], 0.1)[0]:
            try:
                os.read(head, 65536)
            except OSError:
                break
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def write_table(folder: Path) -> None:
    """A study with 1 000 reported scores of 250 models."""
    from app_kit import make_study

    from tui.study import dumps

    rows = ["model,benchmark,metric,value,source"]
    for index in range(1000):
        value = (index * 37 % 984) / 10 + 1
        rows.append(f"Model {index // 4:04},HumanEvalFix Python,pass@1,{value:.1f},S{index % 9}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    (folder / "study.toml").write_text(dumps(make_study(tables=(str(folder / "table.csv"),))))


# keys


class Presser(threading.Thread):
    """Moves the cursor from a thread of its own, so that a blocked screen counts; keeps the seconds to each row."""

    def __init__(self, app: Any, rows: Any, presses: int) -> None:
        super().__init__(daemon=True)
        self._app, self._rows, self._presses = app, rows, presses
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()  # Textual keeps the app in force there
        self._tasks: set[asyncio.Task[None]] = set()
        self.waits: list[float] = []

    def run(self) -> None:
        """Press."""
        for step in range(self._presses):
            key = "j" if step % 20 < 10 else "k"
            self._loop.call_soon_threadsafe(self._press, key, time.perf_counter(), context=self._context)
            time.sleep(0.04)

    def _press(self, key: str, asked: float) -> None:
        task = asyncio.ensure_future(self._watch(key, asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self, key: str, asked: float) -> None:
        old = self._rows.key
        self._app.simulate_key(key)
        while self._rows.key == old and time.perf_counter() - asked < 5:
            await asyncio.sleep(0)
        self._app.screen._on_timer_update()
        self.waits.append(time.perf_counter() - asked)


async def keys(rate: int, presses: int) -> list[float]:
    """Seconds of each press while `rate` facts a second arrive."""
    from app_kit import FakeSession

    from tui.app import ScoretraceApp
    from tui.widgets.rows import RowList

    study, events = reference()
    session = FakeSession(events[:4], study)
    app = ScoretraceApp(session, study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.5)
        presser = Presser(app, app.screen.query_one("#matrix", RowList), presses)
        begin = time.perf_counter()
        presser.start()
        while presser.is_alive() or presser._tasks:
            fed = 4 + int(rate * (time.perf_counter() - begin))
            session.events += events[len(session.events) : fed]
            await asyncio.sleep(0.005)
    return presser.waits


def reference() -> tuple[Any, list[Any]]:
    """The reference study's sixty configurations, and all facts of a finished run of them."""
    from app_kit import BENCHMARK, make_study, script

    from engine.settings import reference_grid

    study = make_study(reference_grid(BENCHMARK))
    return study, script(study, [20 + 7 * (index % 12) for index in range(60)])


# scroll


async def scroll(count: int = 100_000, pages: int = 200) -> list[float]:
    """Seconds of each page."""
    from textual.app import App, ComposeResult

    from tui.widgets.pieces import cell
    from tui.widgets.rows import RowList

    class Host(App[int]):
        def compose(self) -> ComposeResult:
            yield RowList(
                lambda key, width: (
                    cell(key, 16), cell("✗ failed", 15, "against"), cell("120", 7, "muted", right=True),
                    cell("AssertionError: assert candidate([1.0, 2.0]) == True", width - 38, "muted"),
                )
            )  # fmt: skip

        def on_mount(self) -> None:
            rows = self.query_one(RowList)
            rows.show([f"Python/{index}" for index in range(count)])
            rows.focus()

    app = Host()
    waits = []
    gc.freeze()  # as the app does when it opens
    async with app.run_test(size=(120, 40)) as pilot:
        rows = app.query_one(RowList)
        await pilot.pause(0.3)
        for _ in range(pages):
            old = rows.key
            asked = time.perf_counter()
            app.simulate_key("pagedown")
            while rows.key == old:
                await asyncio.sleep(0)
            app.screen._on_timer_update()
            waits.append(time.perf_counter() - asked)
            await asyncio.sleep(0.002)
    return waits


# memory


def sampled() -> tuple[Any, Callable[[], Iterator[Any]]]:
    """A study of sampled configurations, and its facts as they would come from the store: each object made anew."""
    from app_kit import BENCHMARK, make_study, started, tasks

    from engine.events import Generated, Judged, from_dict, to_dict
    from engine.settings import Decoding, Grid

    study = make_study(
        Grid(
            benchmark=(BENCHMARK,), template=("instruct", "chat", "deepseek"), decoding=(Decoding(0.2), Decoding(0.8)),
            samples=(20,), max_length=(512, 2048), precision=("f16", "q8_0", "q4_k_m"), seed=(0, 1, 2, 3, 4, 5),
        )
    )  # fmt: skip

    def facts() -> Iterator[Any]:
        yield started(study)
        for place, configuration in enumerate(study.configurations()):
            for sample in range(20):
                for number, task_id in enumerate(tasks()):
                    key = f"{place // 2:012x}{sample:012x}{number:016x}"
                    made = Generated(place // 2, task_id, sample, key, 60 + number, "end", 0.4)
                    good = (place + sample + number) % 3 == 0
                    detail = "" if good else f"AssertionError: assert candidate([{number}]) == {place % 7}"
                    kind = "passed" if good else "failed"
                    outcome = Judged(configuration.id, task_id, sample, key, kind, detail, 0.01)
                    for event in (made, outcome) if place % 2 == 0 else (outcome,):
                        yield from_dict(json.loads(json.dumps(to_dict(event))))

    return study, facts


async def hold(count: int) -> dict[str, float]:
    """The app with `count` facts (at most about 1 060 000): its memory in MB before and after, and facts a second."""
    from app_kit import FakeSession

    from tui.app import ScoretraceApp

    study, facts = sampled()

    class Pouring(FakeSession):
        def __init__(self) -> None:
            super().__init__((), study)
            self.source = facts()
            self.left = count

        def poll(self, limit: int = 2000) -> Sequence[tuple[float, Any]]:
            found = [(1000.0, event) for event in itertools.islice(self.source, min(limit, self.left))]
            self.left -= len(found)
            return found

    app = ScoretraceApp(Pouring(), study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.2)
        begin, before = time.perf_counter(), resident()
        while app.desk.state.events < count:
            await asyncio.sleep(0.05)
        seconds = time.perf_counter() - begin
        await pilot.pause(0.2)
        return {"before_mb": before, "after_mb": resident(), "facts_per_s": count / seconds}


def resident() -> float:
    """Resident memory of this process in MB."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6


def memory(count: int) -> dict[str, float]:
    """As `hold`, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", "hold", "--facts", str(count)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


# attach


async def attach(folder: Path) -> float:
    """Seconds until a finished run's facts and matches are all there, through a store."""
    from cache.store import Store
    from engine.events import to_dict
    from tui.app import ScoretraceApp
    from tui.local import LocalSession
    from tui.study import dumps

    study, events = reference()
    path = folder / "attach.sqlite"
    if not path.exists():
        store = Store(path)
        run = store.create_run(study.name, dumps(study), {})
        store.append(run, (to_dict(event) for event in events))
        store.set_state(run, "finished", release=True)
        store.close()
    session = LocalSession(path)
    app = ScoretraceApp(session, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.3)
        begin = time.perf_counter()
        app.attach_run(session.runs()[0])
        while app.desk.state.events < len(events) or app.desk.matches.busy:
            await asyncio.sleep(0)
        seconds = time.perf_counter() - begin
    session.close()
    return seconds


# all


def milliseconds(waits: Sequence[float], part: float) -> float:
    """A quantile in milliseconds."""
    return round(1000 * sorted(waits)[int(part * (len(waits) - 1))], 1)


def rounds(options: argparse.Namespace, folder: Path) -> dict[str, list[float]]:
    """Every figure of every round."""
    found: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        found.setdefault(name, []).append(round(value, 3))

    for _ in range(options.repeats):
        note("start_s", start(folder))
        for rate, name in ((2000, "key"), (5000, "key_at_5000")):
            waits = asyncio.run(keys(rate, options.presses))
            note(f"{name}_median_ms", milliseconds(waits, 0.5))
            note(f"{name}_p99_ms", milliseconds(waits, 0.99))
            note(f"{name}_worst_ms", milliseconds(waits, 1.0))
        waits = asyncio.run(scroll())
        note("scroll_median_ms", milliseconds(waits, 0.5))
        note("scroll_p99_ms", milliseconds(waits, 0.99))
        held = memory(options.facts)
        note("memory_mb", held["after_mb"])
        note("memory_before_mb", held["before_mb"])
        note("facts_per_s", held["facts_per_s"])
        note("attach_s", asyncio.run(attach(folder)))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--presses", type=int, default=150)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--child", choices=("hold",), help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["SCORETRACE_HOME"] = name
        if options.child:
            print(json.dumps(asyncio.run(hold(options.facts))))
            return
        folder = Path(name)
        write_table(folder)
        start(folder)  # once for the file cache
        found = rounds(options, folder)
    print(
        json.dumps(
            {
                "cores": len(os.sched_getaffinity(0)),
                "load_before": round(os.getloadavg()[0], 2),
                "facts": options.facts,
                "median": {name: statistics.median(values) for name, values in found.items()},
                "rounds": found,
                "aims": AIMS,
                "missed": [name for name, aim in AIMS.items() if statistics.median(found[name]) > aim],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
