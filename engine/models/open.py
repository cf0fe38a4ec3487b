"""Open a model file at a precision: derived if need be, checked against memory, loaded, shaped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cache.files import Facts, ModelFile, gigabytes
from cache.gguf import Header, read_header
from engine.errors import ModelError
from engine.models import calibrate, llamacpp
from engine.models.calibrate import Shape, narrower
from engine.models.local import CPU, LocalModel
from engine.models.memory import available_memory, needed
from engine.models.precision import derive
from engine.models.threads import watch

__all__ = ["DEFAULT_WIDTH", "LocalModel", "open_model"]

DEFAULT_WIDTH = 8
"""Slots decoded together where nothing was asked for and nothing is measured."""

_FOR_SLOTS = 0.1
"""The share of an accelerator's free memory that weights leave for slots and buffers."""


def open_model(
    name: str,
    file: ModelFile,
    precision: str = "as released",
    *,
    width: int | None = None,
    block: int | None = None,
    threads: int | None = None,
    slot_tokens: int = 2048,
    gpu_layers: int | None = None,
    folder: Path | None = None,
    facts: Facts | None = None,
) -> LocalModel:
    """Load a model at a precision (deriving the file if need be) with `width` slots of `slot_tokens` tokens.

    A width that is asked for is taken as it is, with `block` rows per slot (None: 1, nothing drafted), so width 1 is
    plain decoding. None means: for `width` the shape that is fastest here, measured once per file, build and device and
    kept in `facts` (without `facts` the default), or the widest smaller one that fits into memory; for `threads` as
    many as other processes leave cores, followed as the load changes; for `gpu_layers` all, or as many as fit.
    `FileError` when the file is cut short, `ModelError` when it cannot be run or is too large.
    """
    made = derive(file, precision, folder, facts)
    header = read_header(made.path)
    layers = header.number(f"{header.architecture}.block_count") + 1
    accelerators = [] if gpu_layers == 0 else llamacpp.devices()
    tries = _offloads(gpu_layers, layers, _fitting_layers(header, layers, accelerators)) if accelerators else [0]
    device = _device(tries[0], layers)
    kept = calibrate.kept(made.sha256, device, facts)
    shapes = (
        [Shape(width, block or 1)]
        if width
        else narrower(calibrate.shape_of(kept) if kept is not None else Shape(DEFAULT_WIDTH))
    )
    if device == CPU:
        shapes = [_fitting(made, header, shapes, slot_tokens)]
    free_cores, free = watch() if threads is None else (None, threads)
    model = _load(name, made, tries, layers, free, shapes, slot_tokens)
    model.free_cores = free_cores
    if not width and facts is not None and kept is None:
        try:
            kept = calibrate.calibrate(model, facts)
        except BaseException:
            model.close()
            raise
    model.checked = kept.get("independent", {}) if kept is not None else {}
    return model


def _fitting_layers(header: Header, layers: int, accelerators: Sequence[llamacpp.Device]) -> int:
    """How many layers' weights fit into what the accelerators have left, a reserve for slots and buffers kept."""
    free = sum(one.free for one in accelerators)
    return max(0, min(layers, int((1 - _FOR_SLOTS) * free * layers / max(header.weight_bytes, 1))))


def _offloads(gpu_layers: int | None, layers: int, fitting: int) -> list[int]:
    """Numbers of layers to try on the accelerator, most first: those that fit, then fewer, as slots need room too."""
    if gpu_layers is not None:
        return [layers if gpu_layers < 0 else min(gpu_layers, layers)]
    return list(dict.fromkeys([fitting, 3 * fitting // 4, fitting // 2, fitting // 4, 0]))


def _fitting(file: ModelFile, header: Header, shapes: Sequence[Shape], slot_tokens: int) -> Shape:
    left = available_memory()
    for shape in shapes:
        if needed(header, shape.width, slot_tokens, shape.block).total <= left:
            return shape
    need = needed(header, shapes[-1].width, slot_tokens, shapes[-1].block)
    raise ModelError(
        f"{file.path.name} does not fit into memory: {gigabytes(need.weights)} of weights "
        f"and {gigabytes(need.kv)} of KV cache for {shapes[-1].width} slots of {slot_tokens} tokens, "
        f"{gigabytes(left)} available; choose a lower precision, a smaller width or a shorter maximum length"
    )


def _load(
    name: str, file: ModelFile, tries: list[int], layers: int, threads: int, shapes: Sequence[Shape], slot_tokens: int
) -> LocalModel:
    """Load with the first number of offloaded layers and the first shape that work; the last one's error stands."""
    for offloaded in tries:
        decoder: llamacpp.LlamaDecoder | None = None
        try:
            decoder = llamacpp.LlamaDecoder(
                file.path, threads=threads, gpu_layers=offloaded, flash_attention=offloaded >= layers
            )
            _shape(decoder, shapes, slot_tokens)
        except ModelError:
            if decoder:
                decoder.close()
            if offloaded == tries[-1]:
                raise
            continue
        return LocalModel(name, file, decoder, _device(offloaded, layers))
    raise AssertionError("unreachable: the last try returns or raises")


def _shape(decoder: llamacpp.LlamaDecoder, shapes: Sequence[Shape], slot_tokens: int) -> None:
    """The first shape for which there is memory; a narrower one is better than layers left to the CPU."""
    for shape in shapes:
        try:
            decoder.shape(shape.width, slot_tokens, shape.block)
            return
        except ModelError:
            if shape == shapes[-1]:
                raise


def _device(offloaded: int, layers: int) -> str:
    if not offloaded:
        return CPU
    name = ", ".join(one.description for one in llamacpp.devices())
    return name if offloaded >= layers else f"{name} ({offloaded} of {layers} layers), CPU"
