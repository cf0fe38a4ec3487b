from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ModelError
from engine.models.decoder import Logits
from engine.models.schedule import View, generate
from engine.protocols import STOPS, Generation, Request
from engine.settings import Decoding

from .conftest import END, FakeDecoder

GREEDY, WARM = Decoding(), Decoding(0.8)
PROMPTS = [(1, 2), (1, 2, 3, 4), (7,), (9, 9, 9)]


def _reply(decoder: FakeDecoder, requests: Sequence[Request]) -> dict[str, Generation]:
    found = list(generate(decoder, iter(requests)))
    assert len({one.key for one in found}) == len(found) == len(requests), "each request is answered once"
    return {one.key: one for one in found}


def _content(replies: dict[str, Generation]) -> dict[str, tuple[object, ...]]:
    return {key: (one.text, one.tokens, one.stop) for key, one in replies.items()}


def _two_lines(text: str) -> bool:
    return "\n" in text


def _never(text: str) -> bool:
    return False


@st.composite
def _workloads(draw: st.DrawFn) -> list[Request]:
    shapes = draw(
        st.lists(
            st.tuples(
                st.sampled_from(PROMPTS),
                st.sampled_from([GREEDY, WARM, Decoding(1.5, 1.0)]),
                st.integers(-1, 25),
                st.booleans(),
            ),
            max_size=24,
        )
    )
    return [
        Request(f"k{index}", prompt, decoding, limit, index, _two_lines if cut else _never)
        for index, (prompt, decoding, limit, cut) in enumerate(shapes)
    ]


@settings(max_examples=60, deadline=None)
@given(_workloads(), st.sampled_from([1, 2, 3, 8]), st.randoms(use_true_random=False))
def test_replies_depend_on_their_request_only(requests: list[Request], width: int, order: random.Random) -> None:
    """Any order of arrival and any width give the same replies as each request alone, each exactly once."""
    alone = {key: one for request in requests for key, one in _reply(FakeDecoder(1), [request]).items()}
    shuffled = list(requests)
    order.shuffle(shuffled)
    assert _content(_reply(FakeDecoder(width), shuffled)) == _content(alone)


@settings(max_examples=40, deadline=None)
@given(_workloads())
def test_each_reply_ends_for_the_reason_it_states(requests: list[Request]) -> None:
    """`end` leaves its token out, `limit` is exactly full, `cut` the first text that is done, `no room` empty."""
    for request in requests:
        one = _reply(FakeDecoder(4), [request])[request.key]
        assert one.stop in STOPS
        assert END not in one.tokens
        assert (one.stop == "no room") == (request.limit <= 0)
        if one.stop == "no room":
            assert (one.text, one.tokens) == ("", ())
        elif one.stop == "limit":
            assert len(one.tokens) == request.limit
        elif one.stop == "cut":
            assert request.done(one.text) and not request.done(one.text[:-1])
        else:
            assert len(one.tokens) < request.limit


def test_a_shorter_limit_gives_a_prefix() -> None:
    """The reply at 5 tokens is the beginning of the reply at 20: limits are never part of a draw."""
    long = _reply(FakeDecoder(2), [Request("a", (8, 8), WARM, 20, 4)])["a"]
    short = _reply(FakeDecoder(2), [Request("a", (8, 8), WARM, 5, 4)])["a"]
    assert short.tokens == long.tokens[:5]


def test_one_prompt_is_prefilled_once_for_all_its_samples() -> None:
    """Twenty samples of a prompt cost one prefill, and are what each would be alone."""
    requests = [Request(str(index), (4, 2), WARM, 12, index) for index in range(20)]
    decoder = FakeDecoder(4)
    together = _reply(decoder, requests)
    assert decoder.prefills == 1
    assert len({one.tokens for one in together.values()}) > 10, "each sample has its own stream"
    assert _content(together) == {k: v for r in requests for k, v in _content(_reply(FakeDecoder(1), [r])).items()}


def test_every_step_feeds_every_slot() -> None:
    """With one request for eight slots, all eight are decoded: the shape of a step never depends on the load."""
    decoder = FakeDecoder(8)
    _reply(decoder, [Request("a", (1,), GREEDY, 6, 0)])
    assert all(slot for slot in decoder.slots)


def test_no_slot_waits_while_there_are_requests() -> None:
    """Thirty-two replies of equal length through four slots take eight rounds of steps: no slot starves."""
    decoder = FakeDecoder(4)
    decoder.end_tokens = frozenset()
    _reply(decoder, [Request(str(index), (index, 1), WARM, 11, index) for index in range(32)])
    assert decoder.steps == 8 * 10  # the first token of each comes from its prefill


def test_requests_are_read_only_as_slots_become_free() -> None:
    """An endless stream of requests is fine: four slots hold four requests, and one more is read for each that ends."""
    read = 0

    def endless() -> Iterator[Request]:
        nonlocal read
        while True:
            read += 1
            yield Request(str(read), (read % 7,), GREEDY, 9, 0)

    replies = generate(FakeDecoder(4), endless())
    for taken in range(1, 6):
        next(replies)
        assert read <= 4 + taken
    replies.close()


def test_stopping_between_steps_drops_what_is_unfinished() -> None:
    """`tick` is asked before every step; on False nothing more is decoded or yielded."""
    decoder = FakeDecoder(2)
    asked = iter([True, True, False])
    requests = [Request(str(index), (index,), GREEDY, 500, 0) for index in range(2)]
    decoder.end_tokens = frozenset()
    assert list(generate(decoder, requests, lambda: next(asked))) == []
    assert decoder.steps == 2


def test_a_view_shows_what_grows_into_the_replies() -> None:
    """Between steps every unfinished reply is there with the beginning of what it will be; it changes no reply."""
    requests = [Request(f"k{index}", PROMPTS[index % 4], WARM, 25, index) for index in range(6)]
    alone = _reply(FakeDecoder(3), requests)
    view, seen = View(), []

    def tick() -> bool:
        seen.append(view.now())
        return True

    decoder = FakeDecoder(3)
    watched = {one.key: one for one in generate(decoder, iter(requests), tick, view=view)}
    assert _content(watched) == _content(alone)
    assert view.now() == [] and len(seen) == decoder.steps
    for now in seen:
        assert 0 < len(now) <= 3 and len({one.slot for one in now}) == len(now)
        for one in now:
            whole = watched[one.key]
            assert whole.text.startswith(one.text) and one.tokens < len(whole.tokens) + (whole.stop == "end")
    lengths = [one.tokens for now in seen for one in now if one.key == "k0"]
    assert lengths == sorted(set(lengths)) and len(lengths) > 3


def test_text_is_decoded_across_tokens() -> None:
    """A character split over two tokens appears once both are there; half a character at the end is shown as U+FFFD."""

    class Accents(FakeDecoder):
        def logits(self, sequence: Sequence[int]) -> Logits:
            row = super().logits(sequence)
            row[41 if len(sequence) % 2 else 42] = 99.0
            return row

    seen: list[str] = []

    def note(text: str) -> bool:
        seen.append(text)
        return False

    even = _reply(Accents(1), [Request("a", (1,), GREEDY, 4, 0, note)])["a"]
    odd = _reply(Accents(1), [Request("a", (1,), GREEDY, 3, 0)])["a"]
    assert even.text == "éé"
    assert seen == ["é", "éé"]
    assert odd.text == "é�"


def test_a_request_longer_than_a_slot_is_refused() -> None:
    """A prompt and limit that together exceed the slot are an error that names both, not a cut reply."""
    with pytest.raises(ModelError, match=r"12 tokens .* slots of 10"):
        _reply(FakeDecoder(2, slot_tokens=10), [Request("a", (1, 2), GREEDY, 10, 0)])
