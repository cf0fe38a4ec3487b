"""What a run has stated so far, folded from its events; pure data that widgets read and never copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from engine.events import (
    ConfigurationFailed,
    ConfigurationFinished,
    ConfigurationStopped,
    Event,
    Generated,
    Judged,
    ModelLoaded,
    Noted,
    PassStarted,
    Place,
    ReferenceChecked,
    Repeated,
    Started,
    StateChanged,
)
from engine.scoring import Score, fold_scores
from engine.settings import Configuration
from tui.kept import Kept, Reply
from tui.workload import Workload

ENDED = ("stopped", "finished", "failed")
"""States in which a run's worker has said its last word."""


class Pace:
    """How fast new generations come, as an average that halves its memory every `half` generations.

    Replies kept from an earlier run cost nothing and are not counted; a pause stops the clock.
    """

    def __init__(self, half: float = 128.0) -> None:
        self._half = half
        self._last: float | None = None
        self._seconds = 0.0
        self._count = 0.0
        self._tokens = 0.0
        self._units = 0.0
        self._seen = 0
        self._watched = 0.0

    def add(self, time: float, count: int, tokens: int, units: float | None = None) -> None:
        """`count` new generations with `tokens` tokens in all were stated at Unix time `time`; `units` is what they
        count as work (`tui.workload`), each 1 where nothing is said.
        """
        if self._last is not None and time > self._last:
            keep = float(0.5 ** (count / self._half))
            self._seconds = self._seconds * keep + time - self._last
            self._watched += time - self._last
            self._count *= keep
            self._units *= keep
            self._tokens *= keep
        self._last = time if self._last is None else max(time, self._last)
        self._count += count
        self._units += count if units is None else units
        self._tokens += tokens
        self._seen += count

    def start(self, time: float) -> None:
        """Set the clock going, from `time` on."""
        self._last = time

    def stop(self) -> None:
        """Let time pass uncounted until the next `start` or `add`."""
        self._last = None

    @property
    def known(self) -> bool:
        """False until enough was seen for an estimate that will not jump."""
        return self._seen >= 8 and self._watched >= 3.0

    @property
    def seconds_per_generation(self) -> float:
        """Wall seconds for one new generation; 0 while unknown."""
        return self._seconds / self._count if self.known and self._count else 0.0

    @property
    def seconds_per_unit(self) -> float:
        """Wall seconds for one unit of work; 0 while unknown."""
        return self._seconds / self._units if self.known and self._units else 0.0

    @property
    def tokens_per_second(self) -> float:
        """New tokens per wall second; 0 while unknown."""
        return self._tokens / self._seconds if self.known else 0.0


@dataclass
class Pass:
    """Passes over the problems that share prompts: who reads them, and how many generations they make."""

    index: int
    label: str
    configurations: tuple[str, ...]
    generations: int


@dataclass(frozen=True)
class Problem:
    """One problem as a configuration left it: passes of judged samples, and the first outcome that is no pass.

    `mode` is how a sample was judged, where that is not by plain data alone (`tui.kept.Kept.label`); `flaky` says that
    the program of a sample gave another outcome under another hash seed or random state.
    """

    task_id: str
    passed: int
    judged: int
    asked: int
    kind: str
    detail: str
    mode: str = ""
    flaky: bool = False


@dataclass
class RunState:
    """The fold of a run's events; `apply` brings it forward and notes in `dirty` which configurations changed."""

    state: str = "none"
    detail: str = ""
    scores: dict[str, Score] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    passes: dict[int, Pass] = field(default_factory=dict)
    current: int | None = None
    generations: int = 0
    stored: int = 0
    done: int = 0
    sandbox: str = ""
    device: str = ""
    loaded: list[ModelLoaded] = field(default_factory=list)
    references: dict[str, ReferenceChecked] = field(default_factory=dict)
    notes: list[Noted] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    unavailable: dict[str, int] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    flaky: dict[Place, dict[str, str]] = field(default_factory=dict)
    newest: Generated | None = None
    dirty: set[str] = field(default_factory=set)
    version: int = 0
    events: int = 0
    pace: Pace = field(default_factory=Pace)
    work: Workload = field(default_factory=Workload)

    def apply(self, stream: Iterable[tuple[float, Event]]) -> None:
        """Fold events, oldest first."""
        for time, event in stream:
            self.events += 1
            if isinstance(event, Judged):
                self._judged(event)
            elif isinstance(event, Generated):
                self._generated(time, event)
            else:
                self._rare(time, event)

    def _judged(self, event: Judged) -> None:
        score = self.scores.get(event.configuration)
        if score is None:
            return
        place = (event.task_id, event.sample)
        missing = (event.kind == "unavailable") - (score.kinds.get(place) == "unavailable")
        if missing:
            self.unavailable[event.configuration] = self.unavailable.get(event.configuration, 0) + missing
        score.add(event.task_id, event.sample, event.kind, event.reading)
        self.kept.judged(event)
        self.dirty.add(event.configuration)

    def _generated(self, time: float, event: Generated) -> None:
        if self.kept.made(event):
            self.done += 1
            units = self.work.made(event.index)
            if not event.reused:
                self.pace.add(time, 1, event.tokens, units)
        self.newest = event

    def _rare(self, time: float, event: Event) -> None:
        if isinstance(event, Started):
            self._started(time, event)
        elif isinstance(event, PassStarted):
            self._pass_started(event)
        elif isinstance(event, ConfigurationFinished):
            self.finished.add(event.configuration)
            self.dirty.add(event.configuration)
        elif isinstance(event, ConfigurationFailed | ConfigurationStopped):
            fold_scores((event,), self.scores)
            self.dirty.add(event.configuration)
        elif isinstance(event, StateChanged):
            self.state, self.detail = event.state, event.detail
            self.pace.start(time) if event.state == "running" else self.pace.stop()
        elif isinstance(event, ModelLoaded):
            self.loaded.append(event)
            self.device = str(event.card.get("numerics", {}).get("device", ""))
            self.pace.start(time)
        elif isinstance(event, ReferenceChecked):
            self.references[event.benchmark] = event
        elif isinstance(event, Repeated):
            self._repeated(event)
        elif isinstance(event, Noted):
            self.notes.append(event)

    def _repeated(self, event: Repeated) -> None:
        """Kinds by seed of the samples whose programs did otherwise; a later event holds for the whole run."""
        self.dirty.update(configuration for configuration, _, _ in self.flaky)
        self.flaky = {
            (configuration, task_id, sample): one["kinds"]
            for one in event.flaky
            for configuration, task_id, sample in one["samples"]
        }
        self.dirty.update(configuration for configuration, _, _ in self.flaky)

    def _started(self, time: float, event: Started) -> None:
        if not self.scores:
            self.work = Workload(event)
        fold_scores((event,), self.scores)
        self.order = list(self.scores)
        places = {name: {task_id: i for i, task_id in enumerate(found)} for name, found in event.problems.items()}
        for key, score in self.scores.items():
            self.kept.open(key, places[score.benchmark], score.samples)
        self.generations, self.stored, self.sandbox = event.generations, event.stored, event.sandbox
        self.state, self.detail = "running", ""
        self.pace.start(time)
        self.dirty.update(self.order)
        self.version += 1

    def _pass_started(self, event: PassStarted) -> None:
        self.passes[event.index] = Pass(event.index, event.label, tuple(event.configurations), event.generations)
        self.current = event.index
        self.dirty.update(event.configurations)

    def take_dirty(self) -> set[str]:
        """The configurations that changed since the last call."""
        found, self.dirty = self.dirty, set()
        return found

    @property
    def ended(self) -> bool:
        """True when the worker has said its last word."""
        return self.state in ENDED

    @property
    def finished_count(self) -> int:
        """Configurations that are wholly judged, were stopped, or cannot be run here."""
        return sum(1 for found in self.order if self._ended(found))

    @property
    def models(self) -> list[str]:
        """The study's names of the models in this run, in grid order."""
        return list(dict.fromkeys(self.scores[found].model for found in self.order))

    def seconds_left(self) -> float | None:
        """Estimated wall seconds until every generation exists; None while that is not known."""
        if self.ended or not self.pace.known:
            return None
        return self.work.left(self._ended) * self.pace.seconds_per_unit

    def _ended(self, configuration: str) -> bool:
        score = self.scores[configuration]
        return configuration in self.finished or bool(score.failure or score.stopped)

    def row_state(self, configuration: str) -> str:
        """`finished`, `failed`, `stopped`, `running` or `waiting`."""
        score = self.scores[configuration]
        if score.failure:
            return "failed"
        if configuration in self.finished or score.finished:
            return "finished"
        if score.stopped:
            return "stopped"
        return "running" if score.kinds else "waiting"

    def reply(self, configuration: str, task_id: str, sample: int) -> Reply | None:
        """The reply that a configuration read for one sample of a problem."""
        return self.kept.reply((configuration, task_id, sample))

    def problems(self, configuration: str) -> Iterator[Problem]:
        """The problems of a configuration in the benchmark's order."""
        score = self.scores[configuration]
        for index, task_id in enumerate(score.task_ids):
            kind, detail, mode, flaky = "", "", "", False
            for sample in range(score.samples):
                found = score.kinds.get((task_id, sample), "")
                if found and (not kind or kind == "passed"):
                    kind, detail = found, self.kept.detail((configuration, task_id, sample))
                mode = mode or self.kept.label((configuration, task_id, sample))
                flaky = flaky or (configuration, task_id, sample) in self.flaky
            yield Problem(task_id, score.passes[index], score.judged[index], score.samples, kind, detail, mode, flaky)

    def configuration(self, found: str) -> Configuration:
        """A configuration by its id."""
        return self.scores[found].configuration


def flips(left: Score, right: Score) -> dict[str, str]:
    """Task id -> `gained` where `left` passes and `right` does not, `lost` the other way round; judged on both only.

    With several samples a problem counts as passed when more than half of its samples are.
    """
    other = {task_id: index for index, task_id in enumerate(right.task_ids)}
    found: dict[str, str] = {}
    for index, task_id in enumerate(left.task_ids):
        place = other.get(task_id)
        if place is None or not left.judged[index] or not right.judged[place]:
            continue
        here = 2 * left.passes[index] > left.judged[index]
        there = 2 * right.passes[place] > right.judged[place]
        if here != there:
            found[task_id] = "gained" if here else "lost"
    return found


def duration(seconds: float) -> str:
    """A time span in words that do not jump: `40 s`, `12 min`, `2 h 10 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds / 10)) * 10} s"
    if seconds < 3600:
        return f"{round(seconds / 60)} min"
    minutes = round(seconds / 300) * 5
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {rest:02d} min" if rest else f"{hours} h"


class Countdown:
    """A time-left display that flows with the clock and drifts towards new estimates, never jumping."""

    def __init__(self, settle: float = 20.0) -> None:
        self._settle = settle
        self._shown: float | None = None
        self._time = 0.0

    @property
    def seconds(self) -> float | None:
        """What is shown, unrounded; None while nothing is."""
        return self._shown

    def show(self, time: float, estimate: float | None) -> str:
        """The text at monotonic `time` for an estimate in seconds; empty while there is none."""
        if estimate is None:
            self._shown = None
            return ""
        if self._shown is None:
            self._shown = estimate
        else:
            passed = max(0.0, time - self._time)
            flowing = max(0.0, self._shown - passed)
            self._shown = flowing + (estimate - flowing) * min(1.0, passed / self._settle)
        self._time = time
        return f"{duration(self._shown)} left"
