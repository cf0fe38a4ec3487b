"""A run scored again from what was kept, without a model: reply -> candidate -> program -> outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from cache.store import Store
from engine.cells import Reading
from engine.errors import BenchmarkError, SettingsError, TemplateError
from engine.events import Event, Generated, Judged, ModelLoaded, Place, Started
from engine.judging import program_key
from engine.protocols import Benchmark, Limits, Outcome, Problem, Program, Sandbox
from engine.settings import Configuration

NO_ROOM = "no room"


@dataclass(frozen=True)
class Reread:
    """One judged sample read again: what was recorded, and the program that its reply makes now.

    `program` is None where there is nothing to execute: `settled` then is the kind that follows (no room), or
    `problem` says why the sample cannot be read again.
    """

    place: Place
    recorded: str
    program: Program | None = None
    limits: Limits = field(default_factory=Limits)
    settled: str = ""
    problem: str = ""

    def key(self, identity: str) -> str:
        """The outcome's key under a sandbox's identity; empty without a program."""
        return program_key(self.program, self.limits, identity) if self.program else ""


class Rereader:
    """Reads the samples of a run again; `benchmark(name)` opens a benchmark, or raises `BenchmarkError`."""

    def __init__(self, store: Store, events: Iterable[Event], benchmark: Callable[[str], Benchmark]) -> None:
        self._store = store
        self._open = benchmark
        self._benchmarks: dict[str, tuple[Benchmark, dict[str, Problem]] | str] = {}
        self._configurations: dict[str, Configuration] = {}
        self._judged: dict[Place, Judged] = {}
        self._replies: set[tuple[str, str, int]] = set()
        self._eos: dict[tuple[str, str], str] = {}
        self._prompts: dict[tuple[str, str, str, bool, str], int] = {}
        self._programs: dict[tuple[object, ...], Program] = {}
        for event in events:
            self._fold(event)

    def _fold(self, event: Event) -> None:
        if isinstance(event, Started):
            found = {id_: Configuration.from_dict(values) for id_, values in event.configurations.items()}
            self._configurations.update(found)
        elif isinstance(event, Judged):
            self._judged[event.configuration, event.task_id, event.sample] = event
        elif isinstance(event, Generated):
            self._replies.add((event.key, event.task_id, event.sample))
        elif isinstance(event, ModelLoaded):
            self._eos[event.model, event.precision] = event.eos_token

    def samples(self) -> Iterator[Reread]:
        """Every judged sample; `unavailable` ones were never judged."""
        # Those without a reply come last: only the replies to the same prompt tell how long it is.
        for place, event in sorted(self._judged.items(), key=lambda item: not item[1].key):
            if event.kind != "unavailable":
                yield self._sample(place, event)

    def _sample(self, place: Place, event: Judged) -> Reread:
        configuration = self._configurations.get(event.configuration)
        if configuration is None:
            return Reread(place, event.kind, problem="no Started event names its configuration")
        opened = self._benchmark(configuration.benchmark)
        if isinstance(opened, str):
            return Reread(place, event.kind, problem=opened)
        benchmark, problems = opened
        problem = problems.get(event.task_id)
        if problem is None:
            return Reread(place, event.kind, problem=f"{benchmark.name} has no problem {event.task_id}")
        found = self._text(configuration, event)
        if isinstance(found, Reread):
            return found
        try:
            program = self._program(configuration, benchmark, problem, found)
        except (BenchmarkError, SettingsError, TemplateError) as error:
            return Reread(place, event.kind, problem=str(error))
        return Reread(place, event.kind, program, benchmark.limits)

    def _benchmark(self, name: str) -> tuple[Benchmark, dict[str, Problem]] | str:
        if name not in self._benchmarks:
            try:
                benchmark = self._open(name)
                self._benchmarks[name] = (benchmark, {p.task_id: p for p in benchmark.problems})
            except BenchmarkError as error:
                self._benchmarks[name] = str(error)
        return self._benchmarks[name]

    def _text(self, configuration: Configuration, event: Judged) -> str | Reread:
        """The reply as the configuration's limit leaves it."""
        c, place = configuration, (event.configuration, event.task_id, event.sample)
        where = (c.model, c.benchmark, c.template, c.prefill, event.task_id)
        if not event.key:
            known = self._prompts.get(where)
            if known is not None and known < c.max_length:
                return Reread(
                    place, event.kind, problem=f"its prompt of {known} tokens leaves room, yet no reply is named"
                )
            return Reread(place, event.kind, settled=NO_ROOM)
        if (event.key, event.task_id, event.sample) not in self._replies:
            return Reread(place, event.kind, problem=f"no Generated event states reply {event.key} for it")
        stored = self._store.generation(event.key)
        if stored is None:
            return Reread(place, event.kind, problem=f"reply {event.key} is not kept")
        if c.max_length == 0:
            # Somebody else's reply, of which neither prompt nor limit is known.
            return stored.text
        self._prompts[where] = stored.n_prompt
        room = c.max_length - stored.n_prompt
        if room <= 0:
            return Reread(place, event.kind, settled=NO_ROOM)
        if len(stored.tokens) <= room:
            return stored.text
        prefix = self._store.prefix(event.key, room)
        if prefix is None:
            return Reread(
                place, event.kind, problem=f"the text of the first {room} tokens of reply {event.key} is not kept"
            )
        return prefix

    def _program(self, c: Configuration, benchmark: Benchmark, problem: Problem, text: str) -> Program:
        eos = self._eos.get((c.model, c.precision), "")
        key = (c.benchmark, c.extraction, c.template, c.prefill, eos, problem.task_id, text)
        if key not in self._programs:
            reading = Reading(c, benchmark, {problem.task_id: problem}, eos)
            self._programs[key] = benchmark.program(problem, reading.program(problem.task_id, text))
        return self._programs[key]


def execute(samples: Iterable[Reread], sandbox: Sandbox, jobs: int) -> Mapping[str, Outcome]:
    """Run each distinct program once, `jobs` at a time; outcomes by `Reread.key` under the sandbox's identity."""
    programs = {key: one for one in samples if (key := one.key(sandbox.identity))}

    def run(one: Reread) -> Outcome:
        assert one.program is not None
        return sandbox.run(one.program, one.limits)

    with ThreadPoolExecutor(max(1, jobs)) as threads:
        return dict(zip(programs, threads.map(run, programs.values()), strict=True))
