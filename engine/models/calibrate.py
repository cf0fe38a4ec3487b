"""A few seconds of measuring: which width is fastest for this file on this device, and whether neighbours show.

That a reply does not depend on its neighbours is a property of kernels, not a promise of llama.cpp. It is checked on
the logits, bit for bit: the same sequences in other slots, next to other and longer ones, next to idle slots.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cache.files import Facts
from engine.models import llamacpp
from engine.models.decoder import Decoder, Logits
from engine.models.local import CPU, LocalModel

WIDTHS = (1, 4, 8, 16)
"""Widths to choose from."""

ACCELERATOR_WIDTHS = (8, 16, 32, 64)
"""The same, on a device that stays bound by memory for longer."""

GOOD_ENOUGH = 0.9
"""The smallest width with this share of the best speed is taken: less memory, fewer idle slots at a pass's end."""

_LENGTHS, _LONG = (12, 19, 31), 280
_SLOT_TOKENS = 512


def key(sha256: str, device: str) -> str:
    """Under which fact a calibration of this file, build and device is kept."""
    build = llamacpp.build()
    return f"calibration {sha256} {build['engine']} {build['instruction sets']} {device}"


def kept(sha256: str, device: str, facts: Facts | None) -> dict[str, Any] | None:
    """What an earlier calibration found, or None."""
    return facts.fact(key(sha256, device)) if facts else None


def calibrate(model: LocalModel, facts: Facts | None = None, widths: Sequence[int] = ()) -> dict[str, Any]:
    """Measure once per file, build and device, keep it in `facts`, and leave the model in the width found.

    The result: `tokens_per_second` by width (decode only, all slots busy), `prefill_tokens_per_second`, `independent`
    by width checked, the `width` to use, `threads`, and the `seconds` it took. A width whose logits change with
    neighbours is passed over; when none is left the fastest is used and `independent` says no for it.
    """
    found = kept(model.file.sha256, model.device, facts)
    if found is None:
        found = _measure(model, widths or (WIDTHS if model.device == CPU else ACCELERATOR_WIDTHS))
        if facts:
            facts.put_fact(key(model.file.sha256, model.device), found)
    model.shape(width=int(found["width"]))
    return found


def _measure(model: LocalModel, widths: Sequence[int]) -> dict[str, Any]:
    started = time.perf_counter()
    slot_tokens = model.decoder.slot_tokens
    prompt = _tokens(model)
    speeds: dict[int, float] = {}
    clock = _clock(model)
    try:
        for width in sorted(width for width in widths if model.fits(width, slot_tokens)):
            model.shape(width=width, slot_tokens=_SLOT_TOKENS)
            speeds[width] = decode_speed(model.decoder, prompt, clock)
        before = clock()
        model.decoder.prefill(prompt[:_LONG])
        prefill = _LONG / (clock() - before)
        independent: dict[int, bool] = {}
        for width in _in_order(speeds):
            model.shape(width=width)
            independent[width] = is_independent(model.decoder, prompt)
            if independent[width]:
                break
    finally:
        model.shape(slot_tokens=slot_tokens)
    chosen = next((width for width, good in independent.items() if good), _in_order(speeds)[0])
    return {
        "tokens_per_second": {str(width): round(speed, 1) for width, speed in speeds.items()},
        "prefill_tokens_per_second": round(prefill, 1),
        "independent": {str(width): good for width, good in independent.items()},
        "width": chosen,
        "threads": model.decoder.threads,
        "seconds": round(time.perf_counter() - started, 2),
    }


def _tokens(model: LocalModel) -> tuple[int, ...]:
    text = "\n".join(f"def f{n}(a, b):\n    return a + {n} * b if a > b else f{n}(b, a)" for n in range(60))
    found = model.tokenize(text)
    return (found * (_SLOT_TOKENS // max(len(found), 1) + 1))[:_SLOT_TOKENS]


def _in_order(speeds: Mapping[int, float]) -> list[int]:
    """Widths to try: the smallest that is good enough, then the others from fast to slow."""
    best = max(speeds.values())
    first = min(width for width, speed in speeds.items() if speed >= GOOD_ENOUGH * best)
    return [first, *sorted(speeds.keys() - {first}, key=lambda width: -speeds[width])]


def _clock(model: LocalModel) -> Callable[[], float]:
    """Seconds; on the CPU, those in which this process computed, so that a busy machine does not decide the width."""
    if model.device != CPU:
        return time.perf_counter
    return lambda: time.process_time() / model.decoder.threads


def decode_speed(
    decoder: Decoder, prompt: Sequence[int], clock: Callable[[], float], seconds: float = 0.4, steps: int = 12
) -> float:
    """Tokens per second with every slot busy, after a short prompt, from the fastest step of a few."""
    start = _LENGTHS[0]
    decoder.prefill(prompt[:start])
    for slot in range(decoder.width):
        decoder.share(slot)
    fastest, started, began = float("inf"), clock(), time.perf_counter()
    for step in range(steps):
        before = clock()
        decoder.decode([prompt[start + step]] * decoder.width, [start + step] * decoder.width)
        now = clock()
        fastest = min(fastest, now - before) if step else fastest
        if step >= 2 and (now - started > seconds or time.perf_counter() - began > 4 * seconds):
            break
    return decoder.width / fastest


def is_independent(decoder: Decoder, prompt: Sequence[int], steps: int = 3) -> bool:
    """True when a sequence's logits are the same bits in every slot, next to other and longer ones or to idle slots."""
    short = [_LENGTHS[slot % len(_LENGTHS)] for slot in range(decoder.width)]
    crowded = _run(decoder, prompt, [*short[1:], _LONG], steps)
    sparse = _run(decoder, prompt, [length if slot % 2 else 0 for slot, length in enumerate(short)][::-1], steps)
    seen: dict[int, Logits] = {}
    return all(np.array_equal(seen.setdefault(length, rows), rows) for length, rows in [*crowded, *sparse])


def _run(decoder: Decoder, prompt: Sequence[int], lengths: Sequence[int], steps: int) -> list[tuple[int, Logits]]:
    """Continue the prompt's first `length` tokens in each slot (0: idle): its length, its logits [steps, n_vocab]."""
    for length in sorted(set(lengths) - {0}):
        decoder.prefill(prompt[:length])
        for slot in (slot for slot, wanted in enumerate(lengths) if wanted == length):
            decoder.share(slot)
    rows = []
    for step in range(steps):
        tokens = [prompt[length + step] if length else 0 for length in lengths]
        rows.append(decoder.decode(tokens, [length + step if length else 0 for length in lengths]).copy())
    return [(length, np.stack([row[slot, 0] for row in rows])) for slot, length in enumerate(lengths) if length]
