"""What a stored run holds, sample by sample: the reply, the program that its configuration makes of it, the outcome."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cache.store import Store, StoredGeneration
from engine import extraction
from engine.errors import SettingsError
from engine.events import Judged, ModelLoaded, Started, from_dict
from engine.imports.records import AS_STORED
from engine.job import Job
from engine.prompts import CHAT, COMPLETION
from engine.protocols import Benchmark, Problem
from engine.settings import UNKNOWN, Configuration

PAGE = 100_000


@dataclass(frozen=True)
class Cell:
    """One judged sample: `key` is its reply's in the store, empty where no reply was made."""

    configuration: Configuration
    task_id: str
    sample: int
    key: str
    kind: str
    detail: str


@dataclass(frozen=True)
class StoredRun:
    """A run's configurations and their cells by id; `problems` are task ids by benchmark, `eos` the tokens by model
    and precision.
    """

    id: int
    name: str
    job: Job
    configurations: Mapping[str, Configuration]
    problems: Mapping[str, list[str]]
    cells: Mapping[str, dict[tuple[str, int], Cell]]
    eos: Mapping[tuple[str, str], str] = field(default_factory=dict)


def read_run(store: Store, run: int, only: Container[tuple[str, str, int]] | None = None) -> StoredRun:
    """Fold a run's events; a sample that was judged again counts as it was judged last.

    `only` keeps the cells of these (configuration id, task id, sample): of a large run all are many.
    """
    row = store.run(run)
    configurations: dict[str, Configuration] = {}
    problems: dict[str, list[str]] = {}
    cells: dict[str, dict[tuple[str, int], Cell]] = {}
    eos: dict[tuple[str, str], str] = {}
    for event in _events(store, run):
        if isinstance(event, Started):
            configurations |= {id_: Configuration.from_dict(values) for id_, values in event.configurations.items()}
            problems |= event.problems
        elif isinstance(event, ModelLoaded):
            eos[event.model, event.precision] = event.eos_token
        elif isinstance(event, Judged):
            if only is not None and (event.configuration, event.task_id, event.sample) not in only:
                continue
            cell = Cell(
                configurations[event.configuration], event.task_id, event.sample, event.key, event.kind, event.detail
            )
            cells.setdefault(event.configuration, {})[event.task_id, event.sample] = cell
    return StoredRun(run, row.name, Job.from_dict(row.job), configurations, problems, cells, eos)


def _events(store: Store, run: int) -> Iterator[object]:
    last = 0
    while rows := store.events(run, last, PAGE):
        yield from (from_dict(body) for _, _, body in rows)
        last = rows[-1][0]


@dataclass(frozen=True)
class Reading:
    """How replies of one configuration become programs: its benchmark's problems, and the model's eos token."""

    configuration: Configuration
    benchmark: Benchmark
    problems: Mapping[str, Problem]
    eos_token: str = ""

    def program(self, task_id: str, text: str) -> str:
        """The candidate; texts stored as programs are programs already."""
        c = self.configuration
        if c.extraction.startswith(AS_STORED):
            return text
        return extraction.extract(
            c.extraction, self.benchmark, self._problem(task_id), self._template, text,
            prefill=c.prefill, eos_token=self.eos_token,
        )  # fmt: skip

    def code_found(self, task_id: str, text: str) -> bool:
        """False where the extraction found no code in the reply."""
        c = self.configuration
        if c.extraction.startswith(AS_STORED):
            return bool(text.strip())
        return extraction.code_found(
            c.extraction, self.benchmark, self._problem(task_id), self._template, text,
            prefill=c.prefill, eos_token=self.eos_token,
        )  # fmt: skip

    def _problem(self, task_id: str) -> Problem:
        problem = self.problems[task_id]
        if self._continues_elsewhere and problem.prompt:
            # Other tools continue the prompt as published, which our own task may have stripped.
            return replace(problem, prompt=problem.header or problem.prompt)
        return problem

    @property
    def _continues_elsewhere(self) -> bool:
        return self.configuration.template == UNKNOWN and self.configuration.prefill

    @property
    def _template(self) -> str:
        if self._continues_elsewhere:
            return COMPLETION
        return CHAT if self.configuration.template == UNKNOWN else self.configuration.template


def reading(run: StoredRun, configuration: Configuration, benchmark: Benchmark) -> Reading:
    """The reading of one configuration of a run. `SettingsError` when the benchmark has other problems than the run."""
    problems = {problem.task_id: problem for problem in benchmark.problems}
    missing = set(run.problems.get(configuration.benchmark, ())) - set(problems)
    if missing:
        raise SettingsError(
            f"run {run.id}: {benchmark.name} has no problem {min(missing)!r} any more; "
            "its data file was changed: give the one that the run used"
        )
    eos = run.eos.get((configuration.model, configuration.precision), "")
    return Reading(configuration, benchmark, problems, eos)


def reply_of(configuration: Configuration, stored: StoredGeneration, store: Store) -> str | None:
    """The reply as its configuration's length limit left it.

    Which text a part of the tokens spells is known to the model's tokenizer alone: None where it is a part of a longer
    stored reply whose text the run did not keep.
    """
    if whole(configuration, stored):
        return stored.text
    return store.prefix(stored.key, configuration.max_length - stored.n_prompt)


def whole(configuration: Configuration, stored: StoredGeneration) -> bool:
    """False where the configuration's length limit left a part of the stored reply only."""
    return configuration.max_length == 0 or len(stored.tokens) <= configuration.max_length - stored.n_prompt


def serves(stored: StoredGeneration, extraction_name: str) -> bool:
    """False where a reply was ended because another rule had its cut, so that this rule would miss the rest."""
    return stored.stop != "cut" or any(cut.partition(":")[0] == extraction_name for cut in stored.cuts)


def opened(run: StoredRun, open_benchmark: Callable[[str, str | None], Benchmark]) -> dict[str, Benchmark]:
    """The benchmarks that a run's configurations are of, from the data files that the run used."""
    names = dict.fromkeys(c.benchmark for c in run.configurations.values())
    return {name: open_benchmark(name, run.job.data.get(name)) for name in names}
