"""What decoding is measured against: steps over dummy tokens in all slots of a shape, and where a run falls short."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.models.calibrate import Shape
from engine.models.decoder import Decoder, Logits

DUMMY_STEPS = 24


@dataclass(frozen=True)
class Step:
    """One decoding step: wall seconds, slots that held a reply, where the longest stood, and slots just refilled."""

    seconds: float
    live: int
    longest: int
    refilled: int


class Stepwise:
    """Stands in for a decoder's `decode` and `share`, and notes each step."""

    def __init__(self, decoder: Decoder) -> None:
        self._decode, self._share = decoder.decode, decoder.share
        self.steps: list[Step] = []
        self._refilled = 0

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        """See `Decoder.decode`."""
        began = time.perf_counter()
        logits = self._decode(tokens, positions)
        seconds = time.perf_counter() - began
        live = sum(position > 0 for position in positions)
        self.steps.append(Step(seconds, live, max(positions), self._refilled))
        self._refilled = 0
        return logits

    def share(self, slot: int) -> None:
        """See `Decoder.share`."""
        self._refilled += 1
        self._share(slot)


def dummy_step(decoder: Decoder, tokens: Sequence[int]) -> float:
    """Mean seconds of a step with dummy tokens in every slot, after as many tokens as are given."""
    decoder.prefill(tokens)
    for slot in range(decoder.width):
        decoder.share(slot)
    seconds = []
    for step in range(DUMMY_STEPS):
        began = time.perf_counter()
        decoder.decode([100] * (decoder.width * decoder.block), [len(tokens) + step] * decoder.width)
        seconds.append(time.perf_counter() - began)
    return statistics.mean(seconds[2:])


def against(
    steps: list[list[Step]], decoding: list[float], dummies: list[tuple[float, float]], shape: Shape, accepted: int
) -> dict[str, Any]:
    """How far runs reach what dummy steps would yield, if each slot yielded as many tokens as their live slots do.

    Of each run its steps and the seconds without prefill; the seconds of a dummy step from where replies are half way
    on average, and from where the longest reply stands on average; the tokens that the last run's steps yielded.

    `ratio` is the product of four: `occupancy`, the share of slots that held a reply (the last of few replies leave
    slots idle, in a long run they do not); `attention`, since all slots attend as far as the longest; `steps`, what
    else a step takes longer than a dummy one; and `inside_steps`, the share of the time that is not Python's.
    `plain_steps` is `steps` without those that follow a refill, which copy the prompt into the slot.
    """
    live = sum(step.live for step in steps[-1])
    half_way, longest = (statistics.median(found) for found in zip(*dummies, strict=True))
    inside = statistics.median(sum(step.seconds for step in run) for run in steps)
    whole = statistics.median(decoding)
    plain = statistics.mean(step.seconds for run in steps for step in run if not step.refilled)
    occupancy, ratio = live / (len(steps[-1]) * shape.width), half_way * live / shape.width / whole
    return {
        "shape": str(shape),
        "limit_tokens_per_second": round(shape.width * accepted / live / half_way, 1),
        "tokens_per_live_slot_and_step": round(accepted / live, 3),
        "ratio": round(ratio, 3),
        "ratio_at_full_slots": round(ratio / occupancy, 3),
        "factors": {
            "occupancy": round(occupancy, 3),
            "attention": round(half_way / longest, 3),
            "steps": round(longest * len(steps[-1]) / inside, 3),
            "inside_steps": round(inside / whole, 3),
        },
        "plain_steps": round(longest / plain, 3),
    }
