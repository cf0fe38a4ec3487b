"""What the scheduler needs of a decoder: slots of one sequence each, and a prefill sequence that slots copy from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]


class Decoder(Protocol):
    """Decodes `width` sequences in lockstep, one token each per step, and always all of them.

    The KV of a slot is its own; nothing in one slot may change the logits of another. A sequence holds at most
    `slot_tokens` tokens.
    """

    @property
    def width(self) -> int:
        """Number of slots, each fed one token per step."""
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
        """Append one token to every slot; logits [width, n_vocab].

        They are a view, which the next `prefill` or `decode` overwrites. Position 0 empties the slot first: that is
        how idle slots are fed.
        """
        ...

    def piece(self, token: int) -> bytes:
        """A token's text as bytes, special tokens included; single tokens may hold part of a character."""
        ...
