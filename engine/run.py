"""A run: the plan's passes through a model, the replies through the cuts and the sandbox, everything into the store.

Each fact is stated the moment it exists. A run that is taken up again looks into the store first, so that nothing is
generated twice and nothing is judged twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from cache.errors import FileError
from cache.store import StoredOutcome
from engine.audit import Auditor
from engine.chat import keep_template
from engine.control import Control, Stopped
from engine.energy import Meter, Watch, energy_key, with_load
from engine.environment import free_cores, record_life
from engine.errors import BenchmarkError, ModelError, TemplateError
from engine.events import (
    ConfigurationFailed,
    ConfigurationFinished,
    ConfigurationStopped,
    Event,
    ModelLoaded,
    Noted,
    PassStarted,
    Started,
    from_dict,
)
from engine.gate import gate
from engine.identity import mixture
from engine.job import Job
from engine.judging import Candidate, JudgePool, state_outcome
from engine.passes import Asked, GroupRun, Pace, finish, telling
from engine.plan import Load, Plan, PromptGroup, make_plan
from engine.protocols import Benchmark, Model, Problem, Request, Sandbox
from engine.recorder import Recorder
from engine.repeating import Repeater
from engine.scoring import Score, fold_scores
from engine.stopping import Stopper, ordered, rounds


@dataclass(frozen=True)
class Parts:
    """Where the real parts come from; tests put fakes here.

    `model(name, precision, slot_tokens)` loads weights with slots of that many tokens; it may raise `ModelError` or
    `FileError`, which end the configurations of that precision and no others. `meters()` are the energy counters that
    there are, `crowding()` a sentence when other processes hold the cores. `seeded(seed)` is a sandbox like the other
    one under another hash seed and random state; without it no program is repeated.
    """

    benchmark: Callable[[str], Benchmark]
    model: Callable[[str, str, int], Model]
    sandbox: Callable[[], Sandbox]
    meters: Callable[[], Sequence[Meter]] = tuple
    crowding: Callable[[], str] = str
    seeded: Callable[[int], Sandbox] | None = None


class Runner:
    """One life of one run: what was judged in an earlier life is not done again."""

    def __init__(self, job: Job, parts: Parts, recorder: Recorder, control: Control) -> None:
        self._job = job
        self._parts = parts
        self._recorder = recorder
        self._control = control
        self._plan: Plan = make_plan(job.configurations)
        self._benchmarks: dict[str, Benchmark] = {}
        self._scores: dict[str, Score] = {}
        self._complete: set[str] = set()
        self._stopped: set[str] = set()
        self._stopper = Stopper(job.stop, job.targets)
        self._loaded: list[ModelLoaded] = []
        self._first = self._plan.first_indices()
        self._watch: Watch | None = None
        self._alive = True
        self._pool: JudgePool

    def run(self) -> str:
        """Run to the end: `finished` or `stopped`. Errors that end the whole run are raised, with what was found
        kept.
        """
        sandbox = self._parts.sandbox()
        try:
            self._start(sandbox)
            self._pool = JudgePool(sandbox, self._recorder.outcome, free_cores())
            self._control.housekeeping = self._housekeeping
            try:
                for load in self._plan.loads:
                    self._load(load)
                self._judged(self._pool.drain())
                self._repeat(sandbox)
                self._audit(sandbox)
            except Stopped:
                self._judged(self._pool.drain())
                raise
            finally:
                self._control.housekeeping = lambda: None
                self._pool.close()
        except Stopped:
            return "stopped"
        finally:
            sandbox.close()
            self._recorder.flush()
        return "finished"

    # the gate

    def _start(self, sandbox: Sandbox) -> None:
        crowded = self._parts.crowding()
        if crowded:
            self._recorder.event(Noted("warning", crowded))
        for name in dict.fromkeys(c.benchmark for c in self._job.configurations):
            self._benchmarks[name] = self._parts.benchmark(name)
        self._scores = fold_scores(self._earlier())
        sizes = {name: len(benchmark.problems) for name, benchmark in self._benchmarks.items()}
        started = Started(
            configurations={c.id: c.as_dict() for c in self._job.configurations},
            problems={name: [p.task_id for p in b.problems] for name, b in self._benchmarks.items()},
            passes=self._plan.passes,
            generations=self._plan.generations(sizes),
            stored=sum(len(score.kinds) for score in self._scores.values()),
            sandbox=sandbox.level,
            stopped=[
                id_
                for id_, score in self._scores.items()
                if self._job.stop and score.stopped and self._stopper.reason(score)
            ],
        )
        fold_scores([started], self._scores)
        self._complete = {id_ for id_, score in self._scores.items() if score.finished}
        self._stopped.update(started.stopped)
        self._complete.update(started.stopped)
        self._recorder.event(started)
        for score in self._scores.values():
            if score.id not in self._complete:
                self._exclude(score)
        self._recorder.flush()
        record_life(self._recorder.store, self._recorder.run, self._benchmarks.values(), sandbox)
        for benchmark in self._benchmarks.values():
            self._gate(benchmark, sandbox)

    def _earlier(self) -> Iterator[Event]:
        """The events of earlier lives; what was loaded in them is remembered."""
        for _, _, body in self._recorder.store.every_event(self._recorder.run):
            event = from_dict(body)
            if isinstance(event, ModelLoaded):
                self._loaded.append(event)
            yield event

    def _gate(self, benchmark: Benchmark, sandbox: Sandbox) -> None:
        """All correct bodies pass and all buggy ones fail, or no score of this benchmark can be trusted."""
        found = gate(self._recorder, benchmark, sandbox, free_cores(), self._control.check)
        self._recorder.flush()
        if found.wrong:
            raise BenchmarkError(
                f"{benchmark.name}: the reference check failed before any model ran: "
                f"{found.correct}/{found.total} correct bodies passed, "
                f"{found.buggy}/{found.total} buggy ones failed; wrong: {', '.join(found.wrong[:8])}. "
                "Compare the data file's hash, or report the problem"
            )

    # the passes

    def _load(self, load: Load) -> None:
        readers = [c for group in load.groups for c in group.configurations]
        if self._complete.issuperset(c.id for c in readers):
            return
        started = time.monotonic()
        watch = Watch(self._parts.meters())
        try:
            model = self._parts.model(load.model, load.precision, max(c.max_length for c in readers))
            try:
                self._belongs(load, model, time.monotonic() - started)
                self._watch = watch
                self._generate(load, model)
            finally:
                self._watch = None
                self._took(load, watch)
                model.close()
        except (ModelError, FileError) as error:
            self._failed((c.id for c in readers), str(error))
        except MemoryError:
            self._failed(
                (c.id for c in readers),
                f"no memory was left while {load.model} ran at {load.precision}; choose a smaller width, a shorter "
                "maximum length or a lower precision, or end other programs, then resume",
            )

    def _belongs(self, load: Load, model: Model, seconds: float) -> None:
        """State the loading, unless it is of another file or engine than this run began with."""
        open_ = (c.id for group in load.groups for c in group.configurations if c.id not in self._complete)
        begun = any(self._scores[id_].kinds for id_ in open_)
        wrong = mixture(self._loaded, load.model, load.precision, model.card, begun=begun)
        if wrong:
            raise ModelError(wrong)
        event = ModelLoaded(
            model=load.model,
            precision=load.precision,
            card=asdict(model.card),
            width=int(model.card.numerics.get("width", "1")),
            load_seconds=seconds,
            eos_token=model.special_tokens.get("eos_token", ""),
        )
        self._loaded.append(event)
        self._recorder.event(event)
        keep_template(self._recorder.store, model)

    def _took(self, load: Load, watch: Watch) -> None:
        """Keep what the devices took for a loading, where they say."""
        taken = watch.stop()
        if taken:
            store, key = self._recorder.store, energy_key(self._recorder.run)
            store.put_fact(key, with_load(store.fact(key), load.model, load.precision, taken))

    def _repeat(self, sandbox: Sandbox) -> None:
        seeded = self._parts.seeded
        if self._job.repeats and seeded is not None:
            self._recorder.flush()
            repeater = Repeater(self._recorder, self._control, seeded, self._benchmarks, sandbox, self._scores)
            repeater.bring_to(self._job.repeats)

    def _audit(self, sandbox: Sandbox) -> None:
        if self._job.audit:
            self._recorder.flush()
            auditor = Auditor(self._recorder, self._control, self._parts.model, self._benchmarks, sandbox)
            auditor.bring_to(self._job.audit)

    def _generate(self, load: Load, model: Model) -> None:
        """One stream of requests over all groups of a load, so that no slot idles between them."""
        waiting: dict[str, list[tuple[GroupRun, Asked]]] = {}
        pace, started = Pace(), time.monotonic()
        readers = [c for group in load.groups for c in group.configurations]

        def requests() -> Iterator[Request]:
            for group in load.groups:
                yield from self._requests(group, model, waiting, pace)

        def wanted() -> bool:
            # What is in flight is let go once nobody reads it any more: all of the load are finished or stopped.
            return self._listen() and not all(c.id in self._complete for c in readers)

        with self._control.telling(lambda: telling(waiting, model.writing())):
            for generation in model.generate(requests(), wanted):
                finish(waiting, generation)
        pace.seconds = time.monotonic() - started
        self._learn(load, pace)
        if not self._alive:
            raise Stopped

    def _listen(self) -> bool:
        self._alive = self._control.tick()
        return self._alive

    def _requests(
        self, group: PromptGroup, model: Model, waiting: dict[str, list[tuple[GroupRun, Asked]]], pace: Pace
    ) -> Iterator[Request]:
        first = self._first[group]
        if not self._alive or self._complete.issuperset(c.id for c in group.configurations):
            return
        benchmark = self._benchmarks[group.benchmark]
        self._recorder.event(
            PassStarted(
                index=first,
                label=group.label,
                configurations=[c.id for c in group.configurations],
                generations=sum(p.samples for p in group.passes) * len(benchmark.problems),
            )
        )
        try:
            running = GroupRun(
                group, benchmark, model, self._recorder, self._pool, first_index=first, todo=self._todo,
                waiting=waiting, pace=pace, listen=self._listen, stopped=self._stopped,
                problems=self._order(group), rounds=rounds(self._job.stop, max(p.samples for p in group.passes)),
            )  # fmt: skip
            for request in running.requests():
                if not self._listen():
                    return
                yield request
        except TemplateError as error:
            self._failed((c.id for c in group.configurations), str(error))

    def _learn(self, load: Load, pace: Pace) -> None:
        """Remember how long replies take here, for the next preflight."""
        if pace.replies < 8:
            return
        for benchmark in {group.benchmark for group in load.groups}:
            key = pace_key(self._job.models[load.model], load.precision, benchmark)
            self._recorder.store.put_fact(key, asdict(pace))

    def _todo(self, configuration: str, task_id: str, sample: int) -> bool:
        if configuration in self._stopped:
            return False
        return self._scores[configuration].kinds.get((task_id, sample), "unavailable") == "unavailable"

    def _order(self, group: PromptGroup) -> list[Problem]:
        live = (self._job.targets.get(c.id) for c in group.configurations if c.id not in self._complete)
        likely = self._job.order.get(group.benchmark, ())
        return ordered(self._benchmarks[group.benchmark].problems, likely, (one.first for one in live if one))

    def _exclude(self, score: Score) -> None:
        """Ask a configuration no further once nothing reported can be reached; what shares its replies goes on."""
        reason = self._stopper.reason(score)
        if reason:
            score.stopped = reason
            self._stopped.add(score.id)
            self._complete.add(score.id)
            self._recorder.event(ConfigurationStopped(score.id, reason, score.passed, score.judged_total, score.asked))

    def _housekeeping(self) -> None:
        if self._watch is not None:
            self._watch.tick()
        self._judged(self._pool.collect())

    def _failed(self, configurations: Iterable[str], reason: str) -> None:
        # What is being judged may complete some of them.
        self._judged(self._pool.drain())
        for configuration in configurations:
            if configuration not in self._complete:
                self._recorder.event(ConfigurationFailed(configuration, reason))
        self._recorder.flush()

    def _judged(self, results: Iterable[tuple[Candidate, StoredOutcome]]) -> None:
        for candidate, outcome in results:
            if candidate.configuration in self._stopped:
                continue
            state_outcome(self._recorder, self._scores, candidate, outcome)
            score = self._scores[candidate.configuration]
            if len(score.kinds) == score.asked and score.id not in self._complete:
                self._complete.add(score.id)
                self._recorder.event(ConfigurationFinished(score.id, score.passed, score.asked, score.unavailable))
            elif score.id not in self._complete:
                self._exclude(score)


def pace_key(file: str, precision: str, benchmark: str) -> str:
    """The fact under which the last measured pace of a model file lies."""
    return f"pace:{file}:{precision}:{benchmark}"
