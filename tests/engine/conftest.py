"""Fakes at the engine's seams: a model, a benchmark and a sandbox that are instantaneous and deterministic."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from cache.store import Store
from engine.control import Control
from engine.errors import ModelError
from engine.events import from_dict
from engine.job import Job
from engine.protocols import Generation, Limits, ModelCard, Outcome, Problem, Program, Request, Writing
from engine.recorder import Recorder
from engine.run import Parts, Runner
from engine.scoring import Score, fold_scores
from engine.settings import Decoding, Grid


@dataclass
class FakeModel:
    """Replies are a function of the request alone: a body, right or wrong by a hash of prompt, file and stream.

    Requests finish in a shuffled order (`shuffle`), as from a batch; `made` lists the replies of every fake model.
    """

    name: str = "fake"
    precision: str = "f16"
    shuffle: int = 0
    made: list[str] = field(default_factory=list)
    chat_template: str = ""
    special_tokens: Mapping[str, str] = field(default_factory=lambda: {"eos_token": "</s>"})
    closed: bool = False

    @property
    def card(self) -> ModelCard:
        file = hashlib.sha256(f"{self.name}/{self.precision}".encode()).hexdigest()
        source = hashlib.sha256(self.name.encode()).hexdigest()
        return ModelCard(
            name=self.name, path=f"{self.name}.gguf", sha256=file, source_sha256=source, recipe=self.precision,
            architecture="fake", parameters=1, template_sha256="", tensor_types={}, numerics={"width": "4"},
        )  # fmt: skip

    def tokenize(self, prompt: str) -> tuple[int, ...]:
        return tuple(prompt.encode())

    def detokenize(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode()

    def reply(self, request: Request) -> Generation:
        text = f"{request.prompt}/{request.decoding}/{self.card.sha256}"
        text += "" if request.decoding.greedy else f"/{request.stream}"
        draw = int(hashlib.sha256(text.encode()).hexdigest(), 16)
        body = f"\n    return {'good' if draw % 3 == 0 else 'bad'}{draw % 997}"
        full = body + "x" * (draw % 40) + "\nThat is all."
        for end in range(1, min(len(full), request.limit) + 1):
            if request.done(full[:end]):
                return Generation(request.key, full[:end], tuple(full[:end].encode()), "cut")
        stop = "end" if len(full) <= request.limit else "limit"
        cut = full[: request.limit]
        return Generation(request.key, cut, tuple(cut.encode()), stop)

    def generate(
        self, requests: Iterator[Request] | Sequence[Request], tick: Callable[[], bool] = lambda: True
    ) -> Iterator[Generation]:
        order = random.Random(self.shuffle)
        slots: list[Request] = []
        for request in requests:
            slots.append(request)
            while len(slots) >= 4:
                if not tick():
                    return
                yield self._finish(slots.pop(order.randrange(len(slots))))
        while slots and tick():
            yield self._finish(slots.pop(order.randrange(len(slots))))

    def _finish(self, request: Request) -> Generation:
        self.made.append(request.key)
        return self.reply(request)

    def writing(self) -> Sequence[Writing]:
        return ()

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeBenchmark:
    """Problems named P/0, P/1, ...; a program passes in the fake sandbox when its candidate holds `good`."""

    size: int = 6
    name: str = "fake-python"
    language: str = "python"
    stop_words: tuple[str, ...] = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert")
    limits: Limits = field(default_factory=Limits)
    sha256: str = "0" * 64
    docs: bool = False

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(
            Problem(
                task_id=f"P/{i}", entry_point=f"f{i}", header=f"def f{i}(x):\n",
                context=f"def f{i}(x):\n    return bad{i}\n", instruction=f"Fix bugs in f{i}.",
                test=f"check(f{i})", canonical=f"    return good{i}\n",
                buggy=f"    return bad{i}\n",
            )
            for i in range(self.size)
        )  # fmt: skip

    def program(self, problem: Problem, candidate: str) -> Program:
        return Program("", candidate, problem.test, problem.entry_point)

    def facts(self) -> Mapping[str, Any]:
        return {"source": "made for a test"}


@dataclass
class FakeSandbox:
    """Reads the candidate instead of running it; `runs` holds each program it was given."""

    level: str = "fake"
    identity: str = "fake"
    runs: list[Program] = field(default_factory=list)
    broken: bool = False
    closed: bool = False

    def run(self, program: Program, limits: Limits) -> Outcome:
        self.runs.append(program)
        if self.broken and "def f3" in program.candidate and "That is all" in program.candidate:
            return Outcome("unavailable", "the judge is gone", level=self.level)
        return Outcome("passed" if "good" in program.candidate else "failed", level=self.level)

    def close(self) -> None:
        self.closed = True


GRID = Grid(
    benchmark=("fake-python",),
    template=("instruct", "octocoder"),
    decoding=(Decoding(), Decoding(0.8)),
    max_length=(120, 200),
    precision=("f16", "q8_0"),
    samples=(2,),
)


class Life:
    """Runs one job with fakes, as often as a test wants, in one store; `made` lists every reply that was generated."""

    def __init__(self, store: Store, grid: Grid = GRID) -> None:
        self.store = store
        self.job = Job(tuple(grid.configurations(["fake"])), {"fake": "fake.gguf"})
        self.run = store.create_run("test", "", self.job.as_dict())
        self.made: list[str] = []
        self.sandbox = FakeSandbox()
        self.benchmark = FakeBenchmark()
        self.refuse: set[str] = set()
        self.kind: Any = FakeModel
        self.parts: dict[str, Any] = {}

    def model(self, name: str, precision: str, slot_tokens: int) -> Any:
        if precision in self.refuse:
            raise ModelError(f"{precision}: too large for this machine")
        return self.kind(name, precision, shuffle=len(self.made), made=self.made)

    def go(self, stop_after: int | None = None) -> str:
        recorder = Recorder(self.store, self.run)
        control = Control(recorder)
        parts = Parts(lambda name: self.benchmark, self.model, lambda: self.sandbox, **self.parts)
        if stop_after is not None:
            ticks = iter(range(stop_after))
            control.tick = lambda: next(ticks, None) is not None  # type: ignore[method-assign]
        return Runner(self.job, parts, recorder, control).run()

    @property
    def events(self) -> list[Any]:
        return [from_dict(body) for _, _, body in self.store.events(self.run)]

    @property
    def scores(self) -> dict[str, Score]:
        return fold_scores(self.events)

    def outcome(self) -> dict[str, Any]:
        return {id_: (score.text, score.kinds) for id_, score in self.scores.items()}


@pytest.fixture
def store(tmp_path: Any) -> Iterator[Store]:
    """A real, empty store."""
    found = Store(tmp_path / "store.sqlite")
    yield found
    found.close()


@pytest.fixture
def fakes() -> Any:
    """The fake classes, for tests that build their own."""

    class Fakes:
        Model, Benchmark, Sandbox = FakeModel, FakeBenchmark, FakeSandbox
        Life = Life

    return Fakes
