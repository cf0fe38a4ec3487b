"""Known causes as leads: public threads on scores that did not reproduce, nearest to a claim first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from literature.shipped import KnownCause, known_causes

# Which axis of a study a thread's cause belongs to; causes without an axis of the grid are what it did not search.
AXIS_OF = {
    "prompt template": "prompt",
    "prompt whitespace": "prompt",
    "decoding": "decoding",
    "max length": "length",
    "precision": "precision",
    "extraction": "extraction",
    "benchmark version": "benchmark",
}
_WORDS = re.compile(r"[a-z]+|\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Lead:
    """A thread that may explain a claim: `axis` is the study's axis ("" none), `searched` if the grid varied it."""

    cause: KnownCause
    axis: str
    searched: bool
    relevance: int

    @property
    def sentence(self) -> str:
        """For people: a lead, not an explanation."""
        numbers = " against ".join(text for text in (self.cause.reported, self.cause.measured) if text)
        shown = f" ({numbers})" if numbers else ""
        state = "varied in this grid" if self.searched else "not varied in this grid"
        return f"{self.cause.thread}: {self.cause.axis}, {self.cause.cause}{shown}; {state}"


def leads(model: str, benchmark: str, varied: Collection[str] = (), *, most: int = 5) -> list[Lead]:
    """The known causes nearest to a claim on `model` and `benchmark`, at most `most`; `varied` are axes of the grid.

    Nearness counts shared words of the model's name, the same benchmark family, and causes that the grid did not
    search.
    """
    found = (_lead(cause, model, benchmark, varied) for cause in known_causes())
    ranked = sorted((lead for lead in found if lead.relevance > 0), key=lambda lead: -lead.relevance)
    return ranked[:most]


def _lead(cause: KnownCause, model: str, benchmark: str, varied: Collection[str]) -> Lead:
    axis = AXIS_OF.get(cause.axis, "")
    searched = axis in varied
    shared = len(_words([model]) & _words([cause.model]))
    family = _family(benchmark) == _family(cause.benchmark)
    relevance = 2 * shared + 2 * family + (0 if searched else 1) if shared or family else 0
    return Lead(cause, axis, searched, relevance)


def _words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _WORDS.findall(text.casefold())}
    return words - {"b", "inst", "instruct", "base", "v", "chat"}


def _family(benchmark: str) -> str:
    name = benchmark.casefold().split("-")[0]
    return name.replace("fixtests", "fix").replace("fixdocs", "fix").replace("plus", "")
