"""Programs of a run under other seeds: whose outcome changes is listed, nothing is executed twice, scores stay."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache.store import Store
from engine.events import Noted, Repeated
from engine.protocols import Generation, Limits, Outcome, Problem, Program, Request, Sandbox
from engine.repeating import OTHER_SANDBOX, lines, repeated_before, summary
from engine.sandbox import open_sandbox, probe_levels
from engine.sandbox.repeats import flaky
from engine.settings import Decoding, Grid

GRID = Grid(
    benchmark=("fake-python",), decoding=(Decoding(), Decoding(0.8)), max_length=(105, 200), samples=(2,),
    extraction=("harness", "raw"),
)  # fmt: skip
"""Prefixes, shared replies, and samples without room."""


@dataclass
class Seeds:
    """Fake sandboxes by seed; `turns(candidate, seed)` says whose outcome is another one there."""

    fake: Any
    turns: Any = lambda candidate, seed: False
    kind: str = "exception"
    runs: list[tuple[int, str]] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)

    def __call__(self, seed: int) -> Any:
        seeds = self

        class Seeded(self.fake):  # type: ignore[misc,name-defined]
            def run(self, program: Program, limits: Limits) -> Outcome:
                seeds.runs.append((seed, program.candidate))
                turned = seeds.turns(program.candidate, seed)
                return Outcome(seeds.kind, level="fake") if turned else super().run(program, limits)

            def close(self) -> None:
                seeds.closed.append(seed)

        return Seeded(identity=f"fake {seed}")


def life_of(store: Store, fakes: Any, seeds: Seeds, repeats: int = 3) -> Any:
    """A run that repeats its programs."""
    life = fakes.Life(store, GRID)
    life.job = dataclasses.replace(life.job, repeats=repeats)
    life.parts = {"seeded": seeds}
    return life


def told(life: Any) -> list[Repeated]:
    """What its repeats came to."""
    return [event for event in life.events if isinstance(event, Repeated)]


def executed(life: Any) -> set[str]:
    """The distinct programs that the run has executed under its own seed."""
    return {program.candidate for program in life.sandbox.runs} - {
        part + body for p in life.benchmark.problems for part in ("", p.header) for body in (p.canonical, p.buggy)
    }


def test_every_program_is_executed_once_under_each_seed(store: Store, fakes: Any) -> None:
    """However many samples share it; all seeds alike is no finding, and the scores are those of a run without."""
    seeds = Seeds(fakes.Sandbox)
    life = life_of(store, fakes, seeds)
    assert life.go() == "finished"
    (event,) = told(life)
    by_seed = {seed: [text for at, text in seeds.runs if at == seed] for seed in (1, 2, 3)}
    assert set(by_seed[1]) >= executed(life) and by_seed[1]
    assert all(len(runs) == len(by_seed[1]) == event.programs for runs in by_seed.values())
    assert len(seeds.runs) == 3 * event.programs
    assert (event.seeds, event.flaky, event.unavailable) == (3, [], 0)
    assert seeds.closed == [1, 2, 3]
    rooms = sum(kind == "no room" for score in life.scores.values() for kind in score.kinds.values())
    assert event.skipped == ({"no room": rooms} if rooms else {})
    plain = fakes.Life(store, GRID)
    plain.go()
    assert plain.outcome() == life.outcome()
    assert told(plain) == []


def test_those_whose_outcome_changes_are_listed_with_all_their_samples(store: Store, fakes: Any) -> None:
    """One that turns under seed 2 is listed, with its kind under each seed and every sample that it is the program of;
    a warning says so.
    """
    seeds = Seeds(fakes.Sandbox, lambda candidate, seed: seed == 2 and "f4" in candidate and "good" in candidate)
    life = life_of(store, fakes, seeds)
    life.go()
    (event,) = told(life)
    turned = {text for seed, text in seeds.runs if seed == 2 and seeds.turns(text, 2)}
    assert len(event.flaky) == len(turned) > 0
    assert {tuple(one["kinds"].items()) for one in event.flaky} == {
        (("0", "passed"), ("1", "passed"), ("2", "exception"), ("3", "passed"))
    }
    listed = {tuple(place) for one in event.flaky for place in one["samples"]}
    passed = {
        (id_, "P/4", sample)
        for id_, score in life.scores.items()
        for (task_id, sample), kind in score.kinds.items()
        if task_id == "P/4" and kind == "passed"
    }
    assert listed == passed
    last = [one for one in life.events if isinstance(one, Noted)][-1]
    assert (last.level, summary(event) in last.text) == ("warning", True)
    assert f"{len(turned)} gave another outcome ({len(passed)} samples)" in summary(event)
    assert all("P/4" in line and "2: exception" in line for line in lines(event, str))


def test_no_outcome_is_no_other_outcome(store: Store, fakes: Any) -> None:
    """Executions that gave none are counted, not listed; going on executes these again and no others."""
    seeds = Seeds(fakes.Sandbox, lambda candidate, seed: seed == 2 and "f1" in candidate, kind="unavailable")
    life = life_of(store, fakes, seeds)
    life.go()
    lost = sum(seeds.turns(text, seed) for seed, text in seeds.runs)
    assert lost and (told(life)[0].unavailable, told(life)[0].flaky) == (lost, [])
    assert f"{lost} execution" in summary(told(life)[0])
    seeds.runs.clear()
    life.job = dataclasses.replace(life.job, repeats=4)
    seeds.turns = lambda candidate, seed: False
    life.go()
    assert [seed for seed, _ in seeds.runs].count(2) == lost
    assert {seed for seed, _ in seeds.runs} == {2, 4}
    assert told(life)[-1].unavailable == 0


@pytest.mark.parametrize("ticks", [1, 9, 60])
def test_what_a_stop_left_is_not_executed_again(store: Store, tmp_path: Any, fakes: Any, ticks: int) -> None:
    """Stopped and taken up again: each program once a seed, in both lives together, and the same result as at once."""
    seeds = Seeds(fakes.Sandbox, lambda candidate, seed: seed == 3 and "f2" in candidate)
    life = life_of(store, fakes, seeds, repeats=0)
    life.go()
    life.job = dataclasses.replace(life.job, repeats=3)
    assert life.go(stop_after=ticks) == "stopped"
    assert told(life) == []
    assert life.go() == "finished"
    assert len(set(seeds.runs)) == len(seeds.runs)
    other = Store(tmp_path / "other.sqlite")
    at_once = life_of(other, fakes, Seeds(fakes.Sandbox, seeds.turns))
    at_once.go()
    assert told(life) == told(at_once)
    assert told(life)[0].flaky
    other.close()


def test_what_is_done_is_not_done_again(store: Store, fakes: Any) -> None:
    """Going on with as many seeds, or fewer, repeats and states nothing; with more, only those."""
    seeds = Seeds(fakes.Sandbox)
    life = life_of(store, fakes, seeds)
    life.go()
    seeds.runs.clear()
    for wanted in (3, 2, 0):
        life.job = dataclasses.replace(life.job, repeats=wanted)
        life.go()
    assert (seeds.runs, len(told(life))) == ([], 1)
    life.job = dataclasses.replace(life.job, repeats=5)
    life.go()
    assert {seed for seed, _ in seeds.runs} == {4, 5}
    assert [event.seeds for event in told(life)] == [3, 5]


def test_samples_judged_since_are_repeated(store: Store, fakes: Any) -> None:
    """A sample that was unavailable at first is repeated once it is judged; until then it is said not to be."""
    life = life_of(store, fakes, Seeds(fakes.Sandbox))
    life.sandbox.broken = True
    life.go()
    before = told(life)[0]
    assert before.skipped["unavailable"] > 0
    life.sandbox.broken = False
    life.go()
    assert "unavailable" not in told(life)[-1].skipped
    assert told(life)[-1].programs > before.programs
    assert repeated_before(life.events) == told(life)[-1]


def test_programs_judged_elsewhere_are_not_compared(store: Store, fakes: Any) -> None:
    """Where the sandbox at hand is another one than that of the scores, a difference would not be the seed's."""
    life = life_of(store, fakes, Seeds(fakes.Sandbox), repeats=0)
    life.go()
    life.sandbox = fakes.Sandbox(identity="another machine")
    life.job = dataclasses.replace(life.job, repeats=2)
    life.go()
    (event,) = told(life)
    judged = sum(kind != "no room" for score in life.scores.values() for kind in score.kinds.values())
    assert (event.programs, event.skipped[OTHER_SANDBOX]) == (0, judged)


def test_programs_without_a_seed_are_counted(store: Store, fakes: Any) -> None:
    """A language whose runs have none is not executed again, and it is said how many samples that are."""
    seeds = Seeds(fakes.Sandbox)

    class Rust(fakes.Benchmark):  # type: ignore[misc]
        def program(self, problem: Problem, candidate: str) -> Program:
            return dataclasses.replace(super().program(problem, candidate), language="rust")

    life = life_of(store, fakes, seeds)
    life.benchmark = Rust()
    life.go()
    (event,) = told(life)
    assert (seeds.runs, event.programs) == ([], 0)
    assert event.skipped["a run of rust has no seed"] > 0


@given(st.lists(st.sampled_from(["passed", "failed", "timeout", "unavailable"]), min_size=1, max_size=6))
def test_flaky_is_two_kinds_or_more_of_those_there_are(kinds: list[str]) -> None:
    """The order of seeds does not matter, and a missing outcome neither makes a program flaky nor steady."""
    known = [kind for kind in kinds if kind != "unavailable"]
    assert flaky(kinds) == any(one != other for one in known for other in known)
    assert flaky(kinds) == flaky(reversed(kinds)) == flaky([*kinds, "unavailable"])


BODIES = {
    "f0": "    return sorted({'a', 'b', 'c'})[0] == 'a'\n",
    "f1": "    return list({'a', 'b', 'c', 'd', 'e'})[0] < 'c'\n",
    "f2": "    import random\n    return random.random() < 0.5\n",
    "f3": "    return False\n",
    "f4": "    return hash('a') == hash('a')\n",
    "f5": "    import numpy\n    return numpy.random.rand() < 0.5\n",
}
"""What the model answers for each problem; f1, f2 and f5 depend on the hash seed or on a random state."""


@pytest.fixture
def confined() -> Iterator[Sandbox]:
    """The machine's own sandbox."""
    if not any(p.available for p in probe_levels().values() if p.level != "limits"):
        pytest.skip("no level of confinement works on this machine")
    made = open_sandbox(jobs=2)
    yield made
    made.close()


def test_real_programs_that_depend_on_a_seed_are_found(store: Store, fakes: Any, confined: Sandbox) -> None:
    """The order of a set of strings, and random numbers that nobody seeded, are listed; programs without are not."""

    class Answers(fakes.Model):  # type: ignore[misc]
        def reply(self, request: Request) -> Generation:
            prompt = self.detokenize(request.prompt)
            text = next(body for name, body in BODIES.items() if f"def {name}(" in prompt)
            text = "\n" + text  # the reply goes on behind the header
            return Generation(request.key, text, tuple(text.encode()), "end")

    class Real(fakes.Benchmark):  # type: ignore[misc]
        def program(self, problem: Problem, candidate: str) -> Program:
            candidate = candidate.replace("good", "True or ").replace("bad", "False and ")
            return Program("", candidate, f"assert {problem.entry_point}(1)", problem.entry_point)

    life = fakes.Life(store, Grid(("fake-python",), max_length=(400,)))
    life.sandbox, life.benchmark, life.kind = confined, Real(), Answers
    life.job = dataclasses.replace(life.job, repeats=9)
    life.parts = {"seeded": lambda seed: open_sandbox(jobs=2, seed=seed)}
    confined.close = lambda: None  # type: ignore[method-assign]
    assert life.go() == "finished"
    (event,) = told(life)
    assert (event.programs, event.unavailable, event.skipped) == (6, 0, {})
    assert [one["samples"][0][1] for one in event.flaky] == ["P/1", "P/2", "P/5"]
    assert {kind for one in event.flaky for kind in one["kinds"].values()} == {"passed", "failed"}
    (score,) = life.scores.values()
    assert {one["kinds"]["0"] for one in event.flaky} <= set(score.kinds.values())
    for one in event.flaky:
        assert one["kinds"]["0"] == score.kinds[one["samples"][0][1], 0]
