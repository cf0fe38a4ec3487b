"""What `scoretrace match` says beyond verdicts: settings, leads, placebo, identification, what may stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.scoring import Score
from engine.settings import Decoding, Grid
from tui.claims import claim_lines, claim_objects, settings_of, told
from tui.reading import Literature
from tui.study import ModelChoice, Study

NAME = "DeepSeekCoder-Inst (1.3B)"
GRID = Grid(
    benchmark=("humanevalfixtests-python", "humanevalfixdocs-python"), decoding=(Decoding(), Decoding(0.2)),
    max_length=(512, 2048), samples=(20,),
)  # fmt: skip
COUNTS = {("tests", "512"): 27, ("tests", "2048"): 35, ("docs", "512"): 40, ("docs", "2048"): 48}


@pytest.fixture(scope="module")
def study() -> Study:
    """One model, both variants, greedy and T=0.2 with n=20, two lengths."""
    return Study("s", GRID, (ModelChoice("deepseek", "x.gguf", (NAME,)),), ("humanevalfix",))


@pytest.fixture(scope="module")
def literature() -> Literature:
    """The shipped table."""
    found = Literature()
    found.add("humanevalfix")
    return found


def scores(study: Study) -> list[Score]:
    """Greedy configurations finished, the sampled ones with two of twenty samples: 27 % of them pass."""
    found = []
    for configuration in study.configurations():
        score = Score(configuration, [f"Python/{index}" for index in range(164)])
        variant = "docs" if "docs" in configuration.benchmark else "tests"
        if configuration.decoding.greedy:
            count = COUNTS[variant, str(configuration.max_length)]
            score.passes, score.judged = [1] * count + [0] * (164 - count), [1] * 164
        else:
            score.passes, score.judged = [2] * 44 + [1] * 4 + [0] * 116, [2] * 164
        found.append(score)
    return found


def test_lines_name_settings_leads_placebo_and_sources(study: Study, literature: Literature) -> None:
    """Each of the three reported values gets its block; what they come to together stands below."""
    text = "\n".join(claim_lines(study, literature, scores(study)))
    for words in (
        "29.3 [21]: reproduced, not identified",
        "states greedy",
        "not stated, by the defaults of bigcode-evaluation-harness",
        "length 512",
        "4 of 8 configurations agree with that, best of them: ",
        "another task variant: deepseek on humanevalfixdocs-python prints 29.3",
        "a lead, not a finding: ",
        "placebo: 1 of 3 reported values",
        "[21] ",
        "95 % set",
    ):
        assert words in text, words


def test_objects_hold_the_same(study: Study, literature: Literature) -> None:
    """Claims first, then one object a source and one for the placebo; all of it is JSON."""
    found: list[dict[str, Any]] = list(claim_objects(study, literature, scores(study)))
    json.dumps(found)
    assert [one.get("kind", "claim") for one in found] == ["claim"] * 3 + ["identification"] * 3 + ["placebo"]
    high = next(one for one in found if one.get("value") == "48.9")
    assert high["matching"] == 0
    assert high["leads"] and high["leads"][0]["thread"]
    assert high["stated"]["samples"] == "20"
    (assumed,) = high["by_harness_defaults"]
    assert assumed["assumed"] == {"top_k": "0", "seed": "0", "length": "512", "precision": "f32"}
    assert "temperature" not in assumed["assumed"], "what a source states is never assumed"
    assert sum(one["posterior"] for one in found[3]["inside"]) >= 0.95


def test_the_sequential_rule_stops_what_the_bound_cannot(study: Study, literature: Literature) -> None:
    """After two of twenty samples, 28 % cannot become 48.9, but 29.3 keeps it: only a study without 29.3 may stop."""
    low = Literature()
    low.add("humanevalfix")
    kept = [score for score in low.reported(study.models[0], GRID.benchmark) if score.value == "48.9"]
    low.reported = lambda choice, benchmarks, **_: kept  # type: ignore[method-assign]
    assert not told(study, low, scores(study)).stops
    stops = told(study, low, scores(study), "sequential").stops
    assert len(stops) == 4
    stop = next(iter(stops.values()))
    assert stop.low <= 3280 * 0.28 <= stop.high < 3280 * 0.48
    assert "no score" in stop.sentence and "at most 1%" in stop.sentence
    assert not told(study, literature, scores(study), "sequential").stops


def test_settings_keep_the_sources_words_apart(literature: Literature) -> None:
    """A source that names no harness gets no candidate; one that states greedy draws nothing."""
    found = {score.sources: score for entry in literature.entries for score in entry.scores}
    assert settings_of(found["23",])["by_harness_defaults"] == []
    (greedy,) = settings_of(found["21",])["by_harness_defaults"]
    assert greedy["assumed"] == {"samples": "1", "length": "512", "precision": "f32"}
    assert "not stated" in greedy["sentence"]


def test_pass_at_ten_stands_in_the_list_and_is_not_compared(study: Study, tmp_path: Path) -> None:
    """A reported pass@10 is neither matched nor a reason to go on asking; its line says that it is not compared."""
    rows = "".join(f"{NAME},humanevalfix-python,{metric},29.3,x\n" for metric in ("pass@1", "pass@10"))
    path = tmp_path / "t.csv"
    path.write_text(f"model,benchmark,metric,value,sources\n{rows}{NAME},humanevalfix-python,pass@1,about 29,x\n")
    literature = Literature()
    literature.add(str(path))
    literature.add("humanevalfix")
    assert [line.partition(": ")[0].rpartition("t.csv")[2] for line in literature.every_unread] == [":4:4"]
    assert not literature.unread, "the table added last has nothing unread"
    wanted = {score.metric for score in literature.reported(study.models[0], GRID.benchmark)}
    assert wanted == {"pass@1"}
    found = {
        (one["metric"], one["matching"] > 0): one["sentence"]
        for one in claim_objects(study, literature, scores(study))
        if "metric" in one
    }
    assert found["pass@10", False] == "pass@10 is not compared: what is measured here is pass@1"
    assert ("pass@1", True) in found


def test_what_a_table_holds_besides_is_counted(study: Study, tmp_path: Path) -> None:
    """Scores of other benchmarks and of models that nobody measures are named below the claims, not dropped."""
    path = tmp_path / "t.csv"
    path.write_text(f"Model,HumanEvalFix,MBPP+\n{NAME},29.3,50.1\nOther,1.5,\n")
    literature = Literature()
    literature.add(str(path))
    lines = list(claim_lines(study, literature, scores(study)))
    assert any(line.startswith(f"  {NAME}  29.3: ") for line in lines)
    aside = "  left aside: 1 of models that are not in the study, 1 of other benchmarks (MBPP+)"
    assert aside in lines
