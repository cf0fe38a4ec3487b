"""Score stored replies again under other extractions, without any model; identical programs are executed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cache.store import StoredOutcome
from engine import failures
from engine.cells import Reading, StoredRun, read_run, reading, reply_of, serves, whole
from engine.environment import record_life
from engine.errors import SettingsError
from engine.events import ConfigurationFinished, Generated, Started
from engine.extraction import extraction_names
from engine.imports.records import AS_STORED
from engine.job import Job
from engine.judging import Candidate, JudgePool, state_outcome
from engine.protocols import Benchmark, Sandbox
from engine.recorder import Recorder
from engine.scoring import Score, fold_scores
from engine.settings import Configuration

PART = "the reply is part of a longer one, and the text of that part was not kept: run it again"
CUT = "the reply was ended when {} had all it needs: run it again with this extraction"


@dataclass(frozen=True)
class Spread:
    """The best and the worst extraction for one model and its other settings; counts of passes out of `judged`.

    `left_out` are extractions under which fewer samples could be judged: their counts compare with nothing.
    """

    model: str
    label: str
    best: tuple[str, int]
    worst: tuple[str, int]
    judged: int
    left_out: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """How far apart they are, in percentage points."""
        return 100 * (self.best[1] - self.worst[1]) / self.judged


def sources(run: StoredRun) -> list[Configuration]:
    """One configuration for each set of replies in a run; its extraction does not matter.

    Configurations whose texts are programs already are left out where the same run holds the replies themselves.
    """
    found: dict[Configuration, Configuration] = {}
    for configuration in run.configurations.values():
        bare = replace(configuration, extraction="")
        if bare not in found or found[bare].extraction.startswith(AS_STORED):
            found[bare] = configuration
    return [c for c in found.values() if not c.extraction.startswith(AS_STORED)]


def job_of(run: StoredRun, extractions: Sequence[str]) -> Job:
    """The job of a re-scoring: every set of replies under every extraction. `SettingsError` for an unknown one."""
    for name in extractions:
        if name not in extraction_names():
            raise SettingsError(f"extraction {name!r} is unknown; expected one of {', '.join(extraction_names())}")
    replies = sources(run)
    if not replies:
        raise SettingsError(f"run {run.id} holds programs and no replies: no other extraction can be applied to them")
    wanted = tuple(replace(c, extraction=name) for c in replies for name in extractions)
    return replace(run.job, configurations=wanted, origin={**run.job.origin, "run": str(run.id)})


class Rescorer:
    """Judges what a run's replies become under the extractions of `job`, and states it as a run of its own."""

    def __init__(self, recorder: Recorder, sandbox: Sandbox, jobs: int) -> None:
        self._recorder = recorder
        self._sandbox = sandbox
        self._pool = JudgePool(sandbox, recorder.outcome, jobs)
        self._scores: dict[str, Score] = {}
        self.programs = 0

    @property
    def executed(self) -> int:
        """Programs that were executed; the others were known or the same as one of these."""
        return self._pool.executed

    def run(self, source: StoredRun, job: Job, benchmarks: Mapping[str, Benchmark]) -> dict[str, Score]:
        """The scores by configuration id."""
        started = Started(
            configurations={c.id: c.as_dict() for c in job.configurations},
            problems={name: list(source.problems[name]) for name in benchmarks},
            passes=0,
            generations=sum(len(source.cells.get(origin.id, ())) for origin in sources(source)),
            stored=0,
            sandbox=self._sandbox.level,
        )
        self._recorder.event(started)
        record_life(self._recorder.store, self._recorder.run, benchmarks.values(), self._sandbox)
        fold_scores([started], self._scores)
        replies = {replace(c, extraction=""): c for c in sources(source)}
        for origin in sources(source):
            self._state_replies(source, origin)
        try:
            for configuration in job.configurations:
                origin = replies[replace(configuration, extraction="")]
                self._configuration(source, origin, reading(source, configuration, benchmarks[configuration.benchmark]))
            self._state(self._pool.drain())
        finally:
            self._pool.close()
            self._recorder.flush()
        for score in self._scores.values():
            if score.finished:
                self._recorder.event(ConfigurationFinished(score.id, score.passed, score.asked, score.unavailable))
        self._recorder.flush()
        return self._scores

    def _state_replies(self, source: StoredRun, origin: Configuration) -> None:
        """Name the replies that are read, so that this run stands on its own: in a bundle, for whoever verifies it."""
        for cell in source.cells.get(origin.id, {}).values():
            stored = self._recorder.generation(cell.key) if cell.key else None
            if stored is not None:
                self._recorder.event(
                    Generated(0, cell.task_id, cell.sample, cell.key, len(stored.tokens), stored.stop, 0.0, reused=True)
                )

    def _configuration(self, source: StoredRun, origin: Configuration, read: Reading) -> None:
        configuration = read.configuration
        for cell in source.cells.get(origin.id, {}).values():
            self._state(self._pool.collect())
            candidate = Candidate(configuration.id, cell.task_id, cell.sample, cell.key)
            stored = self._recorder.generation(cell.key) if cell.key else None
            self.programs += 1
            if stored is None:
                self._pool.settle(candidate, StoredOutcome("", cell.kind, cell.detail, "", "", 0.0))
                continue
            text, part = reply_of(configuration, stored, self._recorder.store), not whole(configuration, stored)
            # What a limit left is all there is to read, whatever ended the longer reply.
            if text is None or not (part or serves(stored, configuration.extraction)):
                why = PART if text is None else CUT.format(", ".join(sorted(c.partition(":")[0] for c in stored.cuts)))
                self._pool.settle(candidate, StoredOutcome("", "unavailable", why, "", "", 0.0))
                continue
            program = read.benchmark.program(read.problems[cell.task_id], read.program(cell.task_id, text))
            told = failures.reading(
                truncated=part or stored.stop == "limit", no_code=not read.code_found(cell.task_id, text)
            )
            candidate = replace(candidate, reading=told)
            self._pool.submit(candidate, program, read.benchmark.limits)

    def _state(self, results: Iterable[tuple[Candidate, StoredOutcome]]) -> None:
        for candidate, outcome in results:
            state_outcome(self._recorder, self._scores, candidate, outcome)


def rescore(
    recorder: Recorder,
    source: int,
    job: Job,
    sandbox: Sandbox,
    open_benchmark: Callable[[str, str | None], Benchmark],
    jobs: int,
) -> Rescorer:
    """Judge a stored run's replies again into the recorder's run; what it found is in the recorder and the result."""
    found = read_run(recorder.store, source)
    benchmarks = {
        name: open_benchmark(name, job.data.get(name))
        for name in dict.fromkeys(c.benchmark for c in job.configurations)
    }
    rescorer = Rescorer(recorder, sandbox, jobs)
    rescorer.run(found, job, benchmarks)
    return rescorer


def spreads(scores: Iterable[Score]) -> list[Spread]:
    """Per model and other settings, the best and worst of the extractions that were judged on the most samples."""
    groups: dict[Configuration, list[Score]] = {}
    for score in scores:
        if score.judged_total:
            groups.setdefault(replace(score.configuration, extraction=""), []).append(score)
    found = []
    for bare, group in groups.items():
        judged = max(score.judged_total for score in group)
        fewer = tuple(score.configuration.extraction for score in group if score.judged_total < judged)
        group = [score for score in group if score.judged_total == judged]
        if len(group) < 2:
            continue
        best, worst = max(group, key=lambda s: s.passed), min(group, key=lambda s: s.passed)
        named = [(s.configuration.extraction, s.passed) for s in (best, worst)]
        label = replace(bare, extraction="harness").label
        found.append(Spread(bare.model, label, named[0], named[1], judged, fewer))
    return found
