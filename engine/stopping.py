"""When a configuration is asked no further: no count that a report could stand for can be reached any more.

The counts come with the job as plain numbers, worked out where reports are read; here they are only compared. So a run
that nobody watches stops the same configurations at the same outcomes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from engine.protocols import Problem
from engine.scoring import Score

BOUNDS, SEQUENTIAL = "bounds", "sequential"
PASSES, FAILURES = "passes", "failures"
RULES = (BOUNDS, SEQUENTIAL)
LOOKS = (2, 3, 5, 8, 12, 16)
"""The sequential rule looks after so many samples of every problem; its stated error is for these looks."""
Z = 4.0

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Target:
    """Counts of `total` that matter for one configuration, as spans of first and last.

    `open` holds every count that is not ruled out for some report, for the exact bounds; `printing` those that print a
    reported value or lie one problem beside, for the sequential rule. `first` says which problems decide soonest:
    likely PASSES where a score above the nearest report is expected, likely FAILURES below it, empty where nothing is.
    """

    total: int
    open: tuple[Span, ...]
    printing: tuple[Span, ...] = ()
    first: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` reads it back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Target:
        """Rebuild what `as_dict` wrote."""
        spans = {name: tuple((low, high) for low, high in data[name]) for name in ("open", "printing")}
        return cls(data["total"], **spans, first=data["first"])


class Stopper:
    """Says of unfinished configurations why they are asked no further, under one rule (empty: none is stopped)."""

    def __init__(self, rule: str, targets: Mapping[str, Target]) -> None:
        self._rule = rule
        self._targets = targets
        self._looked: dict[str, int] = {}

    def reason(self, score: Score) -> str:
        """Empty where the configuration goes on.

        A target over another total (the benchmark's file is another one now) stops nothing, nor does one without
        counts: nobody reported anything of that model.
        """
        target = self._targets.get(score.id) if self._rule else None
        if target is None or target.total != score.asked or not target.open:
            return ""
        low, left = score.passed, score.asked - score.judged_total
        high = low + left
        if not left:
            return ""
        if not _meets(low, high, target.open):
            return f"exact bound: it ends within {low}..{high} of {score.asked}, where no reported score is"
        return self._looked_at(score, target) if self._rule == SEQUENTIAL and target.printing else ""

    def _looked_at(self, score: Score, target: Target) -> str:
        """The reason at a look that is newly complete. Only its own samples count, so that what else is judged
        meanwhile changes nothing.
        """
        least = min(score.judged)
        look = max((n for n in LOOKS if n <= least and n < score.samples), default=0)
        if look <= self._looked.get(score.id, 0):
            return ""
        kinds = [[score.kinds.get((task_id, s), "unavailable") for s in range(look)] for task_id in score.task_ids]
        if any("unavailable" in found for found in kinds):
            return ""
        self._looked[score.id] = look
        passes = [found.count("passed") for found in kinds]
        low, high = projected(passes, [look] * score.problems, score.samples)
        low, high = max(low, sum(passes)), min(high, score.asked - look * score.problems + sum(passes))
        if _meets(low, high, target.printing):
            return ""
        return (
            f"sequential rule after {look} of {score.samples} samples: expected within {low}..{high} of {score.asked}, "
            "where no reported score is"
        )


def _meets(low: int, high: int, spans: Iterable[Span]) -> bool:
    return any(first <= high and low <= last for first, last in spans)


def projected(passes: Sequence[int], judged: Sequence[int], samples: int) -> Span:
    """Where the final count will lie: the estimate from two samples or more of every problem, +- Z of its spread.

    With j of n samples judged, Var(final - n c/j) = (n-j) (n/j) p (1-p) a problem, and c (j-c) / (j (j-1)) estimates
    p (1-p) without bias. One undecided problem is added, so that agreement in few samples is not taken for certainty.
    """
    centre = sum(samples * c / j for c, j in zip(passes, judged, strict=True))
    terms = [((samples - j) * samples / j, c * (j - c) / (j * (j - 1))) for c, j in zip(passes, judged, strict=True)]
    variance = math.fsum(left * within for left, within in terms) + max(left for left, _ in terms) / 4
    reach = Z * math.sqrt(variance)
    return math.ceil(centre - reach), math.floor(centre + reach)


def ordered(problems: Sequence[Problem], likely: Sequence[str], firsts: Iterable[str]) -> list[Problem]:
    """Problems as most of a group's configurations want them (`Target.first`); `likely` are task ids, passes first.

    Where they do not agree, or nothing is known, in the benchmark's order. No outcome depends on it.
    """
    wanted = Counter(firsts)
    places = {task_id: place for place, task_id in enumerate(likely)}
    if not places or wanted[PASSES] == wanted[FAILURES]:
        return list(problems)
    sign = 1 if wanted[PASSES] > wanted[FAILURES] else -1
    return sorted(problems, key=lambda problem: sign * places.get(problem.task_id, len(places)))


def rounds(rule: str, samples: int) -> list[Span]:
    """Samples of all problems before the next ones of any: (first, one past the last) of each round.

    One round, which computes each prompt once, unless the sequential rule needs looks in between.
    """
    ends = [look for look in LOOKS if rule == SEQUENTIAL and look < samples]
    return list(zip([0, *ends], [*ends, samples], strict=True))
