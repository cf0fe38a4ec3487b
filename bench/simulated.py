"""Simulated configurations and honest reports of them, for `bench/calibration.py`: the truth is known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from literature.records import ReportedScore
from literature.values import decimal_text

Rates = NDArray[np.float64]
SHAPES = ("low temperature", "middling", "high temperature", "three kinds")
"""Pass probabilities: Beta(.051, .057) as fitted to published T=0.2 pairs, Beta(.3, .4), Beta(.5, 1), and a mixture."""
PRINTS = ("half up", "half even", "cut off", "two decimals", "whole percent")


@dataclass(frozen=True)
class Simulated:
    """One configuration's counts, in the shape of `literature.records.Measurement`."""

    id: str
    greedy: bool
    problems: int
    samples: int
    passes: Sequence[int]
    judged: Sequence[int]
    axes: Mapping[str, str] = field(default_factory=dict)
    model: str = "m"
    benchmark: str = "b"


def rates(rng: np.random.Generator, shape: str, problems: int) -> Rates:
    """Pass probabilities of one configuration's problems."""
    if shape == "three kinds":
        kind = rng.random(problems)
        return np.where(kind < 0.35, 0.0, np.where(kind < 0.6, 1.0, rng.random(problems)))
    a, b = {"low temperature": (0.051, 0.057), "middling": (0.3, 0.4), "high temperature": (0.5, 1.0)}[shape]
    return rng.beta(a, b, problems)


def shifted(rng: np.random.Generator, p: Rates, ratio: float, samples: int) -> Rates:
    """The probabilities of one run in which all problems move together on the logit scale.

    The variance of the run's total is `ratio` times what independent problems with `samples` each give.
    """
    if ratio == 1:
        return p
    within = float(np.mean(p * (1 - p)))
    spread = np.sqrt((ratio - 1) * within / (len(p) * samples)) / max(within, 1e-9)
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return 1 / (1 + np.exp(-np.log(inside / (1 - inside)) - spread * rng.normal()))


def sampled(
    rng: np.random.Generator, p: Rates, samples: int, name: str = "c", axes: Mapping[str, str] | None = None,
    model: str = "m", benchmark: str = "b",
) -> Simulated:  # fmt: skip
    """A finished sampled configuration."""
    passes = [int(count) for count in rng.binomial(samples, p)]
    return Simulated(name, False, len(p), samples, passes, [samples] * len(p), axes or {}, model, benchmark)


def greedy(
    outcomes: NDArray[np.int64], name: str = "c", axes: Mapping[str, str] | None = None, model: str = "m",
    benchmark: str = "b",
) -> Simulated:  # fmt: skip
    """A finished greedy configuration."""
    size = len(outcomes)
    return Simulated(name, True, size, 1, [int(one) for one in outcomes], [1] * size, axes or {}, model, benchmark)


def reported(value: str, samples: int | None, model: str = "m", benchmark: str = "b") -> ReportedScore:
    """A reported score whose source states its samples, or does not (None)."""
    stated = {} if samples is None else {"samples": str(samples)}
    return ReportedScore(model, benchmark, "pass@1", value, ("s",), stated=stated)


def shown(count: int, total: int, rule: str = "half up") -> str:
    """`count` of `total` as a percentage under one of PRINTS."""
    decimals = {"two decimals": 2, "whole percent": 0}.get(rule, 1)
    exact = Fraction(100 * count * 10**decimals, total)
    if rule == "cut off":
        ticks = exact.__floor__()
    elif rule == "half even":
        ticks = round(exact)
    else:
        ticks = (exact + Fraction(1, 2)).__floor__()
    return decimal_text(ticks, decimals) + "%"
