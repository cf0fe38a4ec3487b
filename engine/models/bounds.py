"""Most draws are decided by bounds on the sum of all weights, so that few weights have to be computed.

The tokens that may be drawn end where their weights reach top_p of the total, and a draw is a share of their sum. Both
hardly move while the total lies between two bounds: where every total between them draws the same token, it is the one
that the exact sums of `engine.models.sampling` draw. Where not, the question is left open.

A row is read once, written in 16 lines one below the other: the best of a column bounds what its 16 tokens weigh.
Columns with a token near the best are then computed token by token, in the arithmetic of `engine.models.sampling`.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from engine.models.decoder import Logits
from engine.settings import Decoding

_LINES = 16
_SHORTEST = 1024
"""Shorter rows are left to the exact sums."""

_NEAR = 8.0
"""How far below the best, in logits over the temperature, tokens are computed one by one."""

_NEAR_WEIGHT, _BEYOND = np.float32(math.exp(-_NEAR) * 0.9999), math.exp(-_NEAR) * 1.0001
_FLAT = 0.25
"""With more than this share of the columns near the best, the exact sums are cheaper."""

_SLACK, _ROUGH = 1e-9, 1e-5
"""Room for rounding in sums of float64 and of float32, as a share."""

_FIRST_SUM = 512
"""Up to so many weights, `engine.models.sampling` draws from one running sum."""


def decided(row: Logits, decoding: Decoding, share: float) -> int | None:
    """The token that `share`, in [0, 1), of the nucleus draws from one row of logits [n_vocab]; None where it is open.

    Open, too, where there is no nucleus to draw from (neither top_k nor top_p) and where the best logit is not finite.
    """
    top_k = decoding.top_k if 0 < decoding.top_k < len(row) else 0
    if len(row) < _SHORTEST or (decoding.top_p >= 1.0 and not top_k):
        return None
    temperature = np.float32(decoding.temperature)
    tops = _tops(row)
    column = int(tops.argmax())
    best = tops[column] / temperature
    if not math.isfinite(best):
        return None
    tops /= temperature
    tops -= best
    if temperature < 0.5:  # wide enough for weights that are subnormal in float32, which is slow
        np.maximum(tops, np.float32(-80), out=tops)
    weights = np.exp(tops, out=tops)
    mass = float(np.add.reduce(weights))
    if not top_k and _best_alone(row[column :: len(tops)], best, temperature, mass, decoding.top_p, share):
        return column + len(tops) * int(row[column :: len(tops)].argmax())
    near = (weights >= _NEAR_WEIGHT).nonzero()[0]
    if len(near) > _FLAT * len(weights):
        return None
    ids = _ids(near, len(weights), len(row))
    head = _Head(best - row[ids] / temperature, decoding.top_p, top_k)
    rest = max(0.0, mass - float(np.add.reduce(weights[near])))
    found = head.drawn(head.total + rest - _ROUGH * mass, head.total + (rest + _ROUGH * mass) * _LINES, share)
    if found is None:
        total = _total(row, best, temperature)
        found = head.drawn(total * (1 - _ROUGH), total * (1 + _ROUGH), share)
    return None if found is None else int(ids[found])


def _tops(row: Logits) -> Logits:
    """The best logit of each column; the last line may be shorter. NaN where a column holds one."""
    columns = -(-len(row) // _LINES)
    if columns * _LINES == len(row):
        return np.asarray(np.maximum.reduce(row.reshape(_LINES, columns), axis=0))
    whole = columns * (_LINES - 1)
    tops: Logits = np.maximum.reduce(row[:whole].reshape(_LINES - 1, columns), axis=0)
    last = tops[: len(row) - whole]
    np.maximum(last, row[whole:], out=last)
    return tops


def _ids(chosen: NDArray[np.intp], columns: int, size: int) -> NDArray[np.intp]:
    """The tokens of some columns, ascending."""
    ids: NDArray[np.intp] = (_line_starts(columns) + chosen).ravel()
    return ids if columns * _LINES == size else ids[ids < size]


@functools.lru_cache(maxsize=4)
def _line_starts(columns: int) -> NDArray[np.intp]:
    return np.arange(0, _LINES * columns, columns)[:, None]


def _total(row: Logits, best: np.float32, temperature: np.float32) -> float:
    """The sum of all weights, in float32 but for a last few sums."""
    weights = row / temperature
    weights -= best
    np.maximum(weights, np.float32(-80), out=weights)
    np.exp(weights, out=weights)
    whole = len(weights) - len(weights) % _LINES
    lines = np.add.reduce(weights[:whole].reshape(_LINES, -1), axis=0)
    return float(np.add.reduce(lines, dtype=np.float64) + np.add.reduce(weights[whole:], dtype=np.float64))


def _best_alone(
    column: Logits, best: np.float32, temperature: np.float32, mass: float, top_p: float, share: float
) -> bool:
    """True when the draw is the best token, which is in `column`, whatever the tokens in other columns weigh.

    `mass` is the sum of all columns' bests. Where another token may weigh as much as the best, it is left open.
    """
    others = mass * (1 + _ROUGH) - 1.0
    rest = others * _LINES
    if others >= 1.0 or (top_p * (1.0 + rest) > 1.0 and share * (top_p * (1.0 + rest) + others) >= 1.0):
        return False
    own: list[float] = sorted(np.exp(column / temperature - best).tolist())
    second = max(own[-2], others)
    wanted = top_p * (sum(own) + rest) * (1 + _SLACK)
    # The nucleus goes past what is wanted by less than its last token, which is the second best or lighter.
    return second < 1.0 and (wanted <= 1.0 or share * (wanted + second) * (1 + _SLACK) < 1.0)


class _Head:
    """The tokens near the best, in the order of the nucleus; `total` is the sum of their weights.

    `below` is how far each lies below the best. Down to `_NEAR` the head holds all tokens of the row.
    """

    def __init__(self, below: Logits, top_p: float, top_k: int) -> None:
        self._below = below
        self._sorted = np.sort(below)
        sums = np.add.accumulate(np.exp(-self._sorted).astype(np.float64))
        self._sums = sums.data  # faster than the array, one number at a time
        self.total = float(sums[-1])
        self._size = int(self._sorted.searchsorted(np.float32(_NEAR), side="right"))
        self._top_p, self._top_k = top_p, top_k

    def drawn(self, low: float, high: float, share: float) -> int | None:
        """The index of the token drawn, if the sum of all weights lies between `low` and `high`."""
        size, sums = self._size, self._sums
        if self._top_k > size:
            low = sums[size - 1]
        elif self._top_k:
            size = int(self._sorted.searchsorted(self._sorted[self._top_k - 1], side="right"))
            low = high = sums[size - 1]
        if self._top_p < 1.0:
            low, high = self._nucleus(low, high, size)
        first = bisect_right(sums, share * low * (1 - _SLACK), 0, size)
        last = bisect_right(sums, share * high * (1 + _SLACK), first, size)
        return self._index(first) if first == last < min(size, _FIRST_SUM) else None

    def _nucleus(self, low: float, high: float, size: int) -> tuple[float, float]:
        """Bounds on the sum of the nucleus, from those on the total and the size of the head."""
        low, high = self._top_p * low * (1 - _SLACK), self._top_p * high * (1 + _SLACK)
        first = bisect_left(self._sums, low, 0, size)
        last = bisect_left(self._sums, high, first, size)
        return (
            self._sums[first] if first < size else low,
            self._sums[last] if last < size else high + _BEYOND,
        )

    def _index(self, rank: int) -> int:
        """Where the token of a rank stands; equals are ranked by where they stand."""
        value = self._sorted[rank]
        equal = (self._below == value).nonzero()[0]
        return int(equal[rank - self._sorted.searchsorted(value)] if len(equal) > 1 else equal[0])
