"""The seven points: evidence makes a tick, and taking any piece of it away unmakes the tick."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from cache.store import Store
from literature.report.checklist import Item, checklist
from literature.report.evidence import MEASURED, SOURCE, UNKNOWN, USER, Fact, fact
from tui.reporting import collect, open_items


def points(store: Store, scene: Any) -> dict[int, Item]:
    return {item.number: item for item in checklist(collect(store, scene.write(store)))}


def test_a_run_with_all_its_evidence_has_every_point(store: Store, scene: Any) -> None:
    """A finished run that recorded everything, of a study that states the rest, holds all points."""
    run = scene().write(store)
    assert [(item.number, item.mark) for item in checklist(collect(store, run))] == [(n, "yes") for n in range(1, 8)]
    assert open_items(store, run) == ()


def without(study_of: Any, *names: str) -> Any:
    stated = {name: text for name, text in study_of().stated.items() if name not in names}
    return study_of(stated=stated)


@pytest.mark.parametrize("removed", ["sha256", "source_sha256", "tensor_types"])
def test_precision_needs_the_file_and_its_source(store: Store, scene: Any, card_of: Any, removed: str) -> None:
    """Without the loaded file's hash, its source's, or the tensor types, nobody knows what precision was run."""
    assert points(store, scene(card=card_of(**{removed: {} if removed == "tensor_types" else ""})))[1].mark == "unknown"


def test_precision_needs_somebody_who_says_what_was_released(store: Store, scene: Any, study_of: Any) -> None:
    """A file loaded unchanged is not yet the released precision."""
    assert points(store, scene(study=without(study_of, "released precision")))[1].mark == "unknown"


def test_a_derived_file_is_not_as_released(store: Store, scene: Any, card_of: Any) -> None:
    """A file made here from another one does not hold the first point, whatever its type."""
    item = points(store, scene(card=card_of(source_sha256="99" * 32, recipe="f16 from q8_0")))[1]
    assert item.mark == "no"
    assert any("f16 from q8_0" in answer.fact.value for answer in item.answers)


def test_another_released_precision_is_said(store: Store, scene: Any, study_of: Any) -> None:
    """F16 loaded where BF16 was released fails the point, although nothing was derived."""
    study = study_of(stated={**study_of().stated, "released precision": "bfloat16"})
    assert points(store, scene(study=study))[1].mark == "no"


def test_quantisation_is_read_off_the_tensors(store: Store, scene: Any, card_of: Any) -> None:
    """One quantised tensor type is enough to say no; no histogram at all is unknown."""
    assert points(store, scene(card=card_of(tensor_types={"F32": 60, "Q8_0": 1})))[2].mark == "no"
    assert points(store, scene(card=card_of(tensor_types={})))[2].mark == "unknown"


def test_a_float_file_made_of_a_quantised_one_is_quantised(store: Store, scene: Any, card_of: Any) -> None:
    """f16 from q4_1 holds the quantised weights; f16 from f32 does not; without a recipe nobody can say."""

    def mark(recipe: str) -> str:
        card = card_of(source_sha256="1" * 64, recipe=recipe, tensor_types={"F32": 60, "F16": 200})
        return points(store, scene(card=card))[2].mark

    assert mark("f16 from q4_1: adds nothing back") == "no"
    assert mark("f16 from f32") == "yes"
    assert mark("") == "unknown"


def test_nothing_loaded_answers_nothing_about_the_model(store: Store, scene: Any) -> None:
    """A run that states no loading leaves precision, quantisation, identity and framework unknown."""
    found = points(store, scene(cards=False))
    assert {n: found[n].mark for n in (1, 2, 6, 7)} == {1: "unknown", 2: "unknown", 6: "unknown", 7: "unknown"}


def test_the_authors_prompt_needs_a_template_or_a_word(store: Store, scene: Any, study_of: Any, card_of: Any) -> None:
    """The file's own chat template holds the point by its hash; without hash and the user's word it is unknown."""
    silent = without(study_of, "authors' prompt format")
    item = points(store, scene(study=silent))[3]
    assert item.mark == "yes"
    assert {a.fact.known for a in item.answers if a.holds == "yes"} == {SOURCE}
    assert points(store, scene(study=silent, card=card_of(template_sha256="")))[3].mark == "unknown"
    assert points(store, scene(study=silent, cards=False))[3].mark == "unknown"


def test_another_prompt_than_the_authors_is_said(store: Store, scene: Any, study_of: Any) -> None:
    """The user's word decides against the template that was run, too."""
    study = study_of(stated={**study_of().stated, "authors' prompt format": "deepseek"})
    assert points(store, scene(study=study))[3].mark == "no"


def test_a_template_of_the_harness_is_nobodys_format_yet(store: Store, scene: Any, study_of: Any) -> None:
    """A named template is unknown as the authors' format until somebody says that it is."""
    from engine.settings import Grid

    grid = Grid(benchmark=study_of().grid.benchmark, template=("instruct",))
    study = study_of(grid=grid, stated={})
    assert points(store, scene(study=study))[3].mark == "unknown"


def test_sampling_needs_twenty_samples(store: Store, scene: Any, study_of: Any) -> None:
    """T = 0.2 with five samples fails the point; with greedy beside it, it holds in part."""
    from engine.settings import Decoding, Grid

    benchmark = study_of().grid.benchmark
    few = Grid(benchmark=benchmark, template=("chat",), decoding=(Decoding(0.2),), samples=(5,))
    both = Grid(benchmark=benchmark, template=("chat",), decoding=(Decoding(), Decoding(0.2)), samples=(5,))
    assert points(store, scene(study=study_of(grid=few)))[4].mark == "no"
    assert points(store, scene(study=study_of(grid=both)))[4].mark == "in part"


def test_twenty_samples_asked_for_are_not_twenty_judged(store: Store, scene: Any) -> None:
    """While problems are open, the decoding point is unknown, not held."""
    assert points(store, scene(judged=3))[4].mark == "unknown"


def test_unknown_decoding_is_unknown_and_no_failure(store: Store, scene: Any, study_of: Any) -> None:
    """Generations that somebody else made do not always tell how tokens were chosen; that is no "no"."""
    from engine.settings import UNKNOWN_DECODING, Grid

    told = Grid(benchmark=study_of().grid.benchmark, template=("chat",), decoding=(UNKNOWN_DECODING,))
    assert points(store, scene(study=study_of(grid=told)))[4].mark == "unknown"


def test_length_counts_what_hit_the_limit(store: Store, scene: Any) -> None:
    """Replies still going at the limit and prompts without room fail the point, each with its number."""
    item = points(store, scene(tokens=1848, stop="limit"))[5]
    assert item.mark == "no"
    assert "84 were still going at the limit, 0 had no room" in item.answers[0].fact.value
    item = points(store, scene(kinds={3: "no room"}))[5]
    assert item.mark == "no"
    assert "0 were still going at the limit, 21 had no room" in item.answers[0].fact.value


@pytest.mark.parametrize("change", [{"replies": False}, {"kept": False}, {"judged": 2}])
def test_length_needs_to_know_how_every_reply_ended(store: Store, scene: Any, change: dict[str, Any]) -> None:
    """Without the replies' facts, without the kept prompts' lengths, or with problems open, the length is unknown."""
    assert points(store, scene(**change))[5].mark == "unknown"


@pytest.mark.parametrize(
    "removed",
    ["metadata", "sha256", "source_sha256", "recipe", "architecture", "parameters", "template_sha256", "tensor_types"],
)
def test_identity_needs_every_part(store: Store, scene: Any, card_of: Any, removed: str) -> None:
    """Each part of the model card that is missing leaves the identity unknown, and is named."""
    empty: Any = {"parameters": 0, "tensor_types": {}, "metadata": {}}.get(removed, "")
    item = points(store, scene(card=card_of(**{removed: empty})))[6]
    assert item.mark == "unknown"
    assert sum(answer.holds == "unknown" for answer in item.answers) == 1


@pytest.mark.parametrize("removed", ["tuning", "version"])
def test_tuning_and_version_need_a_source(store: Store, scene: Any, study_of: Any, removed: str) -> None:
    """What neither the user nor the file states is unknown."""
    item = points(store, scene(study=without(study_of, removed)))[6]
    assert item.mark == "unknown"
    assert [a.fact.name for a in item.answers if a.holds == "unknown"] == [removed]


def test_the_file_may_state_tuning_and_version(store: Store, scene: Any, study_of: Any, card_of: Any) -> None:
    """The model file's own metadata counts as stated by a source, not as measured."""
    card = card_of(metadata={"model": "Small", "finetune": "Instruct", "version": "v0.2"})
    item = points(store, scene(study=without(study_of, "tuning", "version"), card=card))[6]
    assert item.mark == "yes"
    told = {a.fact.name: a.fact for a in item.answers if a.fact.name in ("tuning", "version")}
    assert {name: (found.value, found.known) for name, found in told.items()} == {
        "tuning": ("Instruct", SOURCE), "version": ("v0.2", SOURCE),
    }  # fmt: skip


def test_a_file_without_a_chat_template_is_known_to_have_none(
    store: Store, scene: Any, study_of: Any, card_of: Any
) -> None:
    """The hash of no text is no template: it is told as such, and it is nobody's prompt format."""
    card = card_of(template_sha256=hashlib.sha256(b"").hexdigest())
    found = points(store, scene(study=without(study_of, "authors' prompt format"), card=card))
    assert found[3].mark == "unknown"
    assert "none in the file" in [answer.fact.value for answer in found[6].answers]


def test_a_recorder_that_says_unknown_is_believed(store: Store, scene: Any) -> None:
    """A benchmark revision that the worker recorded as unknown is unknown here too, and the reason is kept."""
    recorded = scene().provenance
    benchmark = next(iter(recorded["lives"][0]["benchmarks"].values()))
    benchmark["revision"] = "unknown: not the rows of the pinned revision"
    item = points(store, scene(provenance=recorded))[7]
    assert item.mark == "unknown"
    assert [a.fact.pointer for a in item.answers if a.holds == "unknown"] == ["not the rows of the pinned revision"]


def test_what_is_stated_of_one_model_is_not_believed_of_two(store: Store, scene: Any, study_of: Any) -> None:
    """With two models in the study, a statement must name its model; the other model's points stay open."""
    from tui.study import ModelChoice

    both = (ModelChoice("small", "small.gguf"), ModelChoice("large", "large.gguf"))
    assert points(store, scene(study=study_of(models=both)))[6].mark == "unknown"
    named = {f"{m.name}: {key}": text for m in both for key, text in study_of().stated.items()}
    assert points(store, scene(study=study_of(models=both, stated=named)))[6].mark == "yes"


def test_framework_needs_what_the_run_recorded_of_itself(store: Store, scene: Any) -> None:
    """Without a recorded environment, versions and benchmark hash are unknown; this machine's do not stand in."""
    given = collect(store, scene(provenance=None).write(store))
    item = checklist(given)[6]
    assert item.mark == "unknown"
    unknown = {a.fact.name for a in item.answers if a.holds == "unknown"}
    assert {"scoretrace version", "llama-cpp-python version", "Python", "sha256", "revision"} <= unknown
    assert {found.pointer for found in given.here} == {"this machine, when the report was written"}


def test_framework_needs_numerics_and_the_reference_check(store: Store, scene: Any, card_of: Any) -> None:
    """No engine build, or no reference check, or one with a wrong verdict: the point is not held."""
    assert points(store, scene(card=card_of(numerics={})))[7].mark == "unknown"
    assert points(store, scene(check=False))[7].mark == "unknown"
    item = points(store, scene(wrong=["Python/2 (correct body failed)"]))[7]
    assert item.mark == "in part"
    assert [a.fact.value for a in item.answers if a.holds == "no"] == [
        "3 of 4 correct bodies passed, 4 of 4 buggy bodies failed"
    ]


def test_every_answer_says_how_it_is_known(store: Store, scene: Any) -> None:
    """No answer is silent: it has a value with a pointer, or it is unknown; and a tick never stands on an unknown."""
    for change in ({}, {"cards": False}, {"started": False}, {"provenance": None}):
        for item in points(store, scene(**change)).values():
            assert item.answers or change
            for answer in item.answers:
                known = answer.fact.known != UNKNOWN
                assert known == bool(answer.fact.value)
                assert not known or answer.fact.pointer
                assert known or answer.holds != "yes"


def test_a_fact_without_a_pointer_cannot_be_made() -> None:
    """The value itself refuses a claim of knowledge without a place to look."""
    with pytest.raises(ValueError, match="pointer"):
        Fact("precision", "f16", MEASURED)
    with pytest.raises(ValueError, match="known as"):
        Fact("precision", "f16", "certain", "somewhere")
    assert fact("precision", "f16", USER, "").known == UNKNOWN
    assert fact("precision", "", USER, "study.toml", "not stated").pointer == "not stated"
