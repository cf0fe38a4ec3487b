"""Counts of passes per configuration, and pass@k; a rate only when somebody prints one."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from engine.events import ConfigurationFailed, ConfigurationStopped, Event, Judged, Started
from engine.settings import Configuration


def pass_at_k(samples: int, passed: int, k: int) -> Fraction:
    """Unbiased pass@k of one problem, exactly: 1 - C(n-c, k)/C(n, k) (Chen et al. 2021, eq. 1); k must not exceed n."""
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} needs at least {k} samples per problem; there are {samples}")
    return 1 - Fraction(math.comb(samples - passed, k), math.comb(samples, k))


class Kinds(Mapping[tuple[str, int], str]):
    """Outcome kinds by (task id, sample), one byte each: a grid with samples has a million of them.

    In the order of problems, then samples.
    """

    def __init__(self, index: Mapping[str, int], samples: int) -> None:
        self._index = index
        self._samples = samples
        self._codes = bytearray(len(index) * samples)
        self._names: list[str] = [""]
        self._count = 0

    def put(self, task_id: str, sample: int, kind: str) -> None:
        """Set one kind; `KeyError` for a problem that the benchmark has not."""
        if kind not in self._names:
            self._names.append(sys.intern(kind))
        if sample >= self._samples:
            self._widen(sample + 1)
        place = self._index[task_id] * self._samples + sample
        self._count += not self._codes[place]
        self._codes[place] = self._names.index(kind)

    def _widen(self, samples: int) -> None:
        wider = bytearray(len(self._index) * samples)
        for sample in range(self._samples):
            wider[sample::samples] = self._codes[sample :: self._samples]
        self._codes, self._samples = wider, samples

    def __getitem__(self, place: tuple[str, int]) -> str:
        """The kind; `KeyError` before the sample is judged."""
        task_id, sample = place
        if not 0 <= sample < self._samples:
            raise KeyError(place)
        code = self._codes[self._index[task_id] * self._samples + sample]
        if not code:
            raise KeyError(place)
        return self._names[code]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Places that have a kind."""
        codes = iter(self._codes)
        for task_id in self._index:
            for sample in range(self._samples):
                if next(codes):
                    yield task_id, sample

    def __len__(self) -> int:
        """How many places have a kind."""
        return self._count


@dataclass
class Score:
    """One configuration's passes so far; meets `literature.records.Measurement`.

    `passes[i]` and `judged[i]` count samples of problem i in the benchmark's order. An unavailable outcome is not
    judged. `stopped` says why the configuration is asked no further; it has bounds then, never a score.
    """

    configuration: Configuration
    task_ids: Sequence[str]
    passes: list[int] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)
    failure: str = ""
    stopped: str = ""
    kinds: Kinds = field(init=False)
    readings: Kinds = field(init=False)

    def __post_init__(self) -> None:
        self.passes = self.passes or [0] * len(self.task_ids)
        self.judged = self.judged or [0] * len(self.task_ids)
        self._index = {task_id: i for i, task_id in enumerate(self.task_ids)}
        self.kinds = Kinds(self._index, self.configuration.samples)
        self.readings = Kinds(self._index, self.configuration.samples)

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

    def add(self, task_id: str, sample: int, kind: str, reading: str = "") -> None:
        """Count one outcome; judging the same sample again replaces what was there (a resumed run repeats itself).

        `reading` is what the extraction found in the reply, out of `engine.failures.READINGS`; empty where unknown.
        """
        index = self._index[task_id]
        old = self.kinds.get((task_id, sample))
        self.passes[index] += (kind == "passed") - (old == "passed")
        self.judged[index] += (kind != "unavailable") - (old not in (None, "unavailable"))
        self.kinds.put(task_id, sample, kind)
        if reading:
            self.readings.put(task_id, sample, reading)

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
                score = scores.setdefault(found, Score(configuration, event.problems[configuration.benchmark]))
                score.stopped = score.stopped if found in event.stopped else ""
        elif isinstance(event, Judged):
            scores[event.configuration].add(event.task_id, event.sample, event.kind, event.reading)
        elif isinstance(event, ConfigurationFailed):
            scores[event.configuration].failure = event.reason
        elif isinstance(event, ConfigurationStopped):
            scores[event.configuration].stopped = event.reason
    return scores
