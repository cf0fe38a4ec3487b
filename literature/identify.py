"""Which one configuration explains all numbers of a study: a posterior over configurations, with "none of these".

P(s|r) is proportional to pi(s) times the product over the study's models m of L(r_m | s, m), with L the probability
that a rerun of s prints r_m; "none of these" has prior mass of its own and spreads it over all printable values. One
configuration must explain every number of the study at once. Nothing is called identified that another prior undoes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from literature.arithmetic import stated_samples
from literature.chance import finished
from literature.defaults import candidates
from literature.fingerprint import own_values
from literature.granularity import rounded_span
from literature.records import Measurement, ReportedScore, same_benchmark
from literature.rerun import NO_REPEATS, Repeats, rerun_of
from literature.siblings import siblings
from literature.values import printed

Key = tuple[tuple[str, str], ...]
Weights = Mapping[str, Mapping[str, float]]
PRIOR_NONE, PRIORS_NONE, FLOOR = 0.5, (0.2, 0.5, 0.8), 0.001
MOST_EFFECTIVE, MOST_NONE, FAVOUR, INSIDE = 2.0, 0.05, 4.0, 0.95
# What bigcode-evaluation-harness takes when its user says nothing, where a source names no harness.
DEFAULT_LEVELS = {"decoding": "T=0.2", "length": "512", "precision": "f32"}


@dataclass(frozen=True)
class Level:
    """One value of one axis: its prior and posterior probability, given that some configuration is the true one."""

    axis: str
    level: str
    prior: float
    posterior: float


@dataclass(frozen=True)
class Identification:
    """What a study's numbers say of its settings.

    `none` is the posterior of "none of these", `ranked` the configurations (axis, level pairs) with their posterior
    given that one of them is true, best first; `effective` is exp(entropy) of that, `bits` the information gained
    over the prior; `stable` is False when another prior puts another configuration first. `used` are the scores that
    entered.
    """

    source: str
    identified: bool
    none: float
    ranked: tuple[tuple[Key, float], ...]
    levels: tuple[Level, ...]
    effective: float
    bits: float
    stable: bool
    used: tuple[str, ...]
    priors: tuple[str, ...]
    sentence: str

    @property
    def inside(self) -> tuple[Key, ...]:
        """The 95 % set: the fewest configurations that hold 95 % of the posterior, given that one of them is true."""
        found, mass = [], 0.0
        for key, share in self.ranked:
            if mass >= INSIDE:
                break
            found.append(key)
            mass += share
        return tuple(found)

    @property
    def top(self) -> Key:
        """The configuration with the largest posterior; to be shown alone only when `identified`."""
        return self.ranked[0][0] if self.ranked else ()


def identify(
    scores: Sequence[ReportedScore],
    source: str,
    measurements: Iterable[Measurement],
    *,
    names: Mapping[str, Collection[str]],
    weights: Weights | None = None,
    same_level: Mapping[tuple[str, str, str], str] | None = None,
    ignore: Collection[str] = ("seed",),
) -> Identification:
    """Posterior over the measured configurations for the own values of `source`; finished measurements only.

    `weights` gives prior weights per axis level (default flat). `same_level` maps (study model, axis, level) to a label
    that is common to models, such as a model's own template to "suggested". Axes in `ignore` do not tell configurations
    apart. A configuration that a model lacks counts there like "none of these".
    """
    pairs = _likelihoods(own_values(scores, source), measurements, names, same_level or {}, ignore)
    keys = sorted({key for _, table in pairs for key in table})
    if not keys:
        return _nothing(source)
    log_likelihood = {key: math.fsum(math.log(table.get(key, 1.0)) for _, table in pairs) for key in keys}
    first = _prior(keys, weights or {})
    stated = _stated_levels([score for score, _ in pairs]) or DEFAULT_LEVELS
    second = _prior(keys, {axis: {level: FAVOUR} for axis, level in stated.items()})
    none, posterior = _posterior(log_likelihood, first, PRIOR_NONE)
    tops = {
        max(found, key=lambda key: found[key])
        for prior in (first, second)
        for mass in PRIORS_NONE
        for found in (_posterior(log_likelihood, prior, mass)[1],)
    }
    effective = _effective(posterior)
    # Among so few settings the numbers decide nothing: their posterior would be as narrow without them.
    few = _effective(first) <= MOST_EFFECTIVE
    ranked = tuple(sorted(posterior.items(), key=lambda item: (-item[1], item[0])))
    identified = not few and effective <= MOST_EFFECTIVE and none < MOST_NONE and len(tops) == 1
    named = "given weights" if weights else "flat"
    favoured = ", ".join(f"{axis} {level}" for axis, level in stated.items())
    return Identification(
        source, identified, none, ranked, _levels(first, posterior), effective, _bits(none, posterior, first),
        len(tops) == 1, tuple(score.id for score, _ in pairs),
        (f"{named}, P(none) {PRIOR_NONE:g}", f"{FAVOUR:g}:1 for {favoured}", "P(none) .2 and .8"),
        _sentence(source, identified, none, effective, len(tops) == 1, len(pairs), ranked, few),
    )  # fmt: skip


def identify_all(
    scores: Sequence[ReportedScore], measurements: Sequence[Measurement], *, names: Mapping[str, Collection[str]],
    same_level: Mapping[tuple[str, str, str], str] | None = None,
) -> list[Identification]:  # fmt: skip
    """One identification for each source that has own values of a measured model."""
    from literature.fingerprint import source_key

    sources = sorted({source for score in scores for source in score.sources}, key=source_key)
    found = [identify(scores, source, measurements, names=names, same_level=same_level) for source in sources]
    return [one for one in found if one.used]


def identified_scores(found: Iterable[Identification]) -> frozenset[str]:
    """Ids of the reported scores whose study's settings are identified, for `matching.verdicts`."""
    return frozenset(score for one in found if one.identified for score in one.used)


def _nothing(source: str) -> Identification:
    sentence = f"[{source}] not identified: no own value of a measured model"
    return Identification(source, False, PRIOR_NONE, (), (), 0.0, 0.0, True, (), (), sentence)


def _key(one: Measurement, same_level: Mapping[tuple[str, str, str], str], ignore: Collection[str]) -> Key:
    return tuple(
        (axis, same_level.get((one.model, axis, level), level))
        for axis, level in one.axes.items()
        if axis not in ignore
    )


def _likelihoods(
    own: Sequence[ReportedScore],
    measurements: Iterable[Measurement],
    names: Mapping[str, Collection[str]],
    same_level: Mapping[tuple[str, str, str], str],
    ignore: Collection[str],
) -> list[tuple[ReportedScore, dict[Key, float]]]:
    """Per own value of a measured model: configuration -> likelihood relative to "none of these"."""
    done = [one for one in measurements if finished(one)]
    repeats = siblings(done)
    found = []
    for score in own:
        same = set(names.get(score.model, (score.model,)))
        table: dict[Key, list[float]] = {}
        for one in done:
            if one.model in same and same_benchmark(score.benchmark, one.benchmark):
                ratio = likelihood_ratio(one, score, repeats.get(one.id, NO_REPEATS))
                table.setdefault(_key(one, same_level, ignore), []).append(ratio)
        if table:
            # Repeats of one configuration (seeds, files of one model) are averaged: any of them may be the true run.
            found.append((score, {key: sum(ratios) / len(ratios) for key, ratios in table.items()}))
    return found


def likelihood_ratio(one: Measurement, score: ReportedScore, repeats: Repeats = NO_REPEATS) -> float:
    """P(a rerun of `one` prints the value) over P(an arbitrary value is it), floored at .001 for typing errors."""
    number = printed(score.value)
    samples = one.samples if one.greedy else stated_samples(score) or one.samples
    rerun = rerun_of(one, samples, repeats)
    mass = rerun.probability(*rounded_span(number, rerun.total))
    return max(FLOOR, mass * float(100 * 10**number.decimals + 1))


def _effective(shares: Mapping[Key, float]) -> float:
    """exp(entropy): the number of equally likely settings that would be as uncertain."""
    return math.exp(-math.fsum(p * math.log(p) for p in shares.values() if p > 0))


def _prior(keys: Sequence[Key], weights: Weights) -> dict[Key, float]:
    raw = {key: math.prod(weights.get(axis, {}).get(level, 1.0) for axis, level in key) for key in keys}
    total = math.fsum(raw.values())
    return {key: weight / total for key, weight in raw.items()}


def _posterior(
    log_likelihood: Mapping[Key, float], prior: Mapping[Key, float], none: float
) -> tuple[float, dict[Key, float]]:
    """(P(none), posterior given one of the configurations); "none" has likelihood 1 in these ratios."""
    logs = {key: math.log(prior[key]) + value for key, value in log_likelihood.items() if prior[key] > 0}
    top = max(logs.values())
    scaled = {key: math.exp(value - top) for key, value in logs.items()}
    total = math.fsum(scaled.values())
    some = math.log(1 - none) + top + math.log(total) - math.log(none)
    share_none = 1 / (1 + math.exp(some)) if some < 700 else 0.0
    return share_none, {key: value / total for key, value in scaled.items()}


def _levels(prior: Mapping[Key, float], posterior: Mapping[Key, float]) -> tuple[Level, ...]:
    """Marginals of every axis with more than one level."""
    sums: dict[tuple[str, str], list[float]] = {}
    for key, weight in prior.items():
        for pair in key:
            entry = sums.setdefault(pair, [0.0, 0.0])
            entry[0] += weight
            entry[1] += posterior.get(key, 0.0)
    levels = [Level(axis, level, before, after) for (axis, level), (before, after) in sums.items()]
    several = {axis for axis in {one.axis for one in levels} if sum(one.axis == axis for one in levels) > 1}
    return tuple(one for one in levels if one.axis in several)


def _bits(none: float, posterior: Mapping[Key, float], prior: Mapping[Key, float]) -> float:
    """Kullback-Leibler divergence of the posterior from the prior, "none" included, in bits."""
    terms = [none * math.log2(none / PRIOR_NONE)] if none > 0 else []
    for key, share in posterior.items():
        mass = (1 - none) * share
        if mass > 0:
            terms.append(mass * math.log2(mass / ((1 - PRIOR_NONE) * prior[key])))
    return math.fsum(terms)


def _stated_levels(scores: Sequence[ReportedScore]) -> dict[str, str]:
    """Axis levels that the study's source states, or that its harness defaults to, in the study's own labels."""
    found: dict[str, str] = {}
    for score in scores:
        stated = score.stated
        if stated.get("decoding") == "greedy":
            found["decoding"] = "greedy"
        elif "temperature" in stated:
            found["decoding"] = f"T={stated['temperature']}"
        for axis in ("samples", "precision", "length", "prompt"):
            if axis in stated:
                found[axis] = stated[axis]
        for candidate in candidates(score)[:1]:
            for axis in ("samples", "precision", "length"):
                if axis in candidate.assumed:
                    found.setdefault(axis, candidate.assumed[axis])
            if "temperature" in candidate.assumed:
                found.setdefault("decoding", f"T={candidate.assumed['temperature']}")
    return found


def _sentence(
    source: str, identified: bool, none: float, effective: float, stable: bool, values: int,
    ranked: Sequence[tuple[Key, float]], few: bool,
) -> str:  # fmt: skip
    plural = "value" if values == 1 else "values"
    facts = f"{values} own {plural}, P(none of these) = {none:.2f}, effective number of settings {effective:.1f}"
    if identified:
        top = ", ".join(level for _, level in ranked[0][0])
        return f"[{source}] identified among the measured settings: {top} ({ranked[0][1]:.2f}); {facts}"
    unstable = "; another prior puts another setting first" if not stable else ""
    lacking = f"; {len(ranked)} measured: more are needed to tell settings apart" if few else ""
    return f"[{source}] not identified: {facts}{unstable}{lacking}"
