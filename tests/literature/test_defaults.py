"""What "evaluated with harness X" may mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from literature.defaults import agreeing, candidates, harness_defaults

if TYPE_CHECKING:
    from conftest import Build

BIGCODE = "bigcode-evaluation-harness"


def test_what_is_stated_is_never_assumed(build: Build) -> None:
    """The harness fills what the source leaves open, and no more."""
    (found,) = candidates(build.score("48.9", decoding="sampled", temperature="0.8", samples="20", harness=BIGCODE))
    assert found.assumed == {"top_p": "0.95", "top_k": "0", "seed": "0", "length": "512", "precision": "f32"}
    assert found.settings["temperature"] == "0.8"
    assert found.sentence.startswith("not stated, by the defaults of bigcode-evaluation-harness")
    assert "length counting prompt and reply" in found.sentence


def test_greedy_draws_nothing(build: Build) -> None:
    """Under greedy decoding no temperature, nucleus or seed is assumed, and one sample is taken."""
    (found,) = candidates(build.score("42.1", decoding="greedy", harness=BIGCODE))
    assert found.assumed == {"samples": "1", "length": "512", "precision": "f32"}


@pytest.mark.parametrize(
    ("harness", "benchmark", "expected"),
    [
        ("EvalPlus", "mbpp", {"decoding": "greedy", "samples": "1", "length": "768"}),
        ("lm-eval", "humaneval", {"decoding": "greedy", "samples": "1", "length": "1024"}),
        ("lm-eval", "mbpp", None),
        ("octopack", "humanevalfix-python", {"samples": "20", "length": "2048", "precision": "bf16"}),
        ("a harness of our own", "mbpp", None),
        ("", "mbpp", None),
    ],
)
def test_harnesses_by_name_and_benchmark(
    build: Build, harness: str, benchmark: str, expected: dict[str, str] | None
) -> None:
    """Names in any case; a default that holds for one benchmark says nothing of another; no harness, no candidate."""
    found = candidates(replace(build.score("50.0", harness=harness), benchmark=benchmark))
    assert bool(found) == (expected is not None)
    if expected:
        assert expected.items() <= found[0].assumed.items()


def test_measured_configurations_that_agree_are_found(build: Build) -> None:
    """Greedy, 512 and f32 agree with untouched defaults under greedy decoding; another length does not."""
    score = build.score("42.1", decoding="greedy", harness=BIGCODE)
    axes = {"decoding": "greedy", "length": "512", "precision": "f32", "samples": "1"}
    ones = [
        build.greedy(69, id="yes", axes=axes),
        build.greedy(69, id="long", axes={**axes, "length": "2048"}),
        build.sampled([1] * 164, 1, id="warm", axes={**axes, "decoding": "T=0.2"}),
    ]
    assert agreeing(score, ones) == ["yes"]
    assert agreeing(build.score("42.1", decoding="greedy"), ones) == ["yes", "long"], "what is stated counts alone too"
    assert agreeing(build.score("42.1", precision="f32"), ones) == [], "nothing is known of the decoding"


def test_every_row_names_a_harness_and_settings() -> None:
    """The data that ships is whole."""
    for one in harness_defaults():
        assert one.harness and one.names and one.settings
        assert one.counts in ("", "reply", "prompt and reply")
