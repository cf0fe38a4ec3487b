"""What a run says beyond its matches: effects of settings, and which settings each source's numbers point to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.scoring import Score
from literature.records import ReportedScore

if TYPE_CHECKING:
    from literature.identify import Identification
    from literature.setting_effects import SettingEffect


@dataclass(frozen=True)
class Findings:
    """Effects against `baseline` (axis -> value), and an identification for each source with values of its models."""

    baseline: Mapping[str, str]
    effects: Sequence[SettingEffect]
    identified: Sequence[Identification]
    finished: int


def varying(scores: Sequence[Score]) -> list[str]:
    """The axes on which finished configurations differ, in reading order."""
    values: dict[str, set[str]] = {}
    for score in scores:
        for axis, value in score.axes.items():
            values.setdefault(axis, set()).add(value)
    return [axis for axis, found in values.items() if len(found) > 1]


def find(
    scores: Sequence[Score],
    baseline: Score,
    reported: Sequence[ReportedScore],
    names: Mapping[str, Sequence[str]],
) -> Findings:
    """Work the findings out from finished scores; takes seconds for sampled ones."""
    from literature.identify import identify_all
    from literature.setting_effects import setting_effects

    done = [score for score in scores if score.finished]
    base = {axis: baseline.axes[axis] for axis in varying(done)}
    effects = [found for found in setting_effects(done, base) if found.pairs]
    identified = [found for found in identify_all(reported, done, names=names) if found.used] if done else []
    return Findings(base, effects, identified, len(done))


def compared(here: Score, other: Score) -> str:
    """The exact paired comparison of two configurations, `here` minus `other`, in one sentence.

    With several samples a problem counts as passed when more than half of its samples are.
    """
    from literature.effects import compare
    from literature.errors import PairingError

    try:
        return compare(_passed(other), _passed(here), most_unmatched=1.0).sentence
    except PairingError as error:
        return str(error)


def _passed(score: Score) -> dict[str, bool | None]:
    return {
        task_id: 2 * score.passes[index] > score.judged[index] if score.judged[index] else None
        for index, task_id in enumerate(score.task_ids)
    }
