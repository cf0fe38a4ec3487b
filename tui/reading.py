"""What literature says, in the shape in which screens ask for it; the only module of this package that matches scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.scoring import Score
from literature.records import ReportedScore
from tui.study import ModelChoice, Study

if TYPE_CHECKING:
    from literature.shipped import StudyMeasured

SIZES: Mapping[str, int] = {"humanevalfix": 164, "humaneval": 164, "humanevalplus": 164, "bugfix": 64}
"""Problems of a benchmark by the family of its name, where that is no matter of version."""


def family(benchmark: str) -> str:
    """`humanevalfix-python` of `humanevalfixtests-python` and `humanevalfixdocs-python`: reports rarely say which."""
    head, dash, language = benchmark.partition("-")
    for variant in ("tests", "docs"):
        head = head.removesuffix(variant)
    return head + dash + language


def size_of(benchmark: str) -> int | None:
    """How many problems a benchmark has, as far as its name settles it."""
    return SIZES.get(family(benchmark).partition("-")[0])


@dataclass(frozen=True)
class Entry:
    """One row of the literature: a model on a benchmark and metric, with everything that was reported of it."""

    model: str
    benchmark: str
    metric: str
    table: str
    scores: tuple[ReportedScore, ...]

    @property
    def key(self) -> str:
        """Stands for this row in lists."""
        return "\x1f".join((self.table, self.model, self.benchmark, self.metric))

    @property
    def percents(self) -> list[float]:
        """The reported values as numbers, for drawing only."""
        return [percent(score.value) for score in self.scores]

    @property
    def spread(self) -> float:
        """Highest minus lowest reported value, in points."""
        return max(self.percents) - min(self.percents)

    @property
    def printable(self) -> int | None:
        """How many of the values one sample per problem can print; None when the number of problems is not known."""
        size = size_of(self.benchmark)
        return None if size is None else sum(_printable(score.value, size) for score in self.scores)


@lru_cache(maxsize=4096)
def percent(value: str) -> float:
    """A reported value as a number, for drawing and signed differences only."""
    from literature.values import printed

    return float(printed(value).percent)


@lru_cache(maxsize=4096)
def _printable(value: str, size: int) -> bool:
    from literature.granularity import possible

    return possible(value, size)


@lru_cache(maxsize=4096)
def arithmetic(value: str, size: int, samples: int) -> str:
    """One sentence on which counts print as a value."""
    from literature.granularity import describe

    return describe(value, size, samples)


def shipped() -> list[str]:
    """The names of the tables that ship with the product."""
    from literature.shipped import shipped_tables

    return sorted(shipped_tables())


class Literature:
    """The tables of a study, grouped into rows; tables are added, never taken away."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self.names: list[str] = []
        self.unread: list[str] = []

    @property
    def entries(self) -> Sequence[Entry]:
        """All rows, in the order of the tables."""
        return self._entries

    def add(self, name: str) -> int:
        """Read a table by path or shipped name; how many scores it holds. `TableError` when it cannot be read."""
        from literature.table import read_table

        table = read_table(name)
        groups: dict[tuple[str, str, str], list[ReportedScore]] = {}
        for score in table.scores:
            groups.setdefault((score.model, score.benchmark, score.metric), []).append(score)
        self._entries = [entry for entry in self._entries if entry.table != name]
        self._entries += [Entry(*key, table=name, scores=tuple(scores)) for key, scores in groups.items()]
        self.names = [known for known in self.names if known != name] + [name]
        self.unread += [f"{found.place}: {found.text!r}: {found.reason}" for found in table.unread]
        return len(table.scores)

    def entry(self, key: str) -> Entry | None:
        """A row by its key."""
        return next((entry for entry in self._entries if entry.key == key), None)

    def reported(self, choice: ModelChoice, benchmarks: Iterable[str]) -> list[ReportedScore]:
        """What was reported of a study's model on these benchmarks (or, where a table names none, on any)."""
        families = {family(name) for name in benchmarks}
        names = {choice.name, *choice.reported_as}
        return [
            score
            for entry in self._entries
            if entry.model in names and (not entry.benchmark or family(entry.benchmark) in families)
            for score in entry.scores
        ]

    def measured_by_reference(self, entry: Entry) -> Sequence[StudyMeasured]:
        """What the study behind a shipped table measured of this row's model itself."""
        from literature.shipped import study_measured

        return [found for found in study_measured(entry.table) if found.model == entry.model]


def stated(score: ReportedScore) -> str:
    """The settings that the sources state, in one line; `no settings stated` when there are none."""
    said = dict(score.stated)
    words: list[str] = []
    decoding, temperature = said.pop("decoding", ""), said.pop("temperature", "")
    if decoding or temperature:
        words.append(f"T={temperature}" if temperature else decoding)
    if samples := said.pop("samples", ""):
        words.append(f"n={samples}")
    words += [f"{axis.replace('_', ' ')} {value}" for axis, value in said.items() if value]
    return "states " + ", ".join(words) if words else "no settings stated"


def stated_samples(score: ReportedScore) -> int | None:
    """The number of samples per problem that the sources state; 1 for greedy; None when they do not say."""
    text = score.stated.get("samples", "")
    if text.isdigit() and int(text) > 0:
        return int(text)
    return 1 if score.stated.get("decoding", "") == "greedy" else None


@dataclass(frozen=True)
class Cell:
    """How one configuration relates to one reported value: class, signed difference in points, and the whole sentence."""

    kind: str
    difference: float
    sentence: str
    judged: int


Matcher = Callable[[Score, ReportedScore], Cell]
ORDER = ("exact", "rounding", "near", "within noise", "open", "ruled out", "impossible")


def match_cell(score: Score, reported: ReportedScore) -> Cell:
    """Match one score, finished or not, against one reported value."""
    from literature.granularity import counts

    low, high = score.passed, score.passed + score.asked - score.judged_total
    accepted = counts(reported.value, score.problems, score.samples).rounded
    difference = 50.0 * (low + high) / score.asked - percent(reported.value)
    reachable = [count for count in accepted if low <= count <= high]
    if not reachable:
        kind = "ruled out"
    elif low < high:
        kind = "open"
    else:
        kind = "exact" if len(accepted) == 1 else "rounding"
    return Cell(kind, difference, f"{score.text} against {reported.value}: {kind}", score.judged_total)


class Matches:
    """The match matrix: cells by (configuration, reported score), brought up to date in slices of time."""

    def __init__(self, matcher: Matcher = match_cell) -> None:
        self._matcher = matcher
        self._reported: dict[str, list[ReportedScore]] = {}
        self._cells: dict[tuple[str, str], Cell] = {}
        self._waiting: dict[str, None] = {}

    def bind(self, literature: Literature, study: Study) -> None:
        """Take the reported scores of every model of a study; known cells are kept."""
        self._reported = {
            choice.name: literature.reported(choice, study.grid.benchmark) for choice in study.models
        }

    def reported(self, model: str) -> Sequence[ReportedScore]:
        """The matrix's columns for a model."""
        return self._reported.get(model, ())

    def mark(self, configurations: Iterable[str]) -> None:
        """These configurations have changed."""
        self._waiting.update(dict.fromkeys(configurations))

    def clear(self) -> None:
        """Forget all cells: another run is watched."""
        self._cells.clear()
        self._waiting.clear()

    @property
    def waiting(self) -> int:
        """Configurations whose cells are older than their scores."""
        return len(self._waiting)

    def work(self, scores: Mapping[str, Score], deadline: float, first: Sequence[str] = ()) -> set[str]:
        """Match until `deadline` (monotonic seconds), `first` ones first; the configurations whose cells changed."""
        changed: set[str] = set()
        queue = [key for key in first if key in self._waiting]
        queue += [key for key in self._waiting if key not in set(queue)]
        for key in queue:
            if time.monotonic() >= deadline:
                break
            self._waiting.pop(key, None)
            score = scores.get(key)
            if score is not None and self._update(score):
                changed.add(key)
        return changed

    def _update(self, score: Score) -> bool:
        changed = False
        judged = score.judged_total
        for reported in self.reported(score.model):
            place = (score.id, reported.id)
            old = self._cells.get(place)
            if not judged and not score.failure:
                continue
            if old is not None and old.judged == judged and old.kind == "ruled out" and not score.finished:
                continue
            cell = self._matcher(score, reported)
            if cell != old:
                self._cells[place] = cell
                changed = True
        return changed

    def cell(self, configuration: str, reported: str) -> Cell | None:
        """A cell; None before anything was judged."""
        return self._cells.get((configuration, reported))

    def rank(self, configuration: str, model: str) -> tuple[int, float]:
        """How near a configuration comes to any reported value of its model: class first, then distance."""
        cells = [self._cells.get((configuration, reported.id)) for reported in self.reported(model)]
        ranks = [(_rank(cell.kind), abs(cell.difference)) for cell in cells if cell is not None]
        return min(ranks, default=(len(ORDER), 0.0))

    def best(self, reported: ReportedScore, configurations: Iterable[str]) -> tuple[str, Cell] | None:
        """The configuration that comes nearest to a reported value, and its cell."""
        found = [
            (key, cell) for key in configurations if (cell := self._cells.get((key, reported.id))) is not None
        ]
        return min(found, key=lambda item: (_rank(item[1].kind), abs(item[1].difference)), default=None)


def _rank(kind: str) -> int:
    return ORDER.index(kind) if kind in ORDER else len(ORDER)
