"""Two configurations over the same problems, of one run or of two: which problems flip, and what each side said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.scoring import Score
from tui.findings import compared
from tui.state import RunState, flips

ORDER = ("lost", "gained", "other outcome", "", "one side only")
"""Problems that flip come first, those judged on one side only last."""


@dataclass(frozen=True)
class Side:
    """A configuration of a run's state; `run` names the run where it is another one than the other side's."""

    state: RunState
    key: str
    run: str = ""

    @property
    def score(self) -> Score:
        """Its score."""
        return self.state.scores[self.key]

    @property
    def title(self) -> str:
        """Which one it is, in one line."""
        return " · ".join(part for part in (self.run, self.score.model, self.score.configuration.label) if part)

    def kinds(self, task_id: str) -> list[str]:
        """The outcomes of a problem's samples so far."""
        found = (self.score.kinds.get((task_id, sample), "") for sample in range(self.score.samples))
        return [kind for kind in found if kind]

    def kind(self, task_id: str) -> str:
        """The first outcome of a problem that is no pass, else `passed`; empty while nothing is judged."""
        known = self.kinds(task_id)
        return next((kind for kind in known if kind != "passed"), known[0] if known else "")

    def outcome(self, task_id: str) -> str:
        """What a list shows: the kind, or how many of several samples passed."""
        judged = [kind for kind in self.kinds(task_id) if kind != "unavailable"]
        if self.score.samples > 1 and judged:
            return f"{judged.count('passed')}/{len(judged)} passed"
        return self.kind(task_id) or "waiting"

    def number(self, sample: int) -> int:
        """The sample that stands beside another side's `sample`: the same one, or the last where there are fewer."""
        return min(sample, self.score.samples - 1)

    def sample_kind(self, task_id: str, sample: int) -> str:
        """The outcome of one sample; empty before it is judged."""
        return self.score.kinds.get((task_id, self.number(sample)), "")

    def detail(self, task_id: str, sample: int = 0) -> str:
        """What a sample's outcome said."""
        return self.state.kept.detail((self.key, task_id, self.number(sample)))

    def reply_key(self, task_id: str, sample: int = 0) -> str:
        """Under which key a sample's reply is kept; empty before it is judged."""
        return self.state.kept.key((self.key, task_id, self.number(sample)))

    def mode(self, task_id: str, sample: int = 0) -> str:
        """How a sample was judged, where that is not by plain data alone."""
        return self.state.kept.label((self.key, task_id, self.number(sample)))


@dataclass(frozen=True)
class Pair:
    """One problem on both sides; `relation` is out of ORDER, seen from the left side."""

    task_id: str
    left: str
    right: str
    relation: str


def pairs(left: Side, right: Side) -> list[Pair]:
    """Every problem that either side names, flips first, else in the left side's order."""
    flipped = flips(left.score, right.score)
    tasks = dict.fromkeys([*left.score.task_ids, *right.score.task_ids])
    found = [_pair(task_id, left, right, flipped.get(task_id, "")) for task_id in tasks]
    return sorted(found, key=lambda pair: ORDER.index(pair.relation))


def _pair(task_id: str, left: Side, right: Side, flip: str) -> Pair:
    here, there = left.kind(task_id), right.kind(task_id)
    relation = flip
    if bool(here) != bool(there):
        relation = "one side only"
    elif not flip and here != there:
        relation = "other outcome"
    return Pair(task_id, left.outcome(task_id), right.outcome(task_id), relation)


def sentence(left: Side, right: Side) -> str:
    """The exact paired comparison, left minus right."""
    return compared(left.score, right.score)


def fitting(state: RunState, score: Score, leave: str = "") -> Sequence[str]:
    """The configurations of a state that have judged problems of a score's benchmark, other than `leave`."""
    tasks = set(score.task_ids)
    return [
        key for key in state.order
        if key != leave and state.scores[key].kinds and tasks.intersection(state.scores[key].task_ids)
    ]  # fmt: skip
