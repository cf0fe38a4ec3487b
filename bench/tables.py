"""How long reading tables, arithmetic and matching take; prints one JSON object.

    python bench/tables.py [--repeats 3]

Medians of interleaved repeats, in seconds of processor time of this process; caches are emptied before each. No model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from simulated import SHAPES, greedy, rates, reported, sampled

from literature import chance, classify, granularity, rerun, values
from literature.errors import TableError
from literature.table import read_table, write_table

ROWS = 10_000
HOSTILE = {
    "cell.csv": "model,value\na," + "1 " * 500_000,
    "brackets.md": "| model | v |\n|---|---|\n| a | " + "[" * 1_000_000 + " |",
    "braces.tex": "\\begin{tabular}{l}" + "{" * 1_000_000,
    "comments.html": "<table>" + "<!--" * 250_000,
    "nested.json": "[" * 1_000_000,
}


def forget() -> None:
    """Empty every cache of the modules under test."""
    for module in (values, granularity, rerun, classify, chance):
        for found in vars(module).values():
            if hasattr(found, "cache_clear"):
                found.cache_clear()


def arithmetic() -> None:
    """All counts under all four rules of 10 000 two-decimal values, with 19 samples on 164 problems."""
    for hundredths in range(ROWS):
        granularity.counts(f"{hundredths / 100:.2f}", 164, 19)


def reading(path: Path) -> Callable[[], None]:
    """Read one file, or be told that it cannot be read."""

    def work() -> None:
        with contextlib.suppress(TableError):
            read_table(path)

    return work


def long_tables(folder: Path) -> dict[str, Callable[[], None]]:
    """10 000 rows as each format that is written."""
    lines = (f"m{i},humaneval,pass@1,{i % 1000 / 10:.1f}%,{i % 40}\n" for i in range(ROWS))
    first = folder / "rows.csv"
    first.write_text("model,benchmark,metric,value,sources\n" + "".join(lines))
    scores = read_table(first).scores
    for name in ("rows.md", "rows.tex", "rows.json"):
        write_table(scores, folder / name)
    return {f"10 000 rows, {path.suffix}": reading(path) for path in sorted(folder.glob("rows.*"))}


def matching() -> dict[str, Callable[[], None]]:
    """One configuration against one value, a thousand times: finished greedy, unfinished, finished with n=20."""
    rng = np.random.default_rng(0)
    p = rates(rng, SHAPES[0], 164)
    warm = sampled(rng, p, 20)
    cold = greedy((rng.random(164) < p).astype(int))
    half = greedy((rng.random(164) < p).astype(int))
    half = type(half)(half.id, True, 164, 1, [*half.passes[:80], *[0] * 84], [*[1] * 80, *[0] * 84])

    def times(one: object, count: int) -> Callable[[], None]:
        def work() -> None:
            for index in range(count):
                classify.match(one, reported(f"{index % 1000 / 10:.1f}%", 20))  # type: ignore[arg-type]

        return work

    return {
        "1000 matches, greedy": times(cold, 1000),
        "1000 matches, unfinished": times(half, 1000),
        "1000 matches, n=20": times(warm, 1000),
        "first match, n=20": times(warm, 1),
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in HOSTILE.items():
            (folder / file).write_text(text)
        jobs = {"10 000 values, arithmetic": arithmetic, **long_tables(folder), **matching()}
        jobs |= {f"1 MB without meaning, {file}": reading(folder / file) for file in HOSTILE}
        found: dict[str, list[float]] = {job: [] for job in jobs}
        for _ in range(options.repeats):
            for job, work in jobs.items():
                forget()
                started = time.process_time()
                work()
                found[job].append(time.process_time() - started)
    print(json.dumps({job: round(statistics.median(seconds), 4) for job, seconds in found.items()}, indent=1))


if __name__ == "__main__":
    main()
