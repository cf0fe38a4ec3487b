"""The gate before any score: a benchmark checked against itself in the sandbox at hand, once, and kept."""

from __future__ import annotations

from engine.benchmarks.reference import reference_check
from engine.events import ReferenceChecked
from engine.protocols import Benchmark, Sandbox
from engine.recorder import Recorder


def gate(recorder: Recorder, benchmark: Benchmark, sandbox: Sandbox, jobs: int) -> ReferenceChecked:
    """The reference check of a benchmark in this sandbox, stated as an event of the run; kept only when it holds."""
    key = f"reference:{benchmark.sha256}:{sandbox.identity}"
    found = recorder.store.fact(key)
    if found is None:
        check = reference_check(benchmark, sandbox, jobs)
        found = {
            "benchmark": benchmark.name, "correct": check.correct, "buggy": check.buggy, "total": check.problems,
            "wrong": [f"{task_id} ({how})" for task_id, how in check.wrong],
        }  # fmt: skip
        if check.holds:
            recorder.store.put_fact(key, found)
    event = ReferenceChecked(**found)
    recorder.event(event)
    return event
