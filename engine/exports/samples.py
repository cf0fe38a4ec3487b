"""Files that other harnesses score: EvalPlus, human-eval and lm-eval samples, bigcode generations, with results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from engine.exports.cells import Judgement, Sheet
from engine.settings import UNKNOWN, UNKNOWN_DECODING, Configuration


def evalplus(sheet: Sheet) -> dict[str, str]:
    """`{task_id, solution}` lines: whole programs, so that EvalPlus executes exactly what was judged here."""
    rows = ({"task_id": j.problem.task_id, "solution": j.program} for j in sheet.judgements)
    return {f"{sheet.stem}.evalplus.jsonl": lines(rows)}


def human_eval(sheet: Sheet) -> dict[str, str]:
    """`{task_id, completion}` lines for OpenAI's tool, which puts the prompt before a completion.

    A program that begins with the prompt loses it; another one follows the prompt whole and defines the function again,
    so that what the prompt imports is there for it.
    """
    rows = ({"task_id": j.problem.task_id, "completion": _completion(j)} for j in sheet.judgements)
    return {f"{sheet.stem}.human-eval.jsonl": lines(rows)}


def _completion(judgement: Judgement) -> str:
    header = judgement.problem.header
    if judgement.program.startswith(header):
        return judgement.program[len(header) :]
    # The harness strips the prompt; OpenAI's tool does not, so the newline at the prompt's end must not come twice.
    bare = header.strip()
    if bare and judgement.program.startswith(bare):
        rest = judgement.program[len(bare) :]
        return rest[1:] if header.endswith("\n") and rest.startswith("\n") else rest
    return judgement.program


def bigcode(sheet: Sheet) -> dict[str, str]:
    """`generations_{task}.json`, and evaluation_results.json with the configuration as far as it is known.

    The harness cuts a file to its --n_samples, 1 by default: score it with --n_samples of the configuration.
    """
    task = sheet.benchmark.name
    lists = [[judgement.program for judgement in group] for group in sheet.by_problem()]
    config = {**bigcode_config(sheet.configuration), "limit_start": 0, "tasks": task}
    score: dict[str, Any] = {}
    if sheet.denominator.missing == sheet.denominator.unavailable == 0:
        score = {"pass@1": sheet.denominator.passed / sheet.denominator.asked}
    results = {task: score, "config": config}
    return {
        f"{sheet.stem}.generations_{task}.json": json.dumps(lists, ensure_ascii=False),
        f"{sheet.stem}.evaluation_results.json": json.dumps(results, indent=2, ensure_ascii=False) + "\n",
    }


def bigcode_config(configuration: Configuration) -> dict[str, Any]:
    """A configuration in the harness's argument names; what is unknown is left out."""
    c = configuration
    config: dict[str, Any] = {"model": c.model, "n_samples": c.samples}
    if c.template != UNKNOWN:
        config["prompt"] = c.template
    if c.decoding != UNKNOWN_DECODING:
        config |= {"do_sample": not c.decoding.greedy, **c.decoding.told}
    if c.seed >= 0:
        config["seed"] = c.seed
    if c.max_length:
        config["max_length_generation"] = c.max_length
    if c.precision != UNKNOWN:
        config["precision"] = c.precision
    return config


def lm_eval(sheet: Sheet) -> dict[str, str]:
    """Samples and results in lm-evaluation-harness's shape, the extraction as the filter's name."""
    task, name = sheet.benchmark.name, sheet.configuration.extraction
    rows = []
    for number, group in enumerate(sheet.by_problem()):
        if not group:
            continue
        problem = group[0].problem
        verdicts = [judgement.verdict for judgement in group if judgement.verdict is not None]
        rows.append(
            {
                "doc_id": number, "doc": {"task_id": problem.task_id, "prompt": problem.prompt or problem.header},
                "target": problem.test,
                "arguments": {"gen_args_0": {"arg_0": problem.prompt, "arg_1": _options(sheet)}},
                "resps": [[judgement.reply for judgement in group]],
                "filtered_resps": [[judgement.program for judgement in group]], "filter": name,
                "metrics": ["pass@1"], "pass@1": sum(verdicts) / len(verdicts) if verdicts else None,
                "doc_hash": hashlib.sha256(problem.task_id.encode()).hexdigest(),
            }
        )  # fmt: skip
    d = sheet.denominator
    results = {
        "results": {task: {"alias": task, f"pass@1,{name}": d.passed / d.asked, f"pass@1_stderr,{name}": "N/A"}},
        "n-samples": {task: {"original": len(sheet.benchmark.problems), "effective": len(rows)}},
        "config": {"model": "scoretrace", "model_args": sheet.configuration.model, "gen_kwargs": _options(sheet)},
        "scoretrace": {"configuration": sheet.configuration.axes(), "denominator": d.as_dict()},
    }
    return {
        f"{sheet.stem}.samples_{task}.jsonl": lines(rows),
        f"{sheet.stem}.results.json": json.dumps(results, indent=2, ensure_ascii=False) + "\n",
    }


def _options(sheet: Sheet) -> dict[str, Any]:
    decoding = sheet.configuration.decoding
    return {"do_sample": not decoding.greedy, **decoding.told} if decoding != UNKNOWN_DECODING else {}


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
