"""What explains the scores, as rows: settings identified per study, effects of settings, spread between extractions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from literature.granularity import percent_text
from literature.identify import Identification, identify_all
from literature.report.evidence import ConfigurationEvidence, ReportInput
from literature.setting_effects import SettingEffect, setting_effects, spreads

TOP = 5
DECIMALS = 2
EXTRACTION = "extraction"
WHOLE = ("finished", "imported")
"""States of a run whose configurations are all judged that can be."""


def names_of(given: ReportInput) -> dict[str, list[str]]:
    """Reported model name -> the study's names of that model."""
    names: dict[str, list[str]] = {}
    for model in given.models:
        for name in (model.name, *model.reported_as):
            names.setdefault(name, []).append(model.name)
    return names


def _measured(given: ReportInput) -> list[ConfigurationEvidence]:
    return [c for c in given.configurations if c.state == "finished" and c.measurement.problems]


def identifications(given: ReportInput) -> list[Identification]:
    """One per source that has own values of a measured model."""
    measured = [c.measurement for c in _measured(given)]
    return identify_all(given.reported, measured, names=names_of(given)) if measured else []


def identification_rows(given: ReportInput, found: list[Identification]) -> list[dict[str, Any]]:
    """Each study's posterior over settings: "none of these" beside it, and never one setting alone."""
    place = {(axis.name, level): (i, j) for i, axis in enumerate(given.axes) for j, level in enumerate(axis.searched)}
    return [
        {
            "source": one.source,
            "identified": one.identified,
            "none": f"{one.none:.{DECIMALS}f}",
            "effective": f"{one.effective:.1f}",
            "bits": f"{one.bits:.{DECIMALS}f}",
            "stable": one.stable,
            "scores": list(one.used),
            "priors": list(one.priors),
            "levels": [
                {
                    "axis": level.axis,
                    "level": level.level,
                    "prior": f"{level.prior:.{DECIMALS}f}",
                    "posterior": f"{level.posterior:.{DECIMALS}f}",
                }
                for level in sorted(one.levels, key=lambda level: place.get((level.axis, level.level), (0, 0)))
            ],
            "top": [{"setting": dict(key), "posterior": f"{share:.{DECIMALS}f}"} for key, share in one.ranked[:TOP]],
            "sentence": one.sentence,
        }
        for one in found
    ]


def effect_rows(given: ReportInput) -> list[dict[str, Any]]:
    """The effect of each other level of each varied axis, against the first level in the order of the grid."""
    measured = [c.measurement for c in _measured(given)]
    baseline: dict[str, str] = {}
    for axis, level in measured[0].axes.items() if measured else ():
        if any(one.axes.get(axis) != level for one in measured):
            baseline[axis] = level
    return [_effect(one) for one in setting_effects(measured, baseline)]


def _effect(one: SettingEffect) -> dict[str, Any]:
    return {
        "axis": one.axis,
        "base": one.base,
        "level": one.level,
        "models": list(one.models),
        "pairs": one.pairs,
        "points": f"{one.points:+.{DECIMALS}f}",
        "low": f"{one.interval[0]:+.{DECIMALS}f}",
        "high": f"{one.interval[1]:+.{DECIMALS}f}",
        "relative": "" if one.relative is None else f"{one.relative:+.1f}",
        "clear": one.clear,
        "sentence": one.sentence,
        "paired": one.comparison.sentence if one.comparison else "",
    }


def precision_rows(given: ReportInput) -> list[str]:
    """How far finished configurations lie apart over the precisions, in a sentence for each decoding."""
    return [spread.sentence for spread in spreads(c.measurement for c in _measured(given))]


def extraction_rows(given: ReportInput) -> list[dict[str, Any]]:
    """One row per configurations that differ in the extraction rule alone: how far the rules lie apart.

    They are judged on the same number of samples, not always all: replies that an imported file lacks are missing
    under each rule.
    """
    groups: dict[tuple[object, ...], list[ConfigurationEvidence]] = {}
    for c in given.configurations:
        if not c.tally.judged or (c.state != "finished" and given.run.state not in WHOLE):
            continue
        rest = tuple(pair for pair in c.measurement.axes.items() if pair[0] != EXTRACTION)
        groups.setdefault((c.measurement.model, c.measurement.benchmark, c.tally.judged, *rest), []).append(c)
    return [_spread(members) for members in groups.values() if len(members) > 1]


def _spread(members: list[ConfigurationEvidence]) -> dict[str, Any]:
    first = members[0]
    asked = first.tally.asked
    counts = [c.tally.passed for c in members]
    return {
        "model": first.measurement.model,
        "benchmark": first.measurement.benchmark,
        "setting": _without_rule(first.label, first.measurement.axes),
        "asked": asked,
        "lowest": min(counts),
        "highest": max(counts),
        "percent_lowest": percent_text(min(counts), asked, DECIMALS),
        "percent_highest": percent_text(max(counts), asked, DECIMALS),
        "sentence": _sentence(members),
        "rules": [
            {
                "rule": c.measurement.axes[EXTRACTION],
                "configuration": c.measurement.id,
                "passed": c.tally.passed,
                "failures": dict(c.tally.failures),
            }
            for c in members
        ],
    }


def _sentence(members: list[ConfigurationEvidence]) -> str:
    """How far the best and the worst rule are apart, in samples and points."""
    best, worst = (choose(members, key=lambda c: c.tally.passed) for choose in (max, min))
    asked, gap = best.tally.asked, best.tally.passed - worst.tally.passed
    rules = [c.measurement.axes[EXTRACTION] for c in (worst, best)]
    missing = asked - best.tally.judged
    beside = f"; {missing} of {asked} samples are missing under each rule" if missing else ""
    if not gap:
        return f"{best.measurement.model}: all extraction rules come to {best.tally.passed}/{asked}{beside}"
    return (
        f"{best.measurement.model}: the extraction rule alone moves {worst.tally.passed}/{asked} ({rules[0]}) to "
        f"{best.tally.passed}/{asked} ({rules[1]}), {percent_text(gap, asked, DECIMALS)} points{beside}"
    )


def _without_rule(label: str, axes: Mapping[str, str]) -> str:
    return label.removesuffix(f" · {axes[EXTRACTION]}")
