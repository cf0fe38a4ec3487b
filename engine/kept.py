"""What a finished pass has left in the store, as a fact: so that the next preflight can count it without a model.

The worker looks each reply up by its exact key; these counts only say beforehand what it will find, for the same file,
prompts, decoding and engine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from engine.plan import Pass, PromptGroup
from engine.protocols import ModelCard
from engine.settings import shape_label


@dataclass
class Count:
    """Replies of one sample number over all problems: those there (no room counts), ended by themselves, cut early."""

    there: int = 0
    ended: int = 0
    cut: int = 0

    def add(self, stop: str) -> None:
        """Count one reply; `no room` where there cannot be any."""
        self.there += 1
        self.ended += stop in ("end", "no room")
        self.cut += stop == "cut"


@dataclass
class PassCount:
    """The counts of one pass while it runs, by sample number."""

    samples: dict[int, Count] = field(default_factory=dict)

    def add(self, sample: int, stop: str) -> int:
        """Count one reply; how many there are now."""
        self.samples.setdefault(sample, Count()).add(stop)
        return sum(one.there for one in self.samples.values())

    def body(self, reader: Pass, card: ModelCard) -> dict[str, Any]:
        """The fact of a pass that is complete."""
        return {
            "source_sha256": card.source_sha256,
            "numerics": dict(card.numerics),
            "max_length": reader.max_length,
            "extractions": list(reader.extractions),
            "samples": [asdict(self.samples.get(sample, Count())) for sample in range(reader.samples)],
        }


def kept_key(benchmark_sha256: str, group: PromptGroup, reader: Pass) -> str:
    """Under which fact the counts of a pass lie, whatever the model is called and however it is cut."""
    place = [benchmark_sha256, group.benchmark, group.precision, group.template, group.prefill]
    text = json.dumps([*place, asdict(reader.decoding), reader.seed])
    return f"kept:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def usable(body: Mapping[str, Any] | None, reader: Pass, source_sha256: str, engine: str, shape: str) -> int:
    """How many replies of a pass are kept that serve it again, for a model file, engine package version and shape
    (empty: whichever it was).
    """
    if body is None or not source_sha256 or body["source_sha256"] != source_sha256:
        return 0
    numerics = body["numerics"]
    had = shape_label(int(numerics.get("width", "1")), int(numerics.get("block", "1")))
    if engine not in numerics.get("engine", "").split() or shape not in ("", had):
        return 0
    long_enough = reader.max_length <= body["max_length"]
    same_cuts = set(reader.extractions) <= set(body["extractions"])
    found = 0
    for one in body["samples"][: reader.samples]:
        count = Count(**one)
        if long_enough:
            found += count.there if same_cuts else count.there - count.cut
        else:
            found += count.ended + (count.cut if same_cuts else 0)
    return found
