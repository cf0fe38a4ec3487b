"""HumanEval, and rows of its shape such as the hub's HumanEval+: a prompt with signature and docstring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.benchmarks.completion import (
    HUMANEVAL_STOP_WORDS,
    CompletionBenchmark,
    completion_problem,
    limits_of,
)
from engine.protocols import Problem

FIELDS: Mapping[str, type] = {
    "task_id": str, "prompt": str, "entry_point": str, "canonical_solution": str, "test": str,
}  # fmt: skip
STUB = "    return None\n"


def humaneval(
    name: str, rows: Sequence[Mapping[str, Any]], source: Mapping[str, Any], seconds: float
) -> CompletionBenchmark:
    """The benchmark over HumanEval's rows; a name that ends in `-unstripped` keeps the newline at a prompt's end."""
    strip = not name.endswith("-unstripped")
    problems = tuple(humaneval_problem(row, strip=strip) for row in rows)
    return CompletionBenchmark(name, problems, HUMANEVAL_STOP_WORDS, limits_of(seconds), source)


def humaneval_problem(row: Mapping[str, Any], *, strip: bool) -> Problem:
    """One row as the harness asks and judges it (bigcode-evaluation-harness 8fc5bae, `humaneval.py`).

    The harness strips a prompt at both ends by default, and so the newline that a model would continue after.
    """
    prompt = row["prompt"]
    return completion_problem(
        row["task_id"],
        row["entry_point"],
        prompt=prompt.strip() if strip else prompt,
        header=prompt,
        test=f"\n{row['test']}\ncheck({row['entry_point']})",
        canonical=row["canonical_solution"],
        stub=STUB,
    )
