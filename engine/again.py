"""One sample gone through once more, by `python -P -m engine.again RUN CONFIGURATION TASK SAMPLE --store PATH`.

The kept reply's program is executed again, and the reply is made again alone, the long way (`engine.audit`). What
comes of it is one JSON object on standard output; nothing is kept. Exit: 0, or 3 with the reason on standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cache.errors import CacheError
from cache.store import Store
from engine.audit import NOT_MADE, Auditor, OpenModel
from engine.cells import Cell, StoredRun, read_run, reading
from engine.control import Control
from engine.errors import EngineError, SettingsError
from engine.protocols import Benchmark, Outcome, Sandbox
from engine.recorder import Recorder


@dataclass(frozen=True)
class Again:
    """What came of a sample now, beside `recorded`, its outcome in the run.

    `result` is `same`, `different` or `not recomputed` for the reply made again, `detail` says how or why, `tokens`
    counts it; `kind`, `said`, `level` and `seconds` are the outcome of the kept reply's program, executed again.
    """

    recorded: str
    result: str
    detail: str
    tokens: int
    kind: str
    said: str
    level: str
    seconds: float


class _Unheard(Control):
    """No wish concerns this: the run's own worker obeys them."""

    def tick(self) -> bool:
        """Go on."""
        return True


def again(
    store: Store,
    run: int,
    place: tuple[str, str, int],
    open_model: OpenModel,
    open_benchmark: Callable[[str], Benchmark],
    sandbox: Sandbox,
) -> Again:
    """Judge and make again one sample (configuration id, task id, sample) of a run.

    `SettingsError` when the run has not judged it; a model that does not load is a `not recomputed` with the reason.
    """
    configuration, task_id, sample = place
    found = read_run(store, run)
    cell = found.cells.get(configuration, {}).get((task_id, sample))
    if cell is None:
        raise SettingsError(f"run {run} has not judged {task_id} sample {sample} of configuration {configuration}")
    benchmark = open_benchmark(cell.configuration.benchmark)
    outcome = _judged(store, found, cell, benchmark, sandbox)
    where = ", ".join(filter(None, (outcome.level, outcome.mode)))
    base = Again(cell.kind, NOT_MADE, "", 0, outcome.kind, outcome.detail, where, outcome.seconds)
    recorder = Recorder(store, run)
    auditor = Auditor(
        recorder, _Unheard(recorder), open_model, {cell.configuration.benchmark: benchmark}, sandbox
    )  # fmt: skip
    try:
        made = auditor.look_at(cell)
    except (EngineError, CacheError) as error:
        return replace(base, detail=str(error))
    return replace(base, result=made.result, detail=made.detail, tokens=made.tokens)


def _judged(store: Store, run: StoredRun, cell: Cell, benchmark: Benchmark, sandbox: Sandbox) -> Outcome:
    """The outcome of the kept reply's program now; an empty kind, with the reason, where nothing can be executed."""
    stored = store.generation(cell.key) if cell.key else None
    if stored is None:
        return Outcome("", "no reply of this sample is kept" if cell.key else "no reply was made")
    c = cell.configuration
    room = c.max_length - stored.n_prompt
    whole = c.max_length == 0 or len(stored.tokens) <= room
    text = stored.text if whole else store.prefix(cell.key, room)
    if text is None:
        return Outcome("", f"the text of the reply's first {room} tokens is not kept")
    read = reading(run, c, benchmark)
    program = benchmark.program(read.problems[cell.task_id], read.program(cell.task_id, text))
    return sandbox.run(program, benchmark.limits)


def main(argv: list[str] | None = None) -> int:
    """Parse the command line, do it, print."""
    from engine.job import Job
    from engine.worker import real_parts

    parser = argparse.ArgumentParser(prog="python -m engine.again")
    parser.add_argument("run", type=int)
    parser.add_argument("configuration")
    parser.add_argument("task")
    parser.add_argument("sample", type=int)
    parser.add_argument("--store", type=Path, required=True)
    options = parser.parse_args(argv)
    os.nice(5)
    try:
        store = Store(options.store)
        parts = real_parts(Job.from_dict(store.run(options.run).job), store)
        sandbox = parts.sandbox()
        try:
            place = (options.configuration, options.task, options.sample)
            found = again(store, options.run, place, parts.model, parts.benchmark, sandbox)
        finally:
            sandbox.close()
    except (EngineError, CacheError) as error:
        print(error, file=sys.stderr)
        return 3
    # Native code may have written to standard output before: the object is the last line.
    print("\n" + json.dumps(asdict(found)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
