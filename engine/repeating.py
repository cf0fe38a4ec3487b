"""A run's programs executed again under other hash seeds and random states, and those whose outcome changed.

Scores stay those of seed 0, under which the run judged. Outcomes are kept under an identity of their own, which holds
the seed, so that a run that is taken up again repeats what is missing and nothing else.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cache.store import StoredOutcome
from engine.benchmarks.languages import language_of
from engine.cells import Reading, read_run, reading, reply_of
from engine.control import Control
from engine.environment import free_cores
from engine.events import Event, Judged, Noted, Place, Repeated, from_dict
from engine.judging import Candidate, JudgePool, program_key
from engine.protocols import Benchmark, Limits, Program, Sandbox
from engine.recorder import Recorder
from engine.sandbox.repeats import flaky
from engine.scoring import Score

SEEDED = ("python",)
"""Languages whose runs have a hash seed and a random state."""
WAITING = 64
"""Programs that may wait for the sandbox: few, so that a stop need not wait long."""
_LOOK_S = 0.01
_NEVER_RUN = ("unavailable", "no room")
OTHER_SANDBOX = "judged in another sandbox than the one at hand, or the outcome is not kept"
NOT_KEPT = "the text that the program was cut from is not kept"


@dataclass
class _Found:
    """What the passes have shown so far: 64 bits of the key of each sample's program, and outcomes other than seed 0's.

    A grid has a million samples, most of whose programs are steady: no more than that is remembered of those.
    """

    programs: array[int] = field(default_factory=lambda: array("Q"))
    other: dict[str, dict[int, str]] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)
    samples: dict[str, set[Place]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


def has_seed(benchmark: str) -> bool:
    """True for a benchmark whose programs' runs have a hash seed and a random state."""
    return language_of(benchmark).name in SEEDED


def summary(event: Repeated) -> str:
    """One sentence for a report or a line: how many programs, under which seeds, and how many did otherwise."""
    seeds = "seed 1" if event.seeds == 1 else f"seeds 1 to {event.seeds}"
    samples = sum(len(one["samples"]) for one in event.flaky)
    told = f"{_numbered(event.programs, 'program')} executed again under {seeds}: "
    told += f"{len(event.flaky) or 'none'} gave another outcome"
    parts = [told + (f" ({_numbered(samples, 'sample')})" if event.flaky else "")]
    if event.unavailable:
        parts.append(f"{_numbered(event.unavailable, 'execution')} gave no outcome")
    if event.skipped:
        parts.append("samples not repeated: " + ", ".join(f"{n} ({why})" for why, n in event.skipped.items()))
    return "; ".join(parts)


def _numbered(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def lines(event: Repeated, label: Callable[[str], str]) -> Iterator[str]:
    """One line for each program whose outcome changed: its first sample, and the kinds by seed."""
    for one in event.flaky:
        configuration, task_id, sample = one["samples"][0]
        more = f" and {len(one['samples']) - 1} more" if len(one["samples"]) > 1 else ""
        kinds = ", ".join(f"{seed}: {kind}" for seed, kind in one["kinds"].items())
        yield f"flaky: {label(configuration)}, {task_id} sample {sample}{more}: by seed {kinds}"


def repeated_before(events: Iterable[Event]) -> Repeated | None:
    """What the last repeats of a run came to; None where there are none, or samples were judged since."""
    found = None
    for event in events:
        if isinstance(event, Repeated):
            found = event
        elif isinstance(event, Judged):
            found = None
    return found


class Repeater:
    """Executes the programs of one run again; `seeded(seed)` opens a sandbox like `sandbox` under another seed."""

    def __init__(
        self,
        recorder: Recorder,
        control: Control,
        seeded: Callable[[int], Sandbox],
        benchmarks: Mapping[str, Benchmark],
        sandbox: Sandbox,
        scores: Mapping[str, Score],
    ) -> None:
        self._recorder = recorder
        self._control = control
        self._seeded = seeded
        self._identity = sandbox.identity
        self._scores = scores
        run = read_run(recorder.store, recorder.run, only=())
        self._readings: dict[str, Reading] = {
            id_: reading(run, c, benchmarks[c.benchmark]) for id_, c in run.configurations.items() if id_ in scores
        }
        self._found = _Found()

    def bring_to(self, seeds: int) -> None:
        """Execute every program under the seeds 1 to `seeds`, unless that is done, and state what came of it.

        `Stopped` when the user asks for it; what was executed by then is kept.
        """
        before = repeated_before(self._events())
        if before is not None and before.seeds >= seeds:
            return
        self._say("info", f"repeats: executing the run's programs again under {seeds} other seeds")
        for seed in range(1, seeds + 1):
            sandbox = self._seeded(seed)
            try:
                self._under(seed, sandbox)
            finally:
                sandbox.close()
                self._recorder.flush()
            if not self._found.programs:
                break
        event = self._event(seeds)
        self._recorder.event(event)
        self._say("warning" if event.flaky else "info", f"repeats: {summary(event)}")

    def _events(self) -> Iterator[Event]:
        return (from_dict(body) for _, _, body in self._recorder.store.every_event(self._recorder.run))

    def _under(self, seed: int, sandbox: Sandbox) -> None:
        pool = JudgePool(sandbox, self._recorder.outcome, free_cores())
        try:
            for place, key, program, limits in self._programs(first=seed == 1):
                while pool.pending >= WAITING:
                    self._wait(seed, pool)
                # The program's key under seed 0 goes through the pool in place of its reply's.
                pool.submit(Candidate(*place, key), program, limits)
                self._control.check()
                self._take(seed, pool.there())
            while pool.pending:
                self._wait(seed, pool)
            self._take(seed, pool.there())
        finally:
            pool.close()
            # What had begun when a stop was asked for has an outcome by now.
            self._take(seed, pool.there())

    def _wait(self, seed: int, pool: JudgePool) -> None:
        self._control.check()
        self._take(seed, pool.there())
        time.sleep(_LOOK_S)

    def _programs(self, *, first: bool) -> Iterator[tuple[Place, str, Program, Limits]]:
        """The run's executed programs sample by sample; on the `first` pass the others are counted."""
        skipped = self._found.skipped if first else Counter[str]()
        for score in self._scores.values():
            skipped.update(kind for kind in score.kinds.values() if kind in _NEVER_RUN)
        for event in self._events():
            if not isinstance(event, Judged) or event.configuration not in self._readings:
                continue
            kind = self._kind(event.configuration, event.task_id, event.sample)
            read = self._readings[event.configuration]
            if kind in _NEVER_RUN:
                continue
            stored = self._recorder.generation(event.key)
            text = reply_of(read.configuration, stored, self._recorder.store) if stored else None
            if text is None:
                skipped[NOT_KEPT] += 1
                continue
            program = read.benchmark.program(read.problems[event.task_id], read.program(event.task_id, text))
            if program.language not in SEEDED:
                skipped[f"a run of {program.language} has no seed"] += 1
                continue
            key = program_key(program, read.benchmark.limits, self._identity)
            kept = self._recorder.outcome(key)
            if kept is None or kept.kind != kind:
                skipped[OTHER_SANDBOX] += 1
                continue
            if first:
                self._found.programs.append(int(key[:16], 16))
            yield (event.configuration, event.task_id, event.sample), key, program, read.benchmark.limits

    def _take(self, seed: int, results: Iterable[tuple[Candidate, StoredOutcome]]) -> None:
        for candidate, outcome in results:
            if outcome.kind != "unavailable" and self._recorder.outcome(outcome.key) is None:
                self._recorder.put_outcome(outcome)
            place = candidate.configuration, candidate.task_id, candidate.sample
            recorded = self._kind(*place)
            if outcome.kind != recorded:
                self._found.other.setdefault(candidate.key, {})[seed] = outcome.kind
                self._found.recorded[candidate.key] = recorded
                self._found.samples.setdefault(candidate.key, set()).add(place)

    def _kind(self, configuration: str, task_id: str, sample: int) -> str:
        return self._scores[configuration].kinds[task_id, sample]

    def _event(self, seeds: int) -> Repeated:
        import numpy

        found, listed = self._found, []
        for key, other in found.other.items():
            kinds = [found.recorded[key], *(other.get(seed, found.recorded[key]) for seed in range(1, seeds + 1))]
            if flaky(kinds):
                by_seed = {str(seed): kind for seed, kind in enumerate(kinds)}
                listed.append({"kinds": by_seed, "samples": [list(place) for place in sorted(found.samples[key])]})
        return Repeated(
            seeds=seeds,
            programs=len(numpy.unique(numpy.array(found.programs))),
            flaky=sorted(listed, key=lambda one: one["samples"]),
            unavailable=sum(kind == "unavailable" for other in found.other.values() for kind in other.values()),
            skipped=dict(sorted(found.skipped.items())),
        )

    def _say(self, level: str, text: str) -> None:
        self._recorder.event(Noted(level, text))
        self._recorder.flush()
