"""What the scheduler needs of a decoder: slots of one sequence each, and a prefill sequence that slots copy from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]


class Decoder(Protocol):
    """Decodes `width` sequences in lockstep, `block` tokens each per step, and always all of them.

    The KV of a slot is its own; nothing in one slot may change the logits of another. A sequence holds at most
    `slot_tokens` tokens, and for the length of a step `block - 1` guesses beyond them.
    """

    @property
    def width(self) -> int:
        """Number of slots, each fed one block per step."""
        ...

    @property
    def block(self) -> int:
        """Rows per slot and step: its last token, and guesses at the tokens that follow."""
        ...

    @property
    def slot_tokens(self) -> int:
        """The most tokens (prompt and reply together) that a slot can hold."""
        ...

    @property
    def end_tokens(self) -> frozenset[int]:
        """Token ids that end a reply."""
        ...

    def prefill(self, prompt: Sequence[int]) -> Logits:
        """Put a prompt, alone, into the prefill sequence; logits [n_vocab] after its last token, a copy.

        The prompt that was there before is gone.
        """
        ...

    def share(self, slot: int) -> None:
        """Make a slot's sequence an exact copy of the prefill sequence."""
        ...

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        """Take every slot back to its position, append its block there; logits [width, block, n_vocab].

        `tokens` are width x block, slot by slot; `positions` one per slot: where its first token goes. What a slot
        held from there on (guesses that were wrong) is gone; position 0 empties it, which is how idle slots are fed.
        The logits are a view, which the next `prefill` or `decode` overwrites.
        """
        ...

    def piece(self, token: int) -> bytes:
        """A token's text as bytes, special tokens included; single tokens may hold part of a character."""
        ...
