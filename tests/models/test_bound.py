"""What a worker holds while it generates does not grow with the number of replies."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from cache.store import Store, StoredGeneration
from engine.models import drafting
from engine.models.drafting import Draft, Lookup
from engine.models.schedule import generate
from engine.protocols import Request
from engine.recorder import Recorder
from engine.settings import Decoding

from .conftest import FakeDecoder

FEW, MANY = 200, 1400
ALLOWED = 60_000
"""Bytes: caches of fixed size fill up; twelve hundred leaked replies of this test would be ten times as many."""


def _held(folder: Path, drafter: drafting.Drafter) -> tuple[int, int]:
    """Bytes held after few and after many replies, each put into a store and forgotten."""
    store = Store(folder / "s.sqlite")
    recorder = Recorder(store, store.create_run("bound", "", {}))

    def requests() -> Iterator[Request]:
        for index in range(MANY):
            yield Request(str(index), tuple(range(index % 7, index % 7 + 30)), Decoding(0.8), 8, index)

    held = []
    tracemalloc.start()
    try:
        for count, one in enumerate(generate(FakeDecoder(4, block=4), requests(), drafter=drafter), 1):
            recorder.put_generation(
                StoredGeneration(one.key, "", "", 0, one.text, one.tokens, one.stop, 8, one.seconds)
            )
            if count in (FEW, MANY):
                recorder.flush()
                del one
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
        store.close()
    few, many = held
    return few, many


def test_replies_are_not_held(tmp_path: Path) -> None:
    """Seven times as many requests, drafted, through scheduler, recorder and store: no more memory."""
    few, many = _held(tmp_path, Lookup)
    assert many - few < ALLOWED


def test_the_bound_would_notice_a_leak(tmp_path: Path) -> None:
    """A drafter that keeps what it is given goes over the bound, so the test above can fail."""
    kept: list[Draft] = []

    def leaking(prompt: object) -> Draft:
        kept.append(Lookup(prompt))  # type: ignore[arg-type]
        return kept[-1]

    few, many = _held(tmp_path, leaking)
    assert many - few > ALLOWED
