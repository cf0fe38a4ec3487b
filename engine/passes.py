"""One prompt group through one loaded model: which replies are asked for, and what configurations read of each."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from cache.keys import generation_key, stream_seed
from cache.store import StoredGeneration, StoredOutcome
from engine import extraction, prompts
from engine.benchmarks.languages import language_of
from engine.chat import chat_template
from engine.events import Generated
from engine.judging import Candidate, JudgePool
from engine.plan import Pass, PromptGroup
from engine.protocols import Benchmark, Generation, Model, Problem, Request
from engine.recorder import Recorder
from engine.settings import Configuration

NO_ROOM = StoredOutcome("", "no room", "the prompt is as long as the limit, so no token of an answer fits", "", "", 0.0)
"""What the harness calls a failed sample: counted, and shown apart."""


@dataclass(frozen=True)
class Asked:
    """One reply that somebody waits for: the sample of a problem in a pass."""

    pass_index: int
    reader: Pass
    problem: Problem
    sample: int
    n_prompt: int


@dataclass
class Pace:
    """What a group took: replies made (not found in the store), their tokens, prompt tokens, and wall seconds."""

    replies: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    seconds: float = 0.0


class GroupRun:
    """Asks a model for the replies of one group, and hands what configurations read of them to the judges.

    `todo(configuration id, task id, sample)` is False where an earlier life of the run has the outcome already.
    """

    def __init__(
        self,
        group: PromptGroup,
        benchmark: Benchmark,
        model: Model,
        recorder: Recorder,
        pool: JudgePool,
        *,
        first_index: int,
        todo: Callable[[str, str, int], bool],
    ) -> None:
        self._group = group
        self._benchmark = benchmark
        self._model = model
        self._recorder = recorder
        self._pool = pool
        self._first_index = first_index
        self._todo = todo
        self._waiting: dict[str, list[Asked]] = {}
        self._eos = model.special_tokens.get("eos_token", "")
        self._stop_words = prompts.stop_words(benchmark, group.template, self._eos)
        self._chat = chat_template(model)
        self.pace = Pace()

    def run(self, tick: Callable[[], bool]) -> bool:
        """Go through all replies; False when `tick` ended it before its end. `TemplateError` when a prompt fails to
        render.
        """
        extraction.check_template(self._group.template)
        alive = True
        started = time.monotonic()

        def listen() -> bool:
            nonlocal alive
            alive = tick()
            return alive

        for generation in self._model.generate(self._requests(listen), listen):
            self._finish(generation)
        self.pace.seconds = time.monotonic() - started
        return alive

    def _requests(self, listen: Callable[[], bool]) -> Iterator[Request]:
        for problem in self._benchmark.problems:
            if not listen():
                return
            text = prompts.render(
                self._group.template, self._benchmark, problem, prefill=self._group.prefill, chat=self._chat
            )
            tokens = self._model.tokenize(text)
            self.pace.prompt_tokens += len(tokens)
            for offset, reader in enumerate(self._group.passes):
                for sample in range(reader.samples):
                    asked = Asked(self._first_index + offset, reader, problem, sample, len(tokens))
                    yield from self._request(asked, tokens)

    def _request(self, asked: Asked, tokens: tuple[int, ...]) -> Iterator[Request]:
        reader = asked.reader
        limit = reader.max_length - asked.n_prompt
        if limit <= 0:
            self._read(asked, None)
            return
        card = self._model.card
        stream = stream_seed(reader.seed, asked.problem.task_id, asked.sample)
        key = generation_key(
            model_sha256=card.sha256,
            prompt=tokens,
            decoding=asdict(reader.decoding),
            stream=stream,
            numerics=card.numerics,
        )
        stored = self._recorder.generation(key)
        if stored is not None and stored.covers(limit, self._cuts(reader)):
            self._state(asked, stored, reused=True)
        elif key in self._waiting:
            self._waiting[key].append(asked)
        else:
            self._waiting[key] = [asked]
            done = extraction.done(reader.extractions, self._benchmark, self._stop_words)
            yield Request(key, tokens, reader.decoding, limit, stream, done)

    def _cuts(self, reader: Pass) -> tuple[str, ...]:
        """Names of the cut rules that may end a reply, each with what it depends on."""
        language = language_of(self._benchmark.name).name
        words = hashlib.sha256("\x00".join(self._stop_words).encode()).hexdigest()[:8]
        return tuple(f"{name}:{language}:{words}" for name in reader.extractions)

    def _finish(self, generation: Generation) -> None:
        waiting = self._waiting.pop(generation.key)
        first = waiting[0]
        stored = StoredGeneration(
            key=generation.key,
            model_sha256=self._model.card.sha256,
            decoding=first.reader.decoding.label,
            n_prompt=first.n_prompt,
            text=generation.text,
            tokens=generation.tokens,
            stop=generation.stop,
            asked=first.reader.max_length - first.n_prompt,
            seconds=generation.seconds,
            cuts=self._cuts(first.reader) if generation.stop == "cut" else (),
        )
        self._recorder.put_generation(stored)
        self.pace.replies += 1
        self.pace.tokens += len(stored.tokens)
        for asked in waiting:
            self._state(asked, stored, reused=False)

    def _state(self, asked: Asked, stored: StoredGeneration, *, reused: bool) -> None:
        self._recorder.event(
            Generated(
                index=asked.pass_index,
                task_id=asked.problem.task_id,
                sample=asked.sample,
                key=stored.key,
                tokens=len(stored.tokens),
                stop=stored.stop,
                seconds=stored.seconds,
                reused=reused,
            )
        )
        self._read(asked, stored)

    def _read(self, asked: Asked, stored: StoredGeneration | None) -> None:
        for configuration in asked.reader.configurations:
            task_id = asked.problem.task_id
            if asked.sample >= configuration.samples or not self._todo(configuration.id, task_id, asked.sample):
                continue
            candidate = Candidate(configuration.id, task_id, asked.sample, stored.key if stored else "")
            room = configuration.max_length - asked.n_prompt
            if stored is None or room <= 0:
                self._pool.settle(candidate, NO_ROOM)
                continue
            text = read_prefix(stored, room, self._model.detokenize)
            if len(stored.tokens) > room:
                # Only the model can make this text; whoever re-scores the run without one reads it from the store.
                self._recorder.put_prefix(stored.key, room, text)
            program = self._program(configuration, asked.problem, text)
            self._pool.submit(candidate, self._benchmark.program(asked.problem, program), self._benchmark.limits)

    def _program(self, configuration: Configuration, problem: Problem, text: str) -> str:
        return extraction.extract(
            configuration.extraction,
            self._benchmark,
            problem,
            self._group.template,
            text,
            prefill=configuration.prefill,
            eos_token=self._eos,
        )


def read_prefix(stored: StoredGeneration, room: int, detokenize: Callable[[Sequence[int]], str]) -> str:
    """The reply as a run with room for `room` tokens would have left it (the prefix rule)."""
    if len(stored.tokens) <= room:
        return stored.text
    return detokenize(stored.tokens[:room])
