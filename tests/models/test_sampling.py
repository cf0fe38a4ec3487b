from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.models.bounds import decided
from engine.models.sampling import choose, nucleus, uniform
from engine.settings import Decoding


def _row(seed: int, size: int = 500, spread: float = 4.0) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).standard_normal(size) * spread).astype(np.float32)


def _by_definition(row: NDArray[np.float32], decoding: Decoding) -> set[int]:
    """transformers' warpers, written out: temperature, then top-k with ties, then top-p over a full sort."""
    scores = row.astype(np.float64) / decoding.temperature
    if decoding.top_k:
        kth = np.sort(scores)[::-1][min(decoding.top_k, len(row)) - 1]
        scores = np.where(scores < kth, -np.inf, scores)
    if decoding.top_p >= 1.0:
        return {int(token) for token in np.flatnonzero(scores > -np.inf)}
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    kept: set[int] = set()
    mass = 0.0
    for token in np.argsort(-scores, kind="stable"):
        if shares[token] == 0.0:
            break
        kept.add(int(token))
        mass += shares[token]
        if mass >= decoding.top_p - 1e-12:
            break
    return kept


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.2, 0.8, 1.0, 3.0]),
    st.sampled_from([0.1, 0.5, 0.9, 0.95, 1.0]),
    st.sampled_from([0, 1, 5, 40, 499, 10_000]),
)
def test_the_nucleus_is_the_smallest_set_that_reaches_top_p(seed: int, t: float, top_p: float, top_k: int) -> None:
    """The tokens that may be drawn are those of the definition over a full sort, the last within rounding."""
    row, decoding = _row(seed), Decoding(t, top_p, top_k)
    found = {int(token) for token in nucleus(row, decoding)[0]}
    assert len(found ^ _by_definition(row, decoding)) <= (2 if top_p < 1 else 0)


def _over_all(row: NDArray[np.float32], decoding: Decoding) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The same arithmetic without any shortcut: every weight, one sort, one sum."""
    below = row / np.float32(decoding.temperature)
    below -= below.max()
    weights = np.exp(np.maximum(below, np.float32(-80)))
    order = np.argsort(-below, kind="stable")
    total = float(np.sum(weights, dtype=np.float64))
    if 0 < decoding.top_k < len(row):
        order = order[: int(np.searchsorted(-below[order], -below[order][decoding.top_k - 1], side="right"))]
        total = float(np.sum(weights[order], dtype=np.float64))
    if decoding.top_p < 1.0:
        cumulative = np.cumsum(weights[order], dtype=np.float64)
        order = order[: int(np.searchsorted(cumulative, decoding.top_p * total, side="left")) + 1]
    return order, weights[order]


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.1, 0.2, 0.8, 1.0, 3.0]),
    st.sampled_from([0.1, 0.5, 0.9, 0.95, 0.999, 0.999999]),
    st.sampled_from([0, 1, 5, 40]),
    st.sampled_from([0.0, 0.3, 2.0, 5.0]),
    st.sampled_from([0.0, 6.0, 14.0, 30.0]),
)
def test_not_looking_at_every_token_changes_no_bit(
    seed: int, t: float, top_p: float, top_k: int, spread: float, lead: float
) -> None:
    """Flat, wide and peaked rows, some with forbidden tokens: ids, weights and so every draw as over the whole row."""
    row = _row(seed, 3000, spread)
    row[seed % 7 :: 500] += np.float32(lead)
    if seed % 3 == 0:
        row[::11] = -np.inf
    decoding = Decoding(t, top_p, top_k)
    tokens, weights = nucleus(row, decoding)
    all_tokens, all_weights = _over_all(row, decoding)
    assert tokens.tolist() == all_tokens.tolist()
    assert weights.tobytes() == all_weights.tobytes()


def _drawn_over_all(row: NDArray[np.float32], decoding: Decoding, share: float) -> int:
    """The token that a share of the nucleus draws, by running sums over the whole nucleus in blocks of 512."""
    if decoding.top_p >= 1.0 and not 0 < decoding.top_k < len(row):
        below = row / np.float32(decoding.temperature)
        order, weights = np.arange(len(row)), np.exp(np.maximum(below - below.max(), np.float32(-80)))
    else:
        order, weights = _over_all(row, decoding)
    starts = np.arange(0, len(weights), 512)
    blocks = np.cumsum(np.add.reduceat(weights, starts, dtype=np.float64))
    wanted = share * blocks[-1]
    block = min(int(np.searchsorted(blocks, wanted, side="right")), len(starts) - 1)
    inside = np.cumsum(weights[512 * block :][:512], dtype=np.float64) + (blocks[block - 1] if block else 0.0)
    return int(order[512 * block + min(int(np.searchsorted(inside, wanted, side="right")), len(inside) - 1)])


def _like_a_models(seed: int, size: int) -> NDArray[np.float32]:
    """A wide field from which some tokens stand out, as in a language model's logits."""
    draw = np.random.default_rng(seed)
    row = (draw.standard_normal(size) * draw.choice([0.5, 2.0, 2.5, 4.0])).astype(np.float32)
    ahead = draw.integers(0, size, draw.integers(1, 40))
    row[ahead] += draw.choice([4.0, 9.0, 14.0, 20.0]) * draw.random(len(ahead), dtype=np.float32)
    return row - np.float32(draw.choice([0.0, 30.0, 1000.0]))


def _rows(kind: str, seed: int, size: int) -> NDArray[np.float32]:
    row = _like_a_models(seed, size)
    if kind == "flat":
        row[:] = np.float32(seed % 5)
    elif kind == "nearly flat":
        row = row * np.float32(1e-3)
    elif kind == "ties":
        row = np.round(row)
    elif kind == "two best":
        row[[seed % size, (seed * 7 + 3) % size]] = row.max() + np.float32(2)
    elif kind == "forbidden":
        row[row < np.quantile(row, 0.99)] = -np.inf
    elif kind == "one":
        row[:] = -np.inf
        row[seed % size] = 1.0
    elif kind == "best at the end":
        row[-1] = row.max() + np.float32(seed % 9)
    return row


@settings(max_examples=1500, deadline=None)
@given(
    st.sampled_from(
        ["like a model's"] * 3 + ["flat", "nearly flat", "ties", "two best", "forbidden", "one", "best at the end"]
    ),
    st.integers(0, 2**32),
    st.sampled_from([40, 1024, 1031, 3000, 4099, 8192]),
    st.sampled_from([1e-4, 0.05, 0.2, 0.8, 0.8, 1.0, 3.0, 1e4]),
    st.sampled_from([1e-9, 0.01, 0.5, 0.8, 0.95, 0.95, 0.999999, 1.0]),
    st.sampled_from([0, 0, 0, 1, 2, 40, 900]),
)
def test_bounds_draw_the_tokens_of_the_whole_sums(
    kind: str, seed: int, size: int, t: float, top_p: float, top_k: int
) -> None:
    """Whatever the row and the setting, every draw is that of all weights summed: at random, at both ends and right at,
    just under and just over the shares where one token's part ends and the next one's begins."""
    row, decoding = _rows(kind, seed, size), Decoding(t, top_p, top_k)
    _, weights = _over_all(row, decoding)
    edges = (np.cumsum(weights[:6], dtype=np.float64) / np.sum(weights, dtype=np.float64)).tolist()
    shares = [0.0, 1 - 2.0**-53, *np.random.default_rng(seed).random(6).tolist()]
    for edge in edges:
        shares += [edge, edge * (1 - 1e-12), edge * (1 + 1e-12), edge * (1 - 1e-7), edge * (1 + 1e-7)]
    for share in shares:
        if share < 1.0:
            assert _drawn(row, decoding, share) == _drawn_over_all(row, decoding, share)


def _drawn(row: NDArray[np.float32], decoding: Decoding, share: float) -> int:
    """What `choose` takes when the stream's number is `share`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.models.sampling.uniform", lambda stream, position: share)
        return choose(row, decoding, 0, 0)


def test_rows_in_the_memory_of_a_library_are_drawn_from_alike() -> None:
    """Logits seen through ctypes, as llama.cpp's are, give the tokens of the same numbers in numpy's own memory."""
    row = _row(5, 4099, 2.5)
    row[:8] += np.float32(14)
    memory = (ctypes.c_float * len(row)).from_buffer_copy(row.tobytes())
    for decoding in (Decoding(), Decoding(0.8), Decoding(0.8, 0.95, 40), Decoding(1.0, 1.0)):
        for position in range(20):
            seen = np.ctypeslib.as_array(memory)
            assert choose(seen, decoding, 1, position) == choose(row, decoding, 1, position)


def test_bounds_decide_nearly_every_draw() -> None:
    """Where a few tokens stand out, as they do for a model, the shortcut is taken: one draw in fifty is left open."""
    for decoding in (Decoding(0.2), Decoding(0.8), Decoding(0.8, 0.95, 40)):
        left_open = 0
        for seed in range(100):
            row = _row(seed, 49_152, 2.5)
            row[:8] += np.float32(14)
            left_open += decided(row, decoding, uniform(seed, 0)) is None
        assert left_open <= 2


def test_flat_logits_fall_back_to_the_full_sort() -> None:
    """With equal logits, half of the tokens make up half of the mass, lowest ids first."""
    tokens, weights = nucleus(np.zeros(1000, dtype=np.float32), Decoding(1.0, 0.5))
    assert tokens.tolist() == list(range(500))
    assert set(weights.tolist()) == {1.0}


def test_top_k_keeps_all_that_tie_with_the_last() -> None:
    """Three tokens tie for the second place of two: all of them stay, as in transformers."""
    row = np.array([1.0, 5.0, 3.0, 3.0, 3.0, 0.0], dtype=np.float32)
    assert sorted(nucleus(row, Decoding(1.0, 1.0, 2))[0].tolist()) == [1, 2, 3, 4]


def test_greedy_takes_the_lowest_id_of_a_tie() -> None:
    """Two equal best logits: the first token, always."""
    assert choose(np.array([0.0, 7.0, 7.0], dtype=np.float32), Decoding(), 1, 0) == 1


def test_frequencies_follow_the_softmax() -> None:
    """Over 20 000 positions the drawn shares are within 1.5 points of softmax(logits / T)."""
    row = np.array([2.0, 1.0, 0.0, -1.0], dtype=np.float32)
    decoding = Decoding(0.8, 1.0)
    drawn = [choose(row, decoding, 99, position) for position in range(20_000)]
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    exact = np.exp(row / 0.8) / np.exp(row / 0.8).sum()
    assert np.abs(shares - exact).max() < 0.015


def test_streams_and_positions_are_independent_and_fixed() -> None:
    """Draws are uniform and uncorrelated over positions and over streams, and the same on every machine."""
    by_position = np.array([uniform(5, position) for position in range(20_000)])
    by_stream = np.array([uniform(stream, 5) for stream in range(20_000)])
    for draws in (by_position, by_stream):
        assert abs(draws.mean() - 0.5) < 0.01
        assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03
        assert draws.min() >= 0.0
        assert draws.max() < 1.0
    assert uniform(1, 0) == 0.36818951565166946
    assert uniform(2**63 - 1, 7) != uniform(0, 7)


def test_a_neighbour_row_never_changes_a_draw() -> None:
    """The same row gives the same token in any place of any array of logits, strided or not."""
    row = _row(3, 4099)
    block = np.stack([_row(8, 4099), row, _row(9, 4099)])
    for decoding in (Decoding(), Decoding(0.8), Decoding(0.2, 0.95, 40), Decoding(1.0, 1.0)):
        assert choose(block[1], decoding, 4, 2) == choose(row, decoding, 4, 2)


def test_logits_that_are_not_finite_are_an_error() -> None:
    """NaN from an overflowing precision stops the run with a remedy instead of giving some token."""
    for decoding in (Decoding(), Decoding(0.8)):
        with pytest.raises(ModelError, match="not finite"):
            choose(np.array([0.0, np.nan], dtype=np.float32), decoding, 0, 0)
