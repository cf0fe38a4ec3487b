"""Logs of inspect: a ZIP of JSON files, packed with deflate or, since 0.3.206, with zstandard."""

from __future__ import annotations

import importlib
import struct
import zipfile
import zlib
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
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError, zlib.error, NotImplementedError) as error:
        raise ImportedError(f"{path}: not a whole .eval log ({error}): get it again") from error
    told = _object(_object(header).get("eval"))
    config = _object(told.get("model_generate_config"))
    settings = known(
        f"{path}, header.json",
        temperature=config.get("temperature"),
        top_p=config.get("top_p"),
        top_k=config.get("top_k"),
        seed=config.get("seed"),
    )
    replies, answers = [], []
    for row in rows:
        where = f"{path}, sample {_object(row).get('id')!r}"
        task_id = tasks.of(typed(row, "id", (str, int), where), where)
        number = typed({"epoch": 1, **row}, "epoch", int, where) - 1
        if number < 0:
            raise ImportedError(f"{where}, field 'epoch': expected a whole number from 1 up, found {number + 1}")
        score = _object(next(iter(_object(row.get("scores")).values()), None))
        passed = VERDICTS.get(score.get("value")) if isinstance(score.get("value"), (str, int, float)) else None
        for choice in _choices(row)[:1]:
            stop = STOP.get(str(choice.get("stop_reason")), "unknown")
            replies.append(
                Sample(task_id, number, _content(_object(choice.get("message")).get("content")), stop, passed)
            )
            if isinstance(score.get("answer"), str):
                answers.append(Sample(task_id, number, score["answer"], stop, passed))
    model = str(told.get("model", "unknown"))
    found = [Imported(model, REPLY, "first_fence", tuple(replies), settings)]
    return found + ([Imported(model, PROGRAM, AS_STORED, tuple(answers), settings)] if answers else [])


def _object(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _choices(row: dict[str, Any]) -> list[dict[str, Any]]:
    found = _object(row.get("output")).get("choices")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


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
