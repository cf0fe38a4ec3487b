"""Stand-ins for measurements and reported scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from literature.records import ReportedScore


@dataclass(frozen=True)
class FakeMeasurement:
    """One configuration's counts, as the engine would hand them over."""

    id: str = "c1"
    model: str = "m"
    benchmark: str = "humanevalfixtests-python"
    axes: Mapping[str, str] = field(default_factory=dict)
    greedy: bool = True
    problems: int = 164
    samples: int = 1
    passes: Sequence[int] = ()
    judged: Sequence[int] = ()


class Build:
    """Short ways to make the values that tests are about."""

    def greedy(self, count: int, problems: int = 164, judged: int | None = None, **more: object) -> FakeMeasurement:
        """A greedy configuration with `count` passes first, `judged` problems done (default all)."""
        done = problems if judged is None else judged
        passes = [1] * count + [0] * (problems - count)
        return FakeMeasurement(problems=problems, passes=passes, judged=[1] * done + [0] * (problems - done), **more)  # type: ignore[arg-type]

    def sampled(
        self, passes: Sequence[int], samples: int, judged: Sequence[int] | None = None, **more: object
    ) -> FakeMeasurement:
        """A sampled configuration with these passes per problem."""
        done = [samples] * len(passes) if judged is None else judged
        return FakeMeasurement(greedy=False, problems=len(passes), samples=samples, passes=passes, judged=done, **more)  # type: ignore[arg-type]

    def score(self, value: str, model: str = "m", sources: Sequence[str] = ("1",), **stated: str) -> ReportedScore:
        """A reported score; keywords are what its source states."""
        return ReportedScore(model, "humanevalfix-python", "pass@1", value, tuple(sources), stated=stated)


@pytest.fixture
def build() -> Build:
    """Builders of measurements and reported scores."""
    return Build()
