"""Every table of a report's document as CSV: file name -> columns and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from literature.report.measured import CSV_COLUMNS, csv_rows
from literature.report.writing import csv_text

FOLDER = "tables"
Row = Mapping[str, Any]
FACT = ("name", "value", "known", "pointer")
ANSWER = ("point", "title", "mark", "subject", "name", "value", "holds", "known", "pointer")
REPORTED = (
    "id", "model", "benchmark", "metric", "value", "printed", "uncertainty", "sources", "introduced_by", "pointer",
    "stated",
)  # fmt: skip
ARITHMETIC = (
    "reported", "model", "label", "problems", "samples", "total", "rounded", "truncated", "ceiling", "nearest_count",
    "nearest_percent", "coverage", "sentence",
)  # fmt: skip
MATCH = (
    "reported", "model", "reported_label", "configuration", "label", "kind", "lowest", "highest", "total",
    "difference_problems", "difference_points", "p_rerun", "p_same", "basis", "sentence",
)  # fmt: skip
VERDICT = (
    "reported", "model", "label", "benchmark", "verdict", "matching", "configurations", "chance_local", "chance_global",
    "chance_rule", "sentence", "beside",
)  # fmt: skip
OTHER = ("reported", "label", "model", "other_model", "kind", "configurations", "sentence")
LEVEL = ("source", "identified", "none", "effective", "bits", "axis", "level", "prior", "posterior")
EFFECT = ("axis", "base", "level", "pairs", "models", "points", "low", "high", "relative", "clear", "paired")
SPREAD = ("model", "benchmark", "setting", "asked", "lowest", "highest", "rule", "configuration", "passed", "failures")
FLAKY = ("configuration", "model", "label", "task_id", "sample", "seed", "kind")
SEEDS = (
    "configuration", "model", "label", "samples", "asked", "judged", "passed", "lowest", "highest", "by_seed",
    "sentence",
)  # fmt: skip
CIRCUMSTANCE = ("of", *FACT)


def csv_files(document: Mapping[str, Any]) -> dict[str, str]:
    """`tables/NAME.csv` -> text, for every table that the other formats show."""
    made: dict[str, tuple[Sequence[str], Callable[[Mapping[str, Any]], Iterable[Row]]]] = {
        "checklist": (ANSWER, _answers),
        "reported": (REPORTED, _reported),
        "arithmetic": (ARITHMETIC, _arithmetic),
        "scores": (CSV_COLUMNS, lambda found: csv_rows(found["scores"])),
        "verdicts": (VERDICT, _verdicts),
        "matches": (MATCH, _matches),
        "misattribution": (OTHER, _others),
        "identification": (LEVEL, _levels),
        "effects": (EFFECT, lambda found: ({**row, "models": _joined(row["models"])} for row in found["effects"])),
        "extraction": (SPREAD, _spreads),
        "flaky": (FLAKY, _flaky),
        "seeds": (
            SEEDS,
            lambda found: ({**row, "by_seed": _pairs(row["by_seed"])} for row in found["repeats"]["counts"]),
        ),
        "circumstances": (CIRCUMSTANCE, _circumstances),
    }
    return {f"{FOLDER}/{name}.csv": csv_text(list(rows(document)), columns) for name, (columns, rows) in made.items()}


def _joined(values: Iterable[object]) -> str:
    return " ".join(map(str, values)) if not isinstance(values, str) else values


def _pairs(values: Mapping[str, object]) -> str:
    return "; ".join(f"{key}: {value}" for key, value in values.items())


def _answers(document: Mapping[str, Any]) -> Iterable[Row]:
    for item in (*document["checklist"], *document["further"]):
        head = {"point": item["number"], "title": item["title"], "mark": item["mark"]}
        yield from ({**head, **answer} for answer in item["answers"])


def _reported(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["reported"]:
        yield {**row, "sources": _joined(row["sources"]), "stated": _pairs(row["stated"])}


def _arithmetic(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["reported"]:
        for found in row["arithmetic"]:
            lists = {name: _joined(found[name]) for name in ("rounded", "truncated", "ceiling")}
            near = {"nearest_count": found["nearest"]["count"], "nearest_percent": found["nearest"]["percent"]}
            yield {"reported": row["id"], "model": row["model"], "label": row["label"], **found, **lists, **near}


def _verdicts(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["matches"]:
        chance = row["chance"] or {}
        yield {**row, **{f"chance_{name}": chance.get(name, "") for name in ("local", "global", "rule")}}


def _matches(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["matches"]:
        head = {"reported": row["reported"], "model": row["model"], "reported_label": row["label"]}
        yield from ({**head, **match} for match in row["matches"])


def _others(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["misattribution"]:
        yield {**row, "configurations": _joined(one["configuration"] for one in row["configurations"])}


def _levels(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["identification"]:
        yield from ({**row, **level} for level in row["levels"] or [{}])


def _spreads(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["extraction"]:
        yield from ({**row, **rule, "failures": _pairs(rule["failures"])} for rule in row["rules"])


def _flaky(document: Mapping[str, Any]) -> Iterable[Row]:
    for row in document["repeats"]["samples"]:
        yield from ({**row, "seed": seed, "kind": kind} for seed, kind in row["kinds"].items())


def _circumstances(document: Mapping[str, Any]) -> Iterable[Row]:
    for name in ("environment", "sandbox", "audit", "notes"):
        yield from ({"of": name, **found} for found in document[name])
    for benchmark in document["benchmarks"]:
        yield from ({"of": benchmark["name"], **found} for found in benchmark["facts"])
