"""What a study would cost, before anything starts: counts are exact, times and sizes are estimates that say their
basis.
"""

from __future__ import annotations

from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.plan import make_plan
from engine.run import pace_key
from tui.session import Preflight
from tui.study import Study

ASSUMED_REPLY_TOKENS = 120
ASSUMED_TOKENS_PER_SECOND = 250.0
CHARACTERS_PER_TOKEN = 3.2
BYTES_PER_REPLY = 700
"""A reply's row with its token ids, its outcome and its events, as measured on the embedded study."""


def estimate(study: Study, store: Store) -> Preflight:
    """Counts after sharing, and estimates from the last measured pace of these files here, else from stated
    assumptions.
    """
    files = {model.name: model.file for model in study.models}
    benchmarks = {name: open_benchmark(name, study.data or None) for name in study.grid.benchmark}
    sizes = {name: len(benchmark.problems) for name, benchmark in benchmarks.items()}
    plan = make_plan(study.configurations())
    tokens, seconds, measured = 0.0, 0.0, 0
    for group in plan.groups:
        problems = benchmarks[group.benchmark].problems
        replies = sum(p.samples for p in group.passes) * len(problems)
        pace = store.fact(pace_key(files[group.model], group.precision, group.benchmark))
        if pace is not None:
            measured += 1
            tokens += replies * pace["tokens"] / pace["replies"]
            seconds += replies * pace["seconds"] / pace["replies"]
        else:
            prompt = sum(len(p.context) + len(p.header) for p in problems) / CHARACTERS_PER_TOKEN
            tokens += replies * ASSUMED_REPLY_TOKENS
            seconds += (replies * ASSUMED_REPLY_TOKENS + prompt / 4) / ASSUMED_TOKENS_PER_SECOND
    return Preflight(
        configurations=len(study.configurations()),
        passes=plan.passes,
        loads=len(plan.loads),
        problems=sum(sizes.values()),
        generations=plan.generations(sizes),
        stored=0,
        naive=plan.naive(sizes),
        tokens=round(tokens),
        seconds=seconds,
        bytes=plan.generations(sizes) * BYTES_PER_REPLY,
        basis=_basis(measured, len(plan.groups)),
    )


def _basis(measured: int, groups: int) -> str:
    assumed = f"assumed: {ASSUMED_REPLY_TOKENS} tokens a reply, {ASSUMED_TOKENS_PER_SECOND:g} tokens/s"
    if measured == groups:
        return "measured here before"
    return assumed if not measured else f"measured here for {measured} of {groups} prompt groups, else {assumed}"
