"""A judge stays on one core with its children, and goes elsewhere only where its own is crowded and another idles."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import core, open_sandbox

SEES = "import os\ndef f():\n    return sorted(os.sched_getaffinity(0))"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """A machine of four cores whose idle times and clock the test sets; `at` is what was held where."""
    state: dict[str, object] = {"idle": dict.fromkeys(range(4), 0.0), "now": 100.0, "at": []}
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: state["at"].append((pid, cores)))  # type: ignore[attr-defined]
    monkeypatch.setattr(core, "idle", lambda cores: dict(state["idle"]))  # type: ignore[call-overload]
    monkeypatch.setattr(core.time, "monotonic", lambda: state["now"])
    yield state


def pass_by(state: dict[str, object], seconds: float, **idle: float) -> None:
    """Let the clock go on, and cores idle for a share of that time."""
    state["now"] += seconds  # type: ignore[operator]
    for name, share in idle.items():
        state["idle"][int(name[1:])] += share * seconds  # type: ignore[index]


def test_a_crowded_core_is_left_for_one_that_idles(machine: dict[str, object]) -> None:
    """Others use most of core 1 while core 2 idles: there this process goes, and what it has started."""
    held = core.Core(1)
    assert machine["at"] == [(0, {1})]
    held.took(1.0, 0.3, [77])
    pass_by(machine, 2.0, _1=0.1, _2=0.9, _3=0.3)
    held.took(1.0, 0.3, [77])
    assert machine["at"] == [(0, {1}), (77, {2}), (0, {2})]


@pytest.mark.parametrize(
    ("wall", "cpu", "idle"),
    [
        (2.0, 0.3, {"_1": 0.8, "_2": 0.9}),
        (2.0, 0.9, {"_1": 0.5, "_2": 1.0}),
        (2.0, 0.3, {}),
        (1.0, 0.9, {"_2": 0.9}),
    ],
    ids=["programs sleep", "programs sleep and run", "all cores are busy", "programs run"],
)
def test_a_core_is_kept_otherwise(wall: float, cpu: float, idle: dict[str, float], machine: dict[str, object]) -> None:
    """A core that others do not use, and one that is no worse than the rest, are no reason to move."""
    held = core.Core(1)
    for _ in range(5):
        held.took(wall, cpu, [77])
        pass_by(machine, 2.0, **idle)
    assert machine["at"] == [(0, {1})]


def test_judges_share_no_core_and_need_none(machine: dict[str, object]) -> None:
    """As many cores as judges, each another one; where there are fewer cores than judges, nobody is held anywhere."""
    assert sorted(core.cores(4)) == [0, 1, 2, 3]  # type: ignore[type-var]
    assert len(set(core.cores(2))) == 2
    assert core.cores(5) == [None] * 5
    core.Core(None)
    assert machine["at"] == []


def test_a_core_that_is_gone_holds_nobody(machine: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that the kernel refuses is done without, and not asked for again."""
    asked: list[set[int]] = []

    def refuse(pid: int, cores: set[int]) -> None:
        asked.append(cores)
        raise OSError(22, "no such core")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    held = core.Core(1)
    for _ in range(3):
        held.took(1.0, 0.1, [])
        pass_by(machine, 2.0, _2=0.9)
    assert asked == [{1}]


def test_idle_times_are_those_of_the_cores_asked_for() -> None:
    """The kernel tells how long each core has idled; those of others are left out."""
    some = sorted(os.sched_getaffinity(0))[:1]
    found = core.idle(set(some))
    assert list(found) == some and found[some[0]] >= 0


def test_a_candidate_runs_on_its_judges_core(judged: Callable[..., Outcome], sandbox: Sandbox) -> None:
    """The children of one judge are all on its core; without cores to choose from they may go anywhere."""
    free = sorted(os.sched_getaffinity(0))
    outcome = judged(SEES, f"assert f() in {[[one] for one in free]}")
    assert outcome.passed or len(free) < 2, outcome
    crowded: Sandbox = open_sandbox(jobs=len(free) + 1)
    try:
        anywhere = crowded.run(Program("", SEES, f"assert f() == {free}", "f"), Limits(cpu_s=20.0, wall_s=120.0))
    finally:
        crowded.close()
    assert anywhere.passed, anywhere
