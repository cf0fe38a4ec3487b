"""What every export is made of: a configuration's samples with their programs, and the counts under its score."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cache.store import Store, StoredGeneration
from engine.cells import StoredRun, reading, reply_of
from engine.denominator import Denominator, count
from engine.protocols import Benchmark, Problem
from engine.settings import Configuration


@dataclass(frozen=True)
class Judgement:
    """One sample ready for a file: its problem, raw reply, program, and outcome."""

    problem: Problem
    sample: int
    reply: str
    program: str
    stop: str
    kind: str
    detail: str

    @property
    def passed(self) -> bool:
        """True for a pass, and for nothing else."""
        return self.kind == "passed"

    @property
    def verdict(self) -> bool | None:
        """Whether it passed; None where it could not be judged, which is no failure."""
        return None if self.kind == "unavailable" else self.passed


@dataclass(frozen=True)
class Sheet:
    """One configuration: its judgements in the benchmark's order, and its denominator.

    `left_out` counts samples whose reply or program is not at hand: not generated, or part of a longer reply.
    """

    configuration: Configuration
    benchmark: Benchmark
    judgements: tuple[Judgement, ...]
    denominator: Denominator
    left_out: int

    @property
    def stem(self) -> str:
        """The start of its files' names: model and configuration id."""
        return f"{plain_name(self.configuration.model)}-{self.configuration.id}"

    def by_problem(self) -> list[list[Judgement]]:
        """The judgements of each problem of the benchmark, in its order; an empty list where there are none."""
        found: dict[str, list[Judgement]] = {problem.task_id: [] for problem in self.benchmark.problems}
        for judgement in self.judgements:
            found[judgement.problem.task_id].append(judgement)
        return list(found.values())


def sheets(store: Store, run: StoredRun, benchmarks: Mapping[str, Benchmark]) -> list[Sheet]:
    """One sheet for each configuration of a run that has any judged sample."""
    return [
        _sheet(store, run, configuration, benchmarks[configuration.benchmark])
        for configuration in run.configurations.values()
        if run.cells.get(configuration.id)
    ]


def _sheet(store: Store, run: StoredRun, configuration: Configuration, benchmark: Benchmark) -> Sheet:
    read = reading(run, configuration, benchmark)
    cells = run.cells[configuration.id]
    kept: dict[str, StoredGeneration | None] = {cell.key: store.generation(cell.key) for cell in cells.values()}
    found = []
    for problem in benchmark.problems:
        for sample in range(configuration.samples):
            cell = cells.get((problem.task_id, sample))
            stored = kept.get(cell.key) if cell else None
            text = reply_of(configuration, stored, store) if stored else None
            if cell is None or stored is None or text is None:
                continue
            program = read.program(problem.task_id, text)
            found.append(Judgement(problem, sample, text, program, stored.stop, cell.kind, cell.detail))
    counts = count(configuration, len(benchmark.problems), cells.values(), read, store)
    return Sheet(configuration, benchmark, tuple(found), counts, counts.asked - len(found))


def plain_name(text: str) -> str:
    """A name for files: letters, digits, dots and dashes of a model's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "model"
