"""Compare our judging of MBPP+ with EvalPlus's own evaluator on correct and on mutated programs; prints JSON.

    python -m venv /tmp/evalplus && /tmp/evalplus/bin/pip install evalplus
    python bench/evalplus_agreement.py MbppPlus.jsonl --python /tmp/evalplus/bin/python [--every 4]

EvalPlus is not a dependency: it runs in the interpreter that --python names, on the file that our export writes of the
samples once they are imported and judged here, with expected outputs that it computes itself from the same data.
Of each correct program one mutant is judged.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.cells import Cell, read_run
from engine.environment import free_cores
from engine.exports import sheets, write
from engine.importing import Importer, job_of
from engine.imports import read_generations
from engine.recorder import Recorder
from engine.sandbox import open_sandbox

THEIRS = """
import json, sys
from evalplus.data.mbpp import mbpp_deserialize_inputs
from evalplus.eval import untrusted_check
from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
from evalplus.gen.util import trusted_exec
if __name__ == "__main__":
    rows = {row["task_id"]: row for row in map(json.loads, open(sys.argv[1]))}
    expected = {}
    for sample in map(json.loads, open(sys.argv[2])):
        row = rows[sample["task_id"]]
        entry = row["entry_point"]
        inputs = mbpp_deserialize_inputs(row["task_id"], row["base_input"] + list(row["plus_input"]))
        if row["task_id"] not in expected:
            expected[row["task_id"]] = trusted_exec(
                row["prompt"] + row["canonical_solution"], inputs, entry, record_time=True,
                output_not_none=entry in MBPP_OUTPUT_NOT_NONE_TASKS)
        outputs, times = expected[row["task_id"]]
        status, _ = untrusted_check("mbpp", sample["solution"], inputs, entry, outputs, row["atol"], times,
                                    fast_check=True, min_time_limit=4.0, gt_time_limit_factor=4.0)
        print(json.dumps(status), flush=True)
"""


class Mutate(ast.NodeTransformer):
    """Changes the first comparison, arithmetic operator or constant that it meets."""

    SWAPS: ClassVar[dict[type[ast.AST], type[ast.AST]]] = {
        ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
        ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
        ast.Mod: ast.FloorDiv, ast.And: ast.Or, ast.Or: ast.And,
    }  # fmt: skip

    def __init__(self) -> None:
        self.done = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Swap an operator, or add one to a number, once."""
        if not self.done and type(node) in self.SWAPS:
            self.done = True
            return self.SWAPS[type(node)]()
        if not self.done and isinstance(node, ast.Constant) and type(node.value) is int:
            self.done = True
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return super().generic_visit(node)


def mutant(code: str) -> str | None:
    """The program with one change; None where nothing can be changed."""
    mutation = Mutate()
    tree = mutation.visit(ast.parse(code))
    return ast.unparse(ast.fix_missing_locations(tree)) if mutation.done else None


def judged_and_exported(
    options: argparse.Namespace, rows: list[dict[str, str]], folder: Path
) -> tuple[Path, list[Cell]]:
    """The samples imported, judged here and exported for EvalPlus: the exported file, and our outcomes in its order."""
    benchmark = open_benchmark("mbppplus", options.data)
    given = folder / "m_bench_temp_0.0.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    store, sandbox = Store(folder / "store.sqlite"), open_sandbox()
    try:
        found = read_generations(given, benchmark.problems, "evalplus")
        run = store.create_run("agreement", "", job_of(found, benchmark, options.data).as_dict())
        Importer(Recorder(store, run), sandbox, benchmark, free_cores()).run(found)
        stored = read_run(store, run)
        (path,) = write(sheets(store, stored, {benchmark.name: benchmark}), "evalplus", folder / "exported")
        (cells,) = stored.cells.values()
    finally:
        sandbox.close()
        store.close()
    order = {problem.task_id: place for place, problem in enumerate(benchmark.problems)}
    return path, sorted(cells.values(), key=lambda cell: (order[cell.task_id], cell.sample))


def main() -> int:
    """Judge both ways and print; exit 1 when any verdict differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--python", required=True, help="an interpreter with evalplus installed")
    parser.add_argument("--every", type=int, default=1, help="only every so many problems")
    parser.add_argument("--skip", default="", help="task ids to leave out, separated by commas")
    options = parser.parse_args()
    skipped = set(options.skip.split(","))
    problems = open_benchmark("mbppplus", options.data).problems
    chosen = [p for p in problems[:: options.every] if p.task_id not in skipped]
    rows = [{"task_id": p.task_id, "solution": p.canonical} for p in chosen]
    rows += [{"task_id": p.task_id, "solution": code} for p in chosen if (code := mutant(p.canonical)) is not None]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exported, ours = judged_and_exported(options, rows, folder)
        script = folder / "theirs.py"
        script.write_text(THEIRS)
        command = [options.python, str(script), str(Path(options.data).absolute()), str(exported)]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=folder).stdout
    theirs = [json.loads(line) for line in output.splitlines()]
    differing = [
        {
            "task_id": cell.task_id, "form": ("correct", "mutated")[cell.sample],
            "ours": f"{cell.kind} {cell.detail}".strip(), "evalplus": status,
        }
        for cell, status in zip(ours, theirs, strict=True)
        if (cell.kind == "passed") is not (status == "pass")
    ]  # fmt: skip
    forms = [cell.sample for cell in ours]
    told = {
        "samples": len(ours), "correct": forms.count(0), "mutated": forms.count(1),
        "evalplus_passes": theirs.count("pass"), "differing": differing,
    }  # fmt: skip
    print(json.dumps(told, indent=2))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
