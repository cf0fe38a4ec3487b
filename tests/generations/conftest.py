"""A benchmark of three problems, files of each format about it, and a store with a sandbox that reads programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.importing import Importer, job_of
from engine.imports import read_generations
from engine.protocols import Benchmark, Limits, Outcome, Program
from engine.recorder import Recorder
from engine.scoring import Score


def header(number: int) -> str:
    """The prompt of a problem."""
    return f'def f{number}(x):\n    """Problem {number}."""\n'


@dataclass
class ReadingSandbox:
    """Passes a program that says `right`; a text that is no Python is a syntax error. Nothing is executed."""

    level: str = "reading"
    identity: str = "reading"
    runs: list[str] = field(default_factory=list)

    def run(self, program: Program, limits: Limits) -> Outcome:
        self.runs.append(program.candidate)
        try:
            compile(program.candidate, "candidate", "exec")
        except SyntaxError as error:
            return Outcome("syntax error", f"SyntaxError: {error}")
        return Outcome("passed") if "right" in program.candidate else Outcome("failed", "assert f(1) == 2")

    def close(self) -> None: ...


@pytest.fixture
def sandbox() -> ReadingSandbox:
    """One such sandbox."""
    return ReadingSandbox()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """HumanEval's shape, three problems."""
    rows = [
        {
            "task_id": f"HumanEval/{i}", "prompt": header(i), "entry_point": f"f{i}", "test": "def check(c): c(1)",
            "canonical_solution": "    return right\n",
        }
        for i in range(3)
    ]  # fmt: skip
    path = tmp_path / "benchmark.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def benchmark(data: Path) -> Benchmark:
    """The benchmark of that file."""
    return open_benchmark("humaneval", str(data))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    made = Store(tmp_path / "store.sqlite")
    yield made
    made.close()


@pytest.fixture
def kept(
    store: Store, benchmark: Benchmark, data: Path, sandbox: ReadingSandbox
) -> Callable[..., tuple[int, dict[str, Score], list[Any]]]:
    """Reads a file of generations and keeps it: the run, its scores and the agreements."""

    def keep(path: Path, kind: str = "", results: Path | None = None) -> tuple[int, dict[str, Score], list[Any]]:
        found = read_generations(path, benchmark.problems, kind, results)
        run = store.create_run("import", "", job_of(found, benchmark, str(data)).as_dict())
        scores, agreements = Importer(Recorder(store, run), sandbox, benchmark, 1).run(found)
        return run, scores, agreements

    return keep
