"""The audit: some samples of a run made again the long way, alone, and compared with what the run kept.

Nothing is shared and nothing is looked up: a prefill of its own, the configuration's own limit and its own cut, all
other slots idle, the program executed again. The shape (width, KV layout) is the run's, since another shape is another
numerics. What is found is a fact of the store, sample by sample.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from cache.errors import CacheError
from cache.keys import stream_seed
from cache.store import Store, StoredGeneration
from engine import extraction, prompts
from engine.cells import Cell, StoredRun, read_run, reading
from engine.chat import chat_template
from engine.control import Control, Stopped
from engine.errors import EngineError, ModelError
from engine.events import Noted, Place, from_dict
from engine.imports.records import AS_STORED
from engine.passes import own_key
from engine.plan import make_plan
from engine.protocols import Benchmark, Generation, Model, Request, Sandbox
from engine.recorder import Recorder
from engine.scoring import Score, fold_scores
from engine.settings import UNKNOWN, Configuration

SEED = 0
"""Orders a run's samples; an audit takes the first, a further one the next."""

SAME, DIFFERENT, NOT_MADE = "same", "different", "not recomputed"
_NO_ROOM = "no room"

OpenModel = Callable[[str, str, int], Model]
"""Loads weights by the study's model name, precision and slot length."""


@dataclass(frozen=True)
class Checked:
    """One sample made again: `result` is `same`, `different` or `not recomputed`, `detail` says what, or why.

    `tokens` counts the recomputed reply's.
    """

    configuration: str
    label: str
    task_id: str
    sample: int
    key: str
    result: str
    detail: str = ""
    tokens: int = 0

    @property
    def place(self) -> Place:
        """Which sample it is."""
        return self.configuration, self.task_id, self.sample


def audit_key(run: int) -> str:
    """Under which fact of the store a run's audit stands."""
    return f"audit:{run}"


def checked(store: Store, run: int) -> list[Checked]:
    """The samples that a run's audits have looked at so far."""
    return [Checked(**one) for one in (store.fact(audit_key(run)) or {}).get("checked", ())]


def choose(scores: Mapping[str, Score], count: int, leave: Container[Place] = ()) -> list[Place]:
    """`count` judged samples in the order that a hash with SEED gives them, without those in `leave`.

    Programs that were imported have no reply to make again, and unavailable outcomes are no findings.
    """
    places = (
        (id_, *place)
        for id_, score in scores.items()
        if not _imported(score.configuration)
        for place, kind in score.kinds.items()
        if kind != "unavailable"
    )
    return heapq.nsmallest(count, (place for place in places if place not in leave), key=_order)


def _order(place: Place) -> bytes:
    return hashlib.sha256("\x1f".join(map(str, (SEED, *place))).encode()).digest()


def summary(found: list[Checked], judged: int) -> str:
    """One sentence for a report or a line: how many were the same, how they were drawn, and the first that were not."""
    made = [one for one in found if one.result != NOT_MADE]
    same = sum(one.result == SAME for one in made)
    counts = f"{same} of {len(made)} samples recomputed alone are the same in tokens, text and outcome"
    parts = [f"{counts} (drawn from {judged} with seed {SEED})"]
    for result in (DIFFERENT, NOT_MADE):
        some = [one for one in found if one.result == result]
        if some:
            first = some[0]
            parts.append(
                f"{len(some)} {result}, the first: {first.label}, {first.task_id} sample {first.sample}: {first.detail}"
            )
    return "; ".join(parts)


class Auditor:
    """Recomputes samples of one run; `benchmarks` are the run's, opened."""

    def __init__(
        self,
        recorder: Recorder,
        control: Control,
        open_model: OpenModel,
        benchmarks: Mapping[str, Benchmark],
        sandbox: Sandbox,
    ) -> None:
        self._recorder = recorder
        self._control = control
        self._open = open_model
        self._benchmarks = benchmarks
        self._sandbox = sandbox
        self._run = read_run(recorder.store, recorder.run, only=())
        self._judged = 0
        self._found = checked(recorder.store, recorder.run)

    def bring_to(self, wanted: int) -> list[Checked]:
        """Recompute until `wanted` samples of the run are audited; all that were audited so far.

        Each finding is kept at once. `Stopped` when the user asks for it.
        """
        store, run = self._recorder.store, self._recorder.run
        scores = fold_scores(from_dict(body) for _, _, body in store.every_event(run))
        self._judged = sum(len(score.kinds) for score in scores.values())
        places = choose(scores, max(0, wanted - len(self._found)), {one.place for one in self._found})
        if not places:
            return self._found
        found = read_run(store, run, only=frozenset(places)).cells
        cells = [found[id_][task_id, sample] for id_, task_id, sample in places]
        self._say("info", f"audit: making {len(cells)} samples again, each alone")
        self.check(cells)
        different = any(one.result == DIFFERENT for one in self._found)
        self._say("warning" if different else "info", f"audit: {self._summary()}")
        return self._found

    def check(self, cells: Sequence[Cell]) -> list[Checked]:
        """Recompute these samples, loading each model file once; all that were audited so far."""
        slots = _slot_lengths(self._run)
        for load in make_plan(self._run.configurations.values()).loads:
            which = load.model, load.precision
            mine = [c for c in cells if (c.configuration.model, c.configuration.precision) == which]
            if mine:
                self._load(*which, slots[which], mine)
        return self._found

    def look_at(self, cell: Cell) -> Checked:
        """One sample made again alone; what is found is told and not kept, for the audit draws its own."""
        c = cell.configuration
        if _imported(c):
            return _checked(cell, NOT_MADE, "an imported program has no reply that could be made again")
        model = self._open(c.model, c.precision, _slot_lengths(self._run)[c.model, c.precision])
        try:
            return self._again(cell, model)
        finally:
            model.close()

    def _load(self, name: str, precision: str, slot_tokens: int, cells: list[Cell]) -> None:
        try:
            model = self._open(name, precision, slot_tokens)
        except (ModelError, CacheError) as error:
            for cell in cells:
                self._keep(_checked(cell, NOT_MADE, str(error)))
            return
        try:
            for cell in cells:
                try:
                    self._keep(self._again(cell, model))
                except (EngineError, CacheError) as error:
                    self._keep(_checked(cell, NOT_MADE, str(error)))
        finally:
            model.close()

    def _again(self, cell: Cell, model: Model) -> Checked:
        c = cell.configuration
        read = reading(self._run, c, self._benchmarks[c.benchmark])
        problem = read.problems[cell.task_id]
        text = prompts.render(c.template, read.benchmark, problem, prefill=c.prefill, chat=chat_template(model))
        tokens = model.tokenize(text)
        limit = c.max_length - len(tokens)
        if limit <= 0:
            good = not cell.key and cell.kind == _NO_ROOM
            detail = "" if good else f"the prompt of {len(tokens)} tokens leaves no room, yet it was judged {cell.kind}"
            return _checked(cell, SAME if good else DIFFERENT, detail)
        stream = stream_seed(c.seed, cell.task_id, cell.sample)
        key = own_key(model.card, tokens, c.decoding, stream)
        if key != cell.key:
            return _checked(cell, NOT_MADE, "file, prompt or numerics here are not those that the reply was made with")
        stored = self._recorder.generation(key)
        if stored is None:
            return _checked(cell, DIFFERENT, "its reply is not kept")
        words = prompts.stop_words(read.benchmark, c.template, read.eos_token)
        done = extraction.done((c.extraction,), read.benchmark, words)
        fresh = self._generate(model, Request(key, tokens, c.decoding, limit, stream, done))
        wrong = [*_differences(stored, fresh, limit, model, self._recorder.store)]
        program = read.benchmark.program(problem, read.program(cell.task_id, fresh.text))
        outcome = self._sandbox.run(program, read.benchmark.limits)
        if outcome.kind == "unavailable":
            return _checked(cell, NOT_MADE, f"its program could not be judged: {outcome.detail}", fresh)
        if outcome.kind != cell.kind:
            wrong.append(f"judged {outcome.kind}, recorded as {cell.kind}")
        return _checked(cell, DIFFERENT if wrong else SAME, ", ".join(wrong), fresh)

    def _generate(self, model: Model, request: Request) -> Generation:
        for generation in model.generate([request], self._control.tick):
            return generation
        raise Stopped

    def _keep(self, one: Checked) -> None:
        self._found.append(one)
        body = {
            "text": self._summary(),
            "seed": SEED,
            "checked": [asdict(one) for one in self._found],
        }
        self._recorder.store.put_fact(audit_key(self._recorder.run), body)

    def _summary(self) -> str:
        return summary(self._found, self._judged)

    def _say(self, level: str, text: str) -> None:
        self._recorder.event(Noted(level, text))
        self._recorder.flush()


def _differences(stored: StoredGeneration, fresh: Generation, limit: int, model: Model, store: Store) -> Iterator[str]:
    """How a kept reply fails to be what was made again; it may be longer, where another configuration needed more."""
    length = len(fresh.tokens)
    part = stored.tokens[:length]
    if part != fresh.tokens:
        pairs = zip(part, fresh.tokens, strict=False)
        first = next((at for at, (kept, made) in enumerate(pairs) if kept != made), len(part))
        yield f"tokens differ from position {first} on"
    elif model.detokenize(part) != fresh.text:
        yield "the same tokens, another text"
    elif fresh.stop == "end" and (stored.stop != "end" or len(stored.tokens) != length):
        yield f"it ends by itself after {length} tokens, the kept reply does not"
    if model.detokenize(stored.tokens) != stored.text:
        yield "the kept text is not that of the kept tokens"
    prefix = store.prefix(stored.key, limit) if len(stored.tokens) > limit else None
    if prefix is not None and prefix != model.detokenize(stored.tokens[:limit]):
        yield f"the kept text of the first {limit} tokens is not theirs"


def _checked(cell: Cell, result: str, detail: str = "", fresh: Generation | None = None) -> Checked:
    c = cell.configuration
    tokens = len(fresh.tokens) if fresh else 0
    return Checked(c.id, c.label, cell.task_id, cell.sample, cell.key, result, detail, tokens)


def _imported(configuration: Configuration) -> bool:
    return configuration.extraction.startswith(AS_STORED) or configuration.template == UNKNOWN


def _slot_lengths(run: StoredRun) -> Mapping[tuple[str, str], int]:
    """How long the slots of each loading were: the longest limit that was read from it."""
    found: dict[tuple[str, str], int] = {}
    for c in run.configurations.values():
        found[c.model, c.precision] = max(c.max_length, found.get((c.model, c.precision), 0))
    return found
