"""every-eval-ever aggregate records (0.3.0): one object an evaluation, in and out."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from literature.formats.rows import Entry, Skipped, renamed, within
from literature.records import ReportedScore

SCHEMA = "0.3.0"
OURS = "scoretrace:"
"""Marks what this product keeps as text under additional_details, so that reading gives the same score back."""
_FIELDS = ("metric", "introduced_by", "place", "uncertainty", "printed")
_UNITS = {"1": "fraction", "1.0": "fraction", "100": "percent", "100.0": "percent"}
_ARGUMENTS = {
    "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_tokens": "length",
    "prompt_template": "prompt",
}  # fmt: skip
_DETAILS = ("decoding", "precision", "quantization", "seed", "samples", "extraction")
_PASS = re.compile(r"pass@(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r'"\\u0001([0-9.]+)"')


def is_record(data: Any) -> bool:
    """True for an aggregate record."""
    return isinstance(data, dict) and isinstance(data.get("evaluation_results"), list) and "model_info" in data


def entries(data: Mapping[str, Any], file: str) -> Iterator[Entry | Skipped]:
    """One entry an evaluation result, with its generation arguments as stated."""
    info, meta, library = within(data, "model_info"), within(data, "source_metadata"), within(data, "eval_library")
    source = str(meta.get("source_organization_name") or meta.get("source_name") or "").replace(";", ",")
    for number, result in enumerate(data["evaluation_results"], start=1):
        if not isinstance(result, dict):
            yield Skipped(f"{file}:{number}", str(result), "an object with evaluation_name and score_details is needed")
            continue
        details, config = within(result, "score_details"), within(result, "metric_config")
        more = within(result, "generation_config", "additional_details")
        model, benchmark = str(info.get("name") or info.get("id") or ""), str(result.get("evaluation_name", ""))
        text, unit = str(details.get("score", "")), _UNITS.get(str(config.get("max_score")), "")
        if f"{OURS}sources" in more:
            yield _own(more, model, benchmark, text, unit, f"{file}:{number}")
            continue
        stated = {
            **renamed(within(result, "generation_config", "generation_args"), _ARGUMENTS),
            **renamed(more, dict(zip(_DETAILS, _DETAILS, strict=True))),
            **({"harness": str(library["name"])} if library.get("name") else {}),
        }
        k = within(config, "metric_parameters").get("k")
        metric = f"pass@{k}" if k else str(config.get("metric_id") or "score")
        error = within(details, "uncertainty").get("standard_error", "")
        error = error.get("value", "") if isinstance(error, dict) else error
        sources = (source,) if source else ()
        yield Entry(model, benchmark, metric, text, f"{file}:{number}", sources, stated, unit, str(error or ""))


def _own(more: Mapping[str, Any], model: str, benchmark: str, text: str, unit: str, place: str) -> Entry:
    found = {name: str(more.get(OURS + name, "")) for name in _FIELDS}
    start = f"{OURS}stated:"
    stated = {key.removeprefix(start): str(value) for key, value in more.items() if key.startswith(start)}
    sources = tuple(part.strip() for part in str(more[f"{OURS}sources"]).split(";") if part.strip())
    return Entry(
        model, benchmark, found["metric"], text, found["place"] or place, sources, stated, unit, found["uncertainty"],
        found["introduced_by"], found["printed"],
    )  # fmt: skip


def written(scores: Sequence[ReportedScore]) -> str:
    """A list of records, one a reported score; what the schema has no place for stands under additional_details."""
    text = json.dumps([_record(score) for score in scores], indent=1, ensure_ascii=False)
    # A number keeps its own digits: 28.0 is not 28, and no float stands between.
    return _NUMBER.sub(r"\1", text) + "\n"


def _record(score: ReportedScore) -> dict[str, Any]:
    details = {f"{OURS}sources": "; ".join(score.sources)}
    details |= {OURS + name: text for name in _FIELDS if (text := getattr(score, name))}
    details |= {f"{OURS}stated:{axis}": value for axis, value in score.stated.items()}
    arguments = {theirs: score.stated[ours] for theirs, ours in _ARGUMENTS.items() if ours in score.stated}
    known = _PASS.fullmatch(score.metric)
    metric = (
        {"metric_id": "pass@k", "metric_parameters": {"k": int(known[1])}} if known else {"metric_id": score.metric}
    )
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"scoretrace/{hashlib.sha256(score.id.encode()).hexdigest()[:16]}",
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_type": "documentation", "source_organization_name": ", ".join(score.sources) or "unknown",
            "evaluator_relationship": "other",
        },
        "model_info": {"name": score.model, "id": score.model, "developer": "unknown"},
        "eval_library": {"name": score.stated.get("harness", "unknown"), "version": "unknown"},
        "evaluation_results": [
            {
                "evaluation_name": score.benchmark,
                "source_data": {"source_type": "documentation", "place": score.place},
                "metric_config": {
                    "lower_is_better": False, **metric, "score_type": "continuous", "min_score": 0, "max_score": 100,
                },
                "score_details": {"score": "\u0001" + score.value.removesuffix("%")},
                "generation_config": {"generation_args": arguments, "additional_details": details},
            }
        ],
    }  # fmt: skip
