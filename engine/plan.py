"""From a grid to the fewest passes: what is loaded, prefilled and generated once, and which configuration reads which.

Shared exactly: weights per (model, precision); prompts for all decodings and samples of one template; greedy runs once
whatever n; a shorter limit is the prefix of a longer one; extraction is re-scoring. Repeats are never shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.settings import Configuration, Decoding

PRECISION_ORDER = ("as released", "f16", "q8_0", "bf16", "q4_k_m", "q4_0", "f32")
"""Fastest on a CPU first, so that a first score comes soon; the order changes no result."""


@dataclass(frozen=True)
class Pass:
    """One decoding of one seed over all problems: `samples` each, up to `max_length`; read by `configurations`."""

    decoding: Decoding
    seed: int
    samples: int
    max_length: int
    extractions: tuple[str, ...]
    configurations: tuple[Configuration, ...]


@dataclass(frozen=True)
class PromptGroup:
    """Passes over the same prompts, each prompt prefilled once for all of them."""

    model: str
    precision: str
    benchmark: str
    template: str
    prefill: bool
    passes: tuple[Pass, ...]

    @property
    def label(self) -> str:
        """What the screens call it: `f16 · instruct · greedy, T=0.2`."""
        header = self.template if self.prefill else f"{self.template} (no header)"
        return f"{self.precision} · {header} · {', '.join(p.decoding.label for p in self.passes)}"

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """All configurations that read this group."""
        return tuple(c for p in self.passes for c in p.configurations)


@dataclass(frozen=True)
class Load:
    """One loading of weights and the groups that run on it."""

    model: str
    precision: str
    groups: tuple[PromptGroup, ...]


@dataclass(frozen=True)
class Plan:
    """The loads in the order in which they run."""

    loads: tuple[Load, ...]

    @property
    def groups(self) -> tuple[PromptGroup, ...]:
        """All groups, in order."""
        return tuple(group for load in self.loads for group in load.groups)

    @property
    def passes(self) -> int:
        """Decodings over all problems, after sharing."""
        return sum(len(group.passes) for group in self.groups)

    def first_indices(self) -> dict[PromptGroup, int]:
        """The number of each group's first pass, counted over the whole plan."""
        found, count = {}, 0
        for group in self.groups:
            found[group] = count
            count += len(group.passes)
        return found

    def generations(self, problems: Mapping[str, int]) -> int:
        """Replies to be kept; `problems` maps a benchmark to its size."""
        return sum(p.samples * problems[group.benchmark] for group in self.groups for p in group.passes)

    def naive(self, problems: Mapping[str, int]) -> int:
        """Replies if every configuration ran alone."""
        return sum(c.samples * problems[c.benchmark] for group in self.groups for c in group.configurations)


def make_plan(configurations: Iterable[Configuration], *, early_first: bool = True) -> Plan:
    """The fewest passes; with `early_first` the very first decoding runs alone, at the price of one more prefill of
    its prompts.
    """
    by_load: dict[tuple[str, str], dict[tuple[str, str, bool], dict[tuple[Decoding, int], list[Configuration]]]] = {}
    for c in configurations:
        groups = by_load.setdefault((c.model, c.precision), {})
        passes = groups.setdefault((c.benchmark, c.template, c.prefill), {})
        # Greedy draws nothing: its seed is no setting of the pass.
        passes.setdefault((c.decoding, 0 if c.decoding.greedy else c.seed), []).append(c)
    models = list(dict.fromkeys(model for model, _ in by_load))
    # What is not known of an imported run comes last: such a plan is counted, never run.
    places = {name: place for place, name in enumerate(PRECISION_ORDER)}
    order = sorted(by_load, key=lambda k: (models.index(k[0]), places.get(k[1], len(places))))
    loads = [
        Load(
            model,
            precision,
            tuple(
                PromptGroup(model, precision, benchmark, template, prefill, tuple(map(_pass, passes, passes.values())))
                for (benchmark, template, prefill), passes in by_load[model, precision].items()
            ),
        )
        for model, precision in order
    ]
    return Plan(tuple(_first_alone(loads) if early_first else loads))


def _pass(key: tuple[Decoding, int], readers: list[Configuration]) -> Pass:
    return Pass(
        decoding=key[0],
        seed=key[1],
        samples=max(c.samples for c in readers),
        max_length=max(c.max_length for c in readers),
        extractions=tuple(sorted({c.extraction for c in readers})),
        configurations=tuple(readers),
    )


def _first_alone(loads: list[Load]) -> list[Load]:
    if not loads or len(loads[0].groups[0].passes) == 1:
        return loads
    first, *rest = loads[0].groups
    split = [
        PromptGroup(first.model, first.precision, first.benchmark, first.template, first.prefill, passes)
        for passes in (first.passes[:1], first.passes[1:])
    ]
    return [Load(loads[0].model, loads[0].precision, (*split, *rest)), *loads[1:]]
