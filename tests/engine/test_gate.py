"""The gate before any score: what it says of a benchmark is stated, printed, and kept once it holds."""

from __future__ import annotations

import pytest

from cache.store import Store
from engine.benchmarks.humanevalfix import FixBenchmark
from engine.benchmarks.languages import LANGUAGES
from engine.gate import gate, told
from engine.protocols import Limits, Outcome, Problem, Program
from engine.recorder import Recorder


class Scripted:
    """Passes what holds `right`; counts what it was asked."""

    level = "none"
    identity = "scripted"

    def __init__(self, lacking: str = "nothing lacks") -> None:
        self.lacking = lacking
        self.asked = 0

    def run(self, program: Program, limits: Limits) -> Outcome:
        self.asked += 1
        if self.lacking in program.candidate:
            return Outcome("unavailable", "the crate md5 is not here")
        return Outcome("passed" if "right" in program.candidate else "failed", "assert f()")

    def close(self) -> None:
        """Nothing runs."""


def benchmark(*problems: Problem) -> FixBenchmark:
    return FixBenchmark("fake-python", LANGUAGES["python"], False, (), "", Limits(), given=problems)


def problem(number: int, canonical: str = "right", buggy: str = "wrong", flaw: str = "") -> Problem:
    return Problem(
        f"P/{number}", "f", "def f():", "", "", "assert f()", f" {canonical}", f" {buggy}{number}", flaw=flaw
    )


@pytest.fixture
def recorder(store: Store) -> Recorder:
    """A recorder of a new run."""
    return Recorder(store, store.create_run("a run", "", {}))


def test_flaws_and_missing_libraries_are_told_and_do_not_refuse(recorder: Recorder) -> None:
    """A whole benchmark is not refused for problems with a known cause: the event names each with it, and the total
    stays; a second run of the same benchmark in the same sandbox judges nothing again and says the same."""
    made = benchmark(
        problem(1), problem(2, buggy="right, too ", flaw="its tests decide nothing"), problem(3, canonical="right md5")
    )
    sandbox = Scripted(lacking="md5")
    event = gate(recorder, made, sandbox, 2)
    assert event.wrong == []
    assert (event.correct, event.buggy, event.total) == (2, 2, 3)
    assert told(event) == [
        "reference check of fake-python: 2/3 correct bodies pass, 2/3 buggy ones fail",
        "  known flaw: P/2 (buggy body: passed: its tests decide nothing)",
        "  cannot be judged here: P/3 (the crate md5 is not here)",
    ]
    asked = sandbox.asked
    assert gate(recorder, made, sandbox, 2) == event
    assert sandbox.asked == asked


def test_an_unexplained_one_is_wrong_and_not_kept(recorder: Recorder) -> None:
    """A correct body that fails for no known reason is wrong, and the next run looks again."""
    made, sandbox = benchmark(problem(1, canonical="no good")), Scripted()
    event = gate(recorder, made, sandbox, 1)
    assert event.wrong == ["P/1 (correct body: failed assert f())"]
    asked = sandbox.asked
    assert gate(recorder, made, sandbox, 1) == event
    assert sandbox.asked == 2 * asked
