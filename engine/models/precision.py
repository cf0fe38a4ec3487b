"""The precision axis from one file: the same weights rewritten by llama.cpp's quantiser, once."""

from __future__ import annotations

from pathlib import Path

from cache.files import AS_RELEASED, Facts, ModelFile, sha256_of, write_whole
from cache.gguf import Header, read_header
from cache.paths import models_folder
from engine.errors import ModelError
from engine.models import llamacpp
from engine.models.threads import usable_cores
from engine.settings import PRECISIONS

BITS = {"f32": 32.0, "f16": 16.0, "bf16": 16.0, "q8_0": 8.5, "q4_k_m": 4.9, "q4_0": 4.5}
"""Nominal bits per weight of each precision that can be derived."""

_FLOATS = ("f32", "f16", "bf16")


def derive(source: ModelFile, precision: str, folder: Path | None = None, facts: Facts | None = None) -> ModelFile:
    """The file of `source` at a precision: itself for `as released` or when it has that precision, else derived, once.

    Derived files go to `folder` (the models folder) under a name made of the source's sha256, the precision and the
    quantiser's version. `ModelError` when llama.cpp cannot derive it, `FileError` when the disk is full.
    """
    if precision not in PRECISIONS:
        raise ModelError(f"precision {precision!r} is unknown; expected one of {', '.join(PRECISIONS)}")
    header = read_header(source.path)
    if precision == AS_RELEASED:
        return source
    if precision == header.precision:
        return _described(source, source.path, source.sha256, f"{precision} {AS_RELEASED}")
    version = llamacpp.build()["engine"].split()[1]
    target = (folder or models_folder()) / derived_name(source.path, source.sha256, precision, version)
    if not target.exists():
        write_whole(
            target, derived_bytes(header.parameters, precision), lambda path: _quantise(source.path, path, precision)
        )
    return _described(source, target, sha256_of(target, facts), recipe(header, precision))


def derived_name(source: Path, sha256: str, precision: str, version: str) -> str:
    """The name of the file derived from `source` by one version of the quantiser."""
    return f"{source.stem}.{sha256[:12]}.{precision}.llama-cpp-{version}.gguf"


def derived_bytes(parameters: int, precision: str) -> int:
    """What a derived file may take on disk, rounded up."""
    return int(parameters * BITS[precision] / 8 * 1.05) + (16 << 20)


def recipe(header: Header, precision: str) -> str:
    """`q8_0 from f16`, with a note where the source was quantised already."""
    text = f"{precision} from {header.precision}"
    if header.precision in _FLOATS:
        return text
    if BITS[precision] > header.bits_per_weight:
        return f"{text}: adds nothing back"
    return f"{text}: quantised twice"


def _quantise(source: Path, target: Path, precision: str) -> None:
    llamacpp.quantise(source, target, precision, usable_cores())
    read_header(target)


def _described(source: ModelFile, path: Path, sha256: str, text: str) -> ModelFile:
    return ModelFile(path, source.spec, sha256, source.source, text, source.sha256)
