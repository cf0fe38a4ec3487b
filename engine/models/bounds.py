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

_NEAR, _FAR = 8.0, 12.0
"""How far below the best, in logits over the temperature, tokens are computed one by one: at first; where that leaves
the draw open.
"""

_NEAR_WEIGHT, _FAR_WEIGHT = np.float32(math.exp(-_NEAR) * 0.9999), np.float32(math.exp(-_FAR))
_BEYOND = math.exp(-_NEAR) * 1.0001
_MANY = 0.25
"""More than this share of the columns are not computed token by token: sums over the whole row are cheaper then."""

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
    columns = _Columns(row, np.float32(decoding.temperature))
    if not columns.finite:
        return None
    columns.weigh()
    if not top_k and columns.best_alone(decoding.top_p, share):
        return columns.best_token()
    near = columns.between(_NEAR_WEIGHT)
    if len(near) > _MANY * len(columns.weights):
        return None
    ids = columns.ids(near)
    head = _Head(columns.below(ids), decoding.top_p, top_k)
    columns.take_out(near)
    found = head.drawn(*columns.bounds(head.total), share)
    if found is None:
        more = columns.between(_FAR_WEIGHT, _NEAR_WEIGHT)
        if len(more) <= _MANY * len(columns.weights):
            counted = head.total + _sum_of_weights(columns.below(columns.ids(more)))
            columns.take_out(more)
            found = head.drawn(*columns.bounds(counted), share)
    if found is None:
        total = columns.total()
        found = head.drawn(total * (1 - _ROUGH), total * (1 + _ROUGH), share)
    return None if found is None else int(ids[found])


def _sum_of_weights(below: Logits) -> float:
    return float(np.add.reduce(np.exp(np.negative(below, out=below), out=below), dtype=np.float64))


class _Columns:
    """A row written in 16 lines (the last may be shorter), its best logit, and what the best of each column weighs."""

    def __init__(self, row: Logits, temperature: np.float32) -> None:
        self._row, self._temperature = row, temperature
        self._tops = _tops(row)
        self._column = int(self._tops.argmax())
        self._best = self._tops[self._column] / temperature
        self.finite = math.isfinite(self._best)

    def weigh(self) -> None:
        """Weights of the columns' bests, and their sum."""
        tops = self._tops
        tops /= self._temperature
        tops -= self._best
        if self._temperature < 0.5:  # wide enough for weights that are subnormal in float32, which is slow
            np.maximum(tops, np.float32(-80), out=tops)
        self.weights = np.exp(tops, out=tops)
        self._mass = self._rest = float(np.add.reduce(self.weights))

    def between(self, least: np.float32, below: np.float32 | None = None) -> NDArray[np.intp]:
        """Columns whose best weighs at least `least`, and less than `below`."""
        heavy = self.weights >= least
        return (heavy if below is None else heavy & (self.weights < below)).nonzero()[0]

    def ids(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """The tokens of some columns, ascending."""
        ids: NDArray[np.intp] = (_line_starts(len(self.weights)) + chosen).ravel()
        return ids if len(self.weights) * _LINES == len(self._row) else ids[ids < len(self._row)]

    def below(self, ids: NDArray[np.intp]) -> Logits:
        """How far tokens, in logits over the temperature, lie below the best: 0 and more."""
        below: Logits = self._row[ids]
        below /= self._temperature
        np.subtract(self._best, below, out=below)
        return below

    def take_out(self, chosen: NDArray[np.intp]) -> None:
        """Bound what some columns weigh no more: it is known."""
        self._rest -= float(np.add.reduce(self.weights[chosen]))

    def bounds(self, counted: float) -> tuple[float, float]:
        """Bounds on the sum of all weights, `counted` being that of the columns taken out."""
        slack = _ROUGH * self._mass
        return counted + self._rest - slack, counted + (self._rest + slack) * _LINES

    def best_alone(self, top_p: float, share: float) -> bool:
        """True when the draw is the best token, whatever the tokens in other columns than its own weigh.

        Where another token may weigh as much as the best, it is left open.
        """
        others = self._mass * (1 + _ROUGH) - 1.0
        rest = others * _LINES
        if others >= 1.0 or (top_p * (1.0 + rest) > 1.0 and share * (top_p * (1.0 + rest) + others) >= 1.0):
            return False
        column = self._row[self._column :: len(self.weights)]
        own: list[float] = sorted(np.exp(column / self._temperature - self._best).tolist())
        second = max(own[-2], others)
        wanted = top_p * (sum(own) + rest) * (1 + _SLACK)
        # The nucleus goes past what is wanted by less than its last token, which is the second best or lighter.
        return second < 1.0 and (wanted <= 1.0 or share * (wanted + second) * (1 + _SLACK) < 1.0)

    def best_token(self) -> int:
        """The best token, where no other weighs as much."""
        columns = len(self.weights)
        return self._column + columns * int(self._row[self._column :: columns].argmax())

    def total(self) -> float:
        """The sum of all weights, in float32 but for a last few sums."""
        weights = self._row / self._temperature
        weights -= self._best
        np.maximum(weights, np.float32(-80), out=weights)
        np.exp(weights, out=weights)
        whole = len(weights) - len(weights) % _LINES
        lines = np.add.reduce(weights[:whole].reshape(_LINES, -1), axis=0)
        return float(np.add.reduce(lines, dtype=np.float64) + np.add.reduce(weights[whole:], dtype=np.float64))


def _tops(row: Logits) -> Logits:
    """The best logit of each column; NaN where a column holds one."""
    columns = -(-len(row) // _LINES)
    if columns * _LINES == len(row):
        return np.asarray(np.maximum.reduce(row.reshape(_LINES, columns), axis=0))
    whole = columns * (_LINES - 1)
    tops: Logits = np.maximum.reduce(row[:whole].reshape(_LINES - 1, columns), axis=0)
    last = tops[: len(row) - whole]
    np.maximum(last, row[whole:], out=last)
    return tops


@functools.lru_cache(maxsize=4)
def _line_starts(columns: int) -> NDArray[np.intp]:
    return np.arange(0, _LINES * columns, columns)[:, None]


class _Head:
    """The tokens near the best, in the order of the nucleus; `total` is the sum of their weights.

    `below` is how far each lies below the best. Down to `_NEAR` the head holds all tokens of the row.
    """

    def __init__(self, below: Logits, top_p: float, top_k: int) -> None:
        self._below = below
        self._sorted = below.copy()
        self._sorted.sort()
        weights = np.negative(self._sorted)
        sums = np.add.accumulate(np.exp(weights, out=weights).astype(np.float64))
        self._sums = sums.data  # one number at a time is read faster from there
        self.total = self._sums[-1]
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
