"""Measured scores as rows: a count over a stated denominator, bounds while samples are open, never a bare rate."""

from __future__ import annotations

from typing import Any

from literature.granularity import percent_text
from literature.report.commands import command_of
from literature.report.evidence import ConfigurationEvidence, ReportInput

DECIMALS = 2
CSV_COLUMNS = (
    "configuration", "model", "benchmark", "prompt", "header", "decoding", "samples", "seed", "length", "precision",
    "extraction", "state", "problems", "asked", "judged", "passed", "lowest", "highest", "percent", "percent_lowest",
    "percent_highest", "answered", "not_generated", "at_limit", "no_room", "no_code", "unavailable", "replies",
    "failure", "stopped", "command",
)  # fmt: skip
"""Columns of scores.csv; `percent` is empty while samples are open, the bounds stand beside it."""


def score_rows(given: ReportInput) -> list[dict[str, Any]]:
    """One row per configuration, in grid order."""
    return [_row(given, configuration) for configuration in given.configurations]


def csv_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their axes as columns of their own."""
    return [{**row["axes"], **{key: value for key, value in row.items() if key != "axes"}} for row in rows]


def _row(given: ReportInput, found: ConfigurationEvidence) -> dict[str, Any]:
    tally, measurement = found.tally, found.measurement
    finished = found.state == "finished"
    return {
        "configuration": measurement.id,
        "model": measurement.model,
        "benchmark": measurement.benchmark,
        "label": found.label,
        "axes": dict(measurement.axes),
        "state": found.state,
        "failure": found.failure,
        "stopped": found.stopped,
        "score": _score(found),
        "problems": measurement.problems,
        "asked": tally.asked,
        "answered": tally.answered,
        "not_generated": tally.not_generated,
        "no_code": tally.no_code,
        "failures": dict(tally.failures),
        "judged": tally.judged,
        "passed": tally.passed,
        "lowest": tally.lowest,
        "highest": tally.highest,
        "percent": _percent(tally.passed, tally.asked) if finished else "",
        "percent_lowest": _percent(tally.lowest, tally.asked),
        "percent_highest": _percent(tally.highest, tally.asked),
        "replies": tally.replies,
        "at_limit": tally.at_limit if tally.replies else tally.cut_short,
        "no_room": tally.no_room if tally.replies else None,
        "unavailable": tally.unavailable,
        "outcomes": dict(tally.kinds),
        "pointer": found.pointer,
        "command": command_of(given, found),
    }


def _score(found: ConfigurationEvidence) -> str:
    tally = found.tally
    if found.state == "finished":
        return f"{tally.passed}/{tally.asked}"
    if found.state in ("failed", "not started") and not tally.judged:
        return ""
    return f"{tally.lowest}..{tally.highest}/{tally.asked}"


def _percent(count: int, total: int) -> str:
    return percent_text(count, total, DECIMALS) if total else ""
