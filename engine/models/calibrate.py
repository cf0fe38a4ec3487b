"""A few seconds of measuring: which shape is fastest for this file on this device, and whether neighbours show in it.

A shape is a width (slots) and a block (rows per slot and step, `engine.models.schedule`). That a reply depends neither
on its neighbours nor on guesses is a property of kernels, not a promise of llama.cpp: `engine.models.independence`
checks it, bit for bit, and a shape that fails is not used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cache.files import Facts
from engine.errors import ModelError
from engine.models import llamacpp, sample
from engine.models.decoder import Decoder
from engine.models.drafting import tokens_per_step
from engine.models.independence import is_independent
from engine.models.local import CPU, LocalModel
from engine.settings import shape_label


@dataclass(frozen=True, order=True)
class Shape:
    """Slots decoded together, and rows per slot and step (1: nothing is drafted)."""

    width: int
    block: int = 1

    def __str__(self) -> str:
        return shape_label(self.width, self.block)


SHAPES = tuple(
    Shape(*one) for one in ((8, 1), (8, 4), (16, 1), (4, 4), (4, 1), (16, 4), (1, 4), (4, 8), (1, 8), (1, 1))
)
"""Shapes to choose from, the most promising first: the others are left out when time runs out."""

ACCELERATOR_SHAPES = tuple(
    Shape(*one) for one in ((32, 1), (32, 4), (16, 8), (64, 1), (16, 4), (64, 4), (32, 8), (16, 1), (8, 8), (8, 1))
)
"""The same, on a device that stays bound by memory for longer."""

SECONDS = 8.0
"""Seconds of computing (or four times as many of waiting) after which no further shape is measured."""

GOOD_ENOUGH = 0.9
"""The smallest width with this share of the best speed is taken: less memory, fewer idle slots at a pass's end."""

_SHALLOW, _DEEP, _SLOT_TOKENS = 100, 280, 512
"""Steps are measured after so many tokens: attention's share of a step grows with them, most in wide shapes, so as deep
as replies usually are where a prompt of that length is prefilled within a second.
"""
_STEPS = 4


def key(sha256: str, device: str) -> str:
    """Under which fact a calibration of this file, build and device is kept."""
    build = llamacpp.build()
    return f"calibration {sha256} {build['engine']} {build['instruction sets']} {device} shapes"


def kept(sha256: str, device: str, facts: Facts | None) -> dict[str, Any] | None:
    """What an earlier calibration found, or None."""
    return facts.fact(key(sha256, device)) if facts is not None else None


def shape_of(found: Mapping[str, Any]) -> Shape:
    """The shape that a calibration chose."""
    return Shape(int(found["width"]), int(found["block"]))


def calibrate(model: LocalModel, facts: Facts | None = None, shapes: Sequence[Shape] = ()) -> dict[str, Any]:
    """Measure once per file, build and device, keep it in `facts`, and leave the model in the shape found.

    The result: `tokens_per_second` by shape (decode only, all slots busy, guesses as they hold in a sample),
    `tokens_per_step` by block, `prefill_tokens_per_second`, `independent` by shape checked, the `width` and `block` to
    use, `threads`, and the `seconds` it took. A shape in which neighbours or guesses show is passed over; when none is
    left the fastest is used and `independent` says no for it.
    """
    found = kept(model.file.sha256, model.device, facts)
    if found is None:
        found = _measure(model, shapes or (SHAPES if model.device == CPU else ACCELERATOR_SHAPES))
        if facts is not None:
            facts.put_fact(key(model.file.sha256, model.device), found)
    chosen = shape_of(found)
    for one in narrower(chosen):
        try:
            model.shape(width=one.width, block=one.block)
            break
        except ModelError:
            if one.width == 1:
                raise
    return found


def narrower(chosen: Shape) -> list[Shape]:
    """A shape and those of the same block that need less memory, widest first."""
    return [chosen, *(Shape(width, chosen.block) for width in (32, 16, 8, 4, 1) if width < chosen.width)]


def _measure(model: LocalModel, shapes: Sequence[Shape]) -> dict[str, Any]:
    started, clock = time.perf_counter(), _clock(model)
    loaded, slot_tokens, began = Shape(model.decoder.width), model.decoder.slot_tokens, clock()
    prompt = _tokens(model)
    usable = [one for one in shapes if model.fits(one.width, slot_tokens, one.block)]
    usable = [one for one in usable if one.block == 1 or model.decoder.can_take_back] or [loaded]
    speeds: dict[Shape, float] = {}
    texts = [(model.tokenize(asked), model.tokenize(reply)) for asked, reply in sample.replies()]
    accepted = {block: tokens_per_step(texts, block) for block in {one.block for one in usable}}
    try:
        model.shape(slot_tokens=_SLOT_TOKENS, block=1)
        prefill = _prefill_speed(model, prompt, clock)
        start = _DEEP if prefill >= _DEEP else _SHALLOW
        for one in usable:
            if speeds and (clock() - began > SECONDS or time.perf_counter() - started > 4 * SECONDS):
                break
            try:
                model.shape(width=one.width, block=one.block)
            except ModelError:
                continue  # an accelerator is asked for memory by trying
            speeds[one] = decode_speed(model.decoder, prompt, start, clock) * accepted[one.block]
        speeds = speeds or {loaded: 0.0}
        independent: dict[Shape, bool] = {}
        for one in in_order(speeds):
            model.shape(width=one.width, block=one.block)
            independent[one] = is_independent(model.decoder, prompt)
            if independent[one]:
                break
    finally:
        model.shape(width=loaded.width, slot_tokens=slot_tokens, block=1)
    chosen = next((one for one, good in independent.items() if good), in_order(speeds)[0])
    return {
        "tokens_per_second": {str(one): round(speed, 1) for one, speed in speeds.items()},
        "tokens_per_step": {str(block): round(tokens, 2) for block, tokens in sorted(accepted.items())},
        "prefill_tokens_per_second": round(prefill, 1),
        "independent": {str(one): good for one, good in independent.items()},
        "width": chosen.width,
        "block": chosen.block,
        "threads": model.decoder.threads,
        "seconds": round(time.perf_counter() - started, 2),
    }


def _tokens(model: LocalModel) -> tuple[int, ...]:
    text = "\n".join(f"def f{n}(a, b):\n    return a + {n} * b if a > b else f{n}(b, a)" for n in range(60))
    found = model.tokenize(text)
    return (found * (_SLOT_TOKENS // max(len(found), 1) + 1))[:_SLOT_TOKENS]


def _prefill_speed(model: LocalModel, prompt: Sequence[int], clock: Callable[[], float]) -> float:
    before = clock()
    model.decoder.prefill(prompt[:_DEEP])
    return _DEEP / max(clock() - before, 1e-9)


def in_order(speeds: Mapping[Shape, float]) -> list[Shape]:
    """Shapes to try: the smallest width that is good enough, in its fastest block, then the rest, fastest first."""
    best = max(speeds.values())
    width = min(one.width for one, speed in speeds.items() if speed >= GOOD_ENOUGH * best)
    first = max((one for one in speeds if one.width == width), key=lambda one: speeds[one])
    return [first, *sorted(speeds.keys() - {first}, key=lambda one: -speeds[one])]


def _clock(model: LocalModel) -> Callable[[], float]:
    """Seconds; on the CPU, those in which this process computed, so that a busy machine does not decide the shape."""
    if model.device != CPU:
        return time.perf_counter
    return lambda: time.process_time() / model.decoder.threads


def decode_speed(decoder: Decoder, prompt: Sequence[int], start: int, clock: Callable[[], float]) -> float:
    """Slots times steps per second with every slot busy after `start` tokens, from the fastest step of a few."""
    decoder.prefill(prompt[:start])
    for slot in range(decoder.width):
        decoder.share(slot)
    fastest = float("inf")
    for step in range(_STEPS):
        before = clock()
        tokens = prompt[start + step : start + step + decoder.block]
        decoder.decode([*tokens] * decoder.width, [start + step] * decoder.width)
        fastest = min(fastest, clock() - before) if step else fastest
    return decoder.width / max(fastest, 1e-9)
