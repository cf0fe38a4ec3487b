"""The level wasm beside the best level of the kernel, in turns: a program's cost, and how much slower its loops are.

Usage: python bench/wasm.py [PROBLEMS.jsonl] [--rounds 3] [--steps 300000] > wasm.json

`PROBLEMS.jsonl` holds HumanEvalPack's Python problems; without it, one small program stands for them. Milliseconds are
medians over the rounds, one judge at each level; `slower` is how many times the CPU time a loop takes inside, less what
an empty call takes. Linux only. Takes about a minute.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine.protocols import Limits, Program, Sandbox  # noqa: E402
from engine.sandbox import open_sandbox, wasm_runtime  # noqa: E402

AMPLE = Limits(cpu_s=120.0, wall_s=1200.0)
PRELUDE = "import math\nimport re\nimport functools\nfrom typing import *\nfrom collections import *"
SMALL = Program(PRELUDE, "def f(x):\n    return x * x", "for i in range(7):\n    assert f(i) == i * i", "f")
WORK = {
    "integers": "s = 0\n    for i in range(n):\n        s += i * i % 7",
    "floats": "x = 0.5\n    for i in range(n):\n        x = x * 1.0000001 + 0.25 / (i + 1)",
    "texts": "s = []\n    for i in range(n):\n        s.append(str(i)[::-1])",
    "calls": "g, s = lambda x: x + 1, 0\n    for i in range(n):\n        s = g(s)",
    "methods": "a = type('A', (), {'x': 0, 'more': lambda self: setattr(self, 'x', self.x + 1)})()\n"
    "    for i in range(n):\n        a.more()",
    "dictionary": "d = {}\n    for i in range(n):\n        d[i % 1000] = d.get(i % 1000, 0) + 1",
    "exceptions": "for i in range(n):\n        try:\n            raise ValueError\n        except ValueError: pass",
    "generators": "s = sum(i for i in range(3 * n))",
    "insertions": "a = []\n    for i in range(n // 15):\n        a.insert(0, i)",
    "hashes": "import hashlib\n    for i in range(n // 30):\n        hashlib.sha256(b'a' * 1000).digest()",
    "sorting": "import random\n    s = sorted(random.random() for _ in range(n))",
    "long integers": "x = 1\n    for i in range(1, n // 100):\n        x *= i",
    "patterns": "import re\n    s = re.findall(r'[a-f]+\\d', 'abc1xyz2' * (n // 10))",
}


def programs(path: str | None) -> list[Program]:
    """The programs whose cost is measured: every reference solution with its tests."""
    if path is None:
        return [SMALL] * 164
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [
        Program(
            PRELUDE, r["declaration"] + r["canonical_solution"], "\n" + r["test"], r["entry_point"], r["declaration"]
        )
        for r in rows
    ]


def cost(sandbox: Sandbox, jobs: Iterable[Program]) -> dict[str, float]:
    """Wall and CPU milliseconds of a program (CPU of its own process)."""
    began = time.perf_counter()
    outcomes = [sandbox.run(program, AMPLE) for program in jobs]
    wall = time.perf_counter() - began
    passed = sum(outcome.passed for outcome in outcomes)
    cpu = sum(outcome.seconds for outcome in outcomes)
    return {"wall_ms": 1000 * wall / len(outcomes), "cpu_ms": 1000 * cpu / len(outcomes), "passed": passed}


def cpu_of(sandbox: Sandbox, body: str, steps: int) -> float:
    """CPU seconds of a loop of so many steps, less those of a loop of none."""
    code = f"def f(n):\n    {body}\n    return n"
    spent = []
    for n in (steps, 100):
        outcome = sandbox.run(Program("", code, f"assert f({n}) == {n}", "f"), AMPLE)
        if not outcome.passed:
            raise SystemExit(f"a loop did not pass at the level {sandbox.level}: {outcome.kind} {outcome.detail}")
        spent.append(outcome.seconds)
    return spent[0] - spent[1]


def started() -> dict[str, float]:
    """Seconds to compile the Python inside WebAssembly, once, and to the first outcome with and without that."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        wasm_runtime.load(Path(folder, "python.cwasm"))
        compiled = time.perf_counter() - began
    began = time.perf_counter()
    with open_sandbox("wasm", jobs=1) as sandbox:
        sandbox.run(SMALL, AMPLE)
        return {"compile_s": round(compiled, 2), "first_outcome_s": round(time.perf_counter() - began, 2)}


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    jobs = programs(options.problems)
    told: dict[str, Any] = {"start": started(), "rounds": options.rounds, "programs": len(jobs)}
    with open_sandbox(jobs=1) as best, open_sandbox("wasm", jobs=1) as wasm:
        both = (best, wasm)
        for sandbox in both:
            sandbox.run(SMALL, AMPLE)
        rounds = [[cost(sandbox, jobs) for sandbox in both] for _ in range(options.rounds)]
        told["program"] = {
            sandbox.level: {key: round(statistics.median(r[i][key] for r in rounds), 2) for key in rounds[0][i]}
            for i, sandbox in enumerate(both)
        }
        factors = {
            name: statistics.median(
                cpu_of(wasm, body, options.steps) / cpu_of(best, body, options.steps) for _ in range(options.rounds)
            )
            for name, body in WORK.items()
        }
    told["slower"] = {name: round(factor, 1) for name, factor in factors.items()}
    return told


def main() -> None:
    """The command line above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="?", help="HumanEvalPack's Python problems, one JSON object a line")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300_000)
    print(json.dumps(measured(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
