"""The seven points of the reference study's checklist, each answered from evidence; what nothing shows stays unknown.

A point holds only where a fact says so: an answer without evidence is `unknown`, and one such answer keeps its point
from being ticked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from literature.report.evidence import (
    MEASURED,
    SOURCE,
    UNKNOWN,
    USER,
    CardEvidence,
    ConfigurationEvidence,
    Fact,
    ModelEvidence,
    ReportInput,
    fact,
)

YES, NO, NO_EVIDENCE, TOLD = "yes", "no", "unknown", "-"
IN_PART = "in part"
NO_TEMPLATE = hashlib.sha256(b"").hexdigest()
"""The template hash of a model file that has none."""
FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
ENOUGH_SAMPLES = 20
TITLES = (
    "Precision as released",
    "No quantisation if possible",
    "The authors' prompt format",
    "Greedy decoding, or n = 20 samples per problem",
    "Sufficient length",
    "Exact model name, version, tuning, parameters",
    "Framework, settings and benchmark version",
)


@dataclass(frozen=True)
class Answer:
    """One line under a point: of what, which fact, and whether the point holds for it (`-`: told, decides nothing)."""

    subject: str
    fact: Fact
    holds: str = TOLD


@dataclass(frozen=True)
class Item:
    """One of the seven points with its answers."""

    number: int
    title: str
    answers: tuple[Answer, ...]

    @property
    def mark(self) -> str:
        """`yes`: every deciding answer is; `no`: some are no, none is yes; `in part`: both are there; else unknown."""
        found = {answer.holds for answer in self.answers} - {TOLD}
        if NO in found:
            return IN_PART if YES in found else NO
        return YES if found == {YES} else NO_EVIDENCE

    def count(self, holds: str) -> int:
        """How many of the answers say so."""
        return sum(answer.holds == holds for answer in self.answers)


def checklist(given: ReportInput) -> tuple[Item, ...]:
    """All seven points, in the reference study's order."""
    points = (_precision, _quantisation, _prompt, _decoding, _length, _identity, _framework)
    return tuple(
        Item(number, title, tuple(point(given)))
        for number, (title, point) in enumerate(zip(TITLES, points, strict=True), 1)
    )


def tensors(card: CardEvidence) -> str:
    """The tensor-type histogram as text: `F16 x 190, F32 x 61`; empty when the card has none."""
    return ", ".join(f"{kind} x {count}" for kind, count in sorted(card.tensor_types.items()))


def stated(given: ReportInput, model: str, name: str) -> Fact:
    """What the user states under `MODEL: name`, or under `name` where only one model can be meant."""
    named = f"{model}: {name}"
    for key in (named, name) if len(given.models) == 1 else (named,):
        if given.stated.get(key):
            return fact(name, given.stated[key], USER, f"study.toml, stated.{key!r}")
    return fact(name, "", UNKNOWN, "", f"neither the run nor the study states it (study.toml, stated.{named!r})")


def _loads(given: ReportInput) -> Iterable[tuple[str, CardEvidence | None]]:
    """Each (model, precision) that the run was asked for, as a subject, with what was loaded for it (None: nothing)."""
    asked = dict.fromkeys((c.measurement.model, c.measurement.axes.get("precision", "")) for c in given.configurations)
    for model, precision in asked:
        for card in given.model(model).cards_of(precision) or (None,):
            yield f"{model}, {precision}", card


def _not_loaded(subject: str, name: str) -> Answer:
    return Answer(subject, fact(name, "", UNKNOWN, "", "the run states no loading of this model file"), NO_EVIDENCE)


def _precision(given: ReportInput) -> Iterable[Answer]:
    for subject, card in _loads(given):
        if card is None:
            yield _not_loaded(subject, "loaded as")
            continue
        pointer = f"{card.pointer}, file sha256 {card.sha256 or 'unknown'}"
        yield Answer(subject, fact("loaded as", card.recipe, MEASURED, pointer, "the model card names no recipe"))
        yield _as_released(given, subject, card)


def _as_released(given: ReportInput, subject: str, card: CardEvidence) -> Answer:
    name = "released precision"
    if card.sha256 and card.source_sha256 and card.sha256 != card.source_sha256:
        derived = f"derived here ({card.recipe or 'recipe unknown'}) from another file"
        return Answer(subject, fact(name, derived, MEASURED, f"source sha256 {card.source_sha256}"), NO)
    told = stated(given, card.model, name)
    if told.known == UNKNOWN or not card.tensor_types or not (card.sha256 and card.sha256 == card.source_sha256):
        reason = told.pointer if told.known == UNKNOWN else "the model card does not show what was loaded"
        return Answer(subject, fact(name, "", UNKNOWN, "", reason), NO_EVIDENCE)
    main = max(card.tensor_types, key=lambda kind: card.tensor_types[kind])
    # Norms and biases stay in F32 in nearly every file, so the most frequent type beside them is the file's precision.
    others = {kind: count for kind, count in card.tensor_types.items() if kind != "F32"}
    main = max(others, key=lambda kind: others[kind]) if others else main
    return Answer(subject, told, YES if _same_type(told.value, main) else NO)


def _same_type(text: str, kind: str) -> bool:
    names = {"fp32": "f32", "float32": "f32", "fp16": "f16", "float16": "f16", "bfloat16": "bf16"}
    plain = text.strip().lower()
    return names.get(plain, plain) == kind.lower()


def _quantisation(given: ReportInput) -> Iterable[Answer]:
    for subject, card in _loads(given):
        if card is None:
            yield _not_loaded(subject, "tensor types")
            continue
        pointer = f"{card.pointer}, file sha256 {card.sha256 or 'unknown'}"
        found = fact("tensor types", tensors(card), MEASURED, pointer, "the model card has no tensor types")
        floats = all(kind.upper() in FLOATS for kind in card.tensor_types)
        verdict = NO_EVIDENCE if found.known == UNKNOWN else YES if floats else NO
        if card.sha256 == card.source_sha256:
            yield Answer(subject, found, verdict)
            continue
        # Turning a quantised file into a float one adds nothing back: its weights stay those of the quantised one.
        origin = card.recipe.partition(" from ")[2].partition(":")[0]
        where = f"source sha256 {card.source_sha256 or 'unknown'}"
        made = fact("derived from", origin, MEASURED, where, "the model card names no source precision")
        source = NO_EVIDENCE if made.known == UNKNOWN else YES if origin.upper() in FLOATS else NO
        yield Answer(subject, found, verdict if source == YES else source)
        yield Answer(subject, made, source)


def _prompt(given: ReportInput) -> Iterable[Answer]:
    used: dict[tuple[str, str, str, bool], int] = {}
    for c in given.configurations:
        axes = c.measurement.axes
        prompt = (c.measurement.model, axes.get("prompt", ""), axes.get("header", ""), c.own_template)
        used[prompt] = used.get(prompt, 0) + c.tally.judged
    for (model, template, header, own), judged in used.items():
        subject = f"{model}, {template}"
        yield Answer(subject, fact("prompt", f"{template}; function header {header}", MEASURED, given.run.started))
        if judged:
            yield _authors_prompt(given, model, template, subject, own)
        else:
            nothing = fact("authors' prompt format", "", UNKNOWN, "", "no reply to such a prompt has been judged")
            yield Answer(subject, nothing, NO_EVIDENCE)
    for score in given.reported:
        if score.stated.get("prompt"):
            where = score.place or f"sources {', '.join(score.sources)}"
            yield Answer(score.label, fact("prompt of this report", score.stated["prompt"], SOURCE, where))


def _authors_prompt(given: ReportInput, model: str, template: str, subject: str, own: bool) -> Answer:
    name = "authors' prompt format"
    told = stated(given, model, name)
    if told.known == USER:
        return Answer(subject, told, YES if told.value.strip() == template else NO)
    hashes = sorted({card.template_sha256 for card in given.model(model).cards} - {"", NO_TEMPLATE})
    if own and hashes:
        value = "the chat template stored in the model file"
        return Answer(subject, fact(name, value, SOURCE, f"template sha256 {', '.join(hashes)}"), YES)
    return Answer(subject, told, NO_EVIDENCE)


def _decoding(given: ReportInput) -> Iterable[Answer]:
    groups: dict[tuple[str, str, str], list[ConfigurationEvidence]] = {}
    for c in given.configurations:
        axes = c.measurement.axes
        groups.setdefault((c.measurement.model, axes.get("decoding", ""), axes.get("samples", "")), []).append(c)
    for (model, decoding, samples), members in groups.items():
        finished = sum(c.state == "finished" for c in members)
        first = members[0].measurement
        if not decoding or "unknown" in decoding:
            nothing = fact(
                "decoding", "", UNKNOWN, "", "neither the run nor the imported file says how tokens were chosen"
            )
            yield Answer(model, nothing, NO_EVIDENCE)
            continue
        value = f"{decoding}, n = {samples}; {finished} of {len(members)} configurations finished"
        enough = first.greedy or first.samples >= ENOUGH_SAMPLES
        holds = NO if not enough else YES if finished == len(members) else NO_EVIDENCE
        yield Answer(f"{model}, {decoding}", fact("decoding", value, MEASURED, given.run.started), holds)


def _length(given: ReportInput) -> Iterable[Answer]:
    groups: dict[tuple[str, str], list[ConfigurationEvidence]] = {}
    for c in given.configurations:
        groups.setdefault((c.measurement.model, c.measurement.axes.get("length", "")), []).append(c)
    for (model, length), members in groups.items():
        asked = sum(c.tally.asked for c in members)
        known = sum(c.tally.replies for c in members)
        limit, room = sum(c.tally.at_limit for c in members), sum(c.tally.no_room for c in members)
        subject = f"{model}, {length} tokens with the prompt"
        if not known:
            nothing = fact("replies at the limit", "", UNKNOWN, "", "how no reply ended is known")
            yield Answer(subject, nothing, NO_EVIDENCE)
            continue
        value = f"of {known} replies ({asked} asked for), {limit} were still going at the limit, {room} had no room"
        pointer = f"Generated and Judged events of run {given.run.id}"
        holds = NO if limit or room else YES if known == asked else NO_EVIDENCE
        yield Answer(subject, fact("replies at the limit", value, MEASURED, pointer), holds)


def _identity(given: ReportInput) -> Iterable[Answer]:
    names = dict.fromkeys([m.name for m in given.models] + [c.measurement.model for c in given.configurations])
    for name in names:
        model = given.model(name)
        yield _decides(name, fact("file asked for", model.file, USER, "study.toml, models", "the study names no file"))
        yield _decides(name, _told_or_metadata(given, model, "model name", ("model", "general.name")))
        yield _decides(name, _told_or_metadata(given, model, "tuning", ("finetune", "general.finetune")))
        yield _decides(name, _version(given, model))
        if not model.cards:
            yield _not_loaded(name, "model file")
        for card in model.cards:
            for found in _card_facts(card):
                yield _decides(f"{name}, {card.precision}", found)


def _decides(subject: str, found: Fact) -> Answer:
    return Answer(subject, found, NO_EVIDENCE if found.known == UNKNOWN else YES)


def _card_facts(card: CardEvidence) -> Iterable[Fact]:
    missing = "the model card does not say"
    template = "none in the file" if card.template_sha256 == NO_TEMPLATE else card.template_sha256
    for name, value in (
        ("file sha256", card.sha256),
        ("source file sha256", card.source_sha256),
        ("recipe", card.recipe),
        ("architecture", card.architecture),
        ("parameters", str(card.parameters) if card.parameters else ""),
        ("chat template sha256", template),
        ("tensor types", tensors(card)),
    ):
        yield fact(name, value, MEASURED, card.pointer, missing)


def _version(given: ReportInput, model: ModelEvidence) -> Fact:
    found = _told_or_metadata(given, model, "version", ("version", "general.version"))
    _, at, revision = model.file.rpartition("@")
    if found.known == UNKNOWN and at and revision:
        return fact("version", f"revision {revision}", USER, "study.toml, models")
    return found


def _told_or_metadata(given: ReportInput, model: ModelEvidence, name: str, keys: tuple[str, ...]) -> Fact:
    """What the user states, else what the model file's metadata state under one of `keys`."""
    told = stated(given, model.name, name)
    if told.known == USER:
        return told
    values = dict.fromkeys(card.metadata[key] for card in model.cards for key in keys if card.metadata.get(key))
    if values:
        return fact(name, ", ".join(values), SOURCE, f"metadata of the model file: {keys[0]}")
    return fact(name, "", UNKNOWN, "", f"{told.pointer}; nor do the metadata of the model file")


def _framework(given: ReportInput) -> Iterable[Answer]:
    recorded = {found.name: found for found in given.environment}
    for name in ("scoretrace version", "llama-cpp-python version", "Python"):
        missing = fact(name, "", UNKNOWN, "", "the run did not record it")
        yield _decides("framework", recorded.get(name, missing))
    yield from _builds(given)
    count = len(given.configurations)
    yield _decides("settings", fact(
        "configurations", f"{count} with every axis value" if count else "", MEASURED, given.run.started,
        "the run states no configuration",
    ))  # fmt: skip
    if not given.benchmarks:
        nothing = fact("benchmark", "", UNKNOWN, "", "the run states no benchmark")
        yield Answer("benchmark", nothing, NO_EVIDENCE)
    for benchmark in given.benchmarks:
        yield _decides(benchmark.name, fact("problems", str(benchmark.problems), MEASURED, benchmark.pointer))
        known = {found.name: found for found in benchmark.facts}
        for name in ("sha256", "revision"):
            missing = fact(name, "", UNKNOWN, "", "the run did not record it")
            yield _decides(benchmark.name, known.get(name, missing))
        yield _reference(benchmark.name, given)


def _builds(given: ReportInput) -> Iterable[Answer]:
    cards = [card for model in given.models for card in model.cards]
    if not cards:
        yield _not_loaded("framework", "engine build")
    for card in cards:
        text = ", ".join(f"{name} {value}" for name, value in card.numerics.items())
        found = fact("engine build and numerics", text, MEASURED, card.pointer, "the model card has no numerics")
        yield _decides(f"{card.model}, {card.precision}", found)


def _reference(name: str, given: ReportInput) -> Answer:
    check = next(b.check for b in given.benchmarks if b.name == name)
    title = "reference check"
    if check is None:
        nothing = fact(title, "", UNKNOWN, "", "the run states none")
        return Answer(name, nothing, NO_EVIDENCE)
    value = (
        f"{check.correct} of {check.total} correct bodies passed, {check.buggy} of {check.total} buggy bodies failed"
    )
    value += "".join(f"; {text}" for text in check.explained)
    whole = check.explained or check.correct == check.buggy == check.total
    good = check.total and whole and not check.wrong
    return Answer(name, fact(title, value, MEASURED, check.pointer), YES if good else NO)
