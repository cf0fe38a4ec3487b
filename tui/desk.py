"""Everything the screens look at, without a screen: one study, its literature, one run's state, and their matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cache.store import Run, StoredGeneration
from literature.errors import LiteratureError
from literature.records import ReportedScore
from tui.matches import Matches
from tui.own_table import OwnTable, own_path
from tui.reading import Entry, Literature, concerns
from tui.session import Preflight, Session, Status
from tui.state import RunState
from tui.study import ModelChoice, Study, loads

if TYPE_CHECKING:
    from literature.matching import Match

BATCH = 250
"""Events taken from the session at once: small, so that reading them cannot outlast the time box by much."""


class Desk:
    """What is open. Calls on the session raise the errors of `engine` and `cache`."""

    def __init__(
        self,
        session: Session,
        study: Study | None,
        studies: Sequence[Study] = (),
    ) -> None:
        self.session = session
        self.offered = tuple(studies)
        self.study = study
        self.literature = Literature()
        self.own = OwnTable("")
        self._bases: list[str] = []
        self.state = RunState()
        self.matches = Matches()
        self.status = Status("none")
        self.behind = False
        self.run_study = ""
        """The name of the study that the watched run is of."""
        self.drafted: set[str] = set()
        """Names of the studies whose grid is kept as a draft until the user leaves."""
        self._by_entry: tuple[int, dict[str, list[str]]] = (-1, {})

    # study and literature

    @property
    def name(self) -> str:
        """The study's name; empty without one."""
        return self.study.name if self.study else ""

    def open_study(self, study: Study) -> None:
        """Take up another study and its tables; `LiteratureError` names one that fails, after all others are read."""
        if self.study is not None and self.study.name != study.name:
            for table in self.literature.names:
                self.literature.drop(table)
            self._bases.clear()
        self.study = study
        if self.own.path != own_path(study.name):
            self.own = OwnTable(study.name)
        for table in study.tables:
            if table not in self._bases and table != self.own.name:
                self._bases.append(table)
        self.open_tables()

    def open_tables(self) -> None:
        """Show the tables, and the own one that an earlier session kept; `LiteratureError` for the first that fails."""
        problems: list[LiteratureError] = []
        try:
            self.own.read()
        except LiteratureError as error:
            problems.append(error)
        problems += self._show_tables()
        if problems:
            raise problems[0]

    def add_table(self, name: str) -> int:
        """Add a table by path or shipped name; how many scores it holds."""
        count = self.literature.add(name)
        if name not in self._bases:
            self._bases.append(name)
        self._changed_tables()
        return count

    def take_in(self, scores: Sequence[ReportedScore], what: str) -> int:
        """Put scores into the study's own table; how many are new."""
        count = self.own.add(scores, what)
        self._changed_tables()
        return count

    def correct(self, old: ReportedScore, new: ReportedScore | None) -> None:
        """Put a score in another's place (None: take it away), in the study's own table."""
        tables = self.literature.names
        table = next((name for name in tables if old.id in {score.id for score in self.literature.scores(name)}), "")
        self.own.correct(table, self.literature.scores(table), old, new)
        self._changed_tables()

    def undo(self, *, redo: bool = False) -> str:
        """Take the last change of the own table back, or make it again; what it was, empty when there is none."""
        what = self.own.redo() if redo else self.own.undo()
        self._changed_tables()
        return what

    def _changed_tables(self) -> None:
        """Show them; the report of the run that is watched is to read them too."""
        self._show_tables()
        if self.study is not None and self.attached and self.run_study == self.study.name:
            self.session.amend(self.study.tables)

    def _show_tables(self) -> list[LiteratureError]:
        """The tables that are not read in the own one, then the own one; what failed."""
        problems: list[LiteratureError] = []
        for table in self._bases:
            if self.own.covers(table):
                self.literature.drop(table)
            elif table not in self.literature.names:
                try:
                    self.literature.add(table)
                except LiteratureError as error:
                    problems.append(error)
        if self.own.scores:
            self.literature.put(self.own.name, self.own.scores)
        else:
            self.literature.drop(self.own.name)
        if self.study is not None:
            broken = [table for table in self.study.tables if table not in self.literature.names]
            kept = [table for table in broken if table != self.own.name and not self.own.covers(table)]
            self.study = replace(self.study, tables=(*self.literature.names, *kept))
        self._rebind()
        return problems

    def change(self, study: Study) -> None:
        """The study goes on with other models or another grid; a run that is watched keeps its own."""
        self.study = study
        if not self.attached:
            self._rebind()

    def state_too(self, key: str, value: str) -> None:
        """What the user states of a run holds for the study's next runs too."""
        if self.study is not None:
            stated = {name: text for name, text in {**self.study.stated, key: value}.items() if text}
            self.study = replace(self.study, stated=stated)

    def _rebind(self) -> None:
        self._by_entry = (-1, {})
        if self.study is not None:
            self.matches.bind(self.literature, self.study)
            self.matches.mark(self.state.order)

    def choice(self, model: str) -> ModelChoice:
        """A study's model by its name."""
        models = self.study.models if self.study else ()
        return next((choice for choice in models if choice.name == model), ModelChoice(model, ""))

    def configurations_of(self, entry: Entry) -> list[str]:
        """The run's configurations whose score concerns a row of the literature."""
        version, found = self._by_entry
        if version != self.state.version:
            found = {}
            self._by_entry = (self.state.version, found)
        if entry.key not in found:
            names = {
                model for model in self.state.models
                if entry.model in {model, *self.choice(model).reported_as}
            }  # fmt: skip
            found[entry.key] = [
                key
                for key in self.state.order
                if (score := self.state.scores[key]).model in names and concerns(entry.benchmark, score.benchmark)
            ]
        return found[entry.key]

    def measured(self, entry: Entry) -> list[float]:
        """Finished scores for a row of the literature, in percent, for drawing; none beside pass@k with k > 1."""
        if not entry.is_count:
            return []
        scores = (self.state.scores[key] for key in self.configurations_of(entry))
        return [100 * score.passed / score.asked for score in scores if score.finished]

    def best(self, entry: Entry, score: ReportedScore) -> Match | None:
        """The match of the configuration nearest to a reported value."""
        return self.matches.best(score, self.configurations_of(entry))

    # the run

    def preflight(self) -> Preflight:
        """What the study would cost."""
        assert self.study is not None
        return self.session.preflight(self.study)

    def start(self) -> int:
        """Start a run of the study."""
        assert self.study is not None
        run = self.session.start(self.study)
        self.run_study = self.study.name
        self._fresh()
        return run

    def enqueue(self) -> int:
        """Let a run of the study wait for its turn; its id."""
        assert self.study is not None
        return self.session.enqueue(self.study)

    def attach(self, run: Run) -> None:
        """Watch a run; its own study is opened."""
        study = loads(run.study, f"run {run.id}") if run.study else None
        self.session.attach(run.id)
        self.run_study = study.name if study is not None else ""
        self._fresh()
        if study is not None:
            self.open_study(study)

    def _fresh(self) -> None:
        self.state = RunState()
        self.matches.clear()
        self._rebind()
        self.status = self.session.status()
        self.behind = True

    @property
    def attached(self) -> bool:
        """True when a run is watched."""
        return self.session.run is not None

    @property
    def run_state(self) -> str:
        """The run's state: what the worker last said, unless it is gone without a word."""
        return self.status.state if self.attached else "none"

    def refresh_status(self) -> bool:
        """Ask the session for the run's state; True when it changed."""
        old, self.status = self.status, self.session.status()
        return old != self.status

    def drain(self, fold_until: float, clock: Callable[[], float] = time.monotonic) -> bool:
        """Poll and fold until `fold_until`; True while there is more."""
        while self.attached:
            events = self.session.poll(BATCH)
            if events:
                self.state.apply(events)
            if len(events) < BATCH:
                self.behind = False
                return False
            if clock() >= fold_until:
                self.behind = True
                return True
        return False

    def match(self, until: float, first: Sequence[str] = ()) -> set[str]:
        """Bring matches of changed configurations up to date until `until`; those whose cells changed."""
        return self.matches.work(self.state.scores, until, first)

    def close(self) -> None:
        """Let go of the session and the thread; a run at work goes on."""
        self.matches.close()
        self.session.close()

    def generation(self, key: str) -> StoredGeneration | None:
        """A kept reply."""
        return self.session.generation(key)
