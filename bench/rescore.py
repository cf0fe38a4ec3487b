"""Time re-scoring stored replies under five extractions against executing every program separately; prints JSON.

    python bench/rescore.py HUMANEVAL.jsonl.gz [--problems 164] [--samples 20] [--distinct 4]

Replies are made up: each problem's samples are drawn from `--distinct` chat replies, as at a low temperature. Both ways
run in one process, one after the other, on the same sandbox level; separate execution judges each of problems x samples
x extractions programs, re-scoring does what `scoretrace rescore` does, store included. No model is loaded.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.cells import Reading, read_run
from engine.environment import free_cores
from engine.events import Judged, Started, to_dict
from engine.importing import generation_of
from engine.imports.records import REPLY, Imported, Sample
from engine.job import Job
from engine.protocols import Benchmark
from engine.recorder import Recorder
from engine.rescoring import job_of, rescore
from engine.sandbox import open_sandbox
from engine.settings import UNKNOWN, UNKNOWN_DECODING, Configuration

EXTRACTIONS = ("raw", "prompt+body", "first_fence", "all_fences", "smart")


def replies(benchmark: Benchmark, samples: int, distinct: int) -> dict[tuple[str, int], str]:
    """Chat replies: right and wrong, with and without a fence, signature or remark."""
    draw = random.Random(0)
    found = {}
    for problem in benchmark.problems:
        right = problem.header + problem.canonical
        forms = [
            f"```python\n{right}```\n",
            f"Here is the function.\n\n```python\n{right}```\nIt works as asked.",
            f"```python\n{problem.header}{problem.buggy}```",
            f"```\n{problem.canonical}```",
            f"I am not sure.\n```python\n{right}\nprint('done')\n```",
            f"```python\n{problem.header}    return 0\n```",
        ][:distinct]
        for sample in range(samples):
            found[problem.task_id, sample] = draw.choice(forms)
    return found


def fill(store: Store, benchmark: Benchmark, data: str, texts: dict[tuple[str, int], str], samples: int) -> int:
    """A run that holds the replies, not yet judged by anything but name."""
    c = Configuration(
        "made up", benchmark.name, UNKNOWN, UNKNOWN_DECODING, 0, UNKNOWN, prefill=False, samples=samples, seed=-1,
        extraction="raw",
    )  # fmt: skip
    run = store.create_run("replies", "", Job((c,), {}, {benchmark.name: data}).as_dict())
    kept = {
        (task, n): generation_of(Imported("made up", REPLY, "raw", ()), Sample(task, n, text), c)
        for (task, n), text in texts.items()
    }
    names = [problem.task_id for problem in benchmark.problems]
    events = [to_dict(Started({c.id: c.as_dict()}, {benchmark.name: names}, 0, len(kept), 0, ""))]
    events += [to_dict(Judged(c.id, task, n, stored.key, "failed")) for (task, n), stored in kept.items()]
    store.record(run, list(kept.values()), (), events)
    return run


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--problems", type=int, default=164)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--distinct", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "humaneval.jsonl")
        whole = open_benchmark("humaneval", options.data)
        rows = [
            {"task_id": p.task_id, "prompt": p.header, "entry_point": p.entry_point, "test": p.test,
             "canonical_solution": p.canonical}
            for p in whole.problems[: options.problems]
        ]  # fmt: skip
        Path(data).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        benchmark = open_benchmark("humaneval", data)
        texts = replies(benchmark, options.samples, options.distinct)
        store = Store(Path(folder) / "store.sqlite")
        source = fill(store, benchmark, data, texts, options.samples)
        print(json.dumps(measure(store, source, benchmark, texts), indent=2))
        store.close()
    return 0


def measure(store: Store, source: int, benchmark: Benchmark, texts: dict[tuple[str, int], str]) -> dict[str, object]:
    """Seconds of both ways, the counts of each, and whether all outcomes are the same."""
    run = read_run(store, source)
    job = job_of(run, EXTRACTIONS)
    cores = free_cores()
    sandbox = open_sandbox()
    started = time.monotonic()
    target = store.create_run("again", "", job.as_dict())
    done = rescore(Recorder(store, target), source, job, sandbox, open_benchmark, cores)
    together = time.monotonic() - started
    sandbox.close()

    problems = {problem.task_id: problem for problem in benchmark.problems}
    keys, programs = [], []
    for c in job.configurations:
        read = Reading(c, benchmark, problems)
        for (task_id, sample), text in texts.items():
            keys.append((c.id, task_id, sample))
            programs.append(benchmark.program(problems[task_id], read.program(task_id, text)))
    sandbox = open_sandbox()
    started = time.monotonic()
    with ThreadPoolExecutor(cores) as threads:
        outcomes = list(threads.map(lambda program: sandbox.run(program, benchmark.limits), programs))
    separately = time.monotonic() - started
    sandbox.close()
    judged = {
        (id_, *key): cell.kind for id_, cells in read_run(store, target).cells.items() for key, cell in cells.items()
    }
    return {
        "replies": len(texts),
        "extractions": len(EXTRACTIONS),
        "programs": done.programs,
        "executed": done.executed,
        "rescore_seconds": round(together, 2),
        "separate_seconds": round(separately, 2),
        "ratio": round(separately / together, 2),
        "same_outcomes": sum(judged[k] == o.kind for k, o in zip(keys, outcomes, strict=True)),
        "models_loaded": "llama_cpp" in sys.modules,
    }


if __name__ == "__main__":
    sys.exit(main())
