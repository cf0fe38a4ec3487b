"""Guesses at the tokens to follow, looked up in the prompt and the reply so far: a bug fix mostly repeats its prompt.

A guess changes how many tokens a step accepts, never which: each is checked against the model's own choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

LONGEST = 3
"""Tokens of context that a guess is looked up by, at most; shorter ones are tried after longer ones."""


class Draft(Protocol):
    """Guesses for one reply."""

    def add(self, token: int) -> None:
        """Take note of the reply's next token."""
        ...

    def guess(self, count: int) -> Sequence[int]:
        """At most `count` tokens that may follow."""
        ...


Drafter = Callable[[Sequence[int]], Draft]
"""Starts a draft for a reply to a prompt (token ids)."""


class Lookup:
    """Follows the place in prompt and reply where the last tokens stood before.

    While the reply repeats what stands there, the place moves along. When it departs, the longest context that
    occurred before is looked up; where none did, one token is taken to have been replaced, as a fix does, and the place
    moves on.
    """

    def __init__(self, prompt: Sequence[int]) -> None:
        self._tokens: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}
        self._place: int | None = None
        for token in prompt:
            self._note(token)
        self._place = self._found()

    def add(self, token: int) -> None:
        """See `Draft.add`."""
        place = self._place
        agrees = place is not None and place < len(self._tokens) and self._tokens[place] == token
        self._note(token)
        if place is not None and agrees:
            self._place = place + 1
            return
        found = self._found()
        self._place = found if found is not None else place and place + 1

    def guess(self, count: int) -> Sequence[int]:
        """See `Draft.guess`."""
        return [] if self._place is None else self._tokens[self._place : self._place + count]

    def _note(self, token: int) -> None:
        """Append a token; the contexts that end before it now lead here."""
        tokens, here = self._tokens, len(self._tokens)
        for length in range(1, min(LONGEST, here) + 1):
            self._after[tuple(tokens[here - length :])] = here
        tokens.append(token)

    def _found(self) -> int | None:
        """Where the longest context at the end occurred last, before it did now."""
        for length in range(min(LONGEST, len(self._tokens)), 0, -1):
            place = self._after.get(tuple(self._tokens[-length:]))
            if place is not None:
                return place
        return None


class Nothing:
    """No guesses: what a block is filled with then is never accepted but by chance."""

    def __init__(self, prompt: Sequence[int] = ()) -> None:
        del prompt

    def add(self, token: int) -> None:
        """See `Draft.add`."""

    def guess(self, count: int) -> Sequence[int]:
        """See `Draft.guess`."""
        return ()


def tokens_per_step(
    replies: Iterable[tuple[Sequence[int], Sequence[int]]], block: int, drafter: Drafter = Lookup
) -> float:
    """Tokens that a step of `block` rows yields on average over (prompt, reply) pairs; 1.0 without any."""
    tokens = steps = 0
    for prompt, reply in replies:
        draft, at = drafter(prompt), 0
        for token in reply[:1]:
            draft.add(token)  # the prefill's token, before the first step
        while at + 1 < len(reply):
            guesses = draft.guess(block - 1)
            right = 0
            while right < min(len(guesses), len(reply) - at - 1) and guesses[right] == reply[at + 1 + right]:
                right += 1
            taken = reply[at + 1 : at + 2 + right]
            for token in taken:
                draft.add(token)
            at, tokens, steps = at + len(taken), tokens + len(taken), steps + 1
    return tokens / steps if steps else 1.0
