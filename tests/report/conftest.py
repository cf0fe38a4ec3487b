"""A store with one run in it, made of real facts; each part of its evidence can be left out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cache.store import Store, StoredGeneration
from engine.chat import template_key
from engine.environment import Environment, provenance_key
from engine.events import (
    ConfigurationFailed,
    ConfigurationStopped,
    Event,
    Generated,
    Judged,
    ModelLoaded,
    Noted,
    ReferenceChecked,
    Started,
    to_dict,
)
from engine.job import Job
from engine.settings import Configuration, Decoding, Grid
from literature.report import output
from tui import study as studies
from tui.study import ModelChoice, Study

BENCHMARK = "humanevalfixtests-python"
SHA = "ab" * 32
MADE = 1_700_000_000.0
PROMPT_TOKENS = 200


def make_study(**changes: Any) -> Study:
    """Two models over a grid of two decodings at one length; everything that a user can state is stated."""
    values: dict[str, Any] = {
        "name": "Which settings?",
        "note": "Which settings does 25.0 come from?",
        "grid": Grid(benchmark=(BENCHMARK,), template=("chat",), decoding=(Decoding(), Decoding(0.2)), samples=(20,)),
        "models": (ModelChoice("small", "small.gguf", ("Small-Inst (1B)",)),),
        "stated": {
            "released precision": "F16",
            "authors' prompt format": "chat",
            "tuning": "instruct",
            "version": "v1",
            "contamination": "13-gram overlap with the training set: 0 of 4 problems",
        },
    }
    return Study(**{**values, **changes})


def make_card(**changes: Any) -> dict[str, Any]:
    """A model card that leaves nothing open."""
    card: dict[str, Any] = {
        "name": "Small 1B Instruct", "path": "small.gguf", "sha256": SHA, "source_sha256": SHA, "recipe": "as released",
        "architecture": "llama", "parameters": 1_000_000_007, "template_sha256": "cd" * 32,
        "tensor_types": {"F16": 190, "F32": 61},
        "numerics": {"build": "b9999", "device": "cpu", "width": "8", "kv": "per sequence"},
        "metadata": {"model": "Small 1B Instruct"},
    }  # fmt: skip
    return {**card, **changes}


def full_provenance() -> dict[str, Any]:
    """What a worker records of its place: one life."""
    environment = Environment(
        "Linux 6.1", "x86_64", "Some CPU", 8, 16, 1 << 34, "CPython 3.11.9",
        {"scoretrace": "0.1.0", "llama-cpp-python": "0.3.36"}, gpu_note="none found by the NVIDIA driver library",
        gpu_looked=True, build={}, sandbox="full",
    )  # fmt: skip
    benchmark = {"sha256": "ef" * 32, "revision": "9a41762", "source": "bigcode/humanevalpack"}
    sandbox = {"level": "namespaces", "identity": '{"python": ["CPython", "3.11.9"], "mode": "split"}'}
    return {"lives": [{"environment": environment.as_dict(), "benchmarks": {BENCHMARK: benchmark}, "sandbox": sandbox}]}


@dataclass
class Scene:
    """A run to be written into a store; the flags leave evidence out.

    `passes` says, by (decoding label, problem index), which samples pass; `tokens` how long replies are; `judged` how
    many problems were reached.
    """

    study: Study = field(default_factory=make_study)
    problems: int = 4
    judged: int | None = None
    cards: bool = True
    card: dict[str, Any] = field(default_factory=make_card)
    check: bool = True
    wrong: Sequence[str] = ()
    replies: bool = True
    kept: bool = True
    template_kept: bool = True
    tokens: int = 50
    stop: str = "end"
    kinds: dict[int, str] = field(default_factory=dict)
    modes: dict[int, str] = field(default_factory=dict)
    passing: Iterable[int] = (0,)
    provenance: dict[str, Any] | None = field(default_factory=full_provenance)
    started: bool = True
    failing: dict[str, str] = field(default_factory=dict)
    stopping: dict[str, str] = field(default_factory=dict)
    notes: Sequence[Noted] = ()
    state: str = "finished"
    detail: str = ""

    @property
    def configurations(self) -> list[Configuration]:
        """The study's configurations."""
        return self.study.configurations()

    def write(self, store: Store) -> int:
        """Write the run; its id."""
        job = Job(tuple(self.configurations), {m.name: m.file for m in self.study.models})
        run = store.create_run(self.study.name, studies.dumps(self.study), job.as_dict())
        if self.provenance is not None:
            store.put_fact(provenance_key(run), self.provenance)
        if self.template_kept:
            store.put_fact(template_key(str(self.card.get("template_sha256"))), {"text": "{{ messages }}"})
        if self.kept:
            store.put_generations(self._generations())
        store.append(run, [to_dict(event) for event in self._events()])
        store.set_state(run, self.state, self.detail, release=True)
        return run

    def _tasks(self) -> list[str]:
        return [f"Python/{i}" for i in range(self.problems)]

    def _key(self, c: Configuration, task: str, sample: int) -> str:
        return f"{c.model}:{c.template}:{c.decoding.label}:{c.precision}:{task}:{sample}"

    def _generations(self) -> list[StoredGeneration]:
        keys = {
            self._key(c, task, sample): c for c in self.configurations for task in self._tasks()
            for sample in range(c.samples)
        }  # fmt: skip
        return [
            StoredGeneration(key, SHA, c.decoding.label, PROMPT_TOKENS, "x", (1,) * 3, self.stop, 1848, 0.1)
            for key, c in keys.items()
        ]

    def _events(self) -> Iterable[Event]:
        if not self.started:
            return
        tasks = self._tasks()
        benchmark = self.study.grid.benchmark[0]
        yield Started({c.id: c.as_dict() for c in self.configurations}, {benchmark: tasks}, 2, 84, 0, "namespaces")
        if self.check:
            wrong = list(self.wrong)
            yield ReferenceChecked(benchmark, self.problems - len(wrong), self.problems, self.problems, wrong)
        if self.cards:
            for model, precision in dict.fromkeys((c.model, c.precision) for c in self.configurations):
                yield ModelLoaded(model, precision, self.card, 8, 1.5)
        yield from self.notes
        for c in self.configurations:
            if c.id in self.failing:
                yield ConfigurationFailed(c.id, self.failing[c.id])
                continue
            if c.id in self.stopping:
                yield from self._samples(c, tasks[:1])
                yield ConfigurationStopped(c.id, self.stopping[c.id], 1, 1, len(tasks) * c.samples)
                continue
            yield from self._samples(c, tasks[: self.judged])

    def _samples(self, c: Configuration, tasks: Sequence[str]) -> Iterable[Event]:
        passing = set(self.passing)
        for index, task in enumerate(tasks):
            for sample in range(c.samples):
                key = self._key(c, task, sample)
                kind = self.kinds.get(index, "passed" if index in passing else "failed")
                if self.replies and kind != "no room":
                    yield Generated(0, task, sample, key, self.tokens, self.stop, 0.1)
                yield Judged(c.id, task, sample, "" if kind == "no room" else key, kind, mode=self.modes.get(index, ""))


def problems_of(schema: Any, value: Any, root: Any, place: str = "$") -> list[str]:
    """Where a value departs from a JSON schema; the keywords that the published schema uses, and no others."""
    if "$ref" in schema:
        return problems_of(root["$defs"][schema["$ref"].rpartition("/")[2]], value, root, place)
    unknown = set(schema) - {
        "$schema", "$defs", "title", "description", "type", "properties", "required", "additionalProperties", "items",
        "const", "enum",
    }  # fmt: skip
    assert not unknown, f"the test's validator does not know {unknown}"
    if "const" in schema and value != schema["const"]:
        return [f"{place}: {value!r} is not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place}: {value!r} is none of {schema['enum']}"]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [f"{place}: {value!r} is not of type {kinds}"]
    found: list[str] = []
    if isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{place}: {name} is missing" for name in schema.get("required", ()) if name not in value]
        for name, inner in value.items():
            if name in known:
                found += problems_of(known[name], inner, root, f"{place}.{name}")
            elif rest is False:
                found.append(f"{place}: {name} is not in the schema")
            elif rest is not True:
                found += problems_of(rest, inner, root, f"{place}.{name}")
    if isinstance(value, list) and "items" in schema:
        for index, inner in enumerate(value):
            found += problems_of(schema["items"], inner, root, f"{place}[{index}]")
    return found


def _is(value: Any, kind: str) -> bool:
    plain = {"object": dict, "array": list, "string": str, "null": type(None), "boolean": bool}
    if kind in plain:
        return isinstance(value, plain[kind])
    number = int if kind == "integer" else (int, float)
    return isinstance(value, number) and not isinstance(value, bool)


@pytest.fixture
def scene() -> type[Scene]:
    """The builder of runs."""
    return Scene


@pytest.fixture
def study_of() -> Callable[..., Study]:
    """The study of a run, with changes."""
    return make_study


@pytest.fixture
def card_of() -> Callable[..., dict[str, Any]]:
    """A model card, with changes."""
    return make_card


@pytest.fixture
def schema_problems() -> Callable[[Any], list[str]]:
    """Where a document departs from the published schema."""
    root = output.schema()
    return lambda value: problems_of(root, value, root)


@pytest.fixture
def store(tmp_path: Path) -> Iterable[Store]:
    """An empty store."""
    opened = Store(tmp_path / "store.sqlite")
    yield opened
    opened.close()
