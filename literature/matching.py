"""What all measured configurations together say of each reported score: the claim-level verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from literature.arithmetic import misfit
from literature.chance import Chance, Placebo, best_rule, chance_match, finished, placebo
from literature.classify import (
    EXACT,
    INCONCLUSIVE,
    KINDS,
    MATCHING,
    NOISE,
    OPEN,
    OUT,
    ROUNDING,
    Match,
    distance_key,
    match,
)
from literature.leads import Lead, leads
from literature.records import (
    Measurement,
    ReportedScore,
    configurations_text,
    same_benchmark,
    states_variant,
    task_family,
)
from literature.rerun import ASSUMED, Repeats
from literature.siblings import siblings

__all__ = [
    "KINDS", "MATCHING", "Chance", "ClaimVerdict", "Match", "Misattribution", "Placebo", "chance_match", "match",
    "placebo", "same_benchmark", "verdicts",
]  # fmt: skip

IDENTIFIED = "reproduced, identified"
NOT_IDENTIFIED = "reproduced, not identified"
NOT_REPRODUCED = "not reproduced in the searched space"
IMPOSSIBLE_AS_STATED = "impossible as stated"
CLAIM_OPEN = "open"
CLAIM_KINDS = (IDENTIFIED, NOT_IDENTIFIED, NOT_REPRODUCED, IMPOSSIBLE_AS_STATED, CLAIM_OPEN)
# Dimensions that may explain a score and that no grid searches by itself.
ALWAYS_OPEN = ("model revision", "number of problems", "top_p", "stop words", "time limit", "post-processing")


@dataclass(frozen=True)
class Misattribution:
    """Configurations of another model, or of another variant of the task, that print the number, and their own chance.

    `benchmark` names the other variant; it is empty where the model is the other one. `kind` is the best class.
    """

    model: str
    kind: str
    configurations: tuple[str, ...]
    chance: Chance | None
    sentence: str
    benchmark: str = ""


@dataclass(frozen=True)
class ClaimVerdict:
    """What the measured configurations say of one reported score.

    `kind` is one of CLAIM_KINDS; `matches` are those of the same model on the same benchmark, best first; `matching`
    counts the configurations in a matching class out of `configurations`; `chance` belongs to the class of the best
    match; `beside` is the arithmetic misfit of the claim as stated, reported beside the run verdict; `unsearched` names
    dimensions that the measured grid left at one value. `leads` are known causes where no configuration matches.
    """

    reported: ReportedScore
    kind: str
    sentence: str
    matches: tuple[Match, ...]
    matching: int
    configurations: int
    chance: Chance | None
    beside: str
    unsearched: tuple[str, ...]
    misattributions: tuple[Misattribution, ...]
    leads: tuple[Lead, ...] = ()

    @property
    def best(self) -> Match | None:
        """The best match, None when nothing of this model is measured."""
        return self.matches[0] if self.matches else None


def verdicts(
    reported: Sequence[ReportedScore],
    measurements: Sequence[Measurement],
    *,
    names: Mapping[str, Collection[str]],
    benchmarks: Mapping[str, Collection[str]] | None = None,
    problems: Mapping[str, int] | None = None,
    repeats: Mapping[str, Repeats] | None = None,
    identified: Collection[str] = (),
    known: Mapping[tuple[str, str], Match] | None = None,
) -> list[ClaimVerdict]:
    """One verdict a reported score, in order.

    `names` maps a reported model name to the study's names of the same model (a name not in it means itself);
    `benchmarks` likewise (default `same_benchmark`). `problems` maps reported benchmark names to N, for arithmetic on
    claims of which nothing is measured. `repeats` maps configuration ids to what their siblings tell of a rerun
    (default: worked out from `measurements`).
    `identified` holds ids of reported scores whose study's settings are identified. `known` maps (configuration id,
    reported id) to matches already made, which are not made again.
    """
    by_model: dict[str, list[Measurement]] = {}
    for measurement in measurements:
        by_model.setdefault(measurement.model, []).append(measurement)
    told = siblings(measurements) if repeats is None else repeats
    context = _Context(by_model, names, benchmarks, problems or {}, told, frozenset(identified), known or {})
    return [_verdict(score, context) for score in reported]


@dataclass(frozen=True)
class _Context:
    by_model: Mapping[str, Sequence[Measurement]]
    names: Mapping[str, Collection[str]]
    benchmarks: Mapping[str, Collection[str]] | None
    problems: Mapping[str, int]
    repeats: Mapping[str, Repeats]
    identified: Collection[str]
    known: Mapping[tuple[str, str], Match]

    def comparable(self, score: ReportedScore, model: str) -> list[Measurement]:
        """Measurements of `model` on the benchmark that `score` is of; none where it is no count of passes."""
        if not score.is_count:
            return []
        listed = None if self.benchmarks is None else self.benchmarks.get(score.benchmark, (score.benchmark,))
        return [
            one
            for one in self.by_model.get(model, ())
            if (one.benchmark in listed if listed is not None else same_benchmark(score.benchmark, one.benchmark))
            and states_variant(score, one.benchmark)
        ]

    def variants(self, score: ReportedScore, model: str) -> dict[str, list[Measurement]]:
        """Finished measurements of `model` on each variant of the task that `score` is of, its own included."""
        family, found = task_family(score.benchmark), dict[str, list[Measurement]]()
        for one in self.by_model.get(model, ()):
            if score.is_count and score.benchmark and task_family(one.benchmark) == family and finished(one):
                found.setdefault(one.benchmark, []).append(one)
        return found

    def misfit(self, score: ReportedScore) -> str:
        """What arithmetic says against the claim as stated, with N as given or as any measurement has it."""
        size = self.problems.get(score.benchmark, 0) or next(
            (one.problems for model in self.by_model for one in self.comparable(score, model)), 0
        )
        return misfit(score, size) if size else ""

    def match(self, one: Measurement, score: ReportedScore) -> Match:
        """The match, made only when it is not known; one made without knowing the siblings is made again."""
        if one.id in self.repeats:
            return match(one, score, self.repeats[one.id])
        return self.known.get((one.id, score.id)) or match(one, score)


def _verdict(score: ReportedScore, context: _Context) -> ClaimVerdict:
    same = set(context.names.get(score.model, (score.model,)))
    own = [one for model in sorted(same) for one in context.comparable(score, model)]
    matches = tuple(sorted((context.match(one, score) for one in own), key=distance_key))
    tally = Counter(found.kind for found in matches)
    matching = sum(tally[kind] for kind in MATCHING)
    best = best_rule(tally)
    chance = chance_match(score, own, best, repeats=context.repeats) if best else None
    beside = context.misfit(score)
    unsearched = _unsearched(own)
    # While a configuration is open, another may still explain the number as well.
    identified = score.id in context.identified and not tally[OPEN]
    kind, sentence = _claim(tally, matches, chance, beside, unsearched, identified)
    if not score.is_count:
        kind, sentence = CLAIM_OPEN, f"{score.metric} is not compared: what is measured here is pass@1"
    others = tuple(_misattributions(score, same, context))
    return ClaimVerdict(
        score, kind, sentence, matches, matching, len(matches), chance, beside, unsearched, others,
        () if matching or not matches else _leads(score, own, matches[0]),
    )  # fmt: skip


def _leads(score: ReportedScore, own: Sequence[Measurement], nearest: Match) -> tuple[Lead, ...]:
    values: dict[str, set[str]] = {}
    for one in own:
        for axis, level in one.axes.items():
            values.setdefault(axis, set()).add(level)
    varied = {axis for axis, levels in values.items() if len(levels) > 1}
    return tuple(
        leads(score.model, score.benchmark or own[0].benchmark, varied, gap=-nearest.difference_points, most=3)
    )


def _claim(
    tally: Counter[str],
    matches: Sequence[Match],
    chance: Chance | None,
    beside: str,
    unsearched: Sequence[str],
    identified: bool,
) -> tuple[str, str]:
    measured = len(matches)
    matching = {kind: tally[kind] for kind in MATCHING if tally[kind]}
    undecided = tally[OPEN] + tally[INCONCLUSIVE]
    if not measured:
        nothing = "no configuration of this model is measured"
        return (IMPOSSIBLE_AS_STATED, f"{nothing}; {beside}") if beside else (CLAIM_OPEN, nothing)
    if matching:
        kind = IDENTIFIED if identified else NOT_IDENTIFIED
        counted = ", ".join(f"{count} {_labelled(matches, name)}" for name, count in matching.items())
        settings = f"{sum(matching.values())} of {configurations_text(measured)} ({counted})"
        tail = f"; {undecided} more {'is' if undecided == 1 else 'are'} undecided" if undecided else ""
        worth = f"; {chance.sentence}" if chance else ""
        which = "the settings are identified" if kind == IDENTIFIED else "which settings it came from is not identified"
        return kind, f"consistent with {settings}{tail}; {which}{worth}"
    if undecided:
        counted = ", ".join(f"{tally[kind]} {kind}" for kind in (OUT, OPEN, INCONCLUSIVE) if tally[kind])
        return CLAIM_OPEN, f"no match among {configurations_text(measured)} yet ({counted})"
    rest = ", ".join(unsearched)
    every = "the one configuration is" if measured == 1 else f"all {measured} configurations are"
    leaning = sum(found.leaning for found in matches)
    by = f", {leaning} of them by the ASSUMED jitter alone" if leaning else ""
    return NOT_REPRODUCED, f"{every} ruled out for this revision and harness{by}; not searched: {rest}"


def _labelled(matches: Sequence[Match], kind: str) -> str:
    """A class's name, with a label where the rerun noise that makes the match is assumed and not measured."""
    bases = [found.basis for found in matches if found.kind == kind]
    assumed = bases.count(ASSUMED) if kind == NOISE else 0
    if assumed == len(bases):
        return "within ASSUMED noise"
    return f"{kind}, {assumed} of these ASSUMED" if assumed else kind


def _unsearched(measurements: Iterable[Measurement]) -> tuple[str, ...]:
    """Axes that every measurement has at one value, then what no grid searches by itself."""
    values: dict[str, set[str]] = {}
    for one in measurements:
        for axis, value in one.axes.items():
            values.setdefault(axis, set()).add(value)
    renamed = {"benchmark": "task variant"}
    fixed = tuple(renamed.get(axis, axis) for axis, found in values.items() if len(found) == 1 and axis != "seed")
    return (*fixed, *(name for name in ALWAYS_OPEN if name not in values))


def _misattributions(score: ReportedScore, same: Collection[str], context: _Context) -> Iterable[Misattribution]:
    """Other models, then other variants of the task, with a configuration that prints the number, by name."""
    for model in sorted(set(context.by_model) - set(same)):
        others = [one for one in context.comparable(score, model) if finished(one)]
        yield from _printing(score, others, model, "", context)
    for model in sorted(same):
        yield from _other_variants(score, model, context)


def _other_variants(score: ReportedScore, model: str, context: _Context) -> Iterable[Misattribution]:
    """Variants of the task that the claim does not name; where it names none, one that prints it and another not."""
    own = {one.benchmark for one in context.comparable(score, model)}
    variants = context.variants(score, model)
    lines = {name: list(_printing(score, members, model, name, context)) for name, members in variants.items()}
    for name, found in sorted(lines.items()):
        if name not in own or (len(own) > 1 and any(not lines[other] for other in own if other in lines)):
            yield from found


def _printing(
    score: ReportedScore, others: Sequence[Measurement], model: str, benchmark: str, context: _Context
) -> Iterable[Misattribution]:
    found = [(one, context.match(one, score)) for one in others]
    strong = [(one, hit) for one, hit in found if hit.kind in (EXACT, ROUNDING)]
    if not strong:
        return
    kind = min((hit.kind for _, hit in strong), key=KINDS.index)
    chance = chance_match(score, others, kind, repeats=context.repeats)
    where = f"{model} on {benchmark}" if benchmark else model
    counted = f"{len(strong)} of {configurations_text(len(others))} ({kind})"
    worth = f"; {chance.sentence}" if chance else ""
    yield Misattribution(
        model, kind, tuple(one.id for one, _ in strong), chance,
        f"{where} prints {score.value}{'' if benchmark else ' too'}, in {counted}{worth}", benchmark,
    )  # fmt: skip
