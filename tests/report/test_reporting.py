"""A store's run becomes evidence: nothing is counted twice, nothing that is missing is made up, nothing raises."""

from __future__ import annotations

import cProfile
import json
import pstats
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cache.errors import StoreError
from cache.store import Store
from engine.environment import describe, provenance_key, with_life
from engine.events import ModelLoaded, to_dict
from engine.settings import Decoding, Grid, reference_grid
from tui.reporting import collect, preview, write_report
from tui.study import ModelChoice

MADE = 1_700_000_000.0


def test_no_such_run_is_the_stores_error(store: Store) -> None:
    """A run id that is not there is refused by name, before anything is written."""
    with pytest.raises(StoreError, match="holds no run 7"):
        collect(store, 7)


def test_a_shared_reply_is_at_the_limit_of_the_shorter_configuration_only(
    store: Store, scene: Any, study_of: Any
) -> None:
    """One reply of 400 tokens after a prompt of 200 fits 2048 and is still going at 512."""
    grid = Grid(benchmark=study_of().grid.benchmark, template=("chat",), max_length=(512, 2048))
    given = collect(store, scene(study=study_of(grid=grid), tokens=400).write(store))
    assert [(c.measurement.axes["length"], c.tally.at_limit, c.tally.replies) for c in given.configurations] == [
        ("512", 4, 4), ("2048", 0, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(("stop", "tokens", "at_limit"), [("end", 312, 0), ("limit", 312, 4), ("cut", 313, 4)])
def test_a_reply_that_fills_the_room_exactly(
    store: Store, scene: Any, study_of: Any, stop: str, tokens: int, at_limit: int
) -> None:
    """With 312 tokens of room, a reply of 312 ended if it says so; one more token is one too many."""
    grid = Grid(benchmark=study_of().grid.benchmark, template=("chat",), max_length=(512,))
    given = collect(store, scene(study=study_of(grid=grid), tokens=tokens, stop=stop).write(store))
    assert given.configurations[0].tally.at_limit == at_limit


def test_a_run_taken_up_again_counts_each_sample_once(store: Store, scene: Any) -> None:
    """The same facts stated by a second life of the worker change no count."""
    made = scene()
    run = made.write(store)
    before = collect(store, run)
    store.append(run, [body for _, _, body in store.events(run)])
    after = collect(store, run)
    assert [c.tally for c in after.configurations] == [c.tally for c in before.configurations]
    assert [len(model.cards) for model in after.models] == [1]
    assert after.configurations[0].pointer == before.configurations[0].pointer


def test_another_file_in_a_second_life_is_shown_beside_the_first(store: Store, scene: Any, card_of: Any) -> None:
    """When a resumed run loaded other weights under the same name, both hashes are in the report."""
    run = scene().write(store)
    store.append(run, [to_dict(ModelLoaded("small", "f16", card_of(sha256="77" * 32), 8, 1.0))])
    given = collect(store, run)
    assert [card.sha256 for card in given.models[0].cards] == ["ab" * 32, "77" * 32]
    text = preview(store, run)
    assert "77" * 32 in text and "ab" * 32 in text


def test_facts_of_a_newer_version_are_left_aside_and_counted(store: Store, scene: Any) -> None:
    """Facts that cannot be read, and facts about what nobody announced, are counted and change nothing."""
    run = scene().write(store)
    strange = {"fact": "Judged", "configuration": "nobody", "task_id": "x", "sample": 0, "key": "", "kind": "passed"}
    store.append(run, [{"fact": "Dreamt", "of": "sheep"}, strange, {"no": "fact"}])
    given = collect(store, run)
    assert given.run.unread == 3
    assert [c.state for c in given.configurations] == ["finished", "finished"]
    assert "3 of " in preview(store, run)


def test_a_worker_that_is_gone_left_a_run_that_died(store: Store, scene: Any) -> None:
    """A run whose row says running while no process works on it is reported as died."""
    run = scene(judged=1).write(store)
    store.set_state(run, "running", release=True)
    assert collect(store, run).run.state == "died"
    assert "died" in preview(store, run)


def test_a_table_that_is_gone_is_said(store: Store, scene: Any, study_of: Any) -> None:
    """A missing table of reported scores does not stop the report; it says which and why."""
    run = scene(study=study_of(tables=("gone.csv",))).write(store)
    assert any("gone.csv" in problem for problem in collect(store, run).problems)
    assert "gone.csv" in preview(store, run)


def test_a_study_that_cannot_be_read_is_said(store: Store, scene: Any, tmp_path: Path) -> None:
    """A run with a broken study text still has its scores; the text goes beside the report as it is."""
    run = scene().write(store)
    broken = store.create_run("broken", "name = ", {})
    store.append(broken, [body for _, _, body in store.events(run)])
    given = collect(store, broken)
    assert [c.state for c in given.configurations] == ["finished", "finished"]
    assert any("cannot be read" in problem for problem in given.problems)
    write_report(store, broken, tmp_path / "out")
    assert (tmp_path / "out" / "study.toml").read_text(encoding="utf-8") == "name = "


def test_a_run_of_nothing_at_all_makes_a_report(store: Store) -> None:
    """Neither study, nor job, nor facts: the report says so and does not fail."""
    text = preview(store, store.create_run("", "", {}))
    assert text.startswith("# Untitled study")
    assert "This run has stated nothing" in text


def test_reported_scores_are_those_of_the_studys_models(store: Store, scene: Any, study_of: Any) -> None:
    """Of a table only the rows under a name that a model of the study goes by are in the report."""
    models = (ModelChoice("small", "small.gguf", ("DeepSeekCoder-Inst (1.3B)",)),)
    given = collect(store, scene(study=study_of(tables=("humanevalfix",), models=models)).write(store))
    assert [score.label for score in given.reported] == ["9.1 [16]", "29.3 [21]", "48.9 [27]"]


def test_provenance_of_two_lives_stands_side_by_side(store: Store, scene: Any) -> None:
    """When the worker's second life ran elsewhere, both machines are shown; an equal life is not repeated."""

    class Level:
        level, identity = "namespaces", "CPython 3.11.9, fork server"

    class Fixed:
        name, sha256 = "humanevalfixtests-python", "ef" * 32

        def facts(self) -> dict[str, Any]:
            return {"revision": "9a41762", "prelude": ["import math", "import re"]}

    here = replace(describe(), cpu="First CPU")
    benchmarks: Any = [Fixed()]
    sandbox: Any = Level()
    first = with_life(None, benchmarks, sandbox, here)
    assert with_life(first, benchmarks, sandbox, here) == first
    second = with_life(first, benchmarks, sandbox, replace(here, cpu="Second CPU"))
    run = scene(provenance=None).write(store)
    store.put_fact(provenance_key(run), second)
    given = collect(store, run)
    assert {f.name: f.value for f in given.environment}["processor"] == "First CPU / Second CPU"
    assert {f.name: f.known for f in given.sandbox} == {"level": "measured", "mode": "unknown", "identity": "measured"}
    facts = {f.name: (f.value, f.known, f.pointer) for f in given.benchmarks[0].facts}
    assert facts["sha256"] == ("ef" * 32, "measured", f"fact {provenance_key(run)}")
    assert facts["prelude"][0] == "import math, import re"
    assert {f.name: f.value for f in given.sandbox}["identity"] == "CPython 3.11.9, fork server"


def test_mode_and_level_of_the_sandbox_are_shown(store: Store, scene: Any) -> None:
    """The level comes from the run's first fact, the mode out of the sandbox's own identity."""
    given = collect(store, scene().write(store))
    assert [(f.name, f.value) for f in given.sandbox][:2] == [("level", "namespaces"), ("mode", "split")]


def test_a_machine_that_did_not_say_is_unknown_not_absent(store: Store, scene: Any) -> None:
    """Where nobody could look for a GPU, the environment has a line that says unknown."""
    recorded = scene().provenance
    recorded["lives"][0]["environment"] |= {"gpu_note": "not looked for", "gpu_looked": False}
    found = {f.name: f for f in collect(store, scene(provenance=recorded).write(store)).environment}
    assert (found["NVIDIA GPU"].known, found["NVIDIA GPU"].value) == ("unknown", "")
    assert found["processor"].known == "measured"


def test_sixty_configurations_of_164_problems_take_seconds_not_minutes(
    store: Store, scene: Any, study_of: Any, tmp_path: Path
) -> None:
    """The reference study's grid, with reported scores to match against, is collected and written in so many function
    calls, whatever a machine needs for one: a laptop makes some millions a second.
    """
    grid = reference_grid("humanevalfixtests-python")
    models = (ModelChoice("small", "small.gguf", ("CodeLlama-Inst (13B)",)),)
    run = scene(
        study=study_of(grid=grid, models=models, tables=("humanevalfix",)), problems=164, passing=range(30)
    ).write(store)
    with cProfile.Profile() as profile:
        paths = write_report(store, run, tmp_path / "out")
    assert pstats.Stats(profile).total_calls < 20_000_000  # type: ignore[attr-defined]
    content = json.loads(paths[1].read_text(encoding="utf-8"))
    assert (len(content["scores"]), content["run"]["finished"]) == (60, 60)
    assert [len(claim["matches"]) for claim in content["matches"]] == [60] * 6


def test_greedy_collapses_before_it_is_counted(store: Store, scene: Any, study_of: Any) -> None:
    """n = 20 on a greedy configuration is one sample per problem in the report too."""
    grid = Grid(benchmark=study_of().grid.benchmark, template=("chat",), decoding=(Decoding(),), samples=(20,))
    given = collect(store, scene(study=study_of(grid=grid)).write(store))
    assert [(c.measurement.samples, c.tally.asked) for c in given.configurations] == [(1, 4)]
