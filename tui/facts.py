"""The real functions behind the app's screens: problems, programs and reports of the store that a session has open."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from engine.benchmarks import open_benchmark
from engine.extraction import extract
from engine.job import Job
from engine.protocols import Benchmark, Problem
from engine.settings import Configuration
from tui.local import LocalSession
from tui.parts import Parts


def app_parts(session: LocalSession) -> Parts:
    """Parts that read the attached run's benchmark files and write its report into `reports/` of the data folder."""
    from cache.paths import home
    from tui import reporting

    facts = RunFacts(session)

    def write(run: int) -> tuple[Path, ...]:
        return reporting.write_report(session.store, run, home() / "reports" / f"run-{run}")

    return Parts(
        problem=facts.problem,
        candidate=facts.candidate,
        program=facts.program,
        preview_report=lambda run: reporting.preview(session.store, run),
        write_report=write,
        open_items=lambda run: reporting.open_items(session.store, run),
    )


class RunFacts:
    """What screens ask about problems and programs of the attached run; benchmark files are read once."""

    def __init__(self, session: LocalSession) -> None:
        self._session = session
        self._benchmark = lru_cache(maxsize=8)(open_benchmark)

    def _of(self, name: str) -> Benchmark:
        run = self._session.run
        job = Job.from_dict(self._session.store.run(run).job) if run is not None else None
        return self._benchmark(name, job.data.get(name) if job else None)

    def problem(self, benchmark: str, task_id: str) -> Problem | None:
        """A benchmark item, None when the benchmark has none of that id."""
        return next((problem for problem in self._of(benchmark).problems if problem.task_id == task_id), None)

    def candidate(self, configuration: Configuration, task_id: str, reply: str) -> str:
        """The candidate program that the configuration's extraction makes of a reply."""
        problem = self.problem(configuration.benchmark, task_id)
        if problem is None:
            return ""
        return extract(
            configuration.extraction,
            self._of(configuration.benchmark),
            problem,
            configuration.template,
            reply,
            prefill=configuration.prefill,
            eos_token=self._eos(configuration.model),
        )

    def program(self, configuration: Configuration, task_id: str, reply: str) -> str:
        """The candidate with prelude and tests, as it was judged."""
        problem = self.problem(configuration.benchmark, task_id)
        if problem is None:
            return ""
        candidate = self.candidate(configuration, task_id, reply)
        program = self._of(configuration.benchmark).program(problem, candidate)
        return "\n".join((program.prelude, program.candidate, program.test))

    def _eos(self, model: str) -> str:
        run = self._session.run
        loaded = self._session.store.events_of(run, "ModelLoaded") if run is not None else []
        return next((str(body.get("eos_token", "")) for body in reversed(loaded) if body["model"] == model), "")
