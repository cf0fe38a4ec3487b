"""Counts of passes per configuration, and pass@k; a rate only when somebody prints one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from engine.events import ConfigurationFailed, Event, Judged, Started
from engine.settings import Configuration


def pass_at_k(samples: int, passed: int, k: int) -> Fraction:
    """Unbiased pass@k of one problem, exactly: 1 - C(n-c, k)/C(n, k) (Chen et al. 2021, eq. 1); k must not exceed n."""
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} needs at least {k} samples per problem; there are {samples}")
    return 1 - Fraction(math.comb(samples - passed, k), math.comb(samples, k))


@dataclass
class Score:
    """One configuration's passes so far; meets `literature.records.Measurement`.

    `passes[i]` and `judged[i]` count samples of problem i in the benchmark's order. An unavailable outcome is not
    judged.
    """

    configuration: Configuration
    task_ids: Sequence[str]
    passes: list[int] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)
    kinds: dict[tuple[str, int], str] = field(default_factory=dict)
    failure: str = ""

    def __post_init__(self) -> None:
        self.passes = self.passes or [0] * len(self.task_ids)
        self.judged = self.judged or [0] * len(self.task_ids)
        self._index = {task_id: i for i, task_id in enumerate(self.task_ids)}

    @property
    def id(self) -> str:
        """The configuration's id."""
        return self.configuration.id

    @property
    def model(self) -> str:
        """The study's name of the model."""
        return self.configuration.model

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return self.configuration.benchmark

    @property
    def axes(self) -> Mapping[str, str]:
        """Axis name -> value label."""
        return self.configuration.axes()

    @property
    def greedy(self) -> bool:
        """True when decoding is deterministic in theory."""
        return self.configuration.decoding.greedy

    @property
    def problems(self) -> int:
        """N: the benchmark's size."""
        return len(self.task_ids)

    @property
    def samples(self) -> int:
        """n: samples per problem."""
        return self.configuration.samples

    @property
    def asked(self) -> int:
        """The denominator: problems x samples."""
        return self.problems * self.samples

    @property
    def passed(self) -> int:
        """Samples that passed so far."""
        return sum(self.passes)

    @property
    def judged_total(self) -> int:
        """Samples judged so far."""
        return sum(self.judged)

    @property
    def unavailable(self) -> int:
        """Samples whose outcome could not be had."""
        return sum(kind == "unavailable" for kind in self.kinds.values())

    @property
    def finished(self) -> bool:
        """True when every sample of every problem is judged."""
        return self.judged_total == self.asked

    @property
    def text(self) -> str:
        """`35/164` when finished, `16..19/164` while samples are missing."""
        if self.finished:
            return f"{self.passed}/{self.asked}"
        return f"{self.passed}..{self.passed + self.asked - self.judged_total}/{self.asked}"

    def add(self, task_id: str, sample: int, kind: str) -> None:
        """Count one outcome; judging the same sample again replaces what was there (a resumed run repeats itself)."""
        index = self._index[task_id]
        old = self.kinds.get((task_id, sample))
        self.passes[index] += (kind == "passed") - (old == "passed")
        self.judged[index] += (kind != "unavailable") - (old not in (None, "unavailable"))
        self.kinds[task_id, sample] = kind

    def pass_at(self, k: int) -> Fraction:
        """Mean pass@k over all problems of a finished score."""
        if not self.finished:
            raise ValueError(f"{self.configuration.label} is not finished: {self.text}")
        return sum((pass_at_k(self.samples, passed, k) for passed in self.passes), Fraction()) / self.problems


def fold_scores(events: Iterable[Event], scores: dict[str, Score] | None = None) -> dict[str, Score]:
    """Scores by configuration id, brought forward by events; `Started` makes new ones, the rest fill them."""
    scores = {} if scores is None else scores
    for event in events:
        if isinstance(event, Started):
            for found, values in event.configurations.items():
                configuration = Configuration.from_dict(values)
                scores.setdefault(found, Score(configuration, event.problems[configuration.benchmark]))
        elif isinstance(event, Judged):
            scores[event.configuration].add(event.task_id, event.sample, event.kind)
        elif isinstance(event, ConfigurationFailed):
            scores[event.configuration].failure = event.reason
    return scores
