"""Identification per study, early exclusion, and leads."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from literature.exclusion import estimated_pass_rates, predicted_score, problem_order, reachable, settled, targets
from literature.identify import identified_scores, identify, identify_all
from literature.leads import leads
from literature.matching import match

if TYPE_CHECKING:
    from conftest import Build, FakeMeasurement

    from literature.records import ReportedScore

LEVELS = [(prompt, length) for prompt in ("instruct", "chat", "bare") for length in ("512", "2048")]


def world(build: Build, models: int, seed: int = 3) -> tuple[list[ReportedScore], list[FakeMeasurement]]:
    """Models measured in six configurations each, and a greedy study that used (chat, 2048) for all of them."""
    pick = random.Random(seed)
    scores, ones = [], []
    for number in range(models):
        for prompt, length in LEVELS:
            count = pick.randrange(30, 110)
            axes = {"prompt": prompt, "length": length}
            ones.append(build.greedy(count, id=f"{number}{prompt}{length}", model=f"m{number}", axes=axes))
            if (prompt, length) == ("chat", "2048"):
                value = f"{100 * count / 164:.1f}"
                scores.append(build.score(value, model=f"m{number}", sources=("9",), decoding="greedy"))
    return scores, ones


def test_one_number_does_not_identify_many_do(build: Build) -> None:
    """The true configuration of six is found from five models at once, and said not to be from a shared number."""
    scores, ones = world(build, 5)
    found = identify(scores, "9", ones, names={})
    assert found.identified
    assert dict(found.top) == {"prompt": "chat", "length": "2048"}
    assert found.none < 0.05
    assert found.effective < 1.1
    assert found.stable
    assert identified_scores([found]) == {score.id for score in scores}


def test_settings_that_score_alike_stay_unidentified(build: Build) -> None:
    """When two prompts give the same counts, their posterior is shared and the study is not identified."""
    scores, ones = world(build, 5)
    twin = [one for one in ones if one.axes == {"prompt": "chat", "length": "2048"}]
    ones += [
        build.greedy(sum(one.passes), id=f"twin{one.id}", model=one.model, axes={"prompt": "twin", "length": "2048"})
        for one in twin
    ]
    ones += [
        build.greedy(sum(one.passes), id=f"more{one.id}", model=one.model, axes={"prompt": "more", "length": "2048"})
        for one in twin
    ]
    found = identify(scores, "9", ones, names={})
    assert not found.identified
    assert found.effective == pytest.approx(3, abs=0.1)
    length = {one.level: one.posterior for one in found.levels if one.axis == "length"}
    assert length["2048"] > 0.99
    assert "not identified" in found.sentence


def test_numbers_from_elsewhere_are_none_of_these(build: Build) -> None:
    """Values that no configuration prints leave the mass with 'none of these'."""
    _, ones = world(build, 3)
    scores = [build.score(value, model=f"m{i}", sources=("9",)) for i, value in enumerate(("90.2", "95.7", "87.8"))]
    found = identify(scores, "9", ones, names={})
    assert found.none > 0.99
    assert not found.identified


def test_quoted_values_do_not_count(build: Build) -> None:
    """A value that another source printed as well is no evidence of this source's settings."""
    scores, ones = world(build, 3)
    quoted = [build.score(score.value, model=score.model, sources=("8", "9")) for score in scores]
    assert identify(quoted, "9", ones, names={}).used == ()
    assert identify_all(quoted, ones, names={}) == []


def test_marginals_are_distributions(build: Build) -> None:
    """Prior and posterior of every axis sum to one, and information is never negative."""
    scores, ones = world(build, 2)
    found = identify(scores, "9", ones, names={}, weights={"prompt": {"chat": 3.0}})
    for axis in ("prompt", "length"):
        assert sum(one.prior for one in found.levels if one.axis == axis) == pytest.approx(1)
        assert sum(one.posterior for one in found.levels if one.axis == axis) == pytest.approx(1)
    assert found.bits >= 0
    assert next(one.prior for one in found.levels if one.level == "chat") == pytest.approx(3 / 5)


def test_levels_can_be_common_under_different_names(build: Build) -> None:
    """Each model's own template is one level, 'suggested', when the study says so."""
    scores, ones = world(build, 5)
    own = {"chat": "own-{}"}
    ones = [
        replace(one, axes={**one.axes, "prompt": own.get(one.axes["prompt"], one.axes["prompt"]).format(one.model)})
        for one in ones
    ]
    same = {(f"m{i}", "prompt", f"own-m{i}"): "suggested" for i in range(5)}
    found = identify(scores, "9", ones, names={}, same_level=same)
    assert found.identified
    assert dict(found.top)["prompt"] == "suggested"


def test_exact_bounds_lose_no_match(build: Build) -> None:
    """Whatever the order, a run is never stopped while one of the values can still be printed."""
    pick = random.Random(5)
    accepted = targets([build.score("29.3"), build.score("48.8")], 164, 1)
    assert accepted == [(48, 48), (80, 80)]
    for count in (48, 80):
        outcomes = [1] * count + [0] * (164 - count)
        pick.shuffle(outcomes)
        assert all(reachable(sum(outcomes[:k]), k, 164, accepted) for k in range(165))
    assert not reachable(81, 100, 164, accepted)
    assert not reachable(10, 140, 164, accepted)


def test_settled_only_when_nothing_is_open(build: Build) -> None:
    """A run may stop when every value is ruled out, not when one is open, and never without any value."""
    run = build.greedy(100, judged=120)
    assert settled(run, [build.score("29.3")])
    assert not settled(run, [build.score("29.3"), build.score("70.1")])
    assert not settled(run, [])
    assert match(run, build.score("29.3")).kind == "ruled out"


def test_the_predicted_direction_decides_sooner(build: Build) -> None:
    """Easy problems first exclude a target below the score sooner than the benchmark's own order."""
    rates = [0.1] * 82 + [0.9] * 82
    outcomes = [0] * 82 + [1] * 82
    accepted = targets([build.score("24.4")], 164, 1)

    def needed(order: list[int]) -> int:
        passed = 0
        for done, index in enumerate(order, start=1):
            passed += outcomes[index]
            if not reachable(passed, done, 164, accepted):
                return done
        return 164

    assert needed(problem_order(rates, 0.5, 0.244)) < needed(list(range(164))) < 164
    assert problem_order([0.2, 0.9, 0.5], 0.1, 0.9) == [0, 2, 1]


def test_predictions_come_from_the_nearest_configurations(build: Build) -> None:
    """A configuration is predicted near the finished one that shares most of its axes, or not at all."""
    near = build.greedy(82, id="a", axes={"prompt": "chat", "length": "2048"})
    far = build.greedy(16, id="b", axes={"prompt": "bare", "length": "512"})
    new = build.greedy(0, id="c", judged=0, axes={"prompt": "chat", "length": "2048", "precision": "f16"})
    predicted = predicted_score(new, [near, far])
    assert predicted == pytest.approx((16 * 0.5 + 16 / 164) / 17)
    assert predicted_score(new, []) is None
    assert estimated_pass_rates([near, far])[0] == pytest.approx(3 / 4)


def test_a_gap_like_a_known_one_comes_first() -> None:
    """23 points too high on codegemma's HumanEval resembles the thread on untouched defaults; 23 too low does not."""
    high, low = (leads("codegemma (2B)", "humaneval", gap=gap)[0] for gap in (22.0, -22.0))
    assert high.cause.thread == "bigcode-project/bigcode-evaluation-harness#261"
    assert high.alike and "a gap like this one" in high.sentence
    assert not low.alike


def test_a_size_alone_is_no_lead() -> None:
    """A model that shares no more than a 2 with those of the threads, on a benchmark of its own, leads nowhere."""
    assert leads("SmolLM2 (135M)", "bugfix-mini", gap=5.0) == []


def test_leads_name_threads_on_the_same_model() -> None:
    """A claim on WizardCoder leads to the thread on its decoding first, and says whether the grid varied that."""
    found = leads("WizardCoder (15B)", "humanevalfix-python", varied={"decoding"})
    assert found[0].cause.thread == "bigcode-project/octopack#18"
    assert found[0].searched
    assert "varied in this grid" in found[0].sentence
    assert leads("CodeLlama (7B)", "humaneval")[0].cause.model.casefold() == "codellama-7b"


@pytest.mark.parametrize("settings", [1, 2])
def test_among_one_or_two_settings_nothing_is_identified(build: Build, settings: int) -> None:
    """Where so few are measured, the effective number is at most two whatever the numbers say."""
    scores, ones = world(build, 5)
    kept = [
        one
        for one in ones
        if (one.axes["prompt"], one.axes["length"]) in (("chat", "2048"), ("bare", "512"))[:settings]
    ]
    found = identify(scores, "9", kept, names={})
    assert found.effective <= 2 and found.none < 0.05
    assert not found.identified
    assert f"{settings} measured: more are needed to tell settings apart" in found.sentence
