"""What other checklists ask beyond the seven points: what can be shared, seeds, hardware, cost, contamination."""

from __future__ import annotations

from collections.abc import Iterable

from literature.records import configurations_text
from literature.report.checklist import NO, NO_EVIDENCE, TOLD, YES, Answer, Item, stated
from literature.report.evidence import MEASURED, UNKNOWN, USER, Fact, ReportInput, fact

FIRST = 8
TITLES = (
    "Exact prompts, code and outputs can be shared",
    "Seeds",
    "Hardware",
    "Cost",
    "Contamination checked",
)
CONTAMINATION = "contamination"


def further(given: ReportInput) -> tuple[Item, ...]:
    """The further points, numbered on from the seven."""
    points = (_shared, _seeds, _hardware, _cost, _contamination)
    return tuple(
        Item(number, title, tuple(point(given)))
        for number, (title, point) in enumerate(zip(TITLES, points, strict=True), FIRST)
    )


def _answer(subject: str, found: Fact, holds: str = YES) -> Answer:
    return Answer(subject, found, NO_EVIDENCE if found.known == UNKNOWN else holds)


def _recorded(given: ReportInput, name: str) -> Fact:
    missing = fact(name, "", UNKNOWN, "", "the run did not record it")
    return next((found for found in given.environment if found.name == name), missing)


def _shared(given: ReportInput) -> Iterable[Answer]:
    yield _answer("code", _recorded(given, "scoretrace version"))
    templates = dict.fromkeys(
        (c.measurement.model, c.measurement.axes.get("prompt", ""), c.own_template) for c in given.configurations
    )
    for model, template, own in templates:
        yield _answer(f"{model}, {template}", _prompt_text(given, model, template, own=own))
    if not templates:
        yield _answer("prompts", fact("prompt text", "", UNKNOWN, "", "the run states no configuration"))
    cost = given.cost
    told = f"{cost.kept} of {cost.replies} distinct replies lie in the store"
    whole = YES if cost.kept == cost.replies else NO
    yield _answer("outputs", fact(
        "raw replies", told if cost.replies else "", MEASURED, cost.pointer, "the run states no reply"
    ), whole)  # fmt: skip


def _prompt_text(given: ReportInput, model: str, template: str, *, own: bool) -> Fact:
    name = "prompt text"
    if not own:
        version = _recorded(given, "scoretrace version").value
        value = f"rendered from template {template} of Scoretrace {version}" if version else ""
        return fact(name, value, MEASURED, given.run.started, "the version that rendered it is not recorded")
    cards = given.model(model).cards
    hashes = sorted({card.template_sha256 for card in cards})
    kept = bool(cards) and all(card.template_kept for card in cards)
    value = "rendered by the model's own chat template, whose text is kept" if kept else ""
    return fact(name, value, MEASURED, f"fact chat-template:{', '.join(hashes)}", "the template's text is not kept")


def _seeds(given: ReportInput) -> Iterable[Answer]:
    groups: dict[tuple[str, str, str, bool], int] = {}
    for c in given.configurations:
        axes = c.measurement.axes
        key = (axes.get("decoding", ""), axes.get("samples", ""), axes.get("seed", ""), c.measurement.greedy)
        groups[key] = groups.get(key, 0) + 1
    for (decoding, samples, seed, greedy), count in groups.items():
        of = configurations_text(count)
        told = f"seed {seed}, {samples} samples per problem, each with a random stream of its own; {of}"
        value = f"none needed, nothing is drawn; {of}" if greedy else told if seed else ""
        yield _answer(decoding, fact("seed", value, MEASURED, given.run.started, "the run states no seed"))
    if not groups:
        yield _answer("seeds", fact("seed", "", UNKNOWN, "", "the run states no configuration"))


def _hardware(given: ReportInput) -> Iterable[Answer]:
    for name in ("processor", "memory", "NVIDIA GPU"):
        yield _answer("machine", _recorded(given, name))
    for name in ("cores", "GPU driver"):
        yield Answer("machine", _recorded(given, name), TOLD)
    cards = [card for model in given.models for card in model.cards]
    for card in cards:
        device = card.numerics.get("device", "")
        yield _answer(f"{card.model}, {card.precision}", fact(
            "computed on", device, MEASURED, card.pointer, "the model card names no device"
        ))  # fmt: skip
    if not cards:
        yield _answer("device", fact("computed on", "", UNKNOWN, "", "the run states no loading of a model"))


def _cost(given: ReportInput) -> Iterable[Answer]:
    cost, run = given.cost, given.run
    nothing = "the run states no reply"
    made = f"{cost.tokens} tokens in {cost.made} replies made by this run" if cost.replies else ""
    spent = f"{cost.generation_s:.1f} s in the model's slots, which run side by side" if cost.replies else ""
    wall = f"{run.last - run.first:.0f} s from the first to the last fact, pauses included" if run.last else ""
    programs = f"{cost.program_s:.1f} s of CPU time, a shared outcome counted for each sample" if cost.replies else ""
    yield _answer("generation", fact("tokens", made, MEASURED, cost.pointer, nothing))
    yield _answer("generation", fact("time", spent, MEASURED, cost.pointer, nothing))
    yield _answer("run", fact("wall time", wall, MEASURED, f"first and last event of run {run.id}", "no facts"))
    yield Answer("programs", fact("time", programs, MEASURED, cost.pointer, nothing))
    yield Answer("loading", fact("time", f"{cost.load_s:.1f} s", MEASURED, cost.pointer, nothing))
    yield Answer("run", fact("energy", cost.energy, MEASURED, f"fact energy:{run.id}", "not measured"))


def _contamination(given: ReportInput) -> Iterable[Answer]:
    names = dict.fromkeys(c.measurement.model for c in given.configurations) or {"model": None}
    for name in names:
        told = stated(given, name, CONTAMINATION)
        if told.known != USER:
            reason = f"no check for it is part of a run; {told.pointer}"
            yield _answer(name, fact(CONTAMINATION, "", UNKNOWN, "", reason))
            continue
        unchecked = told.value.strip().casefold().startswith(("no", "unchecked", "unknown"))
        yield Answer(name, told, NO if unchecked else YES)
