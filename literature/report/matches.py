"""What the measured configurations say of each reported score, as rows: matches beside what a match is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from literature.chance import Chance, placebo
from literature.defaults import candidates
from literature.matching import KINDS, MATCHING, ClaimVerdict, Match, Misattribution, verdicts
from literature.report.evidence import ReportInput
from literature.report.explained import names_of
from literature.siblings import siblings

SHOWN = 12
"""Configurations listed under a claim in the Markdown; the JSON holds all."""


def claims(given: ReportInput, identified: Collection[str] = ()) -> list[ClaimVerdict]:
    """One verdict per reported score; a configuration that failed, or whose problems are not known, is left out.

    `identified` holds ids of reported scores whose study's settings are identified.
    """
    measured = [c.measurement for c in given.configurations if c.measurement.problems and c.state != "failed"]
    return verdicts(given.reported, measured, names=names_of(given), identified=identified)


def match_rows(given: ReportInput, found: list[ClaimVerdict]) -> list[dict[str, Any]]:
    """One row per reported score with every configuration of its model, best match first."""
    labels = _labels(given)
    return [_row(verdict, labels) for verdict in found]


def placebo_sentence(given: ReportInput, found: list[ClaimVerdict]) -> str:
    """How often shifted values would have matched as well; empty where no configuration of a claim is finished."""
    measured = [c.measurement for c in given.configurations if c.state == "finished" and c.measurement.problems]
    wanted = {verdict.reported.id: {match.measurement for match in verdict.matches} for verdict in found}
    pairs = [
        (verdict.reported, own)
        for verdict in found
        if (own := [one for one in measured if one.id in wanted[verdict.reported.id]])
    ]
    return placebo(pairs, repeats=siblings(measured)).sentence if pairs else ""


def misattribution_rows(given: ReportInput, found: list[ClaimVerdict]) -> list[dict[str, Any]]:
    """One row per reported score and other model, or other variant of the task, that prints the same number."""
    labels = _labels(given)
    return [_other(verdict, one, labels) for verdict in found for one in verdict.misattributions]


def _labels(given: ReportInput) -> dict[str, str]:
    return {c.measurement.id: c.label for c in given.configurations}


def _row(verdict: ClaimVerdict, labels: dict[str, str]) -> dict[str, Any]:
    tally = Counter(match.kind for match in verdict.matches)
    rows = [_match(match, labels) for match in verdict.matches]
    telling = [row for row in rows if row["kind"] in MATCHING]
    return {
        "reported": verdict.reported.id,
        "label": verdict.reported.label,
        "model": verdict.reported.model,
        "benchmark": verdict.reported.benchmark,
        "verdict": verdict.kind,
        "sentence": verdict.sentence,
        "beside": verdict.beside,
        "matching": verdict.matching,
        "configurations": verdict.configurations,
        "classes": {kind: tally[kind] for kind in KINDS if tally[kind]},
        "chance": _chance(verdict.chance),
        "not_searched": list(verdict.unsearched),
        "by_harness_defaults": [candidate.sentence for candidate in candidates(verdict.reported)],
        "leads": [lead.sentence for lead in verdict.leads],
        "shown": min(SHOWN, len(telling)) if telling else min(1, len(rows)),
        "hidden": max(0, len(telling) - SHOWN),
        "matches": rows,
    }


def _match(match: Match, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "configuration": match.measurement,
        "label": labels.get(match.measurement, ""),
        "kind": match.kind,
        "glyph": match.glyph,
        "sentence": match.sentence,
        "lowest": match.low,
        "highest": match.high,
        "total": match.total,
        "difference_problems": round(match.difference_problems, 4),
        "difference_points": round(match.difference_points, 4),
        "p_rerun": match.p_rerun,
        "p_same": match.p_same,
        "rerun_interval": list(match.interval) if match.interval else None,
        "basis": match.basis,
    }


def _chance(chance: Chance | None) -> dict[str, Any] | None:
    if chance is None:
        return None
    return {
        "rule": chance.rule,
        "configurations": chance.settings,
        "global": f"{chance.everywhere:.2f}",
        "local": "none" if chance.local is None else f"{chance.local:.2f}",
        "in_span": f"{chance.in_span:.2f}",
        "on_grid": None if chance.on_grid is None else f"{chance.on_grid:.2f}",
        "little_information": chance.little,
        "sentence": chance.sentence,
    }


def _other(verdict: ClaimVerdict, one: Misattribution, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "reported": verdict.reported.id,
        "label": verdict.reported.label,
        "model": verdict.reported.model,
        "other_model": one.model,
        "other_benchmark": one.benchmark,
        "kind": one.kind,
        "configurations": [{"configuration": found, "label": labels.get(found, "")} for found in one.configurations],
        "chance": _chance(one.chance),
        "sentence": one.sentence,
    }
