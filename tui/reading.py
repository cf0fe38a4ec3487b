"""What was reported and what arithmetic says of it, in the shape in which screens ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from literature.records import ReportedScore
from tui.study import ModelChoice

if TYPE_CHECKING:
    from literature.shipped import StudyMeasured

SIZES: Mapping[str, int] = {"humanevalfix": 164, "humaneval": 164, "humanevalplus": 164, "bugfix": 64}
"""Problems of a benchmark by the family of its name, where that is no matter of version."""


def size_of(benchmark: str) -> int | None:
    """How many problems a benchmark has, as far as its name settles it."""
    from literature.records import plain_benchmark

    name = plain_benchmark(benchmark).partition("-")[0]
    return SIZES.get(name.removesuffix("tests").removesuffix("docs"))


def concerns(reported: str, measured: str) -> bool:
    """True when a reported benchmark name can mean the measured one: reports rarely say which variant they used."""
    from literature.matching import same_benchmark

    return same_benchmark(reported, measured)


@dataclass(frozen=True)
class Entry:
    """One row of the literature: a model on a benchmark and metric, with everything that was reported of it."""

    model: str
    benchmark: str
    metric: str
    table: str
    """The first table that names it."""
    scores: tuple[ReportedScore, ...]

    @property
    def key(self) -> str:
        """Stands for this row in lists."""
        return "\x1f".join((self.model, self.benchmark, self.metric))

    @property
    def percents(self) -> list[float]:
        """The reported values as numbers, for drawing only."""
        return [percent(score.value) for score in self.scores]

    @property
    def spread(self) -> float:
        """Highest minus lowest reported value, in points."""
        return max(self.percents) - min(self.percents)

    @property
    def is_count(self) -> bool:
        """False where the values are of pass@k with k > 1."""
        return all(score.is_count for score in self.scores)

    @property
    def printable(self) -> int | None:
        """How many of the values one sample per problem can print; None when N is not known, or they are no counts."""
        size = size_of(self.benchmark)
        return (
            None if size is None or not self.is_count else sum(_printable(score.value, size) for score in self.scores)
        )


@lru_cache(maxsize=4096)
def percent(value: str) -> float:
    """A reported value as a number, for drawing and signed differences only."""
    from literature.values import printed

    return float(printed(value).percent)


@lru_cache(maxsize=4096)
def _printable(value: str, size: int) -> bool:
    from literature.granularity import possible

    return possible(value, size)


def arithmetic(score: ReportedScore, size: int) -> str:
    """Which counts print as a value, with one sample per problem and with the number that its source states."""
    from literature.arithmetic import stated_samples
    from literature.granularity import describe

    if not score.is_count:
        return f"{score.metric} is no count of passes: arithmetic does not tell"
    text = describe(score.value, size, 1)
    samples = stated_samples(score)
    return text if samples in (None, 1) else f"{text}; n={samples}: {describe(score.value, size, samples or 1)}"


def shipped() -> list[str]:
    """The names of the tables that ship with the product."""
    from literature.shipped import shipped_tables

    return sorted(shipped_tables())


class Literature:
    """The tables of a study, grouped into rows: one for a model on a benchmark and metric, whichever table says it."""

    def __init__(self) -> None:
        self._tables: dict[str, tuple[ReportedScore, ...]] = {}
        self._entries: list[Entry] = []
        self._unread: dict[str, list[str]] = {}

    @property
    def unread(self) -> list[str]:
        """What the table added last holds that could not be read: place, text, reason."""
        return next(reversed(self._unread.values()), [])

    @property
    def every_unread(self) -> list[str]:
        """The same of all tables that were added, in their order."""
        return [line for lines in self._unread.values() for line in lines]

    @property
    def names(self) -> list[str]:
        """The tables, in the order in which they were added."""
        return list(self._tables)

    @property
    def entries(self) -> Sequence[Entry]:
        """All rows, in the order of the tables."""
        return self._entries

    def add(self, name: str) -> int:
        """Read a table by path or shipped name; how many scores it holds. `TableError` when it cannot be read."""
        from literature.table import read_table

        table = read_table(name)
        self._tables.pop(name, None)
        self.put(name, table.scores)
        self._unread.pop(name, None)
        self._unread[name] = [f"{found.place}: {found.text!r}: {found.reason}" for found in table.unread]
        return len(table.scores)

    def put(self, name: str, scores: Sequence[ReportedScore]) -> None:
        """Show these scores as a table; one of that name is replaced where it stands."""
        self._tables[name] = tuple(scores)
        self._group()

    def drop(self, name: str) -> None:
        """Show a table no longer."""
        if self._tables.pop(name, None) is not None:
            self._group()

    def scores(self, name: str) -> tuple[ReportedScore, ...]:
        """The scores of one table; none when it is not shown."""
        return self._tables.get(name, ())

    def _group(self) -> None:
        groups: dict[tuple[str, str, str], dict[str, ReportedScore]] = {}
        tables: dict[tuple[str, str, str], str] = {}
        for name, scores in self._tables.items():
            for score in scores:
                key = (score.model, score.benchmark, score.metric)
                groups.setdefault(key, {}).setdefault(score.id, score)
                tables.setdefault(key, name)
        self._entries = [
            Entry(*key, table=tables[key], scores=tuple(scores.values())) for key, scores in groups.items()
        ]

    def entry(self, key: str) -> Entry | None:
        """A row by its key."""
        return next((entry for entry in self._entries if entry.key == key), None)

    def reported(self, choice: ModelChoice, benchmarks: Iterable[str], *, counts: bool = True) -> list[ReportedScore]:
        """What was reported of a study's model on these benchmarks (or, where a table names none, on any).

        With `counts` only what a count of passes can be held against: pass@k for k > 1 is left out.
        """
        measured = list(benchmarks)
        names = {choice.name, *choice.reported_as}
        return [
            score
            for entry in self._entries
            if entry.model in names and any(concerns(entry.benchmark, name) for name in measured)
            for score in entry.scores
            if score.is_count or not counts
        ]

    def left_aside(self, choices: Sequence[ModelChoice], benchmarks: Iterable[str]) -> str:
        """What the tables hold besides the scores of these models on these benchmarks, in a few words; else empty."""
        measured = list(benchmarks)
        names = {name for choice in choices for name in (choice.name, *choice.reported_as)}
        models, others = 0, dict[str, int]()
        for entry in self._entries:
            if entry.model not in names:
                models += len(entry.scores)
            elif not any(concerns(entry.benchmark, name) for name in measured):
                others[entry.benchmark] = others.get(entry.benchmark, 0) + len(entry.scores)
        parts = [f"{models} of models that are not in the study"] if models else []
        if others:
            parts.append(f"{sum(others.values())} of other benchmarks ({', '.join(others)})")
        return ", ".join(parts)

    def measured_by_reference(self, entry: Entry) -> Sequence[StudyMeasured]:
        """What the study behind a shipped table measured of this row's model itself."""
        from literature.shipped import shipped_tables, study_measured

        # A score that was taken into the study's own table still says where it stood.
        names = dict.fromkeys([entry.table, *(score.place.partition(".csv:")[0] for score in entry.scores)])
        known = [name for name in names if name in shipped_tables()]
        return [found for name in known for found in study_measured(name) if found.model == entry.model]


_AXES = {"prompt_reported": "prompt given:"}


def stated(score: ReportedScore) -> str:
    """The settings that the sources state, in one line; `no settings stated` when there are none."""
    said = dict(score.stated)
    words: list[str] = []
    decoding, temperature = said.pop("decoding", ""), said.pop("temperature", "")
    if decoding or temperature:
        words.append(f"T={temperature}" if temperature else decoding)
    if samples := said.pop("samples", ""):
        words.append(f"n={samples}")
    words += [f"{_AXES.get(axis, axis)} {value}" for axis, value in said.items() if value]
    return "states " + ", ".join(words) if words else "no settings stated"


def left_open(score: ReportedScore) -> list[str]:
    """What the harness that a source names does with the settings it leaves open: ours, never the source's words."""
    from literature.defaults import candidates

    return [candidate.sentence for candidate in candidates(score)]
