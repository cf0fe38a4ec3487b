"""How much of a run is still to be generated, in units that cost about the same: what a time-left figure rests on."""

from __future__ import annotations

from collections.abc import Callable

from engine.events import Started
from engine.plan import make_plan
from engine.settings import Configuration

PROMPT = 1.0
"""What a prompt's prefill costs beside one reply: a few hundred tokens at once, against some tens one after the other.
Between 0.5 (replies of 100 tokens) and 2 (of 20) as measured on the embedded study's models."""


class Workload:
    """The passes of a run; a reply counts 1 and its share of the prompt, which all replies of a group share."""

    def __init__(self, started: Started | None = None) -> None:
        self._units: list[float] = []
        self._missing: list[int] = []
        self._readers: list[tuple[str, ...]] = []
        if started is None or not started.generations:
            return
        sizes = {name: len(found) for name, found in started.problems.items()}
        configurations = {Configuration.from_dict(values): id_ for id_, values in started.configurations.items()}
        for group in make_plan(configurations).groups:
            share = PROMPT / sum(one.samples for one in group.passes)
            for one in group.passes:
                self._units.append(1 + share)
                self._missing.append(one.samples * sizes[group.benchmark])
                self._readers.append(tuple(configurations[c] for c in one.configurations))

    def made(self, index: int) -> float:
        """Take one reply of a pass off; the units that it counts."""
        if not 0 <= index < len(self._units):
            return 1.0
        self._missing[index] = max(0, self._missing[index] - 1)
        return self._units[index]

    def left(self, ended: Callable[[str], bool]) -> float:
        """Units still to be made. A pass whose configurations have all ended is done with: they failed, or what is
        missing had no room.
        """
        return sum(
            units * missing
            for units, missing, readers in zip(self._units, self._missing, self._readers, strict=True)
            if missing and not all(map(ended, readers))
        )
