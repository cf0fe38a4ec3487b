"""The real model: guesses, right or wrong, leave every reply as it is without them in the same shape."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from cache.files import ModelFile
from engine.errors import ModelError
from engine.models import llamacpp, sample, schedule
from engine.models.drafting import Drafter, Lookup, Nothing
from engine.models.independence import is_independent
from engine.models.local import LocalModel
from engine.models.open import open_model
from engine.models.precision import derive
from engine.protocols import Request
from engine.settings import Decoding

LIMIT = 14


@pytest.fixture(scope="module", params=["f16", "q8_0"])
def model(
    request: pytest.FixtureRequest, released: ModelFile, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalModel]:
    """The small model at a precision, on one thread."""
    folder = tmp_path_factory.mktemp("models")
    opened = open_model("small", derive(released, request.param, folder), width=4, block=4, slot_tokens=256, threads=1)
    yield opened
    opened.close()


class Wild:
    """Guesses anything, and repeats itself for every reply."""

    def __init__(self, prompt: Sequence[int]) -> None:
        self.dice = random.Random(len(prompt))

    def add(self, token: int) -> None:
        """Not listened to."""

    def guess(self, count: int) -> Sequence[int]:
        return [self.dice.randrange(1000, 40_000) for _ in range(count)]


def _requests(model: LocalModel) -> list[Request]:
    return [
        Request(f"{index} {decoding.label}", model.tokenize(prompt), decoding, LIMIT, index)
        for index, (prompt, _) in enumerate(sample.replies()[:3])
        for decoding in (Decoding(), Decoding(0.8))
    ]


def _replies(model: LocalModel, drafter: Drafter) -> tuple[dict[str, tuple[int, ...]], int]:
    """Tokens by request, and steps taken."""
    decoder, steps, decode = model.decoder, 0, model.decoder.decode

    def counted(tokens: Sequence[int], positions: Sequence[int]) -> object:
        nonlocal steps
        steps += 1
        return decode(tokens, positions)

    decoder.decode = counted  # type: ignore[method-assign, assignment]
    try:
        made = list(schedule.generate(decoder, _requests(model), drafter=drafter))
    finally:
        del decoder.decode
    return {one.key: one.tokens for one in made}, steps


@pytest.mark.parametrize(("width", "block"), [(4, 4), (1, 8)])
def test_drafted_equals_undrafted_of_the_same_shape(model: LocalModel, width: int, block: int) -> None:
    """Greedy and sampled: guesses from the text, no guesses and wild ones give the same tokens; the first in fewer
    steps.
    """
    model.shape(width=width, block=block)
    drafted, fewer = _replies(model, Lookup)
    undrafted, steps = _replies(model, Nothing)
    assert drafted == undrafted
    assert len(drafted) == 6
    assert fewer < steps
    if width == 4:
        assert _replies(model, Wild)[0] == drafted


def test_neither_neighbours_nor_guesses_show_in_the_logits(model: LocalModel) -> None:
    """The check of the calibration passes on this machine in a shape that drafts."""
    model.shape(width=4, block=4, slot_tokens=512)
    prompt = model.tokenize("\n".join(f"def f{n}(a, b):\n    return a + {n} * b" for n in range(60)))
    assert is_independent(model.decoder, prompt)
    model.shape(slot_tokens=256)


def test_the_block_is_numerics(model: LocalModel) -> None:
    """More than one row per slot is named in the card; one row is named nowhere, as before there were blocks."""
    model.shape(width=4, block=4)
    assert model.card.numerics["block"] == "4"
    model.shape(block=1)
    assert "block" not in model.card.numerics


@pytest.mark.parametrize(("width", "block"), [(4, 2), (4, 6), (4, 0), (16, 64)])
def test_blocks_that_cannot_be_used_are_refused(model: LocalModel, width: int, block: int) -> None:
    """Rows are computed in fours, and a step is at most one micro-batch; the shape that was there still works."""
    model.shape(width=4, block=1)
    with pytest.raises(ModelError, match=r"block of .* choose 1 or a multiple of 4"):
        model.decoder.shape(width, 256, block)
    assert (model.decoder.width, model.decoder.block) == (4, 1)
    assert len(list(model.generate(_requests(model)[:1]))) == 1


def test_memory_that_cannot_be_taken_back_is_not_drafted_over(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recurrent model keeps a state instead of a cache; wrong guesses would stay in it."""
    monkeypatch.setattr(llamacpp.LlamaDecoder, "can_take_back", False)
    with pytest.raises(ModelError, match="nothing can be drafted"):
        model.decoder.shape(8, 256, 4)
