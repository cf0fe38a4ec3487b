"""Every reported score of a study against a run's scores, as lines and as objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from engine.scoring import Score
from literature.records import ReportedScore
from tui.reading import Literature, stated
from tui.study import Study

if TYPE_CHECKING:
    from literature.chance import Placebo
    from literature.exclusion import Stop
    from literature.identify import Identification
    from literature.matching import ClaimVerdict

LEADS_SHOWN = 2


@dataclass(frozen=True)
class Told:
    """All that a run says of a study's reported scores.

    `holm` maps reported ids to the chance of their match adjusted for the number of matches; `placebo` is None where
    nothing is finished; `stops` maps unfinished configurations that may stop to the reason.
    """

    verdicts: Sequence[ClaimVerdict]
    identified: Sequence[Identification]
    placebo: Placebo | None
    holm: Mapping[str, float]
    stops: Mapping[str, Stop]


def claims(study: Study, literature: Literature, scores: Sequence[Score]) -> list[ClaimVerdict]:
    """One verdict per reported score of the study's models."""
    return list(told(study, literature, scores).verdicts)


def told(study: Study, literature: Literature, scores: Sequence[Score], stop: str = "bounds") -> Told:
    """Verdicts, the study each source's numbers point to, and what the matches are worth taken together.

    `stop` is `bounds` or `sequential`: when an unfinished configuration may stop.
    """
    from literature.identify import identified_scores, identify_all
    from literature.matching import verdicts
    from tui.reading import size_of

    names = _names(study)
    reported = _reported(study, literature)
    measured = [score for score in scores if not score.failure]
    done = [score for score in measured if score.finished]
    identified = identify_all(reported, done, names=names) if done else []
    sizes = {score.benchmark: size for score in reported if (size := size_of(score.benchmark))}
    found = verdicts(reported, measured, names=names, problems=sizes, identified=identified_scores(identified))
    return Told(found, identified, _placebo(found, done), _holm(found), _stops(found, measured, stop))


def _names(study: Study) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for choice in study.models:
        for reported_name in (choice.name, *choice.reported_as):
            names.setdefault(reported_name, set()).add(choice.name)
    return names


def _reported(study: Study, literature: Literature) -> list[ReportedScore]:
    every = (literature.reported(choice, study.grid.benchmark, counts=False) for choice in study.models)
    return list({score.id: score for scores in every for score in scores}.values())


def _own(verdict: ClaimVerdict, scores: Sequence[Score]) -> list[Score]:
    wanted = {match.measurement for match in verdict.matches}
    return [score for score in scores if score.id in wanted]


def _placebo(found: Sequence[ClaimVerdict], done: Sequence[Score]) -> Placebo | None:
    from literature.chance import placebo
    from literature.siblings import siblings

    pairs = [(verdict.reported, own) for verdict in found if (own := _own(verdict, done))]
    return placebo(pairs, repeats=siblings(done)) if pairs else None


def _holm(found: Sequence[ClaimVerdict]) -> dict[str, float]:
    from literature.chance import holm

    chances = {
        verdict.reported.id: verdict.chance.everywhere if verdict.chance.local is None else verdict.chance.local
        for verdict in found
        if verdict.chance is not None
    }
    return dict(zip(chances, holm(list(chances.values())), strict=True))


def _stops(found: Sequence[ClaimVerdict], measured: Sequence[Score], rule: str) -> dict[str, Stop]:
    from engine.stopping import SEQUENTIAL, projected
    from literature.exclusion import stopping as may_stop

    wanted: dict[str, list[ReportedScore]] = {}
    for verdict in found:
        for match in verdict.matches:
            wanted.setdefault(match.measurement, []).append(verdict.reported)
    waiting = (score for score in measured if not score.finished and not score.stopped)
    project = projected if rule == SEQUENTIAL else None
    stops = ((score.id, may_stop(score, wanted.get(score.id, []), project)) for score in waiting)
    return {id_: stop for id_, stop in stops if stop is not None}


def claim_lines(study: Study, literature: Literature, scores: Sequence[Score], stop: str = "bounds") -> Iterator[str]:
    """The verdicts for people, one block per reported score, then what they come to together."""
    if not literature.names:
        return
    by_id = {score.id: score for score in scores}
    found = told(study, literature, scores, stop)
    yield ""
    yield "reported scores:"
    for verdict in found.verdicts:
        yield from _block(verdict, by_id, found.holm.get(verdict.reported.id))
    if aside := literature.left_aside(study.models, study.grid.benchmark):
        yield f"  left aside: {aside}"
    yield from _together(found, by_id)


def _block(verdict: ClaimVerdict, by_id: Mapping[str, Score], adjusted: float | None) -> Iterator[str]:
    from literature.chance import chance_text
    from literature.defaults import agreeing, candidates

    reported = verdict.reported
    yield f"  {reported.model}  {reported.label}: {verdict.kind}"
    yield f"      {verdict.sentence}"
    if verdict.best is not None and verdict.matching:
        score = by_id[verdict.best.measurement]
        yield f"      best: {score.text}  {score.configuration.label} ({verdict.best.kind})"
        if adjusted is not None:
            yield f"      chance adjusted for the number of matches (Holm): {chance_text(adjusted)}"
    if verdict.beside:
        yield f"      as stated: {verdict.beside}"
    if reported.stated:
        yield f"      {stated(reported)}"
    for candidate in candidates(reported):
        yield f"      {candidate.sentence}"
    if agree := set(agreeing(reported, _own(verdict, list(by_id.values())))):
        best = next(match for match in verdict.matches if match.measurement in agree)
        score = by_id[best.measurement]
        yield (
            f"      {len(agree)} of {verdict.configurations} configurations agree with that, best of them: "
            f"{score.text}  {score.configuration.label} ({best.kind})"
        )
    for other in verdict.misattributions:
        yield f"      another {'task variant' if other.benchmark else 'model'}: {other.sentence}"
    for lead in verdict.leads[:LEADS_SHOWN]:
        yield f"      a lead, not a finding: {lead.sentence}"


def _together(found: Told, by_id: Mapping[str, Score]) -> Iterator[str]:
    if found.placebo is not None:
        yield ""
        yield f"placebo: {found.placebo.sentence}"
    if found.identified:
        yield ""
        yield "settings per source:"
        for one in found.identified:
            yield f"  {one.sentence}; 95 % set {len(one.inside)} of {len(one.ranked)}, {one.bits:.1f} bits gained"
    from literature.setting_effects import spreads

    if apart := spreads(by_id.values()):
        yield ""
        yield "spread over precisions (standard deviation):"
        yield from (f"  {one.sentence}" for one in apart)
    if found.stops:
        yield ""
        yield "unfinished configurations that no reported value needs any more:"
        for id_, may in found.stops.items():
            yield f"  {by_id[id_].configuration.label}: {may.sentence}"


def claim_objects(
    study: Study, literature: Literature, scores: Sequence[Score], stop: str = "bounds"
) -> Iterator[dict[str, Any]]:
    """The verdicts as data: one object per reported score, with its matching configurations.

    Objects of `kind` identification, placebo, spread and stop follow where there are any.
    """
    from literature.setting_effects import spreads

    found = told(study, literature, scores, stop)
    for verdict in found.verdicts:
        yield {**_object(verdict), "chance_holm": found.holm.get(verdict.reported.id), **settings_of(verdict.reported)}
    for one in found.identified:
        yield {
            "kind": "identification", "source": one.source, "identified": one.identified, "none": one.none,
            "effective": one.effective, "bits": one.bits, "stable": one.stable, "scores": list(one.used),
            "priors": list(one.priors), "levels": [asdict(level) for level in one.levels],
            "inside": [{"setting": dict(key), "posterior": dict(one.ranked)[key]} for key in one.inside],
            "sentence": one.sentence,
        }  # fmt: skip
    if found.placebo is not None:
        chances = {"matches": found.placebo.matches, "claims": found.placebo.claims, "p": found.placebo.p}
        yield {"kind": "placebo", **chances, "sentence": found.placebo.sentence}
    yield from ({"kind": "spread", **asdict(one), "sentence": one.sentence} for one in spreads(scores))
    for id_, may in found.stops.items():
        yield {"kind": "stop", "configuration": id_, **asdict(may), "sentence": may.sentence}


def _object(verdict: ClaimVerdict) -> dict[str, Any]:
    return {
        "id": verdict.reported.id,
        "model": verdict.reported.model,
        "benchmark": verdict.reported.benchmark,
        "metric": verdict.reported.metric,
        "value": verdict.reported.value,
        "sources": list(verdict.reported.sources),
        "verdict": verdict.kind,
        "sentence": verdict.sentence,
        "configurations": verdict.configurations,
        "matching": verdict.matching,
        "chance": {**asdict(verdict.chance), "local": verdict.chance.local} if verdict.chance else None,
        "as_stated": verdict.beside,
        "matches": [
            {"configuration": match.measurement, "kind": match.kind, "sentence": match.sentence}
            for match in verdict.matches
        ],
        "other_models": [
            {"model": other.model, "benchmark": other.benchmark, "kind": other.kind, "sentence": other.sentence,
             "configurations": list(other.configurations)}
            for other in verdict.misattributions
        ],
        "leads": [
            {"thread": lead.cause.thread, "axis": lead.cause.axis, "cause": lead.cause.cause,
             "searched": lead.searched, "alike": lead.alike, "sentence": lead.sentence}
            for lead in verdict.leads
        ],
    }  # fmt: skip


def settings_of(reported: ReportedScore) -> dict[str, Any]:
    """What the sources state, and candidates from their harness's defaults, kept apart."""
    from literature.defaults import candidates

    return {
        "stated": dict(reported.stated),
        "by_harness_defaults": [
            {"harness": one.harness, "version": one.version, "assumed": dict(one.assumed), "sentence": one.sentence}
            for one in candidates(reported)
        ],
    }
