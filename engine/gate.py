"""The gate before any score: a benchmark checked against itself in the sandbox at hand, once, and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.benchmarks.reference import ReferenceCheck, reference_check
from engine.events import ReferenceChecked
from engine.protocols import Benchmark, Sandbox
from engine.recorder import Recorder


def gate(
    recorder: Recorder, benchmark: Benchmark, sandbox: Sandbox, jobs: int, tick: Callable[[], None] = lambda: None
) -> ReferenceChecked:
    """The reference check of a benchmark in this sandbox, stated as an event of the run; kept only when it holds.

    It holds when every problem that is not as it should be has a known cause: a flaw that the benchmark names, or a
    library that is not on this machine. Both are stated with the event, and the total stays the benchmark's.
    What `tick` raises ends it, with nothing kept (`reference_check`).
    """
    key = f"reference:{benchmark.sha256}:{sandbox.identity}"
    found = recorder.store.fact(key)
    if found is None:
        check = reference_check(benchmark, sandbox, jobs, tick)
        found = stated(benchmark.name, check)
        if check.holds:
            recorder.store.put_fact(key, found)
    event = ReferenceChecked(**found)
    recorder.event(event)
    return event


def stated(name: str, check: ReferenceCheck) -> dict[str, object]:
    """A reference check as the plain data of its event."""

    def lines(found: Iterable[tuple[str, str]]) -> list[str]:
        return [f"{task_id} ({how})" for task_id, how in found]

    return {
        "benchmark": name, "correct": check.correct, "buggy": check.buggy, "total": check.problems,
        "wrong": lines(check.wrong), "excused": lines(check.excused), "unjudged": lines(check.unjudged),
        "cut": lines(check.cut),
    }  # fmt: skip


def told(event: ReferenceChecked) -> list[str]:
    """The check in lines: the counts, then every problem that is not as it should be, with its cause."""
    counts = f"{event.correct}/{event.total} correct bodies pass, {event.buggy}/{event.total} buggy ones fail"
    lines = [f"reference check of {event.benchmark}: {counts}"]
    for name, problems in (
        ("wrong", event.wrong),
        ("known flaw", event.excused),
        ("cannot be judged here", event.unjudged),
        ("correct, but not after the harness's own cut", event.cut),
    ):
        lines += [f"  {name}: {problem}" for problem in problems]
    return lines
