"""Continuous batching that cannot be seen in a reply: fixed shape, one KV per slot, prompts prefilled alone.

A reply depends on its request and the decoder's numerics only, not on neighbours, order, guesses or what was asked
before: every step decodes `block` rows in all `width` slots (idle ones are fed dummy tokens from position 0), every
prompt is prefilled by itself, requests with the same prompt as the one before copy its KV and are sampled from the
logits that the prefill left, and each draw is a function of the request's own stream and the position.

In a block of K, a slot's last token is followed by K - 1 guesses. Row by row the next token is drawn as it would be
without them; as long as it is the one that was guessed, the following row's logits are those of the reply.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from engine.errors import ModelError
from engine.models.decoder import Decoder, Logits
from engine.models.drafting import Draft, Drafter, Lookup, Nothing
from engine.models.sampling import choose
from engine.protocols import Generation, Request, Writing

_IDLE_TOKEN = 0


@dataclass
class _Reply:
    """A request in a slot and what it has so far."""

    request: Request
    draft: Draft
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    started: float = field(default_factory=time.perf_counter)
    utf8: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))

    @property
    def position(self) -> int:
        """Where in the sequence the last token goes."""
        return len(self.request.prompt) + len(self.tokens) - 1

    def accept(self, token: int, decoder: Decoder) -> str | None:
        """Take the next token; why the reply ends with it, or None."""
        if token in decoder.end_tokens:
            return "end"
        self.tokens.append(token)
        self.draft.add(token)
        added = self.utf8.decode(decoder.piece(token))
        if added:
            self.text += added
            if self.request.done(self.text):
                return "cut"
        return "limit" if len(self.tokens) >= self.request.limit else None

    def rows(self, block: int) -> list[int]:
        """The last token and `block - 1` guesses at what follows, filled up with a dummy."""
        guesses = self.draft.guess(block - 1) if block > 1 else ()
        return [self.tokens[-1], *guesses, *[_IDLE_TOKEN] * (block - 1 - len(guesses))]

    def finished(self, stop: str) -> Generation:
        text = self.text + self.utf8.decode(b"", final=True)
        return Generation(self.request.key, text, tuple(self.tokens), stop, time.perf_counter() - self.started)


@dataclass
class View:
    """The slots of a loop for whoever looks between two steps; it is filled in once and costs the loop nothing."""

    replies: Sequence[_Reply | None] = ()

    def now(self) -> list[Writing]:
        """The unfinished replies."""
        return [
            Writing(slot, reply.request.key, len(reply.tokens), reply.text)
            for slot, reply in enumerate(self.replies) if reply
        ]  # fmt: skip


class _Slots:
    """The decoder's slots, who is in them, and the prompt that the prefill sequence holds."""

    def __init__(self, decoder: Decoder, drafter: Drafter) -> None:
        self.decoder = decoder
        self.drafter = drafter if decoder.block > 1 else Nothing
        self.replies: list[_Reply | None] = [None] * decoder.width
        self._prompt: Sequence[int] | None = None
        self._logits: Logits | None = None

    @property
    def active(self) -> int:
        return sum(reply is not None for reply in self.replies)

    def admit(self, slot: int, request: Request) -> Generation | None:
        """Put a request into a free slot; its generation when the first token already ends it."""
        if request.limit <= 0:
            return Generation(request.key, "", (), "no room")
        needed = len(request.prompt) + request.limit
        if needed > self.decoder.slot_tokens:
            raise ModelError(
                f"a request of {needed} tokens does not fit into slots of {self.decoder.slot_tokens}; "
                "open the model with longer slots"
            )
        reply = _Reply(request, self.drafter(request.prompt))
        token = choose(self._prefilled(request.prompt), request.decoding, request.stream, 0)
        stop = reply.accept(token, self.decoder)
        if stop:
            return reply.finished(stop)
        self.decoder.share(slot)
        self.replies[slot] = reply
        return None

    def _prefilled(self, prompt: Sequence[int]) -> Logits:
        if self._logits is None or self._prompt != prompt:
            self._logits = self.decoder.prefill(prompt)
            self._prompt = prompt
        return self._logits

    def step(self) -> list[Generation]:
        """Decode one block in every slot; the generations that end with it.

        All rows are sampled here, before any prefill can overwrite the logits.
        """
        block = self.decoder.block
        idle = [_IDLE_TOKEN] * block
        rows = [reply.rows(block) if reply else idle for reply in self.replies]
        positions = [reply.position if reply else 0 for reply in self.replies]
        logits = self.decoder.decode([token for row in rows for token in row], positions)
        finished = []
        for slot, reply in enumerate(self.replies):
            if reply is None:
                continue
            stop = self._accept(reply, rows[slot], logits[slot])
            if stop:
                finished.append(reply.finished(stop))
                self.replies[slot] = None
        return finished

    def _accept(self, reply: _Reply, row: Sequence[int], logits: Logits) -> str | None:
        """Draw tokens from a slot's rows [block, n_vocab] as far as its guesses hold; why the reply ends, or None."""
        request = reply.request
        for index in range(len(row)):
            token = choose(logits[index], request.decoding, request.stream, len(reply.tokens))
            stop = reply.accept(token, self.decoder)
            if stop:
                return stop
            if index + 1 < len(row) and row[index + 1] != token:
                return None
        return None


def generate(
    decoder: Decoder,
    requests: Iterable[Request],
    tick: Callable[[], bool] = lambda: True,
    drafter: Drafter = Lookup,
    view: View | None = None,
) -> Iterator[Generation]:
    """Generations in the order in which they finish; `requests` is read only as slots become free.

    `tick` is called before each step: it may block, and on False the iteration ends; unfinished replies are dropped.
    `view` shows the replies that are being written.
    """
    slots = _Slots(decoder, drafter)
    if view is not None:
        view.replies = slots.replies
    waiting = iter(requests)
    while True:
        for slot, reply in enumerate(slots.replies):
            if reply is not None:
                continue
            for request in waiting:
                ended = slots.admit(slot, request)
                if ended is None:
                    break
                yield ended
        if not slots.active or not tick():
            return
        yield from slots.step()
