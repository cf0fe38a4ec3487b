"""Read a benchmark's JSON Lines into rows, naming file, line, field and remedy when something is wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.errors import BenchmarkError

REQUIRED = ("task_id", "entry_point", "declaration", "prompt", "buggy_solution", "canonical_solution", "test")
"""Fields without which no prompt or program can be put together."""

LARGEST = 256 << 20
"""Bytes; HumanEvalPack's files are under 1 MB, so a larger one is some other file."""

Row = Mapping[str, str]


def read_rows(path: Path) -> tuple[Row, ...]:
    """All rows of a JSON Lines file, every value as text; `BenchmarkError` names file, line, field and remedy."""
    return parse_rows(_read(path), str(path))


def parse_rows(data: bytes, source: str) -> tuple[Row, ...]:
    """The rows in `data`; `source` is what an error calls them."""
    rows: list[Row] = []
    lines: dict[str, int] = {}
    # Only \n ends a line: a JSON string may hold U+2028 and its like unescaped.
    for number, line in enumerate(_decode(data, source).split("\n"), start=1):
        if not line.strip():
            continue
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


def rows_hash(rows: Sequence[Row]) -> str:
    """Sha256 over the rows' values: the same for files that differ only in layout or in the order of fields."""
    text = json.dumps([dict(row) for row in rows], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise BenchmarkError(f"{path}: {size:,} bytes is no benchmark file; expected JSON Lines of a few MB")
        return path.read_bytes()
    except OSError as error:
        raise BenchmarkError(
            f"{path}: cannot be read ({error.strerror or error}); expected a JSON Lines file: "
            "check the path and its permissions"
        ) from error


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
    for field in REQUIRED:
        _check_required(value, field, where)
    return {field: _text(content, field, where) for field, content in value.items()}


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
