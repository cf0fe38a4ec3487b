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
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?")
_WORDS = re.compile(r"[a-z]+|\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Lead:
    """A thread that may explain a claim: `axis` is the study's axis ("" none), `searched` if the grid varied it.

    `alike` is True when the claim's gap to what was measured resembles the thread's: its direction, within a factor 2.
    """

    cause: KnownCause
    axis: str
    searched: bool
    relevance: int
    alike: bool = False

    @property
    def sentence(self) -> str:
        """For people: a lead, not an explanation."""
        numbers = " against ".join(text for text in (self.cause.reported, self.cause.measured) if text)
        shown = f" ({numbers})" if numbers else ""
        state = "varied in this grid" if self.searched else "not varied in this grid"
        gap = "; a gap like this one" if self.alike else ""
        return f"{self.cause.thread}: {self.cause.axis}, {self.cause.cause}{shown}{gap}; {state}"


def leads(
    model: str, benchmark: str, varied: Collection[str] = (), *, gap: float | None = None, most: int = 5
) -> list[Lead]:
    """The known causes nearest to a claim on `model` and `benchmark`, at most `most`; `varied` are axes of the grid.

    Nearness counts shared words of the model's name, the same benchmark family, a gap like the claim's (reported minus
    nearest measured, in points), and causes that the grid did not search.
    """
    found = (_lead(cause, model, benchmark, varied, gap) for cause in known_causes())
    ranked = sorted((lead for lead in found if lead.relevance > 0), key=lambda lead: -lead.relevance)
    return ranked[:most]


def _lead(cause: KnownCause, model: str, benchmark: str, varied: Collection[str], gap: float | None) -> Lead:
    axis = AXIS_OF.get(cause.axis, "")
    searched = axis in varied
    words = _words([model]) & _words([cause.model])
    # A size or a version alone relates no two models.
    shared = len(words) if any(len(word) > 2 and word.isalpha() for word in words) else 0
    family = _family(benchmark) == _family(cause.benchmark)
    alike = gap is not None and _resembles(gap, cause)
    relevance = 2 * shared + 2 * family + 2 * alike + (0 if searched else 1) if shared or family else 0
    return Lead(cause, axis, searched, relevance, alike)


def _resembles(gap: float, cause: KnownCause) -> bool:
    """True when the thread's reported minus measured, or some value of its span, is within a factor 2 of `gap`."""
    reported, measured = _SPAN.fullmatch(cause.reported), _SPAN.fullmatch(cause.measured)
    if reported is None or measured is None:
        return False
    scale = 100 if float(reported[1]) <= 1 else 1
    gaps = sorted(scale * (float(reported[1]) - float(end)) for end in (measured[1], measured[2] or measured[1]))
    low, high = gaps if gaps[0] >= 0 else (-gaps[1], -gaps[0])
    size = gap if gaps[0] >= 0 else -gap
    return low >= 0 and low / 2 <= size <= 2 * high


def _words(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _WORDS.findall(text.casefold())}
    return words - {"b", "inst", "instruct", "base", "v", "chat"}


def _family(benchmark: str) -> str:
    name = benchmark.casefold().split("-")[0]
    return name.replace("fixtests", "fix").replace("fixdocs", "fix").replace("plus", "")
