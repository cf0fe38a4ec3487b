"""What stands under a score: asked, answered, cut short, without code, not generated; and why programs failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cache.store import Store
from engine.cells import Cell, Reading, reply_of, whole
from engine.failures import CUT_SHORT, NO_CODE, failure_kind
from engine.scoring import Score
from engine.settings import Configuration

NO_ROOM = "no room"


@dataclass(frozen=True)
class Denominator:
    """Counts of samples: `asked` is problems x samples and never smaller.

    `answered` have a reply; for `no_room` the prompt was as long as the limit, so that none could be made: a failure;
    `missing` were never generated, or are not in the file; `truncated` replies ended at their limit; `no_code` left the
    extraction nothing to take; both are None where the run did not state them. A sample may be both truncated and
    without code; all are judged, and counted as failures unless they pass. `kinds` counts failures by `failure_kind`.
    """

    asked: int
    answered: int
    passed: int
    truncated: int | None = 0
    no_code: int | None = 0
    unavailable: int = 0
    no_room: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """Samples without a reply, for which there was room."""
        return self.asked - self.answered - self.no_room

    @property
    def text(self) -> str:
        """`35/164 passed · 160 answered, 4 not generated, 5 cut short, 3 without code`; a range where some are open."""
        most = self.passed + self.missing + self.unavailable
        score = f"{self.passed}/{self.asked}" if most == self.passed else f"{self.passed}..{most}/{self.asked}"
        parts = [
            f"{self.answered} answered", f"{self.missing} not generated",
            _said(self.truncated, "cut short"), _said(self.no_code, "without code"),
            *([f"{self.no_room} without room for a reply"] if self.no_room else ()),
            *([f"{self.unavailable} not judged"] if self.unavailable else ()),
        ]  # fmt: skip
        return f"{score} passed · {', '.join(parts)}"

    def as_dict(self) -> dict[str, object]:
        """Plain data, for exports and for `--format json`."""
        return {
            "asked": self.asked, "answered": self.answered, "not_generated": self.missing, "passed": self.passed,
            "truncated": self.truncated, "no_code": self.no_code, "no_room": self.no_room,
            "unavailable": self.unavailable,
            "failures": dict(self.kinds),
        }  # fmt: skip


def _said(count: int | None, what: str) -> str:
    return f"{what}: unknown" if count is None else f"{count} {what}"


def count(
    configuration: Configuration,
    problems: int,
    cells: Iterable[Cell],
    reading: Reading,
    store: Store,
) -> Denominator:
    """The counts of one configuration over a benchmark of that many problems."""
    asked = problems * configuration.samples
    kinds: Counter[str] = Counter()
    answered = passed = truncated = no_code = unavailable = no_room = 0
    for cell in cells:
        stored = store.generation(cell.key) if cell.key else None
        answered += stored is not None and cell.kind != NO_ROOM
        no_room += cell.kind == NO_ROOM
        if cell.kind == NO_ROOM:
            stored = None
        text = reply_of(configuration, stored, store) if stored else None
        # A part of a longer reply was cut short too, however the longer one ended.
        cut_short = stored is not None and (stored.stop == "limit" or not whole(configuration, stored))
        empty = text is not None and not reading.code_found(cell.task_id, text)
        truncated += cut_short
        no_code += empty
        passed += cell.kind == "passed"
        unavailable += cell.kind == "unavailable"
        if cell.kind not in ("passed", "unavailable"):
            kinds[failure_kind(cell.kind, cell.detail, truncated=cut_short, no_code=empty)] += 1
    return Denominator(asked, answered, passed, truncated, no_code, unavailable, no_room, dict(kinds.most_common()))


def of_score(score: Score) -> Denominator:
    """The counts of a score as far as its run stated them; samples that are still to be generated count as missing.

    `kinds` are left empty: the details that they are made of are not part of a score.
    """
    outcomes = Counter(score.kinds.values())
    readings = Counter(score.readings.values())
    no_room = outcomes[NO_ROOM]
    told = len(score.readings) >= len(score.kinds) - no_room - outcomes["unavailable"]
    return Denominator(
        asked=score.asked,
        answered=len(score.kinds) - no_room,
        passed=score.passed,
        truncated=sum(count for name, count in readings.items() if CUT_SHORT in name) if told else None,
        no_code=sum(count for name, count in readings.items() if NO_CODE in name) if told else None,
        unavailable=outcomes["unavailable"],
        no_room=no_room,
    )
