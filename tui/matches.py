"""The match matrix: each configuration against each reported score of its model, kept up to date in slices of time.

Unfinished and greedy configurations are matched at once (tenths of a millisecond); a finished sampled one needs its
rerun distribution and goes to a thread, as do the verdicts over a whole model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

from engine.scoring import Score
from literature.records import ReportedScore
from tui.reading import Literature
from tui.study import Study

if TYPE_CHECKING:
    from literature.matching import ClaimVerdict, Match

Place: TypeAlias = tuple[str, str]
"""(configuration id, reported score id)."""
VERDICT_SECONDS = 1.0
ORDER = ("exact", "rounding", "near", "within noise", "inconclusive", "open", "ruled out", "impossible")


def _match(score: Score, reported: ReportedScore) -> Match:
    from literature.matching import match

    return match(score, reported)


class Matches:
    """Cells and verdicts of one run; the app's thread owns it, and `work` takes what the other thread found."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reported: dict[str, list[ReportedScore]] = {}
        self._names: dict[str, list[str]] = {}
        self._cells: dict[Place, Match] = {}
        self._seen: dict[str, tuple[int, bool]] = {}
        self._waiting: dict[str, None] = {}
        self._deep: dict[str, Future[list[Match]]] = {}
        self._verdicts: dict[str, ClaimVerdict] = {}
        self._judging: Future[list[ClaimVerdict]] | None = None
        self._judged_at = 0.0
        self._stale: set[str] = set()
        self._threads: ThreadPoolExecutor | None = None

    def bind(self, literature: Literature, study: Study) -> None:
        """Take the reported scores of every model of a study; known cells are kept."""
        self._reported = {
            choice.name: literature.reported(choice, study.grid.benchmark) for choice in study.models
        }  # fmt: skip
        self._names = {}
        for choice in study.models:
            for name in (choice.name, *choice.reported_as):
                self._names.setdefault(name, []).append(choice.name)
        self._seen.clear()
        self._stale.update(self._reported)

    def clear(self) -> None:
        """Forget all cells: another run is watched."""
        self._cells.clear()
        self._seen.clear()
        self._waiting.clear()
        self._deep.clear()
        self._verdicts.clear()

    def close(self) -> None:
        """Let the thread end."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    # what is shown

    def reported(self, model: str) -> Sequence[ReportedScore]:
        """The matrix's columns for a model."""
        return self._reported.get(model, ())

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """Reported model name -> the study's names of the same model."""
        return self._names

    def cell(self, configuration: str, reported: str) -> Match | None:
        """A cell; None before anything was judged."""
        return self._cells.get((configuration, reported))

    def verdict(self, reported: str) -> ClaimVerdict | None:
        """What all configurations together say of a reported score; None until that was worked out."""
        return self._verdicts.get(reported)

    def rank(self, configuration: str, model: str, only: str = "") -> tuple[int, float]:
        """How near a configuration comes to any reported value of its model, or to `only` one: class, then distance."""
        wanted = [only] if only else [reported.id for reported in self.reported(model)]
        cells = (self._cells.get((configuration, reported)) for reported in wanted)
        return min((_key(cell) for cell in cells if cell is not None), default=(len(ORDER), 0.0))

    def best(self, reported: ReportedScore, configurations: Iterable[str]) -> Match | None:
        """The match of the configuration that comes nearest to a reported value."""
        found = [cell for key in configurations if (cell := self._cells.get((key, reported.id))) is not None]
        return min(found, key=_key, default=None)

    # keeping up

    def mark(self, configurations: Iterable[str]) -> None:
        """These configurations have changed."""
        self._waiting.update(dict.fromkeys(configurations))

    @property
    def busy(self) -> bool:
        """True while cells or verdicts are older than the scores."""
        return bool(self._waiting or self._deep or self._judging or self._stale)

    def work(self, scores: Mapping[str, Score], until: float, first: Sequence[str] = ()) -> set[str]:
        """Match until `until` (on the clock), `first` ones first; the configurations that look different now."""
        changed = self._collect()
        if self._waiting:
            for key in [*(key for key in first if key in self._waiting), *list(self._waiting)]:
                if self._clock() >= until:
                    break
                if key in self._waiting:
                    del self._waiting[key]
                    score = scores.get(key)
                    if score is not None and self._update(score):
                        changed.add(key)
        self._judge(scores)
        return changed

    def _update(self, score: Score) -> bool:
        now = (score.judged_total, score.finished)
        if not now[0] or self._seen.get(score.id) == now:
            return False
        self._seen[score.id] = now
        columns = self.reported(score.model)
        if score.finished and not score.greedy:
            if columns:
                self._stale.add(score.model)
                self._deep[score.id] = self._thread().submit(_all, score, columns)
            return False
        changed = False
        for reported in columns:
            place = (score.id, reported.id)
            old = self._cells.get(place)
            if old is not None and old.kind == "ruled out" and not score.finished:
                continue
            cell = _match(score, reported)
            if cell != old:
                if score.finished or old is None or old.kind != cell.kind:
                    self._stale.add(score.model)
                self._cells[place] = cell
                changed = True
        return changed

    def _collect(self) -> set[str]:
        done = [key for key, future in self._deep.items() if future.done()]
        for key in done:
            for cell in self._deep.pop(key).result():
                self._cells[cell.measurement, cell.reported] = cell
        changed = set(done)
        if self._judging is not None and self._judging.done():
            for verdict in self._judging.result():
                self._verdicts[verdict.reported.id] = verdict
                changed.update(cell.measurement for cell in verdict.matches[:1])
                changed.update(self._sharpened(verdict))
            self._judging = None
        return changed

    def _sharpened(self, verdict: ClaimVerdict) -> Iterator[str]:
        """Finished cells that a verdict made anew, knowing what their siblings tell; the configurations they are of."""
        for cell in verdict.matches:
            place = (cell.measurement, verdict.reported.id)
            if cell.p_same is not None and place in self._cells and self._cells[place] != cell:
                self._cells[place] = cell
                yield cell.measurement

    def _judge(self, scores: Mapping[str, Score]) -> None:
        """Work the verdicts of changed models out anew, at most once a second, behind the cells."""
        if not self._stale or self._waiting or self._deep or self._judging is not None:
            return
        now = self._clock()
        if now - self._judged_at < VERDICT_SECONDS:
            return
        self._judged_at = now
        columns = [reported for model in self._stale for reported in self.reported(model)]
        self._stale.clear()
        # Configurations that wait count as open: nothing is called not reproduced before the whole grid has been tried.
        tried = [score for score in scores.values() if not score.failure]
        if columns and any(score.judged_total for score in tried):
            self._judging = self._thread().submit(_verdicts, columns, tried, dict(self._names), dict(self._cells))

    def _thread(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="match")
        return self._threads


def _all(score: Score, columns: Sequence[ReportedScore]) -> list[Match]:
    return [_match(score, reported) for reported in columns]


def _verdicts(
    columns: Sequence[ReportedScore],
    tried: Sequence[Score],
    names: Mapping[str, Sequence[str]],
    known: Mapping[Place, Match],
) -> list[ClaimVerdict]:
    from literature.matching import verdicts

    return verdicts(columns, tried, names=names, known=known)


def _key(cell: Match) -> tuple[int, float]:
    return (ORDER.index(cell.kind) if cell.kind in ORDER else len(ORDER), abs(cell.difference_points))
