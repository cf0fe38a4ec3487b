"""The reference check of HumanEvalPack in the languages besides Python; prints JSON, one line a language.

    python bench/languages.py FOLDER [--only js,java] [--docs] [--limit N] [--jobs N]

FOLDER holds js.jsonl and its like. Every correct and every buggy body is compiled and run, and correct bodies once more
as the harness would cut them from a reply, where that changes them. Takes minutes: compilers are slow.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.benchmarks import open_benchmark
from engine.benchmarks.humanevalfix import FixBenchmark
from engine.benchmarks.reference import reference_check
from engine.sandbox import open_sandbox

LANGUAGES = ("js", "java", "go", "cpp", "rust")


def measure(folder: Path, language: str, variant: str, limit: int, jobs: int) -> dict[str, Any]:
    """The check's counts, whatever is not as it should be with its cause, and the time it took."""
    benchmark = open_benchmark(f"humanevalfix{variant}-{language}", str(folder / f"{language}.jsonl"))
    assert isinstance(benchmark, FixBenchmark)
    benchmark = replace(benchmark, rows=benchmark.rows[: limit or None])
    sandbox = open_sandbox(jobs=jobs, languages=(language,))
    began = time.monotonic()
    try:
        found = reference_check(benchmark, sandbox, jobs)
    finally:
        sandbox.close()
    return {
        "benchmark": benchmark.name,
        "identity": json.loads(sandbox.identity),
        "level": sandbox.level,
        **asdict(found),
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> None:
    """Measure the languages asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(LANGUAGES))
    parser.add_argument("--docs", action="store_true", help="the variant with docstrings instead of tests")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    variant = "docs" if options.docs else "tests"
    for language in options.only.split(","):
        print(json.dumps(measure(options.folder, language, variant, options.limit, options.jobs)), flush=True)


if __name__ == "__main__":
    main()
