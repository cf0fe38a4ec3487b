"""The functions that the app is given from outside, so that it knows neither benchmarks nor report formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.protocols import Problem
from engine.settings import Configuration


def _no_problem(benchmark: str, task_id: str) -> Problem | None:
    return None


def _no_program(configuration: Configuration, task_id: str, reply: str) -> str:
    return ""


def _no_items(run: int) -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class Parts:
    """What screens call for facts that no event holds; each may raise the errors of `engine`, `literature` and `cache`.

    `problem(benchmark, task_id)` is a benchmark item or None; `candidate(configuration, task_id, reply)` the candidate
    program that the configuration's extraction makes of a reply; `program` the same with its tests, as judged;
    `preview_report(run)` the report as Markdown; `write_report(run)` writes it and names the files; `open_items(run)`
    the checklist items that the evidence leaves unanswered.
    """

    problem: Callable[[str, str], Problem | None] = _no_problem
    candidate: Callable[[Configuration, str, str], str] = _no_program
    program: Callable[[Configuration, str, str], str] = _no_program
    preview_report: Callable[[int], str] | None = None
    write_report: Callable[[int], tuple[Path, ...]] | None = None
    open_items: Callable[[int], Sequence[str]] = _no_items
