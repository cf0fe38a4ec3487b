"""Choosing a shape: measured once, checked for independence, used by default, and never against what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from cache.files import ModelFile
from engine.errors import ModelError
from engine.models import calibrate, local
from engine.models.calibrate import Shape, in_order
from engine.models.independence import is_independent
from engine.models.local import LocalModel
from engine.models.open import open_model
from engine.protocols import Request
from engine.settings import Decoding

from .conftest import FakeDecoder, Logits, MemoryFacts

PROMPT = tuple(range(1, 48)) * 8


@pytest.fixture(scope="module")
def model(released: ModelFile) -> Iterator[LocalModel]:
    """The small model as released, on one thread."""
    opened = open_model("small", released, width=1, slot_tokens=256, threads=1)
    yield opened
    opened.close()


def test_calibration_measures_once_and_sets_the_shape(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Speeds of the shapes asked for, the independence of the one chosen, kept as a fact; slots keep their length."""
    monkeypatch.setattr(calibrate, "SECONDS", 1000.0)
    facts = MemoryFacts()
    found = calibrate.calibrate(model, facts, shapes=(Shape(8), Shape(4), Shape(4, 4)))
    assert set(found["tokens_per_second"]) == {"8", "4", "4x4"}
    assert found["tokens_per_step"]["1"] == 1.0
    assert 2.5 < found["tokens_per_step"]["4"] < 3.3, "as on HumanEvalFix"
    assert found["independent"] == {str(calibrate.shape_of(found)): True}
    assert Shape(model.decoder.width, model.decoder.block) == calibrate.shape_of(found)
    assert model.decoder.slot_tokens == 256
    assert calibrate.calibrate(model, facts) == found
    assert len(facts.kept) == 1


def test_opening_takes_the_calibrated_shape(released: ModelFile) -> None:
    """A shape that was measured for this file, build and device is used without being asked for; both are numerics."""
    facts = MemoryFacts()
    facts.put_fact(calibrate.key(released.sha256, local.CPU), {"width": 4, "block": 4, "independent": {"4x4": True}})
    opened = open_model("small", released, slot_tokens=256, threads=1, facts=facts)
    assert (opened.card.numerics["width"], opened.card.numerics["block"]) == ("4", "4")
    assert "4x4 was checked on this device: neither" in opened.card.metadata["independence"]
    opened.close()
    with pytest.raises(ModelError, match="open it again"):
        list(opened.generate([Request("a", (1,), Decoding(), 1, 0)]))


def test_a_width_that_is_asked_for_drafts_nothing(released: ModelFile) -> None:
    """Width 1 is strict: one row per step whatever was measured, and numerics that name no block."""
    facts = MemoryFacts()
    facts.put_fact(calibrate.key(released.sha256, local.CPU), {"width": 4, "block": 4, "independent": {"4x4": True}})
    opened = open_model("small", released, width=1, slot_tokens=256, threads=1, facts=facts)
    assert (opened.decoder.width, opened.decoder.block) == (1, 1)
    assert "block" not in opened.card.numerics
    assert opened.card.metadata["independence"] == "shape 1 was not checked on this device"
    opened.close()


def test_opening_measures_where_nothing_is_known(released: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a width and without an earlier measurement one is made and kept; without facts the default stands."""
    monkeypatch.setattr(calibrate, "SHAPES", (Shape(4),))
    facts = MemoryFacts()
    opened = open_model("small", released, slot_tokens=256, threads=1, facts=facts)
    assert opened.decoder.width == 4
    assert facts.fact(calibrate.key(released.sha256, local.CPU))
    opened.close()
    plain = open_model("small", released, slot_tokens=256, threads=1)
    assert (plain.decoder.width, plain.decoder.block) == (8, 1)
    plain.close()


def test_time_that_runs_out_leaves_shapes_unmeasured(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow model is not kept waiting for every shape: the first one is measured, and used."""
    monkeypatch.setattr(calibrate, "SECONDS", 0.0)
    found = calibrate.calibrate(model, shapes=(Shape(4), Shape(8)))
    assert set(found["tokens_per_second"]) == {"4"}


def test_the_smallest_width_that_is_nearly_the_fastest_is_tried_first() -> None:
    """Nine tenths of the best speed are good enough; of one width the faster block is taken; then the fastest."""
    speeds = {Shape(4): 80.0, Shape(8): 95.0, Shape(8, 4): 99.0, Shape(16): 100.0, Shape(16, 4): 90.0}
    assert in_order(speeds) == [Shape(8, 4), Shape(16), Shape(8), Shape(16, 4), Shape(4)]


def test_a_shape_in_which_neighbours_show_is_passed_over(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is checked and used; the fact says what failed. When all fail the fastest is used, and said so."""
    monkeypatch.setattr(calibrate, "SECONDS", 1000.0)
    monkeypatch.setattr(calibrate, "decode_speed", lambda decoder, prompt, start, clock: float(decoder.width))
    monkeypatch.setattr(calibrate, "is_independent", lambda decoder, prompt: decoder.width != 4)
    found = calibrate.calibrate(model, shapes=(Shape(1), Shape(4)))
    assert (found["independent"], found["width"]) == ({"4": False, "1": True}, 1)
    monkeypatch.setattr(calibrate, "is_independent", lambda decoder, prompt: False)
    found = calibrate.calibrate(model, shapes=(Shape(1), Shape(4)))
    assert (found["independent"], found["width"]) == ({"4": False, "1": False}, 4)


@pytest.mark.parametrize(("prefill", "depth"), [(1000.0, 280), (20.0, 100)])
def test_steps_are_measured_as_deep_as_a_second_of_prefill_allows(
    model: LocalModel, prefill: float, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wide shape loses more to attention, which short prompts hide; a model that reads slowly is not made to wait."""
    seen = []
    monkeypatch.setattr(calibrate, "_prefill_speed", lambda model, prompt, clock: prefill)
    monkeypatch.setattr(calibrate, "decode_speed", lambda decoder, prompt, start, clock: seen.append(start) or 1.0)
    monkeypatch.setattr(calibrate, "is_independent", lambda decoder, prompt: True)
    calibrate.calibrate(model, shapes=(Shape(1),))
    assert seen == [depth]


class LongNeighbour(FakeDecoder):
    """The longest neighbour shows, as a kernel's split of the attention span may."""

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        rows = super().decode(tokens, positions)
        rows += np.float32(max(positions) // 256) * np.float32(1e-6)
        return rows


class OddSlot(FakeDecoder):
    """A slot's number shows, as with kernels that take rows in fours at a width of six."""

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        rows = super().decode(tokens, positions)
        rows[-1] += np.float32(1e-6)
        return rows


class OddRow(FakeDecoder):
    """The row within a block shows."""

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        rows = super().decode(tokens, positions)
        rows[:, -1] += np.float32(1e-6)
        return rows


class Remembering(FakeDecoder):
    """Guesses that were taken back stay visible."""

    def __init__(self, width: int, block: int) -> None:
        super().__init__(width, block=block)
        self.taken_back = [0] * width

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        for slot, position in enumerate(positions):
            self.taken_back[slot] += position < len(self.slots[slot])
        rows = super().decode(tokens, positions)
        rows += np.array(self.taken_back, dtype=np.float32)[:, None, None] * np.float32(1e-6)
        return rows


@pytest.mark.parametrize("block", [1, 4, 8])
def test_a_clean_decoder_passes(block: int) -> None:
    """Every width passes where nothing shows."""
    assert all(is_independent(FakeDecoder(width, block=block), PROMPT) for width in (1, 4, 8, 16))


@pytest.mark.parametrize(
    "leaky", [LongNeighbour(8), LongNeighbour(4, block=4), OddSlot(4), OddSlot(8), OddSlot(8, block=4)]
)
def test_neighbours_that_show_are_noticed(leaky: FakeDecoder) -> None:
    """A last-bit difference caused by a long neighbour or by the slot's number fails the check."""
    assert not is_independent(leaky, PROMPT)


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("block", [4, 8])
def test_guesses_that_show_are_noticed(width: int, block: int) -> None:
    """A last-bit difference caused by a token's row, or by guesses that were taken back, fails the check."""
    assert not is_independent(OddRow(width, block=block), PROMPT)
    assert not is_independent(Remembering(width, block), PROMPT)
