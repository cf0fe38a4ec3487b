"""Every reported score of a study against a run's scores, as lines and as objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.scoring import Score
from tui.reading import Literature
from tui.study import Study

if TYPE_CHECKING:
    from literature.matching import ClaimVerdict


def claims(study: Study, literature: Literature, scores: Sequence[Score]) -> list[ClaimVerdict]:
    """One verdict per reported score of the study's models."""
    from literature.matching import verdicts

    names: dict[str, set[str]] = {}
    for choice in study.models:
        for reported_name in (choice.name, *choice.reported_as):
            names.setdefault(reported_name, set()).add(choice.name)
    reported = {
        score.id: score for choice in study.models for score in literature.reported(choice, study.grid.benchmark)
    }
    return verdicts(list(reported.values()), [score for score in scores if not score.failure], names=names)


def claim_lines(study: Study, literature: Literature, scores: Sequence[Score]) -> Iterator[str]:
    """The verdicts for people, one block per reported score."""
    if not literature.names:
        return
    by_id = {score.id: score for score in scores}
    yield ""
    yield "reported scores:"
    for verdict in claims(study, literature, scores):
        yield f"  {verdict.reported.model}  {verdict.reported.label}: {verdict.kind}"
        yield f"      {verdict.sentence}"
        if verdict.best is not None and verdict.matching:
            score = by_id[verdict.best.measurement]
            yield f"      best: {score.text}  {score.configuration.label} ({verdict.best.kind})"
        if verdict.beside:
            yield f"      as stated: {verdict.beside}"
        for other in verdict.misattributions:
            yield f"      another model: {other.sentence}"


def claim_objects(study: Study, literature: Literature, scores: Sequence[Score]) -> Iterator[dict[str, Any]]:
    """The verdicts as data: one object per reported score, with its matching configurations."""
    for verdict in claims(study, literature, scores):
        yield {
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
            "chance": asdict(verdict.chance) if verdict.chance else None,
            "as_stated": verdict.beside,
            "matches": [
                {"configuration": match.measurement, "kind": match.kind, "sentence": match.sentence}
                for match in verdict.matches
            ],
            "other_models": [
                {"model": other.model, "kind": other.kind, "sentence": other.sentence,
                 "configurations": list(other.configurations)}
                for other in verdict.misattributions
            ],
        }  # fmt: skip
