"""Parquet files as other programs write them give the rows that went in; damage is one error."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine.benchmarks.parquet import read_parquet, snappy
from engine.errors import BenchmarkError

FILES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "parquet_files.json").read_text(encoding="utf-8")
)["files"]


def content(name: str) -> bytes:
    """A file of the collection."""
    return base64.b64decode(FILES[name]["base64"])


@pytest.mark.parametrize("name", [name for name in FILES if FILES[name]["rows"]])
def test_rows_come_out_as_they_went_in(name: str) -> None:
    """Texts, numbers, lists, empty ones and missing ones, in any packing that is read here."""
    assert read_parquet(content(name), name) == FILES[name]["rows"]


@pytest.mark.parametrize(("name", "said"), [("zstd", "compression 6"), ("version 2", "data pages of version 2")])
def test_what_is_not_read_is_named(name: str, said: str) -> None:
    """Parts of the format that no benchmark needs are refused with the way out."""
    with pytest.raises(BenchmarkError, match=f"x.parquet: Parquet with {said}, .*convert the file to JSON Lines"):
        read_parquet(content(name), "x.parquet")


def test_damage_is_an_error_and_no_endless_loop() -> None:
    """A file cut short says so; whatever bytes are changed, the answer is rows or one error that names the file."""
    whole = content("humaneval")
    for end in (0, 4, 11, 100, len(whole) - 1):
        with pytest.raises(BenchmarkError, match="x: damaged Parquet"):
            read_parquet(whole[:end], "x")
    draw = random.Random(0)
    refused = 0
    for _ in range(400):
        changed = bytearray(whole)
        changed[draw.randrange(len(changed))] = draw.randrange(256)
        try:
            read_parquet(bytes(changed), "x")
        except BenchmarkError as error:
            assert str(error).startswith("x: ")
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (b"\x00", b""),
        (b"\x05\x10hello", b"hello"),
        (b"\x09\x08abc\x09\x03", b"abcabcabc"),  # copies six bytes from three back: the piece repeats
        (b"\x08\x0cabcd\x0e\x04\x00", b"abcdabcd"),
    ],
)
def test_snappy_s_literals_and_copies(packed: bytes, text: bytes) -> None:
    """Literals, copies near and far, and copies that overlap with themselves."""
    assert snappy(packed) == text


def test_snappy_that_points_outside_is_refused() -> None:
    """An offset before the start, or a size other than stated."""
    for packed in (b"\x05\x04ab\x05\x09", b"\x06\x10hello", b"\x05\x01\x00"):
        with pytest.raises((ValueError, IndexError)):
            snappy(packed)
