"""Logs of inspect: a ZIP of JSON files, packed with deflate or, since 0.3.206, with zstandard."""

from __future__ import annotations

import importlib
import struct
import zipfile
from pathlib import Path
from typing import Any

from engine.errors import ImportedError
from engine.imports.records import (
    AS_STORED,
    LARGEST,
    PROGRAM,
    REPLY,
    Imported,
    Sample,
    Tasks,
    known,
    parse_json,
    typed,
)

ZSTANDARD = 93
STOP = {"stop": "end", "max_tokens": "limit", "model_length": "limit"}
VERDICTS = {"C": True, "I": False, "N": False, 1: True, 0: False}


def read_inspect(path: Path, tasks: Tasks) -> list[Imported]:
    """An `.eval` log: replies as they are and, where the scorer kept its `answer`, those programs beside."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
            header = _member(archive, "header.json", path)
            rows = [parse_json(_bytes(archive, info, path).decode(), f"{path}, {info.filename}") for info in members]
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise ImportedError(f"{path}: not a whole .eval log ({error}): get it again") from error
    told = header.get("eval", {}) if isinstance(header, dict) else {}
    config = told.get("model_generate_config") or {}
    settings = known(temperature=config.get("temperature"), top_p=config.get("top_p"), seed=config.get("seed"))
    replies, answers = [], []
    for row in rows:
        where = f"{path}, sample {row.get('id')!r}"
        task_id = tasks.of(typed(row, "id", (str, int), where), where)
        number = int(row.get("epoch", 1)) - 1
        score: dict[str, Any] = next(iter((row.get("scores") or {}).values()), {})
        passed = VERDICTS.get(score.get("value")) if isinstance(score.get("value"), (str, int, float)) else None
        for choice in (row.get("output") or {}).get("choices", [])[:1]:
            stop = STOP.get(choice.get("stop_reason", ""), "unknown")
            replies.append(Sample(task_id, number, _content(choice.get("message", {}).get("content")), stop, passed))
            if isinstance(score.get("answer"), str):
                answers.append(Sample(task_id, number, score["answer"], stop, passed))
    model = str(told.get("model", "unknown"))
    found = [Imported(model, REPLY, "first_fence", tuple(replies), settings)]
    return found + ([Imported(model, PROGRAM, AS_STORED, tuple(answers), settings)] if answers else [])


def _content(value: Any) -> str:
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> Any:
    try:
        return parse_json(_bytes(archive, archive.getinfo(name), path).decode(), f"{path}, {name}")
    except KeyError as error:
        raise ImportedError(f"{path}: holds no {name}; the evaluation did not end, or this is no .eval log") from error


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    if info.file_size > LARGEST:
        raise ImportedError(f"{path}, {info.filename}: unpacks to {info.file_size:,} bytes; expected a sample's text")
    if info.compress_type != ZSTANDARD:
        return archive.read(info)
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError as error:
        raise ImportedError(f"{path}: packed with zstandard; install it with: pip install zstandard") from error
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        # A local header: 26 bytes, the lengths of name and extra field, those two, then the packed bytes.
        name, extra = struct.unpack("<26xHH", stream.read(30))
        stream.seek(name + extra, 1)
        packed = stream.read(info.compress_size)
    found: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    return found
