"""From logits to the next token: greedy, or temperature, top-k and top-p as transformers defines them.

A row's token depends on its logits, decoding, stream and position only: rows are computed one by one, so that no
neighbour can change a sum's order. Logits are divided by the temperature and exponentiated in float32 and summed in
float64.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.models.bounds import decided
from engine.models.decoder import Logits
from engine.settings import Decoding

VERSION = "splitmix64/2"
"""Names the random numbers and the arithmetic; changed whenever either changes, since it is part of the numerics."""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_BLOCK = 512
_REACHES = (4.0, 8.0, 16.0, np.inf)


def _mix(state: int) -> int:
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


def uniform(stream: int, position: int) -> float:
    """The stream's random number for one position of the reply, in [0, 1): a hash of both, so draws are independent."""
    return (_mix((_mix((stream + _GOLDEN) & _MASK) + (position + 1) * _GOLDEN) & _MASK) >> 11) / (1 << 53)


def choose(row: Logits, decoding: Decoding, stream: int, position: int) -> int:
    """The next token for one row of logits [n_vocab]; ties go to the lowest token id."""
    if decoding.greedy:
        return _best(row)
    share = uniform(stream, position)
    token = decided(row, decoding, share)
    if token is not None:
        return token
    _best(row)
    tokens, weights = nucleus(row, decoding)
    return int(tokens[_draw(weights, share)])


def _best(row: Logits) -> int:
    best = int(row.argmax())
    if not math.isfinite(row[best]):
        raise ModelError("the model's logits are not finite (NaN or overflow); try another precision or another build")
    return best


def nucleus(row: Logits, decoding: Decoding) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Token ids that may be drawn and their unnormalised weights, most likely first (equal logits by token id).

    top_k keeps every token that ties with the k-th, then top_p the smallest set whose share of what is left is at
    least top_p; never fewer than one token.
    """
    top_k = decoding.top_k if 0 < decoding.top_k < len(row) else 0
    below = row / np.float32(decoding.temperature)
    below -= below.max()
    # Below e^-80 float32 turns subnormal, which is slow and, next to a best weight of 1, changes nothing.
    weights = np.maximum(below, np.float32(-80))
    np.exp(weights, out=weights)
    if not top_k and decoding.top_p >= 1.0:
        return np.arange(len(row)), weights
    total = float(np.sum(weights, dtype=np.float64))
    # The nucleus nearly always lies within a few logits of the best: sort those, and widen only when they fall short.
    for reach in _REACHES:
        near = np.flatnonzero(below >= np.float32(-reach))
        if top_k and len(near) < top_k and reach < np.inf:
            continue
        order = near[np.argsort(-below[near], kind="stable")]
        if top_k:
            order = order[: _last_tie(below[order], top_k)]
            total = float(np.sum(weights[order], dtype=np.float64))
        if decoding.top_p >= 1.0:
            break
        cumulative = np.cumsum(weights[order], dtype=np.float64)
        wanted = decoding.top_p * total
        if top_k or cumulative[-1] >= wanted or reach == np.inf:
            order = order[: int(np.searchsorted(cumulative, wanted, side="left")) + 1]
            break
    return order, weights[order]


def _draw(weights: NDArray[np.float32], share: float) -> int:
    """The first index at which the running sum of weights exceeds `share` of their total, by blocks."""
    starts = np.arange(0, len(weights), _BLOCK)
    blocks = np.cumsum(np.add.reduceat(weights, starts, dtype=np.float64))
    wanted = share * blocks[-1]
    block = min(int(np.searchsorted(blocks, wanted, side="right")), len(starts) - 1)
    before = blocks[block - 1] if block else 0.0
    inside = before + np.cumsum(weights[starts[block] : starts[block] + _BLOCK], dtype=np.float64)
    return int(starts[block]) + min(int(np.searchsorted(inside, wanted, side="right")), len(inside) - 1)


def _last_tie(descending: Logits, k: int) -> int:
    """How many of the sorted values are at least the k-th."""
    return int(np.searchsorted(-descending, -descending[k - 1], side="right"))
