"""Read a small Parquet file into rows: the form in which the hub keeps HumanEval, MBPP and MBPP+.

After the format's specification (apache/parquet-format), as far as files of text, numbers and lists of them need it:
data pages of version 1, PLAIN and dictionary encoding, snappy, gzip or no compression. The packages that read all of
Parquet are larger than everything else that Scoretrace installs but its inference engine.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import BenchmarkError

MAGIC = b"PAR1"
LARGEST = 256 << 20
"""The most bytes or entries of one page, unpacked."""

OPTIONAL, REPEATED = 1, 2
PLAIN, DICTIONARIES = 0, (2, 8)
DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE = 0, 1, 2
CODECS = {0: "none", 1: "snappy", 2: "gzip"}
NUMBERS = {1: "i", 2: "q", 4: "f", 5: "d"}
BOOLEAN, BYTES = 0, 6

Fields = dict[int, Any]


class _Unsupported(Exception):
    """A part of Parquet that is not read here."""


def read_parquet(data: bytes, source: str) -> list[dict[str, Any]]:
    """All rows of the file's content; `BenchmarkError` names the file when it is damaged or uses more of the format."""
    try:
        return _rows(data)
    except _Unsupported as error:
        raise BenchmarkError(
            f"{source}: Parquet with {error}, which is not read here; convert the file to JSON Lines"
        ) from error
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError, struct.error, zlib.error) as error:
        raise BenchmarkError(f"{source}: damaged Parquet ({error}); download the file again") from error


def _rows(data: bytes) -> list[dict[str, Any]]:
    if len(data) < 12 or data[-4:] != MAGIC:
        raise ValueError("its end is missing")
    (size,) = struct.unpack("<I", data[-8:-4])
    footer = _Thrift(data, len(data) - 8 - size).struct()
    leaves = _leaves(footer[2])
    rows: list[dict[str, Any]] = []
    for group in footer.get(4, ()):
        columns = {}
        for chunk in group[1]:
            facts = chunk[3]
            leaf = leaves[tuple(name.decode() for name in facts[3])]
            columns[leaf.name] = _column(data, facts, leaf)
        if {len(column) for column in columns.values()} != {group[3]}:
            raise ValueError("columns of unequal length")
        rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return rows


# the schema


@dataclass(frozen=True)
class _Leaf:
    """A column: its type, and the levels that say how much of its path is there; `at` is that of a list's items."""

    name: str
    kind: int
    definition: int
    repetition: int
    at: int


def _leaves(elements: Sequence[Fields]) -> dict[tuple[str, ...], _Leaf]:
    found = {}
    rest = iter(elements[1:])

    def walk(path: tuple[str, ...], definition: int, repetition: int, at: int) -> None:
        element = next(rest)
        path = (*path, element[4].decode())
        kind = element.get(3, 0)
        definition += kind in (OPTIONAL, REPEATED)
        if kind == REPEATED:
            repetition, at = repetition + 1, definition
        for _ in range(element.get(5, 0)):
            walk(path, definition, repetition, at)
        if not element.get(5):
            if repetition > 1 or (len(path) > 1 and not repetition):
                raise _Unsupported(f"nested column {'.'.join(path)}")
            found[path] = _Leaf(path[0], element[1], definition, repetition, at)

    for _ in range(elements[0][5]):
        walk((), 0, 0, 0)
    return found


# columns and pages


def _column(data: bytes, facts: Fields, leaf: _Leaf) -> list[Any]:
    if facts[4] not in CODECS:
        raise _Unsupported(f"compression {facts[4]}")
    position = min(facts[9], facts.get(11) or facts[9])
    dictionary: list[Any] = []
    items: list[Any] = []
    left = facts[5]
    while left > 0:
        reader = _Thrift(data, position)
        header = reader.struct()
        if header[1] not in (DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE):
            raise _Unsupported("data pages of version 2")
        position = reader.at + _size(header[3])
        body = _unpacked(data[reader.at : position], facts[4], _size(header[2]))
        if header[1] == DICTIONARY_PAGE:
            dictionary = _plain(body, leaf.kind, _size(header[7][1]))
        elif header[1] == DATA_PAGE:
            items += _page(body, header[5], leaf, dictionary)
            left -= header[5][1]
    return _lists(items, leaf) if leaf.repetition else [value for _, _, value in items]


def _page(body: bytes, header: Fields, leaf: _Leaf, dictionary: list[Any]) -> list[tuple[int, int, Any]]:
    """(repetition level, definition level, value or None) of every entry of a page."""
    count, at = _size(header[1]), 0
    levels = []
    for top in (leaf.repetition, leaf.definition):
        found = [0] * count
        if top:
            (size,) = struct.unpack_from("<I", body, at)
            found = _hybrid(body[at + 4 : at + 4 + size], top.bit_length(), count)
            at += 4 + size
        levels.append(found)
    repetitions, definitions = levels
    present = sum(level == leaf.definition for level in definitions)
    if header[2] == PLAIN:
        values = _plain(body[at:], leaf.kind, present)
    elif header[2] in DICTIONARIES:
        values = [dictionary[index] for index in _hybrid(body[at + 1 :], body[at], present)] if present else []
    else:
        raise _Unsupported(f"encoding {header[2]}")
    following = iter(values)
    return [
        (r, d, next(following) if d == leaf.definition else None)
        for r, d in zip(repetitions, definitions, strict=True)
    ]  # fmt: skip


def _lists(items: Sequence[tuple[int, int, Any]], leaf: _Leaf) -> list[Any]:
    rows: list[Any] = []
    for repetition, definition, value in items:
        if not repetition:
            rows.append(None if definition < leaf.at - 1 else [])
        if definition >= leaf.at:
            rows[-1].append(value)
    return rows


def _plain(body: bytes, kind: int, count: int) -> list[Any]:
    if kind in NUMBERS:
        return list(struct.unpack_from(f"<{count}{NUMBERS[kind]}", body))
    if kind == BOOLEAN:
        return [bool(body[i // 8] >> i % 8 & 1) for i in range(count)]
    if kind != BYTES:
        raise _Unsupported(f"type {kind}")
    found, at = [], 0
    for _ in range(count):
        (size,) = struct.unpack_from("<I", body, at)
        if at + 4 + size > len(body):
            raise ValueError("a text is cut short")
        found.append(body[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return found


def _hybrid(body: bytes, width: int, count: int) -> list[int]:
    """Whole numbers of `width` bits, in runs of one value and in packs of eight."""
    found: list[int] = []
    at = 0
    mask = (1 << width) - 1
    while len(found) < count:
        header, at = _varint(body, at)
        if header & 1:
            for _ in range(header >> 1):
                pack = int.from_bytes(body[at : at + width], "little")
                found += [pack >> width * i & mask for i in range(8)]
                at += width
        else:
            size = (width + 7) // 8
            found += [int.from_bytes(body[at : at + size], "little")] * min(header >> 1, count - len(found))
            at += size
    return found[:count]


def _size(value: int) -> int:
    """A size or count that the file states, when it can be one."""
    if not 0 <= value <= LARGEST:
        raise ValueError("a size is out of bounds")
    return value


# compression


def _unpacked(body: bytes, codec: int, size: int) -> bytes:
    if CODECS[codec] == "snappy":
        body = snappy(body)
    elif CODECS[codec] == "gzip":
        body = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, size + 1)
    if len(body) != size:
        raise ValueError("a page unpacks to another size than it states")
    return body


def snappy(body: bytes) -> bytes:
    """Unpack snappy's raw format (google/snappy, format_description.txt). ValueError or IndexError when damaged."""
    size, at = _varint(body, 0)
    _size(size)
    out = bytearray()
    while at < len(body):
        tag = body[at]
        at += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                more = length - 59
                length = int.from_bytes(body[at : at + more], "little")
                at += more
            out += body[at : at + length + 1]
            at += length + 1
            continue
        if tag & 3 == 1:
            length, offset = (tag >> 2 & 7) + 4, tag >> 5 << 8 | body[at]
            at += 1
        else:
            more = 2 if tag & 3 == 2 else 4
            length, offset = (tag >> 2) + 1, int.from_bytes(body[at : at + more], "little")
            at += more
        start = len(out) - offset
        if offset == 0 or start < 0 or len(out) > size:
            raise ValueError("snappy data points outside itself")
        piece = bytes(out[start : start + length])
        # A copy may reach into what it is about to write: the piece then repeats.
        out += (piece * (length // len(piece) + 1))[:length]
    if len(out) != size:
        raise ValueError("snappy data of another size than it states")
    return bytes(out)


# Thrift's compact protocol, in which all headers are written


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 70:
            raise ValueError("a number without end")


class _Thrift:
    """Reads values of Thrift's compact protocol from a place in the data; a struct is a dict by field number."""

    def __init__(self, data: bytes, at: int) -> None:
        if not 0 <= at < len(data):
            raise ValueError("an offset points outside the file")
        self.data, self.at = data, at

    def struct(self) -> Fields:
        """A struct's fields."""
        found: Fields = {}
        number = 0
        while kind := self._byte():
            delta, kind = kind >> 4, kind & 15
            number = number + delta if delta else self._int()
            # A boolean field's value is its type.
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return found

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _int(self) -> int:
        value, self.at = _varint(self.data, self.at)
        return value >> 1 ^ -(value & 1)

    def _binary(self) -> bytes:
        size, self.at = _varint(self.data, self.at)
        self.at += size
        return self.data[self.at - size : self.at]

    def _double(self) -> float:
        self.at += 8
        value: float = struct.unpack_from("<d", self.data, self.at - 8)[0]
        return value

    def _items(self) -> list[Any]:
        header = self._byte()
        count, kind = header >> 4, header & 15
        if count == 15:
            count, self.at = _varint(self.data, self.at)
        return list(self._each(kind, count))

    def _each(self, kind: int, count: int) -> Iterator[Any]:
        for _ in range(count):
            yield self._byte() == 1 if kind in (1, 2) else self._value(kind)

    def _map(self) -> list[Any]:
        count, self.at = _varint(self.data, self.at)
        kinds = self._byte() if count else 0
        return [(self._value(kinds >> 4), self._value(kinds & 15)) for _ in range(count)]

    def _value(self, kind: int) -> Any:
        readers: dict[int, Callable[[], Any]] = {
            3: self._byte, 4: self._int, 5: self._int, 6: self._int, 7: self._double, 8: self._binary,
            9: self._items, 10: self._items, 11: self._map, 12: self.struct,
        }  # fmt: skip
        return readers[kind]()
