"""A draft changes how fast a reply comes, never one token of it: for any guesses, decoding, width and order."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.drafting import Lookup, Nothing
from engine.models.schedule import generate
from engine.protocols import Generation, Request
from engine.settings import Decoding

from .conftest import VOCABULARY, FakeDecoder, Logits

DECODINGS = (Decoding(), Decoding(0.2), Decoding(0.8), Decoding(1.5, 1.0), Decoding(1.0, 0.9, 5))


class Told:
    """Guesses right tokens (which it is told) with some probability, and anything else otherwise."""

    def __init__(self, replies: dict[tuple[int, ...], Sequence[Sequence[int]]], share: float, seed: int) -> None:
        self.replies, self.share, self.random = replies, share, random.Random(seed)

    def __call__(self, prompt: Sequence[int]) -> _Telling:
        return _Telling(self, self.random.choice(list(self.replies[tuple(prompt)])))


class _Telling:
    def __init__(self, told: Told, reply: Sequence[int]) -> None:
        self.told, self.reply, self.at = told, reply, 0

    def add(self, token: int) -> None:
        self.at += 1

    def guess(self, count: int) -> Sequence[int]:
        dice = self.told.random
        right = self.reply[self.at : self.at + dice.randint(0, count)]
        return [t if dice.random() < self.told.share else dice.randrange(VOCABULARY) for t in right]


def _two_lines(text: str) -> bool:
    return "\n" in text


def _never(text: str) -> bool:
    return False


@st.composite
def workloads(draw: st.DrawFn) -> list[Request]:
    """Requests over few prompts, so that some repeat, with any decoding and limit."""
    prompt = st.sampled_from([(1, 2), (1, 2, 3, 4), (7,), (9, 9, 9)])
    shapes = draw(
        st.lists(st.tuples(prompt, st.sampled_from(DECODINGS), st.integers(0, 25), st.booleans()), max_size=16)
    )
    return [
        Request(f"k{index}", prompt, decoding, limit, index, _two_lines if cut else _never)
        for index, (prompt, decoding, limit, cut) in enumerate(shapes)
    ]


def content(replies: Sequence[Generation]) -> dict[str, tuple[object, ...]]:
    """What a reply is, by its key; each key once."""
    found = {one.key: (one.text, one.tokens, one.stop) for one in replies}
    assert len(found) == len(replies), "each request is answered once"
    return found


@settings(max_examples=80, deadline=None)
@given(
    workloads(),
    st.sampled_from([1, 4, 8]),
    st.sampled_from([2, 4, 8]),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.randoms(use_true_random=False),
)
def test_drafted_equals_undrafted(
    requests: list[Request], width: int, block: int, share: float, order: random.Random
) -> None:
    """Whatever share of the guesses is right, in any order: the replies of one row per step, alone."""
    expected = content([one for request in requests for one in generate(FakeDecoder(1), [request])])
    replies: dict[tuple[int, ...], list[Sequence[int]]] = {}
    for request in requests:
        tokens = expected[request.key][1]
        assert isinstance(tokens, tuple)
        replies.setdefault(request.prompt, []).append(tokens)
    order.shuffle(requests)
    told = Told(replies, share, order.randrange(1000))
    for drafter in (told, Lookup, Nothing):
        drafted = list(generate(FakeDecoder(width, block=block), iter(requests), drafter=drafter))
        assert content(drafted) == expected


class NeverTheDummy(FakeDecoder):
    """Never draws token 0, which blocks are filled up with, and never ends."""

    def __init__(self, width: int, block: int = 1) -> None:
        super().__init__(width, block=block)
        self.end_tokens = frozenset()

    def logits(self, sequence: Sequence[int]) -> Logits:
        row = super().logits(sequence)
        row[0] = -99.0
        return row


def test_right_guesses_save_steps() -> None:
    """A reply of 41 tokens whose guesses all hold takes ten blocks of four; with none it takes forty."""
    request = Request("a", (4, 2), Decoding(0.8), 41, 7)
    (reply,) = generate(NeverTheDummy(1), [request])
    told = Told({(4, 2): [reply.tokens]}, 1.0, 0)
    told.random.randint = lambda low, high: high  # type: ignore[method-assign]
    for drafter, steps in ((told, 10), (Nothing, 40)):
        decoder = NeverTheDummy(1, block=4)
        assert content(list(generate(decoder, [request], drafter=drafter))) == content([reply])
        assert decoder.steps == steps


class Parrot(FakeDecoder):
    """Repeats its sequence from the second token on, as a fix repeats the buggy program; every 20th token differs."""

    def logits(self, sequence: Sequence[int]) -> Logits:
        row = super().logits(sequence)
        length = 64
        row[sequence[len(sequence) - length] if len(sequence) % 20 else len(sequence) // 20 % 30 + 6] = 99.0
        return row


def test_a_repeated_program_is_guessed() -> None:
    """A reply that repeats its prompt but for every 20th token takes less than half of the steps."""
    prompt = tuple(random.Random(1).sample(range(6, 40), 30)) + tuple(random.Random(2).choices(range(6, 40), k=34))
    decoder = Parrot(1, block=4)
    decoder.end_tokens = frozenset()
    (reply,) = generate(decoder, [Request("a", prompt, Decoding(), 120, 0)])
    assert len(reply.tokens) == 120
    assert decoder.steps < 60


@given(st.lists(st.integers(0, 5), max_size=40), st.lists(st.integers(0, 5), max_size=40), st.integers(0, 9))
def test_a_guess_is_text_that_stood_there_before(prompt: list[int], reply: list[int], count: int) -> None:
    """Guesses are a piece of prompt and reply, never longer than asked for; without any text there are none."""
    draft = Lookup(prompt)
    for token in reply:
        draft.add(token)
    known = [*prompt, *reply]
    guesses = list(draft.guess(count))
    assert len(guesses) <= count
    assert guesses == [] or any(known[at : at + len(guesses)] == guesses for at in range(len(known)))
