"""How often the verdicts are right where the truth is known; prints one JSON object.

    python bench/calibration.py [--scale 1.0] [--only SECTION]

Simulated configurations are measured, an honest rerun of one of them is printed as a reported score, and the product's
own functions judge it. Every rate comes with its number of trials and its standard error. Nothing is timed; the same
seed gives the same figures. At scale 1 all sections together take about five minutes of one core.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.stats import beta as beta_distribution
from simulated import PRINTS, SHAPES, Simulated, greedy, rates, reported, sampled, shifted, shown

from engine.stopping import projected
from literature.chance import chance_match, placebo
from literature.classify import KINDS, MATCHING, match
from literature.exclusion import problem_order, reachable, targets
from literature.granularity import possible
from literature.identify import identify
from literature.rerun import NO_REPEATS, Repeats
from literature.siblings import siblings

INSIDE = 0.05
PROBLEMS = (64, 164, 399)


class Tally:
    """Hits and trials by label."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def add(self, hit: bool, *labels: str) -> None:
        """Count one trial under each label and in all."""
        for label in ("all", *labels):
            entry = self._counts.setdefault(label, [0, 0])
            entry[0] += hit
            entry[1] += 1

    def rates(self) -> dict[str, dict[str, float]]:
        """Label -> rate, standard error, trials."""
        return {label: rate(hits, trials) for label, (hits, trials) in self._counts.items()}


def rate(hits: int, trials: int) -> dict[str, float]:
    """A share with its standard error and trials."""
    share = hits / trials if trials else math.nan
    error = math.sqrt(share * (1 - share) / trials) if trials else math.nan
    return {"rate": round(share, 4), "se": round(error, 4), "trials": trials}


def upper_bound(hits: int, trials: int) -> float:
    """Clopper-Pearson 95 % upper bound of a share."""
    return 1.0 if hits >= trials else round(float(beta_distribution.ppf(0.95, hits + 1, trials - hits)), 5)


def inside(one: Simulated, value: str, samples: int | None, repeats: Repeats = NO_REPEATS) -> bool:
    """Whether a configuration is in the 95 % set of a reported value: it matches, or p is 5 % or more."""
    found = match(one, reported(value, samples), repeats)
    return found.matches or (found.p_rerun is not None and found.p_rerun >= INSIDE)


def coverage(scale: float) -> dict[str, Any]:
    """The true sampled configuration in the 95 % set, by samples measured and reported, shape, size and printing."""
    rng, found, ruled_out = np.random.default_rng(1), Tally(), Tally()
    for samples, again in ((20, 20), (20, 1), (5, 20), (1, 1)):
        for shape in SHAPES:
            for problems in PROBLEMS:
                for trial in range(max(2, round(200 * scale))):
                    p, rule = rates(rng, shape, problems), PRINTS[trial % len(PRINTS)]
                    one = sampled(rng, p, samples)
                    value = shown(int(rng.binomial(again, p).sum()), problems * again, rule)
                    labels = (f"measured n={samples}, reported n={again}", shape, f"N={problems}", rule)
                    found.add(inside(one, value, again), *labels)
                    ruled_out.add(match(one, reported(value, again)).kind == "ruled out", *labels[:1])
    return {"true configuration inside the 95 % set": found.rates(), "ruled out": ruled_out.rates()}


def seeds(scale: float) -> dict[str, Any]:
    """The same where runs of one recipe share shocks, by variance ratio between runs and number of seeds measured."""
    rng, found = np.random.default_rng(2), Tally()
    for samples in (1, 20):
        for ratio in (1.0, 2.0, 5.0):
            for count in (1, 3, 5):
                for trial in range(max(2, round(120 * scale))):
                    p = rates(rng, SHAPES[1 + trial % 2], 164)
                    ones = [
                        sampled(rng, shifted(rng, p, ratio, samples), samples, f"s{seed}", {"seed": str(seed)})
                        for seed in range(count)
                    ]
                    total = int(rng.binomial(samples, shifted(rng, p, ratio, samples)).sum())
                    repeats = siblings(ones).get("s0", NO_REPEATS)
                    hit = inside(ones[0], shown(total, 164 * samples), samples, repeats)
                    found.add(hit, f"n={samples}, variance ratio {ratio:g}, {count} seeds", f"{count} seeds measured")
    return {"true configuration inside the 95 % set": found.rates()}


def numerics(scale: float) -> dict[str, Any]:
    """The true greedy configuration, where some problems' outcomes depend on numerics: jitter measured and assumed."""
    rng, measured, assumed = np.random.default_rng(3), Tally(), Tally()
    for share in (0.0, 0.02, 0.05, 0.1):
        for variants in (2, 3, 5):
            for problems in (64, 164):
                for _ in range(max(2, round(120 * scale))):
                    fixed = (rng.random(problems) < 0.4).astype(float)
                    p = np.where(rng.random(problems) < share, rng.random(problems), fixed)
                    names = ["f32", "f16", "bf16", "f32x", "f16x"][:variants]
                    ones = [
                        greedy((rng.random(problems) < p).astype(int), name, {"precision": name.removesuffix("x")})
                        for name in names
                    ]
                    value = shown(int((rng.random(problems) < p).sum()), problems)
                    repeats = siblings(ones)["f32"]
                    label = f"{share:.0%} of problems undecided"
                    measured.add(inside(ones[0], value, 1, repeats), label, f"{variants} variants")
                    assumed.add(inside(ones[0], value, 1), label)
    return {"jitter measured": measured.rates(), "jitter assumed": assumed.rates()}


def study_world(
    rng: np.random.Generator, models: int, benchmarks: int, sizes: Sequence[int]
) -> tuple[list[Simulated], list[Any], tuple[tuple[str, str], ...]]:
    """Twelve settings over models and benchmarks, and one study that used one of them for all its numbers."""
    settings = [
        (prompt, heat, length) for prompt in "ABC" for heat in ("greedy", "T=0.2") for length in ("512", "2048")
    ]
    truth = settings[rng.integers(len(settings))]
    ones, scores = [], []
    for model in range(models):
        for benchmark in range(benchmarks):
            size = sizes[benchmark]
            hard = rng.normal(-0.3 + 0.4 * rng.normal(), 3, size)
            moved = {level: 0.3 * rng.normal() for level in (*"ABC", "greedy", "T=0.2", "512", "2048")}
            for setting in settings:
                logit = hard + sum(moved[level] for level in setting) + rng.normal(0, 1, size)
                p = 1 / (1 + np.exp(-logit))
                axes = dict(zip(("prompt", "decoding", "length"), setting, strict=True))
                name, where = f"m{model}", f"b{benchmark}"
                key = f"{name}{where}{'-'.join(setting)}"
                if setting[1] == "greedy":
                    one = greedy((p > 0.5).astype(int), key, axes, name, where)
                    total, count = size, jittered(rng, sum(one.passes), size)
                else:
                    one = sampled(rng, p, 20, key, axes, name, where)
                    total, count = size * 20, int(rng.binomial(20, p).sum())
                ones.append(one)
                if setting == truth:
                    scores.append(reported(shown(count, total), None, name, where))
    return ones, scores, tuple(zip(("prompt", "decoding", "length"), truth, strict=True))


def jittered(rng: np.random.Generator, count: int, problems: int) -> int:
    """A greedy total on other numerics, by the assumed law: the same in 60 %, else a normal of 1.5 problems."""
    moved = 0 if rng.random() < 0.6 else round(1.5 * rng.normal())
    return min(problems, max(0, count + moved))


def studies(scale: float) -> dict[str, Any]:
    """One configuration for a whole study of models x benchmarks: the 95 % set of the posterior, and its size."""
    rng, found, wrong = np.random.default_rng(4), Tally(), Tally()
    size: dict[str, list[int]] = {}
    for models, benchmarks in ((1, 1), (2, 1), (4, 1), (2, 2)):
        label = f"{models} models x {benchmarks} benchmarks"
        for _ in range(max(2, round(150 * scale))):
            ones, scores, truth = study_world(rng, models, benchmarks, (164, 399))
            told = identify(scores, "s", ones, names={})
            found.add(truth in told.inside, label)
            size.setdefault(label, []).append(len(told.inside))
            if told.identified:
                wrong.add(told.top != truth, label)
    return {
        "true configuration inside the 95 % set": found.rates(),
        "configurations of 12 in the set": {label: round(float(np.mean(sizes)), 1) for label, sizes in size.items()},
        "called identified, wrongly": wrong.rates(),
    }


def chance(scale: float) -> dict[str, Any]:
    """The claimed chance match against a count of all values of its universe that some configuration matches."""
    rng = np.random.default_rng(5)
    names = ("all values 0..100", "values in the measured span", "values there that one sample can print")
    rows: dict[str, list[float]] = {name: [] for name in names}
    for trial in range(max(2, round(24 * scale))):
        problems, stated = PROBLEMS[trial % 3], (None, 1, 20)[trial // 3 % 3]
        ones = grid_of(rng, problems, 4 + 4 * (trial % 4))
        own = ones[rng.integers(len(ones))]
        kind = MATCHING[trial % 4]
        value = shown(sum(own.passes), problems * own.samples)
        claimed = chance_match(reported(value, stated), ones, kind)
        assert claimed is not None
        hits = [any(matched(one, tick, stated, kind) for one in ones) for tick in range(1001)]
        shares = [sum(one.passes) / (problems * one.samples) for one in ones]
        span = range(round(1000 * min(shares)), round(1000 * max(shares)) + 1)
        grid = {tick for tick in span if possible(f"{tick / 10:.1f}%", problems)}
        rows["all values 0..100"].append(abs(claimed.everywhere - sum(hits) / 1001))
        rows["values in the measured span"].append(abs(claimed.in_span - sum(hits[t] for t in span) / len(span)))
        if claimed.on_grid is not None:
            rows["values there that one sample can print"].append(
                abs(claimed.on_grid - sum(hits[t] for t in grid) / len(grid))
            )
    return {
        name: {
            "grids": len(found),
            "largest error": round(max(found), 4),
            "mean error": round(float(np.mean(found)), 4),
        }
        for name, found in rows.items()
        if found
    }


def strangers(scale: float) -> dict[str, Any]:
    """Honest one-sample reports of unrelated models that fall into a measured span: claimed chance against matches."""
    rng, rows = np.random.default_rng(9), []
    found = Tally()
    for trial in range(max(4, round(400 * scale))):
        ones = grid_of(rng, 164, 4 + 4 * (trial % 4))
        shares = [sum(one.passes) / (164 * one.samples) for one in ones]
        for _ in range(60):
            # Models of all strengths: every problem's rate is moved by the same random amount on the logit scale.
            p = np.clip(rates(rng, SHAPES[trial % 2], 164), 1e-6, 1 - 1e-6)
            p = 1 / (1 + np.exp(-np.log(p / (1 - p)) - 4 * rng.normal()))
            value = shown(int((rng.random(164) < p).sum()), 164)
            if not min(shares) <= float(value.rstrip("%")) / 100 <= max(shares):
                continue
            score, kind = reported(value, 1), MATCHING[trial // 4 % 4]
            claimed = chance_match(score, ones, kind)
            if claimed is not None and claimed.local is not None:
                rows.append(claimed.local)
                found.add(any(KINDS.index(match(one, score).kind) <= KINDS.index(kind) for one in ones))
    return {"claimed": round(float(np.mean(rows)), 4), "matched": found.rates()["all"]}


def grid_of(rng: np.random.Generator, problems: int, count: int) -> list[Simulated]:
    """Greedy, single-sample and twenty-sample configurations of one model, with scores some points apart."""
    found = []
    for index in range(count):
        p = rates(rng, SHAPES[index % 2], problems)
        p = np.where(rng.random(problems) < 0.3 * rng.random(), 0.0, p)
        if index % 2:
            found.append(sampled(rng, p, (20, 1)[index % 3 == 0], f"c{index}"))
        else:
            found.append(greedy((rng.random(problems) < p).astype(int), f"c{index}"))
    return found


def matched(one: Simulated, tick: int, stated: int | None, kind: str) -> bool:
    """Whether a value matches a configuration in `kind` or better."""
    found = match(one, reported(f"{tick / 10:.1f}%", stated)).kind
    return KINDS.index(found) <= KINDS.index(kind)


def placebos(scale: float) -> dict[str, Any]:
    """Tables of unrelated values: how often the placebo shifts call their number of matches rare."""
    rng, found = np.random.default_rng(6), Tally()
    for _ in range(max(2, round(300 * scale))):
        claims = []
        for _ in range(8):
            counts = rng.integers(40, 110, 10)
            ones = [greedy((np.arange(164) < count).astype(int), f"c{i}") for i, count in enumerate(counts)]
            claims.append((reported(f"{rng.integers(300, 620) / 10:.1f}", None), ones))
        found.add(placebo(claims, "rounding").p <= 0.05)
    return {"p of 5 % or less without any relation": found.rates()["all"]}


def bounds(scale: float) -> dict[str, Any]:
    """Exact bounds on single-sample configurations, in file order and in the order of the predicted direction."""
    rng, rows = np.random.default_rng(7), {"file order": [0, 0, 0, 0], "predicted direction": [0, 0, 0, 0]}
    for _ in range(max(2, round(40 * scale))):
        hard = rng.normal(-0.3, 3, 164)
        grid = [1 / (1 + np.exp(-(hard + rng.normal(0, 0.8) + rng.normal(0, 1, 164)))) for _ in range(30)]
        outcomes = [(rng.random(164) < p).astype(int) for p in grid]
        references = outcomes[:6]
        truth = outcomes[6 + rng.integers(24)]
        accepted = targets([reported(shown(int(truth.sum()), 164), 1)], 164, 1, allowance=1)
        guessed = [float(np.mean([one[i] for one in references])) for i in range(164)]
        expected = float(np.mean([one.mean() for one in references]))
        order = problem_order(guessed, expected, float(truth.mean()))
        for name, sequence in (("file order", range(164)), ("predicted direction", order)):
            for one in outcomes[6:]:
                count_stop(rows[name], one, sequence, accepted)
    return {
        name: {"skipped": round(skipped / asked, 3), "true matches": true, "lost": lost}
        for name, (skipped, asked, true, lost) in rows.items()
    }


def count_stop(row: list[int], outcomes: Any, order: Iterable[int], accepted: Sequence[tuple[int, int]]) -> None:
    """Add one configuration: problems skipped and asked, whether it is a true match, whether that was lost."""
    total, passed, judged = len(outcomes), 0, 0
    for index in order:
        if not reachable(passed, judged, total, accepted):
            break
        passed, judged = passed + int(outcomes[index]), judged + 1
    true = any(low <= int(outcomes.sum()) <= high for low, high in accepted)
    for place, more in enumerate((total - judged, total, int(true), int(true and judged < total))):
        row[place] += more


def sequential(scale: float) -> dict[str, Any]:
    """The sequential rule at n=20: one sample of all problems at a time, a look after each from the second on."""
    rng, rows = np.random.default_rng(8), {}
    for shape in SHAPES:
        for problems in PROBLEMS:
            skipped = asked = true = lost = 0
            for _ in range(max(2, round(100 * scale))):
                p = rates(rng, shape, problems)
                outcomes = rng.random((20, problems)) < p
                final = int(outcomes.sum())
                # Honest and foreign targets: reruns of this configuration, and values two to ten points away.
                near = int(rng.binomial(20, p).sum())
                far = near + round(rng.choice((-1, 1)) * rng.uniform(0.02, 0.1) * 20 * problems)
                for goal in (near, final, min(20 * problems, max(0, far))):
                    accepted = targets([reported(shown(goal, 20 * problems), 20)], problems, 20, allowance=1)
                    look = stopped_after(outcomes, accepted)
                    match_true = any(low <= final <= high for low, high in accepted)
                    if not match_true:
                        skipped, asked = skipped + 20 - look, asked + 20
                    true, lost = true + match_true, lost + (match_true and look < 20)
            rows[f"{shape}, N={problems}"] = (skipped, asked, true, lost)
    skipped, asked, true, lost = (sum(row[i] for row in rows.values()) for i in range(4))
    return {
        "z": 4.0, "true matches": true, "lost": lost, "lost at most, 95 %": upper_bound(lost, true),
        "skipped where it is no match": round(skipped / asked, 3), "no match": asked // 20,
        "skipped by kind": {name: round(row[0] / row[1], 2) for name, row in rows.items()},
    }  # fmt: skip


def stopped_after(outcomes: Any, accepted: Sequence[tuple[int, int]]) -> int:
    """After how many samples of all problems the rule stops; all of them when it does not."""
    samples, problems = outcomes.shape
    for look in range(2, samples):
        passes = outcomes[:look].sum(axis=0).tolist()
        low, high = projected(passes, [look] * problems, samples)
        if not any(a <= high and low <= b for a, b in accepted):
            return look
    return int(samples)


SECTIONS: dict[str, Callable[[float], dict[str, Any]]] = {
    "coverage": coverage, "seeds": seeds, "numerics": numerics, "studies": studies, "chance": chance,
    "strangers": strangers, "placebo": placebos, "bounds": bounds, "sequential": sequential,
}  # fmt: skip


def main() -> None:
    """Simulate, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--scale", type=float, default=1.0, help="trials, as a multiple of the default")
    parser.add_argument("--only", choices=sorted(SECTIONS))
    options = parser.parse_args()
    names = [options.only] if options.only else list(SECTIONS)
    print(json.dumps({name: SECTIONS[name](options.scale) for name in names}, indent=1))


if __name__ == "__main__":
    main()
