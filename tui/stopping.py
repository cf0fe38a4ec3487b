"""Which counts matter for each configuration of a study that may stop early, as plain numbers for the engine."""

from __future__ import annotations

from collections.abc import Sequence

from engine.benchmarks import open_benchmark
from engine.scoring import Score
from engine.settings import Configuration
from engine.stopping import Target
from tui.reading import Literature
from tui.study import Study


def targets(study: Study, configurations: Sequence[Configuration]) -> dict[str, Target]:
    """Configuration id -> its counts, from what the study's tables report of its model and benchmark.

    A configuration without such reports is left out, and so is one with the settings that a source states: its whole
    score is what that source's number is to be held against.
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
            found[score.id] = Target(
                score.asked,
                tuple(open_counts(score, one) for one in reported),
                tuple(printing(reported, score.problems, score.samples, allowance=1)),
            )
    return found
