"""What a GGUF file says of itself: metadata and tensor infos, read without loading any weights."""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cache.errors import FileError

Value = int | float | bool | str | tuple["Value", ...]

LONGEST_ARRAY = 512
"""Metadata arrays longer than this (vocabularies, merges) are skipped; per-layer arrays are kept."""

# id -> (name, weights per block, bytes per block)
TENSOR_TYPES: Mapping[int, tuple[str, int, int]] = {
    0: ("f32", 1, 4), 1: ("f16", 1, 2), 2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24), 8: ("q8_0", 32, 34), 9: ("q8_1", 32, 36), 10: ("q2_k", 256, 84), 11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144), 13: ("q5_k", 256, 176), 14: ("q6_k", 256, 210), 15: ("q8_k", 256, 292),
    16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74), 18: ("iq3_xxs", 256, 98), 19: ("iq1_s", 256, 50),
    20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82), 23: ("iq4_xs", 256, 136),
    24: ("i8", 1, 1), 25: ("i16", 1, 2), 26: ("i32", 1, 4), 27: ("i64", 1, 8), 28: ("f64", 1, 8),
    29: ("iq1_m", 256, 56), 30: ("bf16", 1, 2), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66), 39: ("mxfp4", 32, 17),
}  # fmt: skip

FILE_TYPES: Mapping[int, str] = {
    0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s", 12: "q3_k_m",
    13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k", 30: "iq4_xs", 32: "bf16",
}  # fmt: skip
"""`general.file_type` -> the precision's usual name."""

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class Header:
    """The head of a GGUF file: metadata (long arrays left out), parameters, and tensor bytes and counts by type name.

    `size` is the file's length in bytes; `weight_bytes` what the tensors take of it.
    """

    metadata: Mapping[str, Value]
    parameters: int
    tensor_types: Mapping[str, int]
    weight_bytes: int
    size: int
    tensor_names: frozenset[str]

    def text(self, key: str, default: str = "") -> str:
        """A metadata value as text; `default` where the file does not have it."""
        found = self.metadata.get(key)
        return default if found is None else str(found)

    def number(self, key: str, default: int = 0) -> int:
        """A whole-number metadata value; the largest entry of a per-layer array; `default` where there is none."""
        found = self.metadata.get(key)
        if isinstance(found, tuple):
            return max((int(item) for item in found if isinstance(item, int)), default=default)
        return int(found) if isinstance(found, (int, float)) else default

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the architecture (`llama`, `gemma3`, ...)."""
        return self.text("general.architecture", "unknown")

    @property
    def precision(self) -> str:
        """The file's precision (`f16`, `q4_k_m`, ...), by its own statement, else by the type of most of its tensors'
        bytes.
        """
        stated = self.metadata.get("general.file_type")
        if isinstance(stated, int) and stated in FILE_TYPES:
            return FILE_TYPES[stated]
        return max(self.tensor_types, key=lambda name: self.tensor_types[name], default="unknown")

    @property
    def bits_per_weight(self) -> float:
        """Average over all tensors."""
        return 8 * self.weight_bytes / max(self.parameters, 1)


class _Reader:
    """Bounds-checked reads; running off the end says that the file is cut short."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self.data, self.path, self.at = data, path, 0

    def broken(self, why: str) -> FileError:
        return FileError(f"{self.path} is no whole GGUF file: {why}; fetch it again or give another file")

    def take(self, form: str) -> tuple[int | float | bool, ...]:
        size = struct.calcsize("<" + form)
        if self.at + size > len(self.data):
            raise self.broken("it ends inside its header")
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return found

    def integer(self, form: str) -> int:
        return int(self.take(form)[0])

    def skip_string(self) -> None:
        size = self.integer("Q")
        if size > len(self.data) - self.at:
            raise self.broken("it ends inside its header")
        self.at += size

    def string(self) -> str:
        start = self.at + 8
        self.skip_string()
        return self.data[start : self.at].decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Value | None:
        if kind == _STRING:
            return self.string()
        if kind in _SCALARS:
            return self.take(_SCALARS[kind])[0]
        if kind != _ARRAY or depth > 2:
            raise self.broken(f"its metadata holds an unknown value type {kind}")
        inner, count = self.integer("I"), self.integer("Q")
        if count > len(self.data) - self.at:
            raise self.broken("it ends inside its header")
        if count <= LONGEST_ARRAY:
            items = (self.value(inner, depth + 1) for _ in range(count))
            return tuple(item for item in items if item is not None)
        self.skip_array(inner, count)
        return None

    def skip_array(self, inner: int, count: int) -> None:
        if inner in _SCALARS:
            self.at += count * struct.calcsize(_SCALARS[inner])
        elif inner == _STRING:
            for _ in range(count):
                self.skip_string()
        else:
            raise self.broken(f"its metadata holds an unknown value type {inner}")


def read_header(path: Path) -> Header:
    """Read a GGUF file's head and check that its tensors lie within the file.

    `FileError` when the file is missing, no GGUF, cut short, of an unknown version, or one shard of several.
    """
    with _opened(path) as read:
        return _parse(read)


def token_texts(path: Path, ids: Collection[int]) -> dict[int, str]:
    """Texts of some tokens of the file's vocabulary by id; ids that it does not have are left out. Errors as above."""
    with _opened(path) as read:
        read.at = 16
        for _ in range(read.integer("Q")):
            key, kind = read.string(), read.integer("I")
            if key != "tokenizer.ggml.tokens":
                read.value(kind)
                continue
            inner, count = read.integer("I"), read.integer("Q")
            if kind != _ARRAY or inner != _STRING:
                raise read.broken("its vocabulary is no list of texts")
            found = {}
            for number in range(count):
                if number in ids:
                    found[number] = read.string()
                else:
                    read.skip_string()
            return found
    return {}


@contextmanager
def _opened(path: Path) -> Iterator[_Reader]:
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise FileError(f"{path} is no GGUF file; give a model in llama.cpp's GGUF format")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield _Reader(data, path)
    except FileNotFoundError:
        raise FileError(f"there is no model file {path}; check the path") from None
    except OSError as error:
        raise FileError(f"cannot read the model file {path}: {error.strerror or error}") from error


def _parse(read: _Reader) -> Header:
    read.at = 4
    version = read.integer("I")
    if version not in (2, 3):
        raise read.broken(f"its GGUF version is {version} (2 and 3 can be read)")
    tensors, pairs = read.integer("Q"), read.integer("Q")
    metadata: dict[str, Value] = {}
    for _ in range(pairs):
        key, kind = read.string(), read.integer("I")
        value = read.value(kind)
        if value is not None:
            metadata[key] = value
    found = Header(metadata, 0, {}, 0, len(read.data), frozenset())
    shards = found.number("split.count", 1)
    if shards > 1:
        raise FileError(f"{read.path} is one of {shards} shards; join them with `llama-gguf-split --merge` first")
    return _with_tensors(read, found, tensors)


def _with_tensors(read: _Reader, head: Header, count: int) -> Header:
    types: Counter[str] = Counter()
    names = set()
    parameters = weight_bytes = end = 0
    for _ in range(count):
        names.add(read.string())
        dimensions = read.integer("I")
        if dimensions > 8:
            raise read.broken("a tensor has more than 8 dimensions")
        weights = 1
        for size in read.take("Q" * dimensions):
            weights *= int(size)
        kind, offset = read.integer("I"), read.integer("Q")
        name, block, block_bytes = TENSOR_TYPES.get(kind, (f"type {kind}", 1, 0))
        size_bytes = -(-weights // block) * block_bytes
        types[name] += 1
        parameters += weights
        weight_bytes += size_bytes
        end = max(end, offset + size_bytes)
    alignment = head.number("general.alignment", 32) or 32
    start = -(-read.at // alignment) * alignment
    if start + end > head.size:
        raise read.broken(f"its tensors end at byte {start + end}, the file at {head.size}: it was cut short")
    return Header(head.metadata, parameters, dict(types), weight_bytes, head.size, frozenset(names))
