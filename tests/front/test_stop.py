"""`--stop` and the study key `stop`: which counts matter, what a run says of what it stopped, and going on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.job import Job
from engine.scoring import Score
from engine.settings import Decoding, Grid
from engine.stopping import FAILURES
from literature.classify import MATCHING, match, open_counts
from literature.records import ReportedScore
from tui import study as studies
from tui.cli import DONE, make_parser, run_cli
from tui.errors import StudyError
from tui.local import LocalSession, job_of
from tui.stopping import finished_before, likely_passes, targets
from tui.study import ModelChoice, Study

GRID = Grid(("fake-python",), decoding=(Decoding(), Decoding(0.8)), max_length=(200,), precision=("f16",))
TABLE = "model,benchmark,metric,value,sources\nFake,fake-python,pass@1,{},[1]\n"


def benchmark(size: int) -> Any:
    """As much of a benchmark as its size."""
    return SimpleNamespace(problems=[SimpleNamespace(task_id=f"P/{i}") for i in range(size)])


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study of a model of which 97.5 was reported, far from what the fake one scores."""
    monkeypatch.setattr("tui.stopping.open_benchmark", lambda name, data: benchmark(40))
    table = tmp_path / "t.csv"
    table.write_text(TABLE.format("97.5"))
    return Study("stopping", GRID, (ModelChoice("fake", "fake.gguf", ("Fake",)),), (str(table),), stop="bounds")


@pytest.fixture
def session(study: Study, run_to_end: Callable[[Study], LocalSession]) -> LocalSession:
    """The run of that study, ended, in the store that the command line uses."""
    return run_to_end(study)


def test_without_a_rule_the_job_holds_no_counts(study: Study) -> None:
    """Off by default: no benchmark or table is opened for it."""
    job = job_of(studies.loads(studies.dumps(study).replace('stop = "bounds"\n', "")))
    assert (job.stop, dict(job.targets)) == ("", {})


def test_the_job_holds_the_counts_that_matter(study: Study) -> None:
    """39 of 40 prints 97.5; a few problems beside it may be rerun noise, and half of them cannot."""
    job = Job.from_dict(job_of(study).as_dict())
    greedy, sampled = (job.targets[c.id] for c in job.configurations)
    ((low, high),) = greedy.open
    assert (greedy.total, low <= 39 <= high, low > 20) == (40, True, True)
    assert sampled.open[0][0] < low, "a single sample at T=0.8 varies more from run to run"


def test_what_a_source_states_is_never_stopped(study: Study, tmp_path: Path) -> None:
    """The source's own settings get a whole score, to be held against its number; the others have counts."""
    table = tmp_path / "stated.csv"
    table.write_text("model,benchmark,metric,value,sources,decoding\nFake,fake-python,pass@1,97.5,[1],greedy\n")
    greedy, sampled = study.configurations()
    found = targets(studies.loads(studies.dumps(study).replace("t.csv", "stated.csv")), study.configurations())
    assert set(found) == {sampled.id} != {greedy.id}


def test_a_model_that_nobody_reported_is_never_stopped(study: Study) -> None:
    """There is nothing that its scores could fail to reach."""
    other = studies.loads(studies.dumps(study).replace('"Fake"', '"Other"'))
    assert targets(other, other.configurations()) == {}


def test_a_stopped_configuration_is_told_by_its_bounds(
    session: LocalSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Going on with the run prints bounds and the reason for it, makes nothing more, and gives no score."""
    run = str(session.run)
    stopped = session.store.events_of(session.run or 0, "ConfigurationStopped")
    assert {one["configuration"] for one in stopped} == {c.id for c in session_study(session).configurations()}
    made = len(session.store.events_of(session.run or 0, "Generated"))
    assert made < 80
    assert run_cli(["run", "--resume", run]) == DONE
    out = capsys.readouterr().out
    one = stopped[0]
    bounds = f"{one['passed']}..{one['passed'] + 40 - one['judged']}/40"
    assert f"{bounds} stopped" in out
    assert "exact bound: it ends within" in out
    assert len(session.store.events_of(session.run or 0, "Generated")) == made


def test_going_on_with_none_finishes_what_was_stopped(
    session: LocalSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--resume RUN --stop none` takes it up again, and the run's study no longer asks for stopping."""
    assert run_cli(["run", "--resume", str(session.run), "--stop", "none"]) == DONE
    assert len(session.store.events_of(session.run or 0, "ConfigurationFinished")) == 2
    assert session_study(session).stop == ""
    capsys.readouterr()


def test_earlier_scores_say_which_problems_decide_soonest(session: LocalSession, study: Study) -> None:
    """With the scores of an earlier run far below 97.5, likely failures come first, in the order of what passed."""
    assert run_cli(["run", "--resume", str(session.run), "--stop", "none"]) == DONE
    earlier = finished_before(session.store, "fake-python")
    assert [score.finished for score in earlier] == [True, True]
    job = Job.from_dict(job_of(study, (), session.store).as_dict())
    assert {target.first for target in job.targets.values()} == {FAILURES}
    likely = likely_passes(earlier)
    assert list(job.order["fake-python"]) == likely
    assert sorted(likely) == sorted(earlier[0].task_ids)
    passed = [sum(one.passes[one.task_ids.index(task_id)] for one in earlier) for task_id in likely]
    assert passed == sorted(passed, reverse=True)


def session_study(session: LocalSession) -> Study:
    """The study as the store holds it."""
    return studies.loads(session.store.run(session.run or 0).study)


@pytest.mark.parametrize("rule", ["none", "bounds", "sequential"])
def test_the_option_knows_its_rules(rule: str) -> None:
    """And nothing else; without it the study decides."""
    assert make_parser().parse_args(["run", "s.toml", "--stop", rule]).stop == rule
    assert make_parser().parse_args(["run", "s.toml"]).stop is None


def test_a_rule_that_is_none_is_named(study: Study) -> None:
    """File, key, what was expected and what was found."""
    with pytest.raises(StudyError, match=r"s: key 'stop': expected 'bounds' or 'sequential', found 'soon'"):
        studies.loads(studies.dumps(study).replace('"bounds"', '"soon"'), "s")


@pytest.mark.parametrize(
    ("value", "problems", "samples", "decoding", "stated"),
    [
        ("29.3", 164, 1, Decoding(), {}), ("47", 164, 1, Decoding(), {}), ("77.3", 164, 1, Decoding(0.2), {}),
        ("0.6", 164, 1, Decoding(0.2), {}), ("99.4", 164, 1, Decoding(), {}), ("47.4695", 164, 20, Decoding(0.2), {}),
        ("30.2", 40, 5, Decoding(0.8), {"samples": "20"}), ("47", 1000, 1, Decoding(), {}),
        ("0", 50, 2, Decoding(1.0), {}), ("100", 50, 2, Decoding(1.0), {}), ("50.0", 164, 20, Decoding(0.8), {}),
    ],
)  # fmt: skip
def test_open_counts_are_what_match_leaves_open(
    value: str, problems: int, samples: int, decoding: Decoding, stated: dict[str, str]
) -> None:
    """No count outside matches when it is the final one, and outside nothing is open while samples are missing."""
    (configuration,) = Grid(("x",), decoding=(decoding,), samples=(samples,)).configurations(["m"])
    reported = ReportedScore("m", "x", "pass@1", value, ("1",), stated=stated)
    total = problems * samples
    score = Score(configuration, [str(i) for i in range(problems)])
    low, high = open_counts(score, reported)
    assert 0 <= low <= high <= total
    step = 1 if total < 500 else 37
    for count in sorted({*range(0, total + 1, step), low - 1, low, high, high + 1} & {*range(total + 1)}):
        score.passes = [count // problems + (i < count % problems) for i in range(problems)]
        score.judged = [samples] * problems
        if not low <= count <= high:
            assert match(score, reported).kind not in MATCHING, count
    for passed, left in ((low - 2, 1), (high + 1, 1)):
        if 0 <= passed <= total - left:
            score.passes = [passed // problems + (i < passed % problems) for i in range(problems)]
            short = score.passes.index(min(score.passes))
            score.judged = [samples - (i == short) for i in range(problems)]
            if all(p <= j for p, j in zip(score.passes, score.judged, strict=True)):
                assert match(score, reported).kind == "ruled out"
