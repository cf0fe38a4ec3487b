"""Which counts matter for each configuration of a study that may stop early, as plain numbers for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.events import from_dict
from engine.scoring import Score, fold_scores
from engine.settings import Configuration
from engine.stopping import FAILURES, PASSES, Target
from tui.reading import Literature
from tui.study import Study

RUNS = 3
"""Earlier runs of a benchmark that are read for the order of its problems, the newest ones."""


def targets(
    study: Study, configurations: Sequence[Configuration], earlier: Mapping[str, Sequence[Score]] | None = None
) -> dict[str, Target]:
    """Configuration id -> its counts, from what the study's tables report of its model and benchmark.

    A configuration without such reports is left out, and so is one with the settings that a source states: its whole
    score is what that source's number is to be held against. `earlier` are finished scores by benchmark, for `first`.
    """
    from literature.classify import open_counts
    from literature.defaults import agreeing
    from literature.exclusion import targets as printing

    literature = Literature()
    for table in study.tables:
        literature.add(table)
    choices = {choice.name: choice for choice in study.models}
    problems = {
        name: [problem.task_id for problem in open_benchmark(name, study.data or None).problems]
        for name in {configuration.benchmark for configuration in configurations}
    }
    found = {}
    for configuration in configurations:
        score = Score(configuration, problems[configuration.benchmark])
        reported = literature.reported(choices[configuration.model], [configuration.benchmark])
        if reported and not any(agreeing(one, [score]) for one in reported):
            prints = tuple(printing(reported, score.problems, score.samples, allowance=1))
            first = _first(score, prints, (earlier or {}).get(score.benchmark, ()))
            found[score.id] = Target(score.asked, tuple(open_counts(score, one) for one in reported), prints, first)
    return found


def finished_before(store: Store, benchmark: str) -> list[Score]:
    """The finished scores of a benchmark in the newest runs that have any of it, over the same problems."""
    rows = [row for row in store.runs() if any(c["benchmark"] == benchmark for c in row.job.get("configurations", ()))]
    found = [
        score
        for row in rows[:RUNS]
        for score in fold_scores(from_dict(body) for _, _, body in store.every_event(row.id)).values()
        if score.benchmark == benchmark and score.finished
    ]
    return [score for score in found if score.task_ids == found[0].task_ids]


def likely_passes(finished: Sequence[Score]) -> list[str]:
    """Task ids by how often they passed in finished scores over the same problems, most often first."""
    from literature.exclusion import estimated_pass_rates, problem_order

    order = problem_order(estimated_pass_rates(finished), 1.0, 0.0)
    return [finished[0].task_ids[index] for index in order]


def _first(score: Score, spans: Sequence[tuple[int, int]], finished: Sequence[Score]) -> str:
    """Which problems decide soonest, by where finished scores of the same model put this one; empty without any."""
    from literature.exclusion import predicted_score

    predicted = predicted_score(score, finished)
    if predicted is None:
        return ""
    count = predicted * score.asked
    nearest = min(spans, key=lambda span: max(span[0] - count, count - span[1]))
    return PASSES if 2 * count > nearest[0] + nearest[1] else FAILURES
