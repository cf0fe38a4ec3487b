"""Stopped anywhere, taken up in any order, in any shape: the same replies, none twice, no slot idle for nothing."""

from __future__ import annotations

import random
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.schedule import generate
from engine.protocols import Generation, Request
from engine.settings import Decoding

from .conftest import FakeDecoder
from .test_drafting import DECODINGS, content, workloads


@settings(max_examples=80, deadline=None)
@given(
    workloads(),
    st.sampled_from([(2, 1), (4, 1), (8, 1), (2, 4), (4, 8)]),
    st.lists(st.integers(0, 30), max_size=4),
    st.randoms(use_true_random=False),
)
def test_any_kill_point_and_order_give_the_same_replies(
    requests: list[Request], shape: tuple[int, int], kills: list[int], order: random.Random
) -> None:
    """Killed after any number of steps, several times, and taken up with what is missing in another order: each reply
    is made once, and is what it is alone.
    """
    width, block = shape
    expected = content([one for request in requests for one in generate(FakeDecoder(1), [request])])
    made: list[Generation] = []
    for kill in [*kills, None]:
        kept = {one.key for one in made}
        missing = [request for request in requests if request.key not in kept]
        order.shuffle(missing)
        tick = partial(next, iter([True] * kill), False) if kill is not None else lambda: True
        made += generate(FakeDecoder(width, block=block), iter(missing), tick)
    assert content(made) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.sampled_from([2, 4, 8]), st.sampled_from([1, 4]), st.integers(2, 12))
def test_no_slot_starves(count: int, width: int, block: int, limit: int) -> None:
    """While there are requests every slot holds one: at each step, idle slots are at most what nobody asked for."""
    decoder = FakeDecoder(width, block=block)
    decoder.end_tokens = frozenset()
    read = finished = 0

    def requests() -> object:
        nonlocal read
        for index in range(count):
            read += 1
            yield Request(str(index), (index % 5, 1), Decoding(0.8), limit, index)

    def tick() -> bool:
        assert read - finished == min(width, count - finished), "as many in slots as there can be"
        return True

    for _ in generate(decoder, requests(), tick):  # type: ignore[arg-type]
        finished += 1
    assert finished == count


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 47), min_size=1, max_size=6),
    st.sampled_from(DECODINGS),
    st.integers(0, 2**40),
    st.sampled_from([(1, 1), (4, 1), (2, 4)]),
)
def test_every_shorter_limit_is_a_prefix(
    prompt: list[int], decoding: Decoding, stream: int, shape: tuple[int, int]
) -> None:
    """Asked for directly, a reply of at most n tokens is the first n of the longest one, for every n."""
    width, block = shape
    decoder = FakeDecoder(width, block=block)
    (longest,) = generate(decoder, [Request("a", tuple(prompt), decoding, 40, stream)])
    shorter = [Request(str(limit), tuple(prompt), decoding, limit, stream) for limit in range(1, 41)]
    for one in generate(decoder, shorter):
        assert one.tokens == longest.tokens[: int(one.key)]
        ended = longest.stop == "end" and len(longest.tokens) < int(one.key)
        assert one.stop == ("end" if ended else "limit")
