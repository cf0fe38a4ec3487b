"""Whether a study's own values look like one sample per problem or like many, pooled over the study.

A value on the grid k/N is expected from one sample, and happens by chance with the grid's coverage from many. Single
values decide little; log10 likelihood ratios add up. On the grid means one sample per problem, not greedy decoding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from literature.granularity import coverage, fitting_problems, possible
from literature.records import ReportedScore
from literature.values import printed

ERROR_RATE = 0.02
DECIDED = 2.0
ONE, MANY, COPIED, UNDECIDED = "one sample", "many samples", "copied", "undecided"


@dataclass(frozen=True)
class Fingerprint:
    """What a source's own values say together: `on_grid` of `own` are k/N; `log10_ratio` > 0 speaks for one sample."""

    source: str
    verdict: str
    own: int
    copied: int
    on_grid: int
    log10_ratio: float
    sentence: str


def own_values(scores: Iterable[ReportedScore], source: str) -> list[ReportedScore]:
    """The counts of `source` that it did not quote: printed by it alone, or of a model that it introduced itself.

    A value printed by several others says nothing about any but the first, and which was first is not in a table.
    """
    found: dict[tuple[str, str, str], ReportedScore] = {}
    for score in scores:
        if score.is_count and source in score.sources and (len(score.sources) == 1 or score.introduced_by == source):
            found.setdefault((score.model, score.benchmark, score.value), score)
    return list(found.values())


def log10_ratio(values: Sequence[str], problems: int, error: float = ERROR_RATE) -> tuple[int, float]:
    """(how many of `values` are k/`problems`, log10 likelihood ratio of one sample against many).

    A value on the grid counts log10((1-e)/c), one off it log10(e/(1-c)), with c the coverage at its decimals and e the
    rate of transcription errors, `error`.
    """
    on_grid, total = 0, 0.0
    for value in values:
        share = float(coverage(problems, 1, printed(value).decimals))
        if possible(value, problems):
            on_grid += 1
            total += math.log10((1 - error) / share)
        else:
            total += math.log10(error / (1 - share))
    return on_grid, total


def fingerprint(scores: Iterable[ReportedScore], source: str, problems: int, decided: float = DECIDED) -> Fingerprint:
    """One source's fingerprint on `problems`; decided when |log10 ratio| exceeds `decided`."""
    scores = list(scores)
    own = [score.value for score in own_values(scores, source)]
    copied = sum(source in score.sources for score in scores if score.is_count) - len(own)
    on_grid, ratio = log10_ratio(own, problems)
    if not own:
        verdict, says = COPIED, "every value was printed elsewhere too: nothing of its own to tell from"
    else:
        verdict = ONE if ratio > decided else MANY if ratio < -decided else UNDECIDED
        looks = {ONE: "consistent with one sample per problem", MANY: "cannot all be one sample per problem"}
        says = (
            f"{on_grid} of {len(own)} own values are k/{problems}: {looks.get(verdict, 'too few values to tell')} "
            f"(log10 likelihood ratio {ratio:+.1f})"
        )
    return Fingerprint(source, verdict, len(own), copied, on_grid, ratio, f"[{source}] {says}")


def fingerprints(scores: Sequence[ReportedScore], problems: int) -> list[Fingerprint]:
    """One fingerprint a source, in natural order of their marks."""
    sources = {source for score in scores for source in score.sources}
    return [fingerprint(scores, source, problems) for source in sorted(sources, key=source_key)]


def source_key(source: str) -> tuple[int, str]:
    """Sort key: numbers by value, then other marks by text."""
    return (int(source), "") if source.isascii() and source.isdigit() else (1 << 30, source)


def fitting_sizes(
    scores: Iterable[ReportedScore], source: str, candidates: Iterable[int], samples: int = 1
) -> list[int]:
    """The problem numbers on which all own values of `source` can be printed: N is tested, not assumed."""
    return fitting_problems([score.value for score in own_values(scores, source)], candidates, samples)
