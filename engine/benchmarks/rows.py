"""Read a benchmark's JSON Lines into rows, naming file, line, field and remedy when something is wrong."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.benchmarks.parquet import MAGIC, read_parquet
from engine.errors import BenchmarkError

REQUIRED = ("task_id", "entry_point", "declaration", "prompt", "buggy_solution", "canonical_solution", "test")
"""Fields without which no prompt or program can be put together."""

LARGEST = 256 << 20
"""Bytes; HumanEvalPack's files are under 1 MB, so a larger one is some other file."""

Row = Mapping[str, str]
AnyRow = dict[str, Any]


class Rows(list[AnyRow]):
    """Rows as read, and beside each the file and line (row in Parquet) where it stands."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def add(self, row: AnyRow, place: str) -> None:
        """One more row."""
        self.append(row)
        self.places.append(place)


def read_rows(path: Path) -> tuple[Row, ...]:
    """All rows of a JSON Lines file, every value as text; `BenchmarkError` names file, line, field and remedy."""
    return parse_rows(_read(path), str(path))


def parse_rows(data: bytes, source: str) -> tuple[Row, ...]:
    """The rows in `data`; `source` is what an error calls them."""
    rows: list[Row] = []
    lines: dict[str, int] = {}
    for number, line in _lines(data, source):
        row = _row(line, f"{source}, line {number}")
        first = lines.setdefault(row["task_id"], number)
        if first != number:
            raise BenchmarkError(
                f"{source}, line {number}: task_id {row['task_id']!r} is already on line {first}; "
                "every problem is counted once: remove one of the two lines"
            )
        rows.append(row)
    if not rows:
        raise BenchmarkError(f"{source}: no rows; expected one JSON object a line with {', '.join(REQUIRED)}")
    return tuple(rows)


def read_objects(paths: Sequence[Path], required: Mapping[str, type | tuple[type, ...]], key: str = "task_id") -> Rows:
    """All objects of JSON Lines files (.gz too) or Parquet files, values as they are, in the order of the paths.

    `required` gives the types of fields, `key` is the field that no two objects share. `BenchmarkError` names file,
    line (row in Parquet), field, expectation and remedy.
    """
    rows = Rows()
    first: dict[str, str] = {}
    for path in paths:
        for place, row in _placed(path):
            where = f"{path}, {place}"
            _check_types(row, required, where)
            known = first.setdefault(str(row[key]), place)
            if known != place:
                raise BenchmarkError(
                    f"{where}: {key} {row[key]!r} is already on {known}; "
                    "every problem is counted once: remove one of the two lines"
                )
            rows.add(row, where)
    if not rows:
        raise BenchmarkError(f"{paths[0]}: no rows; expected one JSON object a line with {', '.join(required)}")
    return rows


def _placed(path: Path) -> Iterator[tuple[str, AnyRow]]:
    """The objects of a file, each with its place in it."""
    source, data = str(path), _read(path)
    if data.startswith(MAGIC):
        for number, row in enumerate(read_parquet(data, source), start=1):
            yield f"row {number}", row
        return
    for number, line in _lines(data, source):
        yield f"line {number}", _object(line, f"{source}, line {number}")


def rows_hash(rows: Sequence[Mapping[str, Any]]) -> str:
    """Sha256 over the rows' values: the same for files that differ only in layout or in the order of fields."""
    text = json.dumps([dict(row) for row in rows], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise BenchmarkError(f"{path}: {size:,} bytes is no benchmark file; expected JSON Lines of a few MB")
        return _unpacked(path.read_bytes(), path)
    except OSError as error:
        raise BenchmarkError(
            f"{path}: cannot be read ({error.strerror or error}); expected a JSON Lines file: "
            "check the path and its permissions"
        ) from error


def _unpacked(data: bytes, path: Path) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        found = unpacker.decompress(data, LARGEST + 1)
    except zlib.error as error:
        raise BenchmarkError(f"{path}: not a whole gzip file ({error}): download it again") from error
    if len(found) > LARGEST or not unpacker.eof:
        raise BenchmarkError(f"{path}: unpacks to more than {LARGEST:,} bytes or is cut short; expected a few MB")
    return found


def _lines(data: bytes, source: str) -> Iterator[tuple[int, str]]:
    # Only \n ends a line: a JSON string may hold U+2028 and its like unescaped.
    for number, line in enumerate(_decode(data, source).split("\n"), start=1):
        if line.strip():
            yield number, line


def _decode(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BenchmarkError(
            f"{source}, line {line}: byte {error.start} (0x{data[error.start]:02x}) is not UTF-8; "
            "expected JSON Lines in UTF-8: convert the file, for instance with iconv"
        ) from error


def _row(line: str, where: str) -> Row:
    value = _object(line, where)
    for field in REQUIRED:
        _check_required(value, field, where)
    return {field: _text(content, field, where) for field, content in value.items()}


def _object(line: str, where: str) -> AnyRow:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        column = f", column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else f": {error}"
        raise BenchmarkError(
            f"{where}{column}; expected one whole JSON object a line: the file may be cut short, download it again"
        ) from error
    if not isinstance(value, dict):
        raise BenchmarkError(
            f"{where}: expected a JSON object, found {type(value).__name__}: put one problem on each line"
        )
    return value


def _check_types(row: AnyRow, required: Mapping[str, type | tuple[type, ...]], where: str) -> None:
    for field, kinds in required.items():
        names = " or ".join(_KIND_NAMES[kind] for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        if field not in row:
            raise BenchmarkError(
                f"{where}, field {field!r}: missing; expected {names}: is this the file of another benchmark?"
            )
        if not isinstance(row[field], kinds):
            found = type(row[field]).__name__
            raise BenchmarkError(f"{where}, field {field!r}: expected {names}, found {found}: correct the value")
        if isinstance(row[field], str):
            _text(row[field], field, where)


_KIND_NAMES: Mapping[type, str] = {
    str: "text", int: "a whole number", float: "a number", list: "a list", dict: "an object", type(None): "null",
}  # fmt: skip


def _check_required(row: Mapping[str, Any], field: str, where: str) -> None:
    if field not in row:
        fix = "a file of HumanEval, MBPP or another shape is not HumanEvalPack's: use humanevalpack.jsonl"
        raise BenchmarkError(f"{where}, field {field!r}: missing; expected text; {fix}")
    if not isinstance(row[field], str):
        found = type(row[field]).__name__
        raise BenchmarkError(f"{where}, field {field!r}: expected text, found {found}: put the value in quotes")
    if not row[field].strip():
        raise BenchmarkError(
            f"{where}, field {field!r}: empty; expected text: the file is incomplete, download it again"
        )


def _text(content: Any, field: str, where: str) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BenchmarkError(
            f"{where}, field {field!r}: holds half of a surrogate pair at character {error.start}; "
            "expected valid Unicode: correct the escape"
        ) from error
    return text
