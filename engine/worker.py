"""The engine's own process: `python -P -m engine.worker RUN --store PATH` works on one run until it ends or is told to.

Its standard error is the run's log. Exit: 0 finished or stopped by wish, 3 the engine failed (the reason is in the
run's row).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import traceback
from pathlib import Path

from cache import files
from cache.errors import CacheError, StoreError
from cache.paths import models_folder
from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.control import Control
from engine.crowding import crowding
from engine.energy import meters
from engine.errors import EngineError
from engine.events import StateChanged
from engine.job import Job
from engine.protocols import Model
from engine.recorder import Recorder
from engine.run import Parts, Runner
from engine.settings import parse_shape


def real_parts(job: Job, store: Store) -> Parts:
    """The parts of a real run: files by spec, llama.cpp, the machine's sandbox."""
    from engine.benchmarks.languages import language_of
    from engine.models.open import open_model
    from engine.sandbox import open_sandbox

    def model(name: str, precision: str, slot_tokens: int) -> Model:
        source = files.find_model(job.models[name], store)
        pinned = job.shapes.get(name, {}).get(precision)
        width, block = parse_shape(pinned) if pinned else (job.width or None, None)
        return open_model(
            name, source, precision, width=width, block=block, threads=job.threads or None,
            slot_tokens=slot_tokens, folder=models_folder(), facts=store,
        )  # fmt: skip

    languages = sorted({language_of(one.benchmark).name for one in job.configurations})
    return Parts(
        benchmark=lambda name: open_benchmark(name, job.data.get(name)),
        model=model,
        sandbox=lambda: open_sandbox(job.level or None, languages=languages),
        meters=meters,
        crowding=crowding,
        seeded=lambda seed: open_sandbox(job.level or None, seed=seed),
    )


def work(store: Store, run: int) -> int:
    """Work on a claimed run; the exit status."""
    recorder = Recorder(store, run)
    job = Job.from_dict(store.run(run).job)
    control = Control(recorder)

    def stop(signum: int, frame: object) -> None:
        control.stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    recorder.event(StateChanged("running"))
    try:
        state, detail = Runner(job, real_parts(job, store), recorder, control).run(), ""
    except (EngineError, CacheError) as error:
        state, detail = "failed", str(error)
        print(f"engine: {error}", file=sys.stderr)
    except MemoryError:
        state = "failed"
        detail = "no memory was left; end other programs, or choose a smaller width or a lower precision, then resume"
        print(f"engine: {detail}", file=sys.stderr)
    except Exception as error:
        state, detail = (
            "failed",
            f"a bug in Scoretrace ({type(error).__name__}: {error}); the run's log has the traceback",
        )
        traceback.print_exc()
        _end(store, recorder, run, state, detail)
        raise
    _end(store, recorder, run, state, detail)
    return 0 if state in ("finished", "stopped") else 3


def _end(store: Store, recorder: Recorder, run: int, state: str, detail: str) -> None:
    # A full disk has its own message on stderr; the state then stays as it was, which reads as "died", with that
    # message.
    with contextlib.suppress(StoreError):
        recorder.event(StateChanged(state, detail))
        recorder.flush()
        store.set_state(run, state, detail, release=True)


def main(argv: list[str] | None = None) -> int:
    """Parse the command line, claim the run, work."""
    parser = argparse.ArgumentParser(prog="python -m engine.worker")
    parser.add_argument("run", type=int)
    parser.add_argument("--store", type=Path, required=True)
    options = parser.parse_args(argv)
    # Every core is ours while nobody needs one: a screen that shows this run must not wait for it.
    os.nice(5)
    try:
        store = Store(options.store)
        store.claim_run(options.run, os.getpid())
        return work(store, options.run)
    except StoreError as error:
        print(f"engine: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
