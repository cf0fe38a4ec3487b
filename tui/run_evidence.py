"""What a report needs of one run, folded from the store: scores, how each reply ended, what was loaded, and where."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cache.store import Store
from engine.chat import template_key
from engine.denominator import of_score
from engine.environment import Environment, provenance_key
from engine.events import Event, Generated, Judged, ModelLoaded, Noted, ReferenceChecked, Repeated, Started, from_dict
from engine.failures import failure_of
from engine.repeating import summary
from engine.scoring import Score, fold_scores
from literature.report.evidence import (
    MEASURED,
    UNKNOWN,
    BenchmarkEvidence,
    CardEvidence,
    CostEvidence,
    Fact,
    FlakySample,
    ReferenceCheck,
    RepeatsEvidence,
    Tally,
    fact,
)

PAGE = 50_000
NO_ROOM = "no room"
ODD = ("exited early", "answer not data", "refused", "crash", "memory")
"""Kinds of outcome that are worth a look: the program ended the process, or its answer could not be taken as data."""
NOT_RECORDED = "the run did not record it"
MACHINE = ("operating system", "processor", "cores", "memory", "NVIDIA GPU", "Python")
"""What every environment speaks of, be it to say that it is unknown."""


@dataclass
class Folded:
    """A run's facts in one pass; `pointers` name the event that stated each configuration, benchmark or loading.

    `keys` maps a configuration and (task id, sample) to the reply it read, `failures` to why it did not pass; `replies`
    a reply's key to (tokens, why it ended); `made` the keys of replies that this run made to their seconds; `program_s`
    sums the programs' CPU seconds; `modes` says how each passing sample's tests were run; `repeats` is what programs
    showed under other seeds, `repeats_told` that in a sentence, and its pointer; `unread` counts events that this
    version cannot read.
    """

    scores: dict[str, Score] = field(default_factory=dict)
    keys: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    failures: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    replies: dict[str, tuple[int, str]] = field(default_factory=dict)
    made: dict[str, float] = field(default_factory=dict)
    program_s: float = 0.0
    loaded: list[tuple[str, ModelLoaded]] = field(default_factory=list)
    checks: dict[str, tuple[str, ReferenceChecked]] = field(default_factory=dict)
    problems: dict[str, int] = field(default_factory=dict)
    notes: list[Fact] = field(default_factory=list)
    sandboxes: dict[str, str] = field(default_factory=dict)
    modes: dict[tuple[str, str, int], str] = field(default_factory=dict)
    repeats: RepeatsEvidence = field(default_factory=RepeatsEvidence)
    repeats_told: tuple[str, str] = ("", "")
    started: str = ""
    events: int = 0
    unread: int = 0
    first: float = 0.0
    last: float = 0.0


def fold(store: Store, run: int) -> Folded:
    """Read all events of a run; what cannot be read is counted, never raised."""
    found = Folded()
    for seq, moment, body in _events(store, run):
        found.events += 1
        found.first = found.first or moment
        # A clock that was set back must not make a run end before it began.
        found.last = max(found.last, moment)
        try:
            _apply(found, from_dict(body), f"event {seq} ({body.get('fact', '?')}) of run {run}")
        except (KeyError, TypeError, AttributeError, ValueError):
            # A newer worker's facts, or a row damaged on disk: the report says how many it left aside.
            found.unread += 1
    return found


def _events(store: Store, run: int) -> Iterator[tuple[int, float, dict[str, Any]]]:
    after = 0
    while rows := store.events(run, after, PAGE):
        yield from rows
        after = rows[-1][0]


def _apply(found: Folded, event: Event, pointer: str) -> None:
    if isinstance(event, Judged):
        fold_scores((event,), found.scores)
        found.keys.setdefault(event.configuration, {})[event.task_id, event.sample] = event.key
        found.program_s += event.seconds
        if event.mode:
            place = (event.configuration, event.task_id, event.sample)
            found.modes[place] = sys.intern(event.mode) if event.kind == "passed" else ""
        why = "" if event.kind in ("passed", "unavailable") else failure_of(event.kind, event.detail, event.reading)
        found.failures.setdefault(event.configuration, {})[event.task_id, event.sample] = sys.intern(why)
    elif isinstance(event, Generated):
        found.replies[event.key] = (event.tokens, event.stop)
        if not event.reused:
            found.made[event.key] = event.seconds
    elif isinstance(event, Started):
        fold_scores((event,), found.scores)
        found.started = found.started or pointer
        found.problems.update({name: len(task_ids) for name, task_ids in event.problems.items()})
        if event.sandbox:
            found.sandboxes.setdefault(event.sandbox, pointer)
    elif isinstance(event, ModelLoaded):
        found.loaded.append((pointer, event))
    elif isinstance(event, ReferenceChecked):
        found.checks[event.benchmark] = (pointer, event)
    elif isinstance(event, Repeated):
        found.repeats, found.repeats_told = repeats_of(event), (summary(event), pointer)
    elif isinstance(event, Noted):
        found.notes.append(fact(event.level, event.text, MEASURED, pointer))
    else:
        fold_scores((event,), found.scores)


class PromptLengths:
    """Prompt lengths in tokens, looked up once per prompt: samples, decodings and precisions share them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str, str, bool, str], int] = {}

    def tokens(self, score: Score, task_id: str, key: str) -> int | None:
        """Tokens of the prompt that the reply under `key` answers; None when the store has the reply no more."""
        c = score.configuration
        place = (c.model, c.benchmark, c.template, c.prefill, task_id)
        if place not in self._known:
            kept = self._store.generation(key)
            if kept is None:
                return None
            self._known[place] = kept.n_prompt
        return self._known[place]


def tally(score: Score, found: Folded, prompts: PromptLengths) -> Tally:
    """A configuration's samples by outcome, and how its replies ended at its own length limit.

    One reply serves several limits: it counts as still going at this one when it is longer than the room left here.
    """
    kinds = Counter(score.kinds.values())
    keys = found.keys.get(score.id, {})
    replies = at_limit = no_room = 0
    for place, kind in score.kinds.items():
        if kind == NO_ROOM:
            replies, no_room = replies + 1, no_room + 1
            continue
        ended = _ended(score, place, keys.get(place, ""), found, prompts)
        replies += ended is not None
        at_limit += ended is False
    counts = of_score(score)
    return Tally(
        asked=score.asked,
        judged=score.judged_total,
        passed=score.passed,
        unavailable=score.unavailable,
        replies=replies,
        at_limit=at_limit,
        no_room=no_room,
        kinds=dict(sorted(kinds.items())),
        answered=counts.answered,
        no_code=counts.no_code,
        cut_short=counts.truncated,
        failures=dict(Counter(filter(None, found.failures.get(score.id, {}).values())).most_common()),
    )


def _ended(score: Score, place: tuple[str, int], key: str, found: Folded, prompts: PromptLengths) -> bool | None:
    """True when the reply ended within the configuration's limit, False when it was still going, None when unknown."""
    reply = found.replies.get(key)
    n_prompt = prompts.tokens(score, place[0], key) if reply else None
    if reply is None or n_prompt is None:
        return None
    tokens, stop = reply
    if stop == UNKNOWN:
        return None
    return tokens <= score.configuration.max_length - n_prompt and stop in ("end", "cut")


def card_evidence(pointer: str, event: ModelLoaded, store: Store) -> CardEvidence:
    """A loading as evidence; parts that the card lacks stay empty."""
    card = event.card
    template = str(card.get("template_sha256") or "")
    return CardEvidence(
        model=event.model,
        precision=event.precision,
        pointer=pointer,
        sha256=str(card.get("sha256") or ""),
        source_sha256=str(card.get("source_sha256") or ""),
        recipe=str(card.get("recipe") or ""),
        architecture=str(card.get("architecture") or ""),
        parameters=int(card.get("parameters") or 0),
        template_sha256=template,
        tensor_types={str(kind): int(count) for kind, count in (card.get("tensor_types") or {}).items()},
        numerics=_texts(card.get("numerics") or {}),
        metadata=_texts(card.get("metadata") or {}),
        width=event.width,
        template_kept=bool(template) and store.fact(template_key(template)) is not None,
    )


def cards(store: Store, found: Folded, model: str) -> tuple[CardEvidence, ...]:
    """What was loaded for a model, each distinct file and build once, by the first event that stated it."""
    distinct: dict[tuple[str, ...], CardEvidence] = {}
    for pointer, event in found.loaded:
        if event.model == model:
            card = card_evidence(pointer, event, store)
            numerics = "\x1f".join(f"{name}={value}" for name, value in card.numerics.items())
            distinct.setdefault((card.precision, card.sha256, card.source_sha256, numerics), card)
    return tuple(distinct.values())


def cost(store: Store, run: int, found: Folded) -> CostEvidence:
    """What the run took, from its Generated, Judged and ModelLoaded events, and how many of its replies are kept."""
    return CostEvidence(
        replies=len(found.replies),
        made=len(found.made),
        kept=len(store.kept(found.replies)),
        tokens=sum(found.replies[key][0] for key in found.made),
        generation_s=sum(found.made.values()),
        program_s=found.program_s,
        load_s=sum(event.load_seconds for _, event in found.loaded),
        pointer=f"Generated, Judged and ModelLoaded events of run {run}" if found.events else "",
        energy=str((store.fact(f"energy:{run}") or {}).get("text", "")),
    )


def audit(store: Store, run: int, found: Folded) -> tuple[Fact, ...]:
    """What was checked of the engine's shortcuts and of the judging, beside the reference check."""
    key = f"audit:{run}"
    body = store.fact(key) or {}
    odd = Counter(kind for score in found.scores.values() for kind in score.kinds.values() if kind in ODD)
    total = sum(len(score.kinds) for score in found.scores.values())
    text = f"of {total} outcomes: " + ", ".join(f"{kind} {odd[kind]}" for kind in ODD)
    return (
        fact(
            "shortcuts recomputed (prefix rule, shared prefill, resumed run)", str(body.get("text", "")), MEASURED,
            f"fact {key}", "no audit of this run is recorded",
        ),
        fact(
            "programs under other hash seeds and random states", found.repeats_told[0], MEASURED, found.repeats_told[1],
            "no repeats of this run are recorded",
        ),
        fact(
            "programs that did something else than answer", text if total else "", MEASURED,
            f"Judged events of run {run}", "nothing is judged",
        ),
    )  # fmt: skip


def repeats_of(event: Repeated) -> RepeatsEvidence:
    """The programs whose outcome is another one under another seed, sample by sample.

    `KeyError`, `TypeError` or `ValueError` for a fact that was damaged.
    """
    return RepeatsEvidence(
        seeds=event.seeds,
        programs=event.programs,
        flaky=len(event.flaky),
        unavailable=event.unavailable,
        skipped=dict(event.skipped),
        samples=tuple(
            FlakySample(configuration, task_id, sample, {str(s): one["kinds"][str(s)] for s in range(event.seeds + 1)})
            for one in event.flaky
            for configuration, task_id, sample in one["samples"]
        ),
    )


def benchmarks(store: Store, run: int, found: Folded) -> tuple[BenchmarkEvidence, ...]:
    """The benchmarks that the run named, with what it recorded of their files."""
    lives = _lives(store, run)
    return tuple(
        BenchmarkEvidence(
            name=name,
            problems=size,
            pointer=found.started,
            facts=_joined([life.get("benchmarks", {}).get(name, {}) for life in lives], _recorded(run)),
            check=_check(found, name),
        )
        for name, size in found.problems.items()
    )


def _check(found: Folded, name: str) -> ReferenceCheck | None:
    if name not in found.checks:
        return None
    pointer, event = found.checks[name]
    explained = [
        *(f"known flaw: {text}" for text in event.excused),
        *(f"cannot be judged here: {text}" for text in event.unjudged),
        *(f"correct, but not after the harness's own cut: {text}" for text in event.cut),
    ]
    return ReferenceCheck(event.correct, event.buggy, event.total, tuple(event.wrong), pointer, tuple(explained))


def environment(store: Store, run: int) -> tuple[Fact, ...]:
    """What the run recorded of its machine; empty when it recorded nothing."""
    found = _joined([_environment_lines(life.get("environment", {})) for life in _lives(store, run)], _recorded(run))
    names = {one.name for one in found}
    open_ = [fact(name, "", UNKNOWN, "", NOT_RECORDED) for name in MACHINE if found and name not in names]
    return (*found, *open_)


def _environment_lines(body: Mapping[str, Any]) -> dict[str, str]:
    try:
        return Environment.from_dict(body).lines()
    except (TypeError, AttributeError):
        return {}


def sandbox(store: Store, run: int, found: Folded) -> tuple[Fact, ...]:
    """Level and identity of the confinement under which programs were judged."""
    recorded = {one.name: one for one in _joined([_identity(life) for life in _lives(store, run)], _recorded(run))}
    return (
        fact(
            "level", " / ".join(found.sandboxes), MEASURED, ", ".join(found.sandboxes.values()),
            "the run states no sandbox level",
        ),
        *(recorded.get(name, fact(name, "", UNKNOWN, "", NOT_RECORDED)) for name in ("mode", "identity")),
        *_modes(found),
    )  # fmt: skip


def _modes(found: Folded) -> Iterator[Fact]:
    """How many passes stand on what: data compared apart from the program, or the program's word in part or whole."""
    passes = Counter(mode for mode in found.modes.values() if mode)
    if passes:
        told = "; ".join(f"{count} {mode}" for mode, count in passes.most_common())
        yield fact("passes by mode", told, MEASURED, found.started or "the run's events")


def _identity(life: Mapping[str, Any]) -> dict[str, str]:
    """The sandbox's identity, and out of it the mode in which candidate and tests were run."""
    text = str(life.get("sandbox", {}).get("identity", ""))
    try:
        mode = str(json.loads(text).get("mode", ""))
    except (ValueError, AttributeError):
        mode = ""
    return {"mode": mode, "identity": text}


def _recorded(run: int) -> str:
    return f"fact {provenance_key(run)}"


def _lives(store: Store, run: int) -> list[Mapping[str, Any]]:
    lives = (store.fact(provenance_key(run)) or {}).get("lives", [])
    return [life for life in lives if isinstance(life, dict)]


def _joined(bodies: Iterable[Mapping[str, Any]], pointer: str) -> tuple[Fact, ...]:
    """One fact per name; values that differ between the run's lives stand side by side, in order.

    A value that begins with `unknown` is what its recorder says of what it does not know: no knowledge, but a reason.
    """
    values: dict[str, dict[str, None]] = {}
    for body in bodies:
        for name, value in _texts(body).items():
            if value:
                values.setdefault(name, {})[value] = None
    return tuple(_one(name, list(texts), pointer) for name, texts in values.items())


def _one(name: str, texts: list[str], pointer: str) -> Fact:
    unknown = [text for text in texts if text.startswith("unknown")]
    if unknown:
        return fact(name, "", UNKNOWN, "", unknown[0].removeprefix("unknown").lstrip(": ") or NOT_RECORDED)
    return fact(name, " / ".join(texts), MEASURED, pointer)


def _texts(body: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): ", ".join(map(str, v)) if isinstance(v, list) else str(v) for name, v in body.items()}
