"""What stopping early would save where the truth is known; prints one JSON object.

    python bench/stopping.py [--trials 300]

Simulated configurations of 164 problems, pass rates from Beta(0.3, 0.5). Reported values lie around the true score with
a standard deviation of 6 points, to one decimal. Shares are of samples never asked for; nothing is timed, and the same
seed gives the same figures.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from engine.scoring import Score
from engine.settings import Decoding, Grid
from engine.stopping import LOOKS, projected
from literature.classify import open_counts
from literature.exclusion import reachable, targets
from literature.records import ReportedScore

PROBLEMS, SPREAD, VALUES = 164, 6.0, (1, 2, 4, 6)


def score_of(decoding: Decoding, samples: int) -> Score:
    """A configuration before anything is judged."""
    (one,) = Grid(("x",), decoding=(decoding,), samples=(samples,)).configurations(["m"])
    return Score(one, [str(index) for index in range(PROBLEMS)])


def reports(rng: np.random.Generator, rate: float, values: int) -> list[ReportedScore]:
    """Printed values around a true rate."""
    around = np.clip(100 * rate + rng.normal(0, SPREAD, values), 0.5, 99.5)
    return [ReportedScore("m", "x", "pass@1", f"{value:.1f}", ("1",)) for value in around]


def bounds(rng: np.random.Generator, decoding: Decoding, values: int, *, directed: bool) -> float:
    """Share of one sample per problem that the exact bound skips; `directed` knows the true rates."""
    score, rates = score_of(decoding, 1), rng.beta(0.3, 0.5, PROBLEMS)
    spans = [open_counts(score, one) for one in reports(rng, float(rates.mean()), values)]
    outcomes = rng.random(PROBLEMS) < rates
    order = rng.permutation(PROBLEMS)
    if directed:
        nearest = min((sum(span) / 2 for span in spans), key=lambda middle: abs(middle - rates.sum()))
        order = np.argsort(-rates if rates.sum() > nearest else rates)
    passed = 0
    for judged, index in enumerate(order, 1):
        passed += int(outcomes[index])
        if not reachable(passed, judged, PROBLEMS, spans):
            return 1 - judged / PROBLEMS
    return 0.0


def sequential(rng: np.random.Generator, values: int, samples: int = 20) -> float:
    """Share of twenty samples per problem that the looks between rounds skip."""
    rates = rng.beta(0.3, 0.5, PROBLEMS)
    spans = targets(reports(rng, float(rates.mean()), values), PROBLEMS, samples, allowance=1)
    outcomes = rng.random((samples, PROBLEMS)) < rates
    for look in LOOKS:
        low, high = projected(
            [int(count) for count in outcomes[:look].sum(axis=0)], [look] * outcomes.shape[1], samples
        )
        if not any(first <= high and low <= last for first, last in spans):
            return 1 - look / samples
    return 0.0


def main() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300)
    trials, rng = parser.parse_args().trials, np.random.default_rng(1)

    def percent(shares: list[float]) -> float:
        return round(100 * float(np.mean(shares)), 1)

    cases = {}
    for values in VALUES:
        cases[str(values)] = {
            f"bounds, {name}, {order}": percent(
                [bounds(rng, decoding, values, directed=order == "directed") for _ in range(trials)]
            )
            for name, decoding in (("greedy", Decoding()), ("T=0.2", Decoding(0.2)))
            for order in ("any order", "directed")
        }
        cases[str(values)]["sequential, n=20"] = percent([sequential(rng, values) for _ in range(trials)])
    print(json.dumps({"trials": trials, "skipped_percent_by_reported_values": cases}, indent=2))


if __name__ == "__main__":
    main()
