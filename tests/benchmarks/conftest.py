"""Fixtures for benchmark tests: rows made up here, and the real data where SCORETRACE_SHARED says where it lies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.benchmarks import open_benchmark
from engine.protocols import Benchmark

ROW = {
    "task_id": "Python/0",
    "entry_point": "double",
    "declaration": "def double(x):\n",
    "prompt": '\ndef double(x):\n    """Twice x."""\n',
    "buggy_solution": "    return x * x\n",
    "canonical_solution": "    return x + x\n",
    "test": "\n\ndef check(double):\n    assert double(3) == 6\n\ncheck(double)",
    "bug_type": "operator misuse",
}


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    """Write rows as JSON Lines and give the path back."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def tiny(tmp_path: Path) -> Benchmark:
    """A Python benchmark of one problem, in the tests variant."""
    return open_benchmark("humanevalfixtests-python", str(write_rows(tmp_path / "tiny.jsonl", ROW)))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with HumanEvalPack and the golden values; tests that need it are skipped elsewhere."""
    folder = os.environ.get("SCORETRACE_SHARED")
    if not folder:
        pytest.skip("SCORETRACE_SHARED is not set: HumanEvalPack and golden values are not part of the project")
    return Path(folder) / "data" if (Path(folder) / "data").is_dir() else Path(folder)


@pytest.fixture(scope="session")
def pack(shared: Path) -> Callable[[str], Benchmark]:
    """Open a HumanEvalFix benchmark on the real data, each once."""
    return cache(lambda name: open_benchmark(name, str(shared / "humanevalpack")))
