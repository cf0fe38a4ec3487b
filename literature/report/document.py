"""A report as one plain document: every statement and every number of it, from which all formats are written."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from literature.identify import identified_scores
from literature.report.checklist import NO, NO_EVIDENCE, YES, Item, checklist
from literature.report.commands import STUDY_FILE, ways
from literature.report.evidence import HOW_KNOWN, BenchmarkEvidence, Fact, ReportInput
from literature.report.explained import (
    effect_rows,
    extraction_rows,
    identification_rows,
    identifications,
    precision_rows,
)
from literature.report.further import further
from literature.report.matches import claims, match_rows, misattribution_rows, placebo_sentence
from literature.report.measured import score_rows
from literature.report.repeats import repeats
from literature.report.reported import reported_rows

NAME = "scoretrace-report"
VERSION = 1
STATES = ("finished", "partial", "stopped", "failed", "not started")
UNSEARCHED = (
    "other revisions of the model and its tokenizer",
    "other versions of the benchmark, and problems that a source may have left out",
    "stop words and post-processing beyond the extraction rules named",
    "time and memory limits of the tests other than the benchmark's own",
    "other inference engines, devices and batch shapes",
)
"""Dimensions that no axis of the grid covers in this version."""


def build(given: ReportInput, made: float) -> dict[str, Any]:
    """The document, ready for JSON (see report.schema.json); `made` is the Unix time that it carries."""
    studies = identifications(given)
    again = ways(given)
    verdicts = claims(given, identified_scores(studies))
    return {
        "schema": NAME,
        "version": VERSION,
        "made": moment(made),
        "scoretrace": given.version or "unknown",
        "title": given.title,
        "question": given.question,
        "study_file": STUDY_FILE,
        "command": again[0].command,
        "again": [{"sentence": way.sentence, "command": way.command} for way in again],
        "run": _run(given),
        "caveats": list(_caveats(given)),
        "how_known": list(HOW_KNOWN),
        "checklist": [_item(item) for item in checklist(given)],
        "further": [_item(item) for item in further(given)],
        "reported": reported_rows(given),
        "scores": score_rows(given),
        "matches": match_rows(given, verdicts),
        "placebo": placebo_sentence(given, verdicts),
        "misattribution": misattribution_rows(given, verdicts),
        "identification": identification_rows(given, studies),
        "effects": effect_rows(given),
        "precisions": precision_rows(given),
        "extraction": extraction_rows(given),
        "audit": [_fact(found) for found in given.audit],
        "repeats": repeats(given),
        "cost": _cost(given),
        "benchmarks": [_benchmark(found) for found in given.benchmarks],
        "models": _models(given),
        "environment": [_fact(found) for found in given.environment],
        "written_on": [_fact(found) for found in given.here],
        "sandbox": [_fact(found) for found in given.sandbox],
        "stated": dict(given.stated),
        "notes": [_fact(found) for found in given.notes],
        "not_searched": _not_searched(given),
    }


def moment(seconds: float) -> str:
    """A Unix time as UTC text; empty for 0."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if seconds else ""


def _run(given: ReportInput) -> dict[str, Any]:
    run = given.run
    states = [c.state for c in given.configurations]
    return {
        "id": run.id,
        "name": run.name,
        "state": run.state,
        "detail": run.detail,
        "events": run.events,
        "created": moment(run.created),
        "first": moment(run.first),
        "last": moment(run.last),
        "configurations": len(states),
        **{name.replace(" ", "_"): states.count(name) for name in STATES},
    }


def _caveats(given: ReportInput) -> Iterable[str]:
    run, total = given.run, len(given.configurations)
    finished = sum(c.state == "finished" for c in given.configurations)
    if not run.events:
        yield "This run has stated nothing: nothing below is measured."
    elif run.state != "finished" or finished < total:
        yield (
            f"This run is not complete (its state is {run.state!r}): {finished} of {total} configurations are wholly "
            "judged. The others have bounds, not scores."
        )
    stopped = sum(c.state == "stopped" for c in given.configurations)
    if stopped:
        yield (
            f"{stopped} of {total} configurations were asked no further once no reported score could be reached: they "
            "have bounds and a reason below, and count nowhere as a score."
        )
    if run.detail:
        yield f"The run's last word: {run.detail}"
    if run.unread:
        yield f"{run.unread} of {run.events} events cannot be read by this version and are left aside."
    unavailable = sum(c.tally.unavailable for c in given.configurations)
    if unavailable:
        yield f"{unavailable} samples could not be judged here; they count neither as passed nor as failed."
    yield from given.problems


def _item(item: Item) -> dict[str, Any]:
    return {
        "number": item.number,
        "title": item.title,
        "mark": item.mark,
        "yes": item.count(YES),
        "no": item.count(NO),
        "unknown": item.count(NO_EVIDENCE),
        "answers": [{"subject": a.subject, **_fact(a.fact), "holds": a.holds} for a in item.answers],
    }


def _fact(found: Fact) -> dict[str, str]:
    return {"name": found.name, "value": found.value, "known": found.known, "pointer": found.pointer}


def _cost(given: ReportInput) -> dict[str, Any]:
    cost = given.cost
    return {
        "replies": cost.replies,
        "made": cost.made,
        "kept": cost.kept,
        "tokens": cost.tokens,
        "generation_s": round(cost.generation_s, 1),
        "program_s": round(cost.program_s, 1),
        "load_s": round(cost.load_s, 1),
        "energy": cost.energy,
    }


def _benchmark(found: BenchmarkEvidence) -> dict[str, Any]:
    check = found.check
    return {
        "name": found.name,
        "problems": found.problems,
        "pointer": found.pointer,
        "facts": [_fact(one) for one in found.facts],
        "reference_check": None
        if check is None
        else {
            "correct": check.correct,
            "buggy": check.buggy,
            "total": check.total,
            "wrong": list(check.wrong),
            "explained": list(check.explained),
            "pointer": check.pointer,
        },
    }


def _models(given: ReportInput) -> list[dict[str, Any]]:
    return [
        {
            "name": model.name,
            "file": model.file,
            "reported_as": list(model.reported_as),
            "loaded": [
                {
                    "precision": card.precision,
                    "sha256": card.sha256,
                    "source_sha256": card.source_sha256,
                    "recipe": card.recipe,
                    "architecture": card.architecture,
                    "parameters": card.parameters,
                    "template_sha256": card.template_sha256,
                    "tensor_types": dict(card.tensor_types),
                    "width": card.width,
                    "numerics": dict(card.numerics),
                    "metadata": dict(card.metadata),
                    "pointer": card.pointer,
                }
                for card in model.cards
            ],
        }
        for model in given.models
    ]


def _not_searched(given: ReportInput) -> dict[str, Any]:
    axes = [
        {
            "axis": axis.name,
            "searched": list(axis.searched),
            "not_searched": [value for value in axis.known if value not in axis.searched],
        }
        for axis in given.axes
    ]
    return {"axes": axes, "other": list(UNSEARCHED)}
