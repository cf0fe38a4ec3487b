"""Samples whose outcome is another one under another seed, as rows, and what a configuration's count is under each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from literature.report.evidence import ConfigurationEvidence, FlakySample, ReportInput

PASSED, NONE = "passed", "unavailable"


def repeats(given: ReportInput) -> dict[str, Any]:
    """What was repeated, each flaky sample, and the count of each configuration with such samples under each seed."""
    found = given.repeats
    labels = {c.measurement.id: c for c in given.configurations}
    known = [one for one in found.samples if one.configuration in labels]
    return {
        "seeds": found.seeds,
        "programs": found.programs,
        "flaky": found.flaky,
        "unavailable": found.unavailable,
        "skipped": dict(found.skipped),
        "samples": [_sample(labels[one.configuration], one) for one in known],
        "counts": list(_counts(labels, known)),
    }


def _sample(configuration: ConfigurationEvidence, one: FlakySample) -> dict[str, Any]:
    return {
        "configuration": one.configuration,
        "model": configuration.measurement.model,
        "label": configuration.label,
        "task_id": one.task_id,
        "sample": one.sample,
        "kinds": dict(one.kinds),
    }


def _counts(labels: Mapping[str, ConfigurationEvidence], known: list[FlakySample]) -> Iterator[dict[str, Any]]:
    for id_, configuration in labels.items():
        mine = [one for one in known if one.configuration == id_]
        if not mine:
            continue
        tally = configuration.tally
        steady = tally.passed - sum(one.kinds["0"] == PASSED for one in mine)
        spans = {seed: _span(steady, mine, seed) for seed in mine[0].kinds}
        lowest, highest = min(low for low, _ in spans.values()), max(high for _, high in spans.values())
        last = max(map(int, spans))
        of = f"{tally.asked}" if tally.judged == tally.asked else f"{tally.judged} judged samples"
        yield {
            "configuration": id_,
            "model": configuration.measurement.model,
            "label": configuration.label,
            "samples": len(mine),
            "asked": tally.asked,
            "judged": tally.judged,
            "passed": tally.passed,
            "lowest": lowest,
            "highest": highest,
            "by_seed": {seed: f"{low}" if low == high else f"{low}..{high}" for seed, (low, high) in spans.items()},
            "sentence": f"{tally.passed} of {of} under seed 0, {lowest}..{highest} under seeds 0 to {last}",
        }


def _span(steady: int, mine: list[FlakySample], seed: str) -> tuple[int, int]:
    """Least and most passes under a seed: an execution that gave no outcome may have been either."""
    kinds = [one.kinds[seed] for one in mine]
    low = steady + kinds.count(PASSED)
    return low, low + kinds.count(NONE)
