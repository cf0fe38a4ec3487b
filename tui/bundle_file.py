"""The bundle's file format: a zip with a manifest that holds the sha256 of every member and a digest of every line."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cache.atomic import whole_file
from tui.errors import BundleError

SCHEMA, VERSION = "scoretrace-bundle", 1
MANIFEST = "manifest.json"
LARGEST = 4 << 30
"""Bytes that a bundle may unpack to."""
_NAME = re.compile(r"(?:[\w][\w.+ -]*/)?[\w][\w.+ -]*")
_LINED = (".jsonl", ".json", ".csv", ".md", ".tex", ".html", ".toml", ".txt")
_DIGITS = 8
_MOMENT = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Opened:
    """A bundle that was read: its manifest, its members' bytes, and every member that is not what the manifest says."""

    manifest: Mapping[str, Any]
    members: Mapping[str, bytes]
    manifest_sha256: str = ""
    changed: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """A member as text; empty when it is not there."""
        return self.members.get(name, b"").decode("utf-8", "replace")

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a JSON Lines member; `BundleError` names the line that is none."""
        for number, line in enumerate(self.text(name).split("\n"), 1):
            if not line:
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BundleError(f"{name}, line {number}: no JSON object: {error}; get the bundle again") from error
            if not isinstance(found, dict):
                raise BundleError(f"{name}, line {number}: expected a JSON object; get the bundle again")
            yield found


def jsonl(rows: Iterator[Mapping[str, Any]] | list[Mapping[str, Any]]) -> bytes:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()


def write(path: Path, members: Mapping[str, bytes], about: Mapping[str, Any]) -> bytes:
    """Write a bundle, whole or not at all; the manifest's bytes. Equal members make an equal file."""
    files = {name: _entry(name, content) for name, content in members.items()}
    manifest = {"schema": SCHEMA, "version": VERSION, **about, "files": files}
    written = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in {MANIFEST: written, **members}.items():
                info = zipfile.ZipInfo(name, _MOMENT)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, content)
    except OSError as error:
        raise BundleError(f"{path}: cannot be written: {error.strerror or error}; name another file") from error
    return written


def _entry(name: str, content: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    if name.endswith(_LINED):
        entry["lines"] = "".join(_digests(content))
    return entry


def _digests(content: bytes) -> list[str]:
    return [hashlib.sha256(line).hexdigest()[:_DIGITS] for line in content.split(b"\n")]


def read(path: Path) -> Opened:
    """Read a bundle and hold every member against the manifest; `BundleError` when it is no bundle at all."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _opened(path, archive)
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise BundleError(f"{path}: cannot be read as a bundle: {error}; get the file again") from error


def _opened(path: Path, archive: zipfile.ZipFile) -> Opened:
    if sum(info.file_size for info in archive.infolist()) > LARGEST:
        raise BundleError(f"{path}: unpacks to more than {LARGEST:,} bytes; that is no bundle of a run")
    members: dict[str, bytes] = {}
    broken: list[str] = []
    for info in archive.infolist():
        if not _NAME.fullmatch(info.filename) or info.filename in members:
            raise BundleError(f"{path}: member {info.filename!r} has a name that no bundle uses; get the file again")
        try:
            members[info.filename] = archive.read(info)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            members[info.filename] = b""
            broken.append(f"{info.filename}: its bytes are damaged ({error})")
    written = members.pop(MANIFEST, b"")
    manifest = _manifest(path, written, broken)
    damaged = {line.partition(":")[0] for line in broken}
    changed = [*broken, *_changes(manifest["files"], members, damaged)]
    return Opened(manifest, members, hashlib.sha256(written).hexdigest(), tuple(changed))


def _manifest(path: Path, content: bytes, broken: list[str]) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as error:
        damage = f" ({broken[0]})" if broken else ""
        raise BundleError(f"{path}: {MANIFEST} is no JSON: {error}{damage}; get the file again") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or not isinstance(found.get("files"), dict):
        raise BundleError(f"{path}: is no bundle: expected one that `scoretrace bundle` wrote")
    if found.get("version") != VERSION:
        raise BundleError(f"{path}: is a bundle of version {found.get('version')}; this Scoretrace reads {VERSION}")
    return found


def _changes(files: Mapping[str, Any], members: Mapping[str, bytes], damaged: set[str]) -> Iterator[str]:
    for name in dict.fromkeys((*files, *members)):
        if name in damaged:
            continue
        if name not in members:
            yield f"{name}: is missing"
        elif name not in files:
            yield f"{name}: is not in the manifest"
        elif files[name] != _entry(name, members[name]):
            yield f"{name}{_where(files[name], members[name])}: is not what the manifest holds the sha256 of"


def _where(entry: Mapping[str, Any], content: bytes) -> str:
    """The first line that differs, where the manifest knows the lines, with the key that stands in it."""
    known = entry.get("lines")
    if not isinstance(known, str):
        return ""
    wanted = [known[i : i + _DIGITS] for i in range(0, len(known), _DIGITS)]
    lines = content.split(b"\n")
    for number, digest in enumerate(_digests(content), 1):
        if number > len(wanted) or wanted[number - 1] != digest:
            key = re.search(rb'"(?:key|seq)":("[0-9a-f]+"|\d+)', lines[number - 1])
            return f", line {number}{f' ({key[0].decode()})' if key else ''}"
    return f", after line {len(lines)}"
