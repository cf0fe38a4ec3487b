"""Layers on an accelerator, tested where there is none: the device is a fake, and so is what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cache.files import ModelFile
from engine.errors import ModelError
from engine.models import calibrate, llamacpp
from engine.models import open as opening
from engine.models.calibrate import Shape
from engine.models.open import open_model
from engine.protocols import Request
from engine.settings import Decoding

from .conftest import MemoryFacts, gguf_bytes

LAYERS = 11


class Card:
    """A device with room for `room` layers when a model is loaded, and for slots below `width_limit`."""

    def __init__(self, free: int, room: int, width_limit: int = 64) -> None:
        self.free, self.room, self.width_limit = free, room, width_limit
        self.tried: list[tuple[str, int]] = []
        self.open = 0

    def decoder(self, path: Path, *, threads: int, gpu_layers: int, flash_attention: bool) -> Any:
        self.tried.append(("load", gpu_layers))
        if gpu_layers > self.room:
            raise ModelError(f"llama.cpp cannot load {path}: cudaMalloc failed: out of memory")
        self.open += 1
        return FakeLoaded(self)


class FakeLoaded:
    """What stands for a loaded model."""

    def __init__(self, card: Card) -> None:
        self.card, self.width, self.block, self.slot_tokens, self.threads = card, 0, 1, 0, 1
        self.shaped = self.can_take_back = True

    def shape(self, width: int, slot_tokens: int, block: int = 1) -> None:
        self.card.tried.append(("shape", width))
        self.shaped = width <= self.card.width_limit
        if not self.shaped:
            raise ModelError(f"llama.cpp cannot make {width} slots of {slot_tokens} tokens: out of memory")
        self.width, self.slot_tokens, self.block = width, slot_tokens, block

    def close(self) -> None:
        self.card.open -= 1


@pytest.fixture
def file(tmp_path: Path) -> ModelFile:
    """A file of ten layers that no llama.cpp is asked to load."""
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes({"llama.block_count": LAYERS - 1}))
    return ModelFile(path, str(path), "0" * 64, "made")


def _with(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llamacpp, "devices", lambda: [llamacpp.Device("Fast card", card.free)])
    monkeypatch.setattr(llamacpp, "build", lambda: {"engine": "fake 1 (x)", "instruction sets": ""})
    monkeypatch.setattr(llamacpp, "LlamaDecoder", card.decoder)


def test_all_layers_are_offloaded_where_they_fit(file: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plenty of memory: every layer at the first try, and the device is named without a note."""
    card = Card(free=1 << 30, room=LAYERS)
    _with(card, monkeypatch)
    opened = open_model("m", file, threads=1, width=8)
    assert card.tried == [("load", LAYERS), ("shape", 8)]
    assert opened.device == "Fast card"


def test_the_device_is_asked_how_much_fits(file: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for about six of eleven layers, six are tried first, not all; the device names both numbers."""
    card = Card(free=40, room=LAYERS)
    _with(card, monkeypatch)
    opened = open_model("m", file, threads=1, width=8)
    assert card.tried[0] == ("load", 6)
    assert opened.device == "Fast card (6 of 11 layers), CPU"


def test_fewer_layers_are_tried_when_the_device_refuses(file: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of memory while loading or while making slots: the next smaller number, nothing left open on the way."""
    card = Card(free=1 << 30, room=6)
    _with(card, monkeypatch)
    opened = open_model("m", file, threads=1, width=8)
    assert [number for what, number in card.tried if what == "load"] == [11, 8, 5]
    assert card.open == 1
    opened.close()
    assert card.open == 0


def test_narrower_slots_are_tried_before_fewer_layers(file: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A measured shape that the device has no room for at this length: all layers stay, in a narrower shape."""
    card = Card(free=1 << 30, room=LAYERS, width_limit=16)
    _with(card, monkeypatch)
    facts = MemoryFacts()
    facts.put_fact(calibrate.key("0" * 64, "Fast card"), {"width": 64, "block": 4, "independent": {"64x4": True}})
    opened = open_model("m", file, threads=1, facts=facts)
    assert card.tried == [("load", LAYERS), ("shape", 64), ("shape", 32), ("shape", 16)]
    assert (opened.decoder.width, opened.decoder.block) == (16, 4)


def test_a_device_that_refuses_everything_is_an_error(file: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots that fit nowhere: the last reason is said, and nothing stays loaded."""
    card = Card(free=1 << 30, room=LAYERS, width_limit=4)
    _with(card, monkeypatch)
    monkeypatch.setattr(opening, "available_memory", lambda: 1 << 40)
    with pytest.raises(ModelError, match=r"8 slots .* out of memory"):
        open_model("m", file, threads=1, width=8)
    assert card.open == 0


def test_a_shape_that_the_device_refuses_is_not_measured(file: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calibration passes over slots that do not fit and chooses among the others; with none, what is loaded stays."""
    card = Card(free=1 << 30, room=LAYERS, width_limit=32)
    _with(card, monkeypatch)
    monkeypatch.setattr(calibrate, "_tokens", lambda model: (1, 2))
    monkeypatch.setattr(calibrate, "_prefill_speed", lambda model, prompt, clock: 1.0)
    monkeypatch.setattr(calibrate, "tokens_per_step", lambda texts, block: 1.0)
    monkeypatch.setattr(calibrate.sample, "replies", tuple)
    monkeypatch.setattr(calibrate, "decode_speed", lambda decoder, prompt, start, clock: float(decoder.width))
    monkeypatch.setattr(calibrate, "is_independent", lambda decoder, prompt: True)
    opened = open_model("m", file, threads=1, width=8)
    found = calibrate.calibrate(opened, shapes=(Shape(32), Shape(64), Shape(16)))
    assert found["tokens_per_second"] == {"32": 32.0, "16": 16.0}
    assert opened.decoder.width == 32
    assert calibrate.calibrate(opened, shapes=(Shape(64),))["width"] == 32


def test_running_out_of_memory_in_a_step_is_said_and_frees(released: ModelFile) -> None:
    """llama_decode cannot allocate: an error with the reason instead of a token; closing frees slots and weights."""
    opened = open_model("small", released, width=4, slot_tokens=256, threads=1)
    decoder = opened.decoder
    real = decoder._lib

    class Full:
        def __getattr__(self, name: str) -> Any:
            return (lambda context, batch: -2) if name == "llama_decode" else getattr(real, name)

    decoder._lib = Full()
    with pytest.raises(ModelError, match=r"out of memory while decoding 4 slots of 256 tokens.*choose a smaller width"):
        list(opened.generate([Request("a", (1, 2), Decoding(), 5, 0)]))
    opened.close()
    assert not decoder.shaped
    assert decoder._model is None
