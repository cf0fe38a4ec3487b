"""Programs in, outcomes out, as JSON Lines: judged once, both ways, or under several seeds."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from engine.protocols import Limits, Outcome, Program, Sandbox
from tui import cli
from tui.errors import OptionError
from tui.lines import print_objects, read_objects


@dataclass(frozen=True)
class Jobs:
    """Programs with their limits, and the name under which each came in (`id` or `task_id`, and its value)."""

    names: list[dict[str, Any]]
    jobs: list[tuple[Program, Limits]]


def judge(options: argparse.Namespace) -> int:
    """Outcomes in the order of the input; 1 where a program's differ between ways or seeds, and they were asked for."""
    from engine.sandbox import open_sandbox

    given = _read(options)
    languages = sorted({program.language for program, _ in given.jobs}) or ["python"]

    def opened(seed: int) -> Sandbox:
        return open_sandbox(options.level, seed=seed, languages=languages)

    differing = 0

    def lines() -> Iterator[dict[str, Any]]:
        nonlocal differing
        rows = _repeated(given, options.repeats, opened) if options.repeats else _once(given, options, opened)
        for name, row in zip(given.names, rows, strict=True):
            differing += row.get("differs", False)
            yield {**name, **row}

    print_objects(lines(), "jsonl")
    return cli.UNMET if differing else cli.DONE


def _read(options: argparse.Namespace) -> Jobs:
    from engine.benchmarks import open_benchmark

    benchmark = open_benchmark(options.benchmark, options.data or None) if options.benchmark else None
    problems = {problem.task_id: problem for problem in benchmark.problems} if benchmark else {}
    given = Jobs([], [])
    for found in read_objects([("id", "program", "test"), ("task_id", "program")]):
        name = "id" if "test" in found and "id" in found else "task_id"
        if "test" in found:
            limit = float(found.get("timeout", 10))
            job = Program("", found["program"], found["test"]), Limits(limit, 5 * limit)
        elif benchmark is None or found["task_id"] not in problems:
            raise OptionError(f"task_id {found['task_id']!r}: give its tests as 'test', or name --benchmark and --data")
        else:
            job = benchmark.program(problems[found["task_id"]], found["program"]), benchmark.limits
        given.names.append({name: found[name]})
        given.jobs.append(job)
    return given


def _once(given: Jobs, options: argparse.Namespace, opened: Any) -> Iterator[dict[str, Any]]:
    from engine.environment import free_cores
    from engine.sandbox.audit import both_ways

    with contextlib.closing(opened(0)) as sandbox:
        if options.both_ways:
            for pair in both_ways(sandbox, given.jobs, free_cores()):
                yield {**_told(pair.apart), "beside": _told(pair.beside), "differs": pair.differs}
            return
        with ThreadPoolExecutor(free_cores()) as threads:
            yield from map(_told, threads.map(lambda job: sandbox.run(*job), given.jobs))


def _repeated(given: Jobs, repeats: int, opened: Any) -> Iterator[dict[str, Any]]:
    from engine.environment import free_cores
    from engine.sandbox.repeats import flaky, repeated

    for by_seed in repeated(given.jobs, range(repeats + 1), opened, free_cores()):
        kinds = {str(seed): outcome.kind for seed, outcome in by_seed.items()}
        yield {**_told(by_seed[0]), "by_seed": kinds, "differs": flaky(kinds.values())}


def _told(outcome: Outcome) -> dict[str, Any]:
    return {
        "outcome": outcome.kind, "detail": outcome.detail, "mode": outcome.mode,
        "level": outcome.level, "seconds": round(outcome.seconds, 4),
    }  # fmt: skip
