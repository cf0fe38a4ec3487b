"""Keep imported generations as a run like any other: stored, judged in our own sandbox, the unknown left unknown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cache.store import StoredGeneration, StoredOutcome
from engine.cells import Reading
from engine.environment import record_life
from engine.events import ConfigurationFinished, Generated, Noted, Started
from engine.failures import reading
from engine.imports.records import COMPLETION, Imported, Sample
from engine.job import Job
from engine.judging import Candidate, JudgePool, state_outcome
from engine.protocols import Benchmark, Sandbox
from engine.recorder import Recorder
from engine.scoring import Score, fold_scores
from engine.settings import UNKNOWN, UNKNOWN_DECODING, Configuration, Decoding

STATE = "imported"
"""The state of a run that no worker made."""


@dataclass(frozen=True)
class Agreement:
    """How the file's own verdicts compare with ours: of `told`, those that differ as task id and what was said."""

    told: int
    differing: tuple[tuple[str, str], ...]


def configuration_of(imported: Imported, benchmark: Benchmark) -> Configuration:
    """The configuration of imported samples; `prefill` where they continue the whole prompt."""
    told = imported.settings
    completion = imported.form == COMPLETION
    decoding = UNKNOWN_DECODING
    if "temperature" in told:
        temperature = float(told["temperature"])
        # Greedy draws nothing, so that top_p and top_k of a greedy run say nothing.
        default = Decoding()
        decoding = default if temperature == 0 else Decoding(
            temperature, float(told.get("top_p", -1)), int(told.get("top_k", -1))
        )  # fmt: skip
    return Configuration(
        model=imported.model,
        benchmark=benchmark.name,
        template=str(told.get("template") or UNKNOWN),
        decoding=decoding,
        max_length=int(told.get("max_length") or 0),
        precision=str(told.get("precision") or UNKNOWN),
        prefill=completion,
        samples=max(sample.sample for sample in imported.samples) + 1,
        seed=int(told.get("seed", -1)),
        extraction=imported.extraction,
    )


def job_of(found: Sequence[Imported], benchmark: Benchmark, data: str, origin: Mapping[str, str] | None = None) -> Job:
    """The job that an import comes to; model names stand for no file. `origin` is `origin_of` the file."""
    configurations = tuple(dict.fromkeys(configuration_of(imported, benchmark) for imported in found))
    models = {c.model: f"{STATE}:{c.model}" for c in configurations}
    return Job(configurations, models, {benchmark.name: data} if data else {}, origin=origin or {})


def origin_of(path: Path, kind: str = "", results: Path | None = None) -> dict[str, str]:
    """Where imported replies are from: name and sha256 of the file (none for a folder), kind and results as asked."""
    told = {"file": path.name, "kind": kind, "results": results.name if results else ""}
    if path.is_file():
        with path.open("rb") as stream:
            told["sha256"] = hashlib.file_digest(stream, "sha256").hexdigest()
    return {name: value for name, value in told.items() if value}


class Importer:
    """Writes an import into the recorder's run."""

    def __init__(self, recorder: Recorder, sandbox: Sandbox, benchmark: Benchmark, jobs: int) -> None:
        self._recorder = recorder
        self._benchmark = benchmark
        self._sandbox = sandbox
        self._pool = JudgePool(sandbox, recorder.outcome, jobs)
        self._scores: dict[str, Score] = {}

    def run(self, found: Sequence[Imported]) -> tuple[dict[str, Score], list[Agreement]]:
        """Keep and judge every sample; the scores by configuration id, and the agreement of each import."""
        configurations = [configuration_of(imported, self._benchmark) for imported in found]
        started = Started(
            configurations={c.id: c.as_dict() for c in configurations},
            problems={self._benchmark.name: [problem.task_id for problem in self._benchmark.problems]},
            passes=0,
            generations=sum(len(imported.samples) for imported in found),
            stored=0,
            sandbox=self._sandbox.level,
        )
        self._recorder.event(started)
        record_life(self._recorder.store, self._recorder.run, [self._benchmark], self._sandbox)
        fold_scores([started], self._scores)
        try:
            for imported, configuration in zip(found, configurations, strict=True):
                self._take(imported, configuration)
            self._state(self._pool.drain())
        finally:
            self._pool.close()
            self._recorder.flush()
        agreements = [self._agreement(i, self._scores[c.id]) for i, c in zip(found, configurations, strict=True)]
        self._close(found, agreements)
        return self._scores, agreements

    def _take(self, imported: Imported, configuration: Configuration) -> None:
        problems = {problem.task_id: problem for problem in self._benchmark.problems}
        read = Reading(configuration, self._benchmark, problems)
        for sample in imported.samples:
            stored = generation_of(imported, sample, configuration)
            self._recorder.put_generation(stored)
            self._recorder.event(
                Generated(0, sample.task_id, sample.sample, stored.key, 0, stored.stop, 0.0, reused=True)
            )
            program = self._benchmark.program(problems[sample.task_id], read.program(sample.task_id, sample.text))
            told = reading(truncated=stored.stop == "limit", no_code=not read.code_found(sample.task_id, sample.text))
            candidate = Candidate(configuration.id, sample.task_id, sample.sample, stored.key, told)
            self._pool.submit(candidate, program, self._benchmark.limits)
            self._state(self._pool.collect())

    def _state(self, results: Iterable[tuple[Candidate, StoredOutcome]]) -> None:
        for candidate, outcome in results:
            state_outcome(self._recorder, self._scores, candidate, outcome)

    def _agreement(self, imported: Imported, score: Score) -> Agreement:
        told = [sample for sample in imported.samples if sample.passed is not None]
        differing = [
            (sample.task_id, f"the file says {'pass' if sample.passed else 'fail'} ({sample.why or 'no reason given'})")
            for sample in told
            if (score.kinds[sample.task_id, sample.sample] == "passed") is not sample.passed
        ]
        return Agreement(len(told), tuple(differing))

    def _close(self, found: Iterable[Imported], agreements: Iterable[Agreement]) -> None:
        for imported, agreement in zip(found, agreements, strict=True):
            for note in imported.notes:
                self._recorder.event(Noted("warning", note))
            if agreement.differing:
                first = agreement.differing[0]
                text = f"{imported.model}, {imported.extraction}: {len(agreement.differing)} of {agreement.told}"
                self._recorder.event(Noted("warning", f"{text} verdicts differ from ours; {first[0]}: {first[1]}"))
        for score in self._scores.values():
            if score.finished:
                self._recorder.event(ConfigurationFinished(score.id, score.passed, score.asked, score.unavailable))
        self._recorder.flush()


def generation_of(imported: Imported, sample: Sample, configuration: Configuration) -> StoredGeneration:
    """An imported text as the store keeps replies; without tokens, and under a key that no model's reply can have."""
    parts = (imported.model, imported.form, sample.task_id, str(sample.sample), sample.text)
    key = "imported-" + hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:31]
    return StoredGeneration(
        key=key, model_sha256=UNKNOWN, decoding=configuration.decoding.label, n_prompt=0, text=sample.text, tokens=(),
        stop=sample.stop, asked=0, seconds=0.0,
    )  # fmt: skip
