"""Whether a sequence's logits are its own: checked bit for bit, on the device at hand, in the shape to be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.models.decoder import Decoder, Logits

_LENGTHS, _LONG = (12, 19, 31), 280

Rows = dict[tuple[int, int], list[Logits]]
"""All logits [n_vocab] seen, by a sequence's length before the run and the position that they follow."""


def is_independent(decoder: Decoder, prompt: Sequence[int], steps: int = 3) -> bool:
    """True when a sequence's logits are the same bits in every slot and row, whatever its neighbours and guesses are.

    The same sequences run next to a long one, next to idle slots, and in other slots; where a block has more than one
    row, without right guesses, with some, and with right ones only. `prompt` needs 280 tokens and a few more.
    """
    short = [_LENGTHS[slot % len(_LENGTHS)] for slot in range(decoder.width)]
    crowded = [*short[1:], _LONG] if decoder.width > 1 else short
    sparse = [length if slot % 2 == 0 else 0 for slot, length in enumerate(short)][::-1]
    block, reach = decoder.block, steps + decoder.block - 1
    runs = [
        _run(decoder, prompt, lengths, right, reach)
        for lengths, right in ((crowded, [1]), (sparse, [1, block, max(1, block // 2)]), (short, [block]))
    ]
    first: dict[tuple[int, int], Logits] = {}
    return all(
        np.array_equal(first.setdefault(place, row), row) for run in runs for place, rows in run.items() for row in rows
    )


def _run(decoder: Decoder, prompt: Sequence[int], lengths: Sequence[int], right: Sequence[int], reach: int) -> Rows:
    """Continue the prompt's first `length` tokens in each slot (0: idle) by at least `reach` tokens; the logits.

    In each step the first rows (`right`, taken in turn from slot to slot and step to step) hold the prompt's tokens,
    the others wrong ones.
    """
    for length in sorted(set(lengths) - {0}):
        decoder.prefill(prompt[:length])
        for slot in (slot for slot, wanted in enumerate(lengths) if wanted == length):
            decoder.share(slot)
    found: Rows = {}
    at = dict(enumerate(lengths))
    step = 0
    while any(at[slot] < length + reach for slot, length in enumerate(lengths) if length):
        rights = [right[(slot + step) % len(right)] for slot in range(decoder.width)]
        logits = decoder.decode(_tokens(prompt, at, rights, decoder.block), list(at.values()))
        for slot, length in enumerate(lengths):
            if length:
                for row in range(rights[slot]):
                    found.setdefault((length, at[slot] + row), []).append(logits[slot, row].copy())
                at[slot] += rights[slot]
        step += 1
    return found


def _tokens(prompt: Sequence[int], at: Mapping[int, int], rights: Sequence[int], block: int) -> list[int]:
    tokens: list[int] = []
    for slot, position in at.items():
        here = prompt[position : position + block]
        wrong = prompt[position + block : position + 2 * block] if position else [0] * block
        tokens += [*here[: rights[slot]], *wrong[rights[slot] :]] if position else wrong
    return tokens
