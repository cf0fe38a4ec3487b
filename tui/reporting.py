"""A report of one run: what the store holds about it, in the shape that the report is made of, and written."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cache.store import Run, Store
from engine.environment import describe, package_versions
from engine.errors import EngineError
from engine.importing import STATE
from engine.job import Job
from engine.prompts import CHAT, template_names
from engine.scoring import Score
from engine.settings import EXTRACTIONS, PRECISIONS, Configuration, shape_label
from literature.errors import LiteratureError
from literature.records import ReportedScore
from literature.report import output
from literature.report.checklist import YES, checklist
from literature.report.evidence import (
    MEASURED,
    AxisEvidence,
    ConfigurationEvidence,
    Fact,
    ModelEvidence,
    ReportInput,
    RunEvidence,
    fact,
)
from literature.report.further import further
from tui import run_evidence
from tui import study as studies
from tui.errors import StudyError
from tui.reading import Literature
from tui.run_evidence import Folded, PromptLengths
from tui.study import Study

LIVE = ("running", "paused")
HERE = "this machine, when the report was written"


def collect(store: Store, run_id: int, base: Path | None = None) -> ReportInput:
    """All that a report of a run needs; `StoreError` when there is no such run, never an error for what a run lacks.

    `base` is the folder in which relative paths of the study's tables lie; it is named nowhere in the report.
    """
    run = store.run(run_id)
    problems: list[str] = []
    study = _study(run, problems)
    folded = run_evidence.fold(store, run_id)
    scores = folded.scores or _asked_scores(run, study, problems)
    prompts = PromptLengths(store)
    return ReportInput(
        title=study.name if study else run.name,
        question=study.note if study else "",
        study=studies.dumps(pinned(study, folded)) if study else run.study,
        version=package_versions(("scoretrace",)).get("scoretrace", ""),
        run=_run(run, folded),
        models=tuple(_models(store, study, folded, scores)),
        benchmarks=run_evidence.benchmarks(store, run_id, folded),
        configurations=tuple(_configuration(run, score, folded, prompts) for score in scores.values()),
        reported=_reported(study, problems, base),
        stated=dict(study.stated) if study else {},
        environment=run_evidence.environment(store, run_id),
        here=_here(),
        sandbox=run_evidence.sandbox(store, run_id, folded),
        axes=_axes(scores),
        notes=tuple(folded.notes),
        audit=run_evidence.audit(store, run_id, folded),
        repeats=folded.repeats,
        cost=run_evidence.cost(store, run_id, folded),
        problems=tuple(problems),
        origin=_origin(run),
    )


def write_report(
    store: Store,
    run_id: int,
    folder: Path,
    formats: Sequence[str] = output.DEFAULT_FORMATS,
    templates: Path | None = None,
) -> tuple[Path, ...]:
    """Write the report's files into a folder; their paths. `ReportError` names the path or format and the remedy."""
    return output.write(collect(store, run_id), folder, time.time(), formats, templates)


def preview(store: Store, run_id: int) -> str:
    """The report as Markdown."""
    return output.preview(collect(store, run_id), time.time())


def open_items(store: Store, run_id: int) -> tuple[str, ...]:
    """The checklist's points that do not simply hold, each with its mark: `5 Sufficient length: unknown`."""
    given = collect(store, run_id)
    items = (*checklist(given), *further(given))
    return tuple(f"{item.number} {item.title}: {item.mark}" for item in items if item.mark != YES)


def _study(run: Run, problems: list[str]) -> Study | None:
    try:
        return studies.loads(run.study, f"run {run.id}, its study")
    except StudyError as error:
        problems.append(f"The study kept with this run cannot be read: {error}")
        return None


def _asked_scores(run: Run, study: Study | None, problems: list[str]) -> dict[str, Score]:
    """What was asked for, where the run itself states nothing: from its job, else from its study."""
    configurations: Iterable[Configuration] = ()
    try:
        configurations = Job.from_dict(run.job).configurations
    except (KeyError, TypeError, ValueError):
        configurations = study.configurations() if study is not None else ()
        problems.append("The job kept with this run cannot be read; its configurations are those of the study.")
    return {c.id: Score(c, ()) for c in configurations}


def pinned(study: Study, folded: Folded) -> Study:
    """The study with each model's shapes fixed to those that the run decoded in, so that a rerun decodes the same."""
    if study.width:
        return study
    shapes: dict[str, dict[str, str]] = {}
    for _, event in folded.loaded:
        if event.precision not in PRECISIONS or event.width < 1:
            continue  # an imported run, whose engine is unknown
        block = (event.card.get("numerics") or {}).get("block", "1")
        shapes.setdefault(event.model, {})[event.precision] = shape_label(event.width, int(block))
    return replace(study, models=tuple(replace(m, shapes=shapes.get(m.name) or m.shapes) for m in study.models))


def _run(run: Run, folded: Folded) -> RunEvidence:
    died = run.state in LIVE and not run.alive
    return RunEvidence(
        id=run.id,
        name=run.name,
        state="died" if died else run.state,
        detail=run.detail or ("its worker is gone without a last word" if died else ""),
        events=folded.events,
        created=run.created,
        first=folded.first,
        last=folded.last,
        started=folded.started,
        unread=folded.unread,
    )


def _models(store: Store, study: Study | None, folded: Folded, scores: Mapping[str, Score]) -> Iterable[ModelEvidence]:
    chosen = {model.name: model for model in study.models} if study else {}
    asked = {score.model for score in scores.values()}
    for name in dict.fromkeys([*(name for name in chosen if name in asked or not asked), *sorted(asked)]):
        model = chosen.get(name)
        yield ModelEvidence(
            name=name,
            file=model.file if model and not model.file.startswith(f"{STATE}:") else "",
            reported_as=model.reported_as if model else (),
            cards=run_evidence.cards(store, folded, name),
        )


def _configuration(run: Run, score: Score, folded: Folded, prompts: PromptLengths) -> ConfigurationEvidence:
    return ConfigurationEvidence(
        measurement=score,
        label=score.configuration.label,
        tally=run_evidence.tally(score, folded, prompts),
        pointer=f"Judged events of run {run.id}" if score.kinds else folded.started,
        own_template=score.configuration.template == CHAT,
        failure=score.failure,
        stopped=score.stopped,
    )


def _origin(run: Run) -> dict[str, str]:
    """Where an imported or re-scored run's replies are from, with the name of the benchmark's file."""
    told = dict(run.job.get("origin") or {})
    data = next(iter((run.job.get("data") or {}).values()), "")
    if told and data:
        told["data"] = Path(data).name
    return told


def _reported(study: Study | None, problems: list[str], base: Path | None) -> tuple[ReportedScore, ...]:
    """The reported scores of the study's models, out of its tables; what cannot be read is said, not raised."""
    if study is None:
        return ()
    literature = Literature()
    folder = f"{base}/" if base else ""
    for table in study.tables:
        try:
            literature.add(folder + table)
        except LiteratureError as error:
            problems.append(f"A table of reported scores cannot be read: {error}".replace(folder, ""))
    if literature.every_unread:
        count = len(literature.every_unread)
        problems.append(
            f"{count} places of the tables give no score, the first: {literature.every_unread[0]}".replace(folder, "")
        )
    every = (literature.reported(model, study.grid.benchmark, counts=False) for model in study.models)
    found = {one.id: one for scores in every for one in scores}
    return tuple(replace(one, place=one.place.removeprefix(folder)) for one in found.values())


def _here() -> tuple[Fact, ...]:
    return tuple(fact(name, value, MEASURED, HERE) for name, value in describe().lines().items() if value)


def _axes(scores: Mapping[str, Score]) -> tuple[AxisEvidence, ...]:
    searched: dict[str, dict[str, None]] = {}
    for score in scores.values():
        for axis, value in score.axes.items():
            searched.setdefault(axis, {})[value] = None
    known: dict[str, tuple[str, ...]] = {"precision": PRECISIONS, "extraction": EXTRACTIONS}
    known["header"] = ("pre-filled", "not pre-filled")
    try:
        known["prompt"] = template_names()
    except EngineError:
        known["prompt"] = ()
    return tuple(AxisEvidence(axis, tuple(values), known.get(axis, ())) for axis, values in searched.items())
