"""Judges every correct and every buggy body of HumanEvalPack in the other languages; prints JSON, one line a language.

    python bench/languages.py FOLDER [--only js,java] [--limit N] [--jobs N]

FOLDER holds js.jsonl and its like. Takes minutes: compilers are slow.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from engine.benchmarks import open_benchmark
from engine.protocols import Outcome, Problem
from engine.sandbox import open_sandbox

LANGUAGES = ("js", "java", "go", "cpp", "rust")


def measure(folder: Path, language: str, limit: int, jobs: int) -> dict[str, Any]:
    """Counts of each kind for correct and buggy bodies, and whatever is not as it should be."""
    benchmark = open_benchmark(f"humanevalfixtests-{language}", str(folder / f"{language}.jsonl"))
    problems = list(benchmark.problems)[: limit or None]
    sandbox = open_sandbox(jobs=jobs, languages=(language,))

    def judge(item: tuple[Problem, str]) -> Outcome:
        problem, body = item
        return sandbox.run(benchmark.program(problem, problem.header + body), benchmark.limits)

    began = time.monotonic()
    try:
        with ThreadPoolExecutor(jobs) as threads:
            items = [(p, body) for p in problems for body in (p.canonical, p.buggy)]
            outcomes = list(threads.map(judge, items))
    finally:
        sandbox.close()
    correct, buggy = outcomes[::2], outcomes[1::2]
    odd = [(p.task_id, "correct", o) for p, o in zip(problems, correct, strict=True) if not o.passed]
    odd += [
        (p.task_id, "buggy", o) for p, o in zip(problems, buggy, strict=True) if o.kind in ("passed", "unavailable")
    ]
    return {
        "language": language,
        "identity": json.loads(sandbox.identity),
        "level": sandbox.level,
        "problems": len(problems),
        "correct": Counter(o.kind for o in correct),
        "buggy": Counter(o.kind for o in buggy),
        "odd": [[task_id, which, o.kind, o.detail] for task_id, which, o in odd],
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> None:
    """Measure the languages asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(LANGUAGES))
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for language in options.only.split(","):
        print(json.dumps(measure(options.folder, language, options.limit, options.jobs)), flush=True)


if __name__ == "__main__":
    main()
