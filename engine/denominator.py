"""What stands under a score: asked, answered, cut short, without code, not generated; and why programs failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from cache.store import StoredGeneration
from engine.cells import Cell, Reading, whole_reply
from engine.settings import Configuration

ERROR = re.compile(r"^(\w+(?:Error|Exception|Iteration|Exit|Interrupt))\b")


@dataclass(frozen=True)
class Denominator:
    """Counts of samples: `asked` is problems x samples and never smaller.

    `answered` have a reply; `missing` were never generated, or are not in the file; `truncated` replies ended at their
    limit; `no_code` left the extraction nothing to take. A sample may be both truncated and without code; all are
    judged, and counted as failures unless they pass. `kinds` counts failures by `failure_kind`.
    """

    asked: int
    answered: int
    passed: int
    truncated: int = 0
    no_code: int = 0
    unavailable: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """Samples without a reply."""
        return self.asked - self.answered

    @property
    def text(self) -> str:
        """`35/164 passed · 160 answered, 4 not generated, 5 cut short, 3 without code`; a range where some are open."""
        most = self.passed + self.missing + self.unavailable
        score = f"{self.passed}/{self.asked}" if most == self.passed else f"{self.passed}..{most}/{self.asked}"
        parts = [
            f"{self.answered} answered", f"{self.missing} not generated", f"{self.truncated} cut short",
            f"{self.no_code} without code", *([f"{self.unavailable} not judged"] if self.unavailable else ()),
        ]  # fmt: skip
        return f"{score} passed · {', '.join(parts)}"

    def as_dict(self) -> dict[str, object]:
        """Plain data, for exports and for `--format json`."""
        return {
            "asked": self.asked, "answered": self.answered, "not_generated": self.missing, "passed": self.passed,
            "truncated": self.truncated, "no_code": self.no_code, "unavailable": self.unavailable,
            "failures": dict(self.kinds),
        }  # fmt: skip


def count(
    configuration: Configuration,
    problems: int,
    cells: Iterable[Cell],
    reading: Reading,
    generation: Callable[[str], StoredGeneration | None],
) -> Denominator:
    """The counts of one configuration over a benchmark of that many problems."""
    asked = problems * configuration.samples
    kinds: Counter[str] = Counter()
    answered = passed = truncated = no_code = unavailable = 0
    for cell in cells:
        stored = generation(cell.key) if cell.key else None
        answered += stored is not None or cell.kind == "no room"
        text = whole_reply(configuration, stored) if stored else None
        # A part of a longer reply was cut short too, however the longer one ended.
        cut_short = stored is not None and (stored.stop == "limit" or text is None)
        empty = text is not None and not reading.code_found(cell.task_id, text)
        truncated += cut_short
        no_code += empty
        passed += cell.kind == "passed"
        unavailable += cell.kind == "unavailable"
        if cell.kind not in ("passed", "unavailable"):
            kinds[failure_kind(cell.kind, cell.detail, truncated=cut_short, no_code=empty)] += 1
    return Denominator(asked, answered, passed, truncated, no_code, unavailable, dict(kinds.most_common()))


def failure_kind(kind: str, detail: str, *, truncated: bool = False, no_code: bool = False) -> str:
    """Why a program failed, in one word: what the extraction knows first, then the exception's name or the outcome.

    An assertion of the tests is `assertion`.
    """
    if no_code:
        return "no code found"
    if truncated:
        return "truncated"
    if kind == "failed":
        return "assertion"
    if kind in ("exception", "syntax error"):
        found = ERROR.match(detail)
        return found[1] if found else ("SyntaxError" if kind == "syntax error" else "exception")
    return kind
