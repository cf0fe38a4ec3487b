"""The session of this machine: the store is the bus, the worker a process of its own that outlives the screen."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cache.paths import logs_folder
from cache.store import Run, Store, StoredGeneration
from engine.events import Event, from_dict
from engine.job import Job
from engine.live import SlotText, Watch
from engine.settings import Configuration
from tui import study as studies
from tui.session import LIVE, Preflight, Status
from tui.study import Study
from tui.usage import memory_of

WORKER = ("-P", "-m", "engine.worker")
"""-P keeps the current folder off sys.path: a user's own `engine/` must not be imported in our place."""

_CRASHED = "native code of the engine crashed (signal {})"
DEATHS: dict[int, str] = {
    signal.SIGKILL: "the engine's process was killed (signal 9): by somebody, or by the system because memory ran out; "
    "in that case choose a smaller width, a shorter maximum length or a lower precision",
    signal.SIGABRT: "native code of the engine gave up (signal 6), as llama.cpp does when one of its checks fails",
    signal.SIGILL: "the build of llama.cpp uses instructions that this processor lacks (signal 4); reinstall "
    "llama-cpp-python here",
    signal.SIGSEGV: _CRASHED.format(11),
    signal.SIGBUS: _CRASHED.format(7),
}
"""How a worker may end without a word of its own, by its signal."""


def job_of(study: Study, only: Sequence[str] = (), store: Store | None = None) -> Job:
    """The job that a study asks for; `only` keeps the configurations of those ids, earlier runs in `store` tell which
    order of problems decides soonest where configurations are to be stopped.
    """
    configurations = tuple(c for c in study.configurations() if not only or c.id in only)
    return Job(
        configurations=configurations,
        models={model.name: model.file for model in study.models},
        data={name: study.data for name in study.grid.benchmark if study.data},
        width=study.width,
        shapes={model.name: model.shapes for model in study.models if model.shapes},
        audit=study.audit,
        repeats=study.repeats,
        **stopping(study, configurations, store),
    )


def stopping(study: Study, configurations: Sequence[Configuration], store: Store | None) -> dict[str, Any]:
    """The part of a job that says when to ask a configuration no further; empty where the study stops none."""
    if not study.stop:
        return {}
    from tui.stopping import finished_before, likely_passes, targets

    earlier = {
        name: finished_before(store, name) if store else [] for name in {one.benchmark for one in configurations}
    }
    order = {name: likely_passes(scores) for name, scores in earlier.items() if scores}
    return {"stop": study.stop, "targets": targets(study, configurations, earlier), "order": order}


class LocalSession:
    """Meets `tui.session.Session` with the real store and real workers."""

    def __init__(self, store_path: Path, *, read_only: bool = False) -> None:
        self._store = Store(store_path, read_only=read_only)
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._run: int | None = None
        self._seen = 0
        self._watch: Watch | None = None

    @property
    def run(self) -> int | None:
        """The attached run's id."""
        return self._run

    @property
    def store(self) -> Store:
        """The store, for reports."""
        return self._store

    def runs(self) -> Sequence[Run]:
        """All runs in the store, newest first."""
        return self._store.runs()

    def preflight(self, study: Study, only: Sequence[str] = ()) -> Preflight:
        """Count and estimate; see `tui.preflight`. `StoreError` when the disk has no room for it."""
        from tui.preflight import estimate, with_room

        return with_room(estimate(study, self._store, only), self._store.path.parent)

    def start(self, study: Study, only: Sequence[str] = ()) -> int:
        """Create a run of a study, start its worker, attach to it; its id."""
        run = self._store.create_run(study.name, studies.dumps(study), job_of(study, only, self._store).as_dict())
        self.attach(run)
        self.resume()
        return run

    def enqueue(self, study: Study) -> int:
        """Create a run of a study that begins when every run before it has ended; its id."""
        from tui.queue import Queue, start_keeper

        run = self._store.create_run(study.name, studies.dumps(study), job_of(study, (), self._store).as_dict())
        Queue(self._store).add(run)
        start_keeper(self._store)
        return run

    def go_on(self) -> None:
        """Take a queue forward that an earlier session, or a machine that was switched off, has left."""
        from tui.queue import start_keeper

        if self.queue():
            start_keeper(self._store)

    def queue(self) -> Sequence[int]:
        """The waiting runs, the next one first."""
        from tui.queue import Queue

        return Queue(self._store).runs()

    def move(self, run: int, step: int) -> None:
        """Let a waiting run change places with the one before or behind it."""
        from tui.queue import Queue

        Queue(self._store).move(run, step)

    def take_out(self, run: int) -> None:
        """Let a run wait no longer."""
        from tui.queue import Queue

        Queue(self._store).take_out(run)

    def amend(self, tables: Sequence[str]) -> None:
        """Let the attached run's study name these tables."""
        run = self._attached()
        text = self._store.run(run).study
        if text:
            study = studies.loads(text, f"run {run}")
            self._store.set_study(run, studies.dumps(replace(study, tables=tuple(tables))))

    def attach(self, run: int) -> None:
        """Watch a run from its first event on."""
        self._store.run(run)
        self._run, self._seen, self._watch = run, 0, None

    def resume(self) -> None:
        """Start a worker for the attached run unless one is at it."""
        run = self._attached()
        if self._store.run(run).alive:
            return
        self._store.set_state(run, "created", release=True)
        log = self.log_path(run)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as stderr:
            self._workers[run] = subprocess.Popen(
                [sys.executable, *WORKER, str(run), "--store", str(self._store.path)],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, start_new_session=True,
            )  # fmt: skip

    def ask_audit(self, count: int) -> None:
        """Have the attached run's next worker make `count` more samples again, alone, when all is judged."""
        run = self._attached()
        job = Job.from_dict(self._store.run(run).job)
        from engine.audit import checked

        wanted = len(checked(self._store, run)) + count
        self._store.set_job(run, replace(job, audit=wanted).as_dict())

    def ask_repeats(self, seeds: int) -> None:
        """Have the attached run's next worker execute its programs under `seeds` other seeds, when all is judged."""
        run = self._attached()
        row = self._store.run(run)
        study = replace(studies.loads(row.study, f"run {run}"), repeats=seeds)
        self._change(run, study, replace(Job.from_dict(row.job), repeats=seeds))

    def ask_stop(self, rule: str) -> None:
        """Have the attached run's next worker stop configurations by `rule` (empty: none, and what was stopped goes
        on), compared with what the study's tables hold now.
        """
        run = self._attached()
        row = self._store.run(run)
        job = Job.from_dict(row.job)
        study = replace(studies.loads(row.study, f"run {run}"), stop=rule)
        told = stopping(study, job.configurations, self._store) or {"stop": "", "targets": {}, "order": {}}
        self._change(run, study, replace(job, **told))

    def _change(self, run: int, study: Study, job: Job) -> None:
        """What the run's next worker does, and the study that is kept with the run and asks for the same."""
        self._store.set_study(run, studies.dumps(study))
        self._store.set_job(run, job.as_dict())

    def log_path(self, run: int) -> Path:
        """Where a run's worker writes its standard error."""
        return logs_folder() / f"run-{run}.log"

    def poll(self, limit: int = 2000) -> Sequence[tuple[float, Event]]:
        """Events not yet polled, oldest first."""
        if self._run is None:
            return []
        rows = self._store.events(self._run, self._seen, limit)
        if rows:
            self._seen = rows[-1][0]
        return [(moment, from_dict(body)) for _, moment, body in rows]

    def read(self, run: int) -> Sequence[tuple[float, Event]]:
        """All events of any run."""
        self._store.run(run)
        return [(moment, from_dict(body)) for _, moment, body in self._store.events(run, limit=10_000_000)]

    def wish(self, kind: str) -> None:
        """Ask the worker to `pause`, `resume` or `stop`."""
        self._store.wish(self._attached(), kind)

    def status(self) -> Status:
        """The attached run's state now; a worker gone without a last word reads `died`."""
        if self._run is None:
            return Status("none")
        row = self._store.run(self._run)
        if row.state not in LIVE:
            return Status(row.state, row.detail)
        worker = self._workers.get(self._run)
        starting = worker is not None and worker.poll() is None
        if row.alive or (row.pid is None and starting):
            return Status(row.state, row.detail, *memory_of(row.pid))
        if row.state == "created" and worker is None:
            return Status("created", "no worker has taken it up yet")
        return Status("died", self._last_words(self._run))

    def live(self) -> Sequence[SlotText]:
        """What the attached run's slots are writing now, as its worker last told."""
        if self._watch is None:
            self._watch = Watch(self._store.path, self._attached())
        return self._watch.look()

    def generation(self, key: str) -> StoredGeneration | None:
        """A kept reply by its key."""
        return self._store.generation(key)

    def close(self) -> None:
        """Let go of the store; a worker that runs goes on."""
        self._store.close()

    def _attached(self) -> int:
        if self._run is None:
            raise RuntimeError("no run is attached: start or attach first")
        return self._run

    def _last_words(self, run: int, lines: int = 8) -> str:
        """How the worker died, where this process started it and so can know, and the end of its log."""
        code = self._workers[run].poll() if run in self._workers else None
        how = DEATHS.get(-code, f"the worker was ended by signal {-code}") if code and code < 0 else ""
        try:
            text = self.log_path(run).read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        said = [f"{how}; what it found is kept"] if how else []
        return "\n".join([*said, *text.rstrip().splitlines()[-lines:]]) or "the worker ended without a word"
