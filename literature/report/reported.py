"""The reported scores a study is about, with what each number can be a count of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from literature.arithmetic import stated_samples
from literature.granularity import counts, coverage, describe
from literature.matching import same_benchmark
from literature.records import ReportedScore
from literature.report.evidence import ARITHMETIC, SOURCE, UNKNOWN, ReportInput, fact
from literature.values import printed

COVERAGE_DECIMALS = 3


def models_of(given: ReportInput, score: ReportedScore) -> list[str]:
    """The study's models that go by the reported score's model name."""
    return [model.name for model in given.models if score.model in (model.name, *model.reported_as)]


def reported_rows(given: ReportInput) -> list[dict[str, Any]]:
    """One row per reported score, in the tables' order."""
    return [_row(given, score) for score in given.reported]


def _row(given: ReportInput, score: ReportedScore) -> dict[str, Any]:
    known = fact("value", score.value, SOURCE if score.place or score.sources else UNKNOWN, _where(score))
    return {
        "id": score.id,
        "label": score.label,
        "model": score.model,
        "study_models": models_of(given, score),
        "benchmark": score.benchmark,
        "metric": score.metric,
        "value": score.value,
        "printed": score.printed or score.value,
        "uncertainty": score.uncertainty,
        "sources": list(score.sources),
        "introduced_by": score.introduced_by,
        "known": known.known,
        "pointer": known.pointer,
        "stated": dict(score.stated),
        "arithmetic": [_arithmetic(score, size, samples) for size, samples in _grids(given, score)],
    }


def _where(score: ReportedScore) -> str:
    return score.place or (f"sources {', '.join(score.sources)}" if score.sources else "")


def _grids(given: ReportInput, score: ReportedScore) -> Iterable[tuple[int, int]]:
    """(problems, samples) worth asking: one sample, what the source states, and what this run measured."""
    if not score.is_count:
        return []
    concerned = [b for b in given.benchmarks if same_benchmark(score.benchmark, b.name)]
    sizes = dict.fromkeys(b.problems for b in concerned if b.problems)
    stated = {stated_samples(score) or 1}
    run = {c.measurement.samples for c in given.configurations if c.measurement.problems in sizes}
    return [(size, samples) for size in sizes for samples in sorted({1} | stated | run)]


def _arithmetic(score: ReportedScore, problems: int, samples: int) -> dict[str, Any]:
    found = counts(score.value, problems, samples)
    share = coverage(problems, samples, printed(score.value).decimals)
    return {
        "problems": problems,
        "samples": samples,
        "total": found.total,
        "rounded": list(found.rounded),
        "truncated": list(found.truncate),
        "ceiling": list(found.ceiling),
        "nearest": {"count": found.nearest.count, "percent": found.nearest.percent},
        "coverage": f"{float(share):.{COVERAGE_DECIMALS}f}",
        "sentence": describe(score.value, problems, samples),
        "known": ARITHMETIC,
    }
