"""One prompt group through one loaded model: which replies are asked for, and what configurations read of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace

from cache.keys import generation_key, stream_seed
from cache.store import StoredGeneration, StoredOutcome
from engine import extraction, prompts
from engine.benchmarks.languages import language_of
from engine.chat import chat_template
from engine.events import Generated
from engine.failures import reading
from engine.judging import Candidate, JudgePool
from engine.kept import PassCount, kept_key
from engine.live import TAIL, SlotText
from engine.plan import Pass, PromptGroup
from engine.protocols import Benchmark, Generation, Model, ModelCard, Problem, Request, Writing
from engine.recorder import Recorder
from engine.settings import Configuration, Decoding

NO_ROOM = StoredOutcome("", "no room", "the prompt is as long as the limit, so no token of an answer fits", "", "", 0.0)
"""What the harness calls a failed sample: counted, and shown apart."""


AGAIN = "+"
"""Marks a request whose reply is in flight already under another limit or other cuts; the key is what stands before."""


@dataclass(frozen=True)
class Asked:
    """One reply that somebody waits for: the sample of a problem in a pass."""

    pass_index: int
    reader: Pass
    problem: Problem
    sample: int
    n_prompt: int

    @property
    def limit(self) -> int:
        """The most new tokens; the prompt counts in the maximum length."""
        return self.reader.max_length - self.n_prompt


@dataclass
class Pace:
    """What a load took: replies made (not found in the store), their tokens, prompt tokens, and wall seconds."""

    replies: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    seconds: float = 0.0


class GroupRun:
    """Makes the requests of one group, and hands what configurations read of its replies to the judges.

    `todo(configuration id, task id, sample)` is False where an earlier life of the run has the outcome already;
    `problems` are the benchmark's, in the order in which they are asked;
    `stopped` are the configurations that are asked no further, kept up to date by its owner; `rounds` are the samples
    that are asked of all problems before the next ones, as (first, one past the last).
    `waiting` maps the ids of requests in flight to who waits for them, over all groups of one loaded model; `listen`
    does what is due meanwhile and is False once the run is to stop.
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
        waiting: dict[str, list[tuple[GroupRun, Asked]]],
        pace: Pace,
        listen: Callable[[], bool],
        problems: Sequence[Problem],
        stopped: Set[str],
        rounds: Sequence[tuple[int, int]],
    ) -> None:
        extraction.check_template(group.template)
        self._group = group
        self._benchmark = benchmark
        self._model = model
        self._recorder = recorder
        self._pool = pool
        self._first_index = first_index
        self._todo = todo
        self._waiting = waiting
        self._pace = pace
        self._listen = listen
        self._problems = problems
        self._stopped = stopped
        self._rounds = rounds
        self._counts = [PassCount() for _ in group.passes]
        self._eos = model.special_tokens.get("eos_token", "")
        self._stop_words = prompts.stop_words(benchmark, group.template, self._eos)
        self._chat = chat_template(model)

    def requests(self) -> Iterator[Request]:
        """What the store does not have, problem by problem; `TemplateError` when a prompt fails to render.

        `listen` is asked before each problem, since of what is kept there may be much; it ends here when that is False.
        """
        readers = self._group.configurations
        for first, last in self._rounds:
            for problem in self._problems:
                if not self._listen() or all(c.id in self._stopped for c in readers):
                    return
                yield from self._about(problem, first, last)

    def _about(self, problem: Problem, first: int, last: int) -> Iterator[Request]:
        """Samples `first` to before `last` of one problem, over all passes."""
        text = prompts.render(
            self._group.template, self._benchmark, problem, prefill=self._group.prefill, chat=self._chat
        )
        tokens = self._model.tokenize(text)
        self._pace.prompt_tokens += len(tokens)
        for offset, whole in enumerate(self._group.passes):
            for sample in range(first, min(last, whole.samples)):
                reader = self._live(whole, sample)
                if reader is not None:
                    asked = Asked(self._first_index + offset, reader, problem, sample, len(tokens))
                    yield from self._request(asked, tokens)

    def _live(self, whole: Pass, sample: int) -> Pass | None:
        """The pass as those still want it that are not stopped; None when nobody wants this sample any more."""
        if self._stopped.isdisjoint(c.id for c in whole.configurations):
            return whole
        readers = tuple(c for c in whole.configurations if c.id not in self._stopped)
        if not any(sample < c.samples for c in readers):
            return None
        return replace(
            whole,
            configurations=readers,
            max_length=max(c.max_length for c in readers),
            extractions=tuple(sorted({c.extraction for c in readers})),
        )

    def _request(self, asked: Asked, tokens: tuple[int, ...]) -> Iterator[Request]:
        reader = asked.reader
        limit = asked.limit
        if limit <= 0:
            self._count(asked, "no room")
            self._read(asked, None)
            return
        stream = stream_seed(reader.seed, asked.problem.task_id, asked.sample)
        key = own_key(self._model.card, tokens, reader.decoding, stream)
        stored = self._recorder.generation(key)
        if stored is not None and stored.covers(limit, self._cuts(reader)):
            self.state(asked, stored, reused=True)
            return
        request = key
        while request in self._waiting:
            _, first = self._waiting[request][0]
            if (first.limit, first.reader.extractions) == (limit, reader.extractions):
                self._waiting[request].append((self, asked))
                return
            # The same reply is in flight for a shorter limit or for other cuts: it may end too early for this one.
            request += AGAIN
        self._waiting[request] = [(self, asked)]
        done = extraction.done(reader.extractions, self._benchmark, self._stop_words)
        yield Request(request, tokens, reader.decoding, limit, stream, done)

    def _cuts(self, reader: Pass) -> tuple[str, ...]:
        """Names of the cut rules that may end a reply, each with what it depends on."""
        language = language_of(self._benchmark.name).name
        words = hashlib.sha256("\x00".join(self._stop_words).encode()).hexdigest()[:8]
        return tuple(f"{name}:{language}:{words}" for name in reader.extractions)

    def keep(self, asked: Asked, generation: Generation) -> StoredGeneration:
        """Put a reply that this group asked for first into the store."""
        stored = StoredGeneration(
            key=generation.key.rstrip(AGAIN),
            model_sha256=self._model.card.sha256,
            decoding=asked.reader.decoding.label,
            n_prompt=asked.n_prompt,
            text=generation.text,
            tokens=generation.tokens,
            stop=generation.stop,
            asked=asked.limit,
            seconds=generation.seconds,
            cuts=self._cuts(asked.reader) if generation.stop == "cut" else (),
        )
        self._recorder.put_generation(stored)
        self._pace.replies += 1
        self._pace.tokens += len(stored.tokens)
        return stored

    def told(self, asked: Asked, writing: Writing) -> SlotText:
        """What a slot is writing for this group, in words."""
        group, reader, start = self._group, asked.reader, max(0, len(writing.text) - TAIL)
        return SlotText(
            slot=writing.slot,
            label=replace(group, passes=(reader,)).label,
            task_id=asked.problem.task_id,
            sample=asked.sample,
            tokens=writing.tokens,
            limit=asked.limit,
            start=start,
            text=writing.text[start:],
        )

    def state(self, asked: Asked, stored: StoredGeneration, *, reused: bool) -> None:
        """Say that a reply is there, and let every configuration that waits for it read it."""
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
        self._count(asked, stored.stop)
        self._read(asked, stored)

    def _count(self, asked: Asked, stop: str) -> None:
        """Count what there is; a complete pass is a fact for the next preflight."""
        reader, place = asked.reader, asked.pass_index - self._first_index
        if reader is not self._group.passes[place]:
            return  # asked for fewer readers than the pass has: it will not be complete
        count = self._counts[place]
        if count.add(asked.sample, stop) == reader.samples * len(self._benchmark.problems):
            key = kept_key(self._benchmark.sha256, self._group, reader)
            self._recorder.flush()
            self._recorder.store.put_fact(key, count.body(reader, self._model.card))

    def _read(self, asked: Asked, stored: StoredGeneration | None) -> None:
        for configuration in asked.reader.configurations:
            task_id = asked.problem.task_id
            if asked.sample >= configuration.samples or not self._todo(configuration.id, task_id, asked.sample):
                continue
            room = configuration.max_length - asked.n_prompt
            if stored is None or room <= 0:
                key = stored.key if stored else ""
                self._pool.settle(Candidate(configuration.id, task_id, asked.sample, key), NO_ROOM)
                continue
            text = read_prefix(stored, room, self._model.detokenize)
            if len(stored.tokens) > room:
                # Only the model can make this text; whoever re-scores the run without one reads it from the store.
                self._recorder.put_prefix(stored.key, room, text)
            program, code = self._program(configuration, asked.problem, text)
            told = reading(truncated=stored.stop == "limit" or len(stored.tokens) > room, no_code=not code)
            candidate = Candidate(configuration.id, task_id, asked.sample, stored.key, told)
            self._pool.submit(candidate, self._benchmark.program(asked.problem, program), self._benchmark.limits)

    def _program(self, c: Configuration, problem: Problem, text: str) -> tuple[str, bool]:
        """The candidate, and whether the extraction found code in the reply."""
        where = (c.extraction, self._benchmark, problem, self._group.template, text)
        return (
            extraction.extract(*where, prefill=c.prefill, eos_token=self._eos),
            extraction.code_found(*where, prefill=c.prefill, eos_token=self._eos),
        )


def own_key(card: ModelCard, prompt: Sequence[int], decoding: Decoding, stream: int) -> str:
    """The key of the reply that this model, as it is loaded, gives to a prompt."""
    return generation_key(
        model_sha256=card.sha256, prompt=prompt, decoding=asdict(decoding), stream=stream, numerics=card.numerics
    )


def read_prefix(stored: StoredGeneration, room: int, detokenize: Callable[[Sequence[int]], str]) -> str:
    """The reply as a run with room for `room` tokens would have left it (the prefix rule)."""
    if len(stored.tokens) <= room:
        return stored.text
    return detokenize(stored.tokens[:room])


def finish(waiting: dict[str, list[tuple[GroupRun, Asked]]], generation: Generation) -> None:
    """Keep a finished reply, and give it to everyone who waits for it."""
    askers = waiting.pop(generation.key)
    group, first = askers[0]
    stored = group.keep(first, generation)
    for asker, asked in askers:
        asker.state(asked, stored, reused=False)


def telling(waiting: Mapping[str, Sequence[tuple[GroupRun, Asked]]], writing: Iterable[Writing]) -> list[SlotText]:
    """What slots are writing, in the words of those who asked first."""
    return [group.told(asked, one) for one in writing for group, asked in waiting.get(one.key, ())[:1]]
