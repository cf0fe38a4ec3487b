"""Records for collections of evaluations: every-eval-ever (0.3.0) and a draft of the hub's `.eval_results`."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from engine.exports.cells import Sheet
from engine.exports.samples import lines
from engine.settings import UNKNOWN, UNKNOWN_DECODING

SCHEMA = "0.3.0"


def every_eval_ever(sheet: Sheet) -> dict[str, str]:
    """One aggregate record, with our own axes as text under additional_details, and one line for each sample."""
    c, d = sheet.configuration, sheet.denominator
    instances = lines(
        {
            "sample_id": f"{j.problem.task_id}#{j.sample}",
            "sample_hash": hashlib.sha256(j.reply.encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": j.problem.prompt or j.problem.context, "reference": j.problem.test},
            "output": {"raw": j.reply},
            "answer_attribution": {"extracted_value": j.program, "extraction_method": c.extraction},
            "evaluation": {"score": None if j.verdict is None else float(j.verdict), "is_correct": j.verdict},
            "error": None if j.passed else f"{j.kind}: {j.detail}",
        }
        for j in sheet.judgements
    )
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{sheet.benchmark.name}/{sheet.stem}",
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_type": "evaluation_run", "source_organization_name": UNKNOWN,
            "evaluator_relationship": "third_party",
        },
        "model_info": {"name": c.model, "id": c.model, "developer": UNKNOWN},
        "eval_library": {"name": "scoretrace", "version": _version()},
        "evaluation_results": [
            {
                "evaluation_name": sheet.benchmark.name,
                "source_data": {k: str(v) for k, v in _source(sheet).items()},
                "metric_config": {
                    "lower_is_better": False, "metric_id": "pass@k", "metric_parameters": {"k": 1},
                    "score_type": "continuous", "min_score": 0.0, "max_score": 1.0,
                },
                "score_details": {"score": d.passed / d.asked, "uncertainty": {"num_samples": d.asked}},
                "generation_config": {
                    "generation_args": _arguments(sheet),
                    "additional_details": {k: str(v) for k, v in _axes(sheet).items()},
                },
            }
        ],
        "detailed_evaluation_results": {"checksum": hashlib.sha256(instances.encode()).hexdigest()},
    }  # fmt: skip
    return {
        f"{sheet.stem}.eee.json": json.dumps(record, indent=2, ensure_ascii=False) + "\n",
        f"{sheet.stem}.eee.jsonl": instances,
    }


def eval_results(sheet: Sheet) -> dict[str, str]:
    """A draft for `.eval_results/` in a model's repository: to be read, and completed, by the person who files it."""
    c, d = sheet.configuration, sheet.denominator
    notes = f"{d.text}; {c.label}; made with scoretrace {_version()}"
    source = _source(sheet)
    left = d.missing + d.unavailable
    text = (
        "# A draft: check the dataset's name on the hub, and add `source` with a link to the evidence.\n"
        + (f"# The value is a lower bound: {left} of {d.asked} samples have no outcome.\n" if left else "")
        + f"- dataset:\n    id: {json.dumps(str(source.get('source', UNKNOWN)))}\n"
        f"    task_id: {json.dumps(sheet.benchmark.name)}\n"
        f"    revision: {json.dumps(str(source.get('revision', UNKNOWN)))}\n"
        f"  value: {100 * d.passed / d.asked:.4f}\n"
        f"  date: {json.dumps(time.strftime('%Y-%m-%d'))}\n"
        f"  notes: {json.dumps(notes, ensure_ascii=False)}\n"
    )
    return {f"{sheet.stem}.eval_results.yaml": text}


def _source(sheet: Sheet) -> Mapping[str, Any]:
    facts = sheet.benchmark.facts()
    return {key: facts[key] for key in ("source", "revision", "licence", "file_sha256") if key in facts}


def _arguments(sheet: Sheet) -> dict[str, Any]:
    c = sheet.configuration
    known: dict[str, Any] = {"prompt_template": c.template}
    if c.decoding != UNKNOWN_DECODING:
        known |= c.decoding.told
    if c.max_length:
        known["max_tokens"] = c.max_length
    return known


def _axes(sheet: Sheet) -> dict[str, Any]:
    d = sheet.denominator
    counts = {name: value for name, value in d.as_dict().items() if name != "failures"}
    return {**sheet.configuration.axes(), "configuration_id": sheet.configuration.id, **counts}


def _version() -> str:
    from engine.environment import package_versions

    return package_versions(("scoretrace",)).get("scoretrace", UNKNOWN)
