"""A session that replays scripted events, and the studies that the screens are tried on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.app import App
from textual.keys import _character_to_key as character_to_key
from textual.pilot import Pilot
from textual.widgets import Input

from cache.store import Run, StoredGeneration
from engine.events import (
    ConfigurationFinished,
    Event,
    Generated,
    Judged,
    ModelLoaded,
    PassStarted,
    ReferenceChecked,
    Started,
    StateChanged,
)
from engine.live import SlotText
from engine.settings import Configuration, Decoding, Grid
from tui.app import ScoretraceApp
from tui.session import Preflight, Status
from tui.study import ModelChoice, Study, dumps

MODEL = "DSC-1.3B"
BENCHMARK = "humanevalfixtests-python"


def make_study(grid: Grid | None = None, **changes: object) -> Study:
    """A study of one model over the shipped table."""
    study = Study(
        name="HumanEvalFix 2025",
        grid=grid
        or Grid(
            benchmark=(BENCHMARK,),
            template=("instruct", "deepseek"),
            decoding=(Decoding(), Decoding(0.2)),
            max_length=(512, 2048),
            precision=("f16", "q8_0"),
        ),
        models=(ModelChoice(MODEL, "pypi:nothing", ("DeepSeekCoder-Inst (1.3B)",)),),
        tables=("humanevalfix",),
    )
    return replace(study, **changes)  # type: ignore[arg-type]


def tasks(count: int = 164) -> list[str]:
    """Task ids of a benchmark."""
    return [f"Python/{index}" for index in range(count)]


def started(study: Study, count: int = 164) -> Started:
    """The first event of a run of a study."""
    found = study.configurations()
    return Started(
        {c.id: c.as_dict() for c in found},
        {name: tasks(count) for name in study.grid.benchmark},
        passes=len(found),
        generations=len(found) * count,
        stored=0,
        sandbox="namespace",
    )


def key_of(configuration: Configuration, task_id: str, sample: int = 0) -> str:
    """The key under which FakeSession keeps a reply."""
    return f"{configuration.id}/{task_id}/{sample}"


def judged(configuration: Configuration, passes: int, count: int = 164, total: int = 164) -> list[Event]:
    """Replies and outcomes of the first `count` problems, of which the first `passes` pass."""
    events: list[Event] = []
    for index, task_id in enumerate(tasks(total)[:count]):
        key = key_of(configuration, task_id)
        kind, detail = (
            ("passed", "") if index < passes else ("failed", "AssertionError: assert candidate([1.0]) == True")
        )
        events.append(Generated(0, task_id, 0, key, tokens=60 + index, stop="end", seconds=0.4))
        events.append(Judged(configuration.id, task_id, 0, key, kind, detail, 0.01))
    if count == total:
        events.append(ConfigurationFinished(configuration.id, passes, total, 0))
    return events


def script(study: Study, passes: Sequence[int], last: int = 164, state: str = "running") -> list[Event]:
    """A run in which the configurations in turn reach `passes`; the last one is `last` problems far."""
    found = study.configurations()
    events: list[Event] = [
        started(study),
        StateChanged("running"),
        ReferenceChecked(BENCHMARK, 164, 164, 164, []),
        ModelLoaded(MODEL, "f16", {"name": MODEL}, 8, 1.5),
    ]
    for index, (configuration, count) in enumerate(zip(found, passes, strict=False)):
        done = last if index == len(passes) - 1 else 164
        label = f"{configuration.precision} · {configuration.template} · {configuration.decoding.label}"
        events.append(PassStarted(index, label, [configuration.id], 164))
        events += [
            replace(event, index=index) if isinstance(event, Generated) else event
            for event in judged(configuration, count, done)
        ]
    if state != "running":
        events.append(StateChanged(state))
    return events


class FakeSession:
    """Meets `tui.session.Session` with scripted events; records what was asked of it."""

    def __init__(self, events: Sequence[Event] = (), study: Study | None = None, *, seconds: float = 0.3) -> None:
        self.events = list(events)
        self.study = study
        self.seconds = seconds
        self.asked: list[str] = []
        self.kept: list[Run] = []
        self.waiting: list[int] = []
        self.others: dict[int, list[Event]] = {}
        self.replies: dict[str, StoredGeneration] = {}
        self.slots: list[SlotText] = []
        self.state = Status("running")
        self.error: Exception | None = None
        self._run: int | None = None
        self._seen = 0

    @property
    def run(self) -> int | None:
        """The attached run."""
        return self._run

    def runs(self) -> Sequence[Run]:
        """What was put into `kept`."""
        return self.kept

    def preflight(self, study: Study) -> Preflight:
        """Plain products, as if generations were shared by lengths."""
        if self.error is not None:
            raise self.error
        count = len(study.configurations())
        shared = max(1, count // len(study.grid.max_length))
        return Preflight(
            count, shared, len(study.grid.precision), 164, shared * 164, 0, count * 164, shared * 164 * 120,
            shared * 60.0, shared * 164 * 700, "measured here before",
        )  # fmt: skip

    def start(self, study: Study) -> int:
        """Attach to a run that replays the script."""
        self.asked.append("start")
        if self.error is not None:
            raise self.error
        self.study = study
        self._run, self._seen = 1, 0
        return 1

    def enqueue(self, study: Study) -> int:
        """Put a run behind those in `kept`."""
        self.asked.append("enqueue")
        run = max((found.id for found in self.kept), default=1) + 1
        self.kept.insert(0, kept_run(study, run, "queued"))
        self.waiting.append(run)
        return run

    def queue(self) -> Sequence[int]:
        """The runs that wait."""
        return list(self.waiting)

    def move(self, run: int, step: int) -> None:
        """Change places in the queue."""
        place = self.waiting.index(run)
        if 0 <= place + step < len(self.waiting):
            self.waiting.insert(place + step, self.waiting.pop(place))

    def take_out(self, run: int) -> None:
        """Out of the queue."""
        self.waiting.remove(run)
        self.kept = [replace(found, state="stopped") if found.id == run else found for found in self.kept]

    def amend(self, tables: Sequence[str]) -> None:
        """Record it."""
        self.asked.append(f"amend {len(tables)}")

    def attach(self, run: int) -> None:
        """Replay from the first event."""
        self.asked.append(f"attach {run}")
        self._run, self._seen = run, 0

    def resume(self) -> None:
        """Record it."""
        self.asked.append("resume")
        self.state = Status("running")

    def poll(self, limit: int = 2000) -> Sequence[tuple[float, Event]]:
        """The next events, one every `seconds` of their own clock per reply."""
        start = self._seen
        self._seen = min(len(self.events), start + limit)
        return [(1000.0 + self.seconds * (start + i), event) for i, event in enumerate(self.events[start : self._seen])]

    def read(self, run: int) -> Sequence[tuple[float, Event]]:
        """The events put into `others`."""
        return [(1000.0, event) for event in self.others[run]]

    def wish(self, kind: str) -> None:
        """Record it."""
        self.asked.append(kind)

    def status(self) -> Status:
        """The state put into `state`."""
        return self.state if self._run is not None else Status("none")

    def live(self) -> Sequence[SlotText]:
        """What was put into `slots`; the first call, as the worker has yet to hear of it, is answered with nothing."""
        told = self.slots if "live" in self.asked else []
        self.asked.append("live")
        return list(told)

    def generation(self, key: str) -> StoredGeneration | None:
        """A reply put into `replies`."""
        return self.replies.get(key)

    def close(self) -> None:
        """Record it."""
        self.asked.append("close")


def kept_run(study: Study, run: int = 7, state: str = "finished", detail: str = "") -> Run:
    """A row of the runs list."""
    return Run(run, study.name, dumps(study), {}, state, detail, None, None, time.time() - 3600)


def drawn(app: App[int]) -> list[str]:
    """The lines that the top screen shows, as text."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


def shown(app: App[int]) -> str:
    """The same as one text."""
    return "\n".join(drawn(app))


async def settled(pilot: Pilot[int], ready: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    """Wait until something is so, however slow the machine is; fail naming it."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}; the screen shows:\n{shown(pilot.app)}")
        await pilot.pause(0.03)


async def until_shown(pilot: Pilot[int], text: str) -> None:
    """Wait until the screen shows a text."""
    await settled(pilot, lambda: text in shown(pilot.app), repr(text))


async def typed(pilot: Pilot[int], text: str) -> None:
    """Type a text into the line that has the focus: all but the last key at once, to be quick."""
    await settled(pilot, lambda: isinstance(pilot.app.focused, Input), "a line to type into")
    line = pilot.app.focused
    assert isinstance(line, Input)
    line.value = text[:-1]
    line.cursor_position = len(line.value)
    await pilot.press(character_to_key(text[-1]))


def running(passes=(48, 47, 20), last=60, study=None, events=None):
    """App and session of a run that is under way."""
    study = study or make_study()
    session = FakeSession(events if events is not None else script(study, passes, last=last), study)
    return ScoretraceApp(session, study, autostart=True), session
