"""What the problem screen shows of one sample, view by view, as lines."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cache.store import StoredGeneration
from engine.protocols import Problem
from engine.settings import Configuration
from tui.desk import Desk
from tui.parts import Extracted, Parts, Read
from tui.widgets.pieces import Piece, cell
from tui.widgets.text import Line, plain

if TYPE_CHECKING:
    from engine.again import Again

REFERENCES = ("buggy", "correct")
NO_PROGRAM = "No program yet, or the benchmark's problems are not at hand."
ORIGINS: Mapping[str, str] = {"template": "agree", "problem": "text", "header": "partial"}
"""The colour role of a prompt's pieces by where they come from."""


@dataclass(frozen=True)
class Sample:
    """One sample of a problem under one configuration, and where its texts come from."""

    desk: Desk
    parts: Parts
    key: str
    task_id: str
    number: int
    again: Again | None = None
    reference: str = REFERENCES[0]

    @property
    def place(self) -> tuple[str, str, int]:
        """Which sample it is: configuration id, task id, number."""
        return self.key, self.task_id, self.number

    @property
    def configuration(self) -> Configuration:
        """Its settings."""
        return self.desk.state.configuration(self.key)

    @property
    def kind(self) -> str:
        """Its outcome; empty while it has none."""
        return self.desk.state.scores[self.key].kinds.get((self.task_id, self.number), "")

    def stored(self) -> StoredGeneration | None:
        """The kept reply."""
        key = self.desk.state.kept.key(self.place)
        return self.desk.generation(key) if key else None

    def read(self) -> Read | None:
        """The reply as this configuration reads it."""
        stored = self.stored()
        return None if stored is None else self.parts.read(self.configuration, stored)

    def item(self) -> Problem | None:
        """The benchmark's problem."""
        return self.parts.problem(self.configuration.benchmark, self.task_id)

    def candidate(self) -> str:
        """The program that was cut from the reply; empty without one."""
        read = self.read()
        return "" if read is None else self.parts.candidate(self.configuration, self.task_id, read.text)


def outcome(sample: Sample) -> Iterator[Line]:
    """What the program showed, where, and what running it again showed."""
    state = sample.desk.state
    if not sample.kind:
        yield [Piece("Not judged yet.", "muted")]
        return
    yield [Piece("outcome     "), Piece(sample.kind, "agree bold" if sample.kind == "passed" else "against bold")]
    detail = state.kept.detail(sample.place)
    yield from ([Piece("test output ", "muted"), Piece(found[0].text)] for found in plain(detail) if detail)
    yield [Piece(f"sandbox     {state.sandbox}")]
    mode = state.kept.mode(sample.place)
    if mode:
        yield [Piece("judged      "), Piece(mode, "open" if state.kept.label(sample.place) else "text")]
    flaky = state.flaky.get(sample.place)
    if flaky:
        told = ", ".join(f"{seed}: {kind}" for seed, kind in flaky.items())
        yield [Piece("flaky       ", "open bold"), Piece(f"by hash seed and random state {told}", "open")]
    reply = state.reply(*sample.place)
    if reply is not None:
        yield [Piece(f"reply       {reply.tokens} tokens in {reply.seconds:.1f} s, ended by {stop(reply.stop)}")]
        yield [Piece(f"kept as     {reply.key}", "muted")]
    yield [Piece("")]
    yield from _again(sample)
    yield [Piece("settings", "text bold")]
    for axis, value in state.scores[sample.key].axes.items():
        yield [Piece(f"{axis:<12}", "muted"), Piece(value)]


def _again(sample: Sample) -> Iterator[Line]:
    again = sample.again
    if again is None:
        return
    yield [Piece("run again", "text bold")]
    role = {"same": "agree bold", "different": "against bold"}.get(again.result, "open")
    tokens = f" ({again.tokens} tokens, alone)" if again.tokens else ""
    yield [Piece("reply       "), Piece(again.result, role), Piece(f"{tokens}{_colon(again.detail)}")]
    if again.kind:
        same = again.kind == again.recorded
        yield [
            Piece("program     "),
            Piece("same outcome" if same else "another outcome", "agree bold" if same else "against bold"),
            Piece(f": {again.kind} in {again.seconds:.2f} s, sandbox {again.level}"),
        ]
        yield from ([Piece("test output ", "muted"), found[0]] for found in plain(again.said) if again.said)
    else:
        yield [Piece("program     "), Piece("not judged again", "open"), Piece(_colon(again.said))]
    yield [Piece("")]


def _colon(text: str) -> str:
    return f": {text}" if text else ""


def prompt(sample: Sample) -> Iterator[Line]:
    """What was tokenised, with the template's own marks apart from the problem's text."""
    found = sample.parts.prompt(sample.configuration, sample.task_id)
    if found is None:
        yield [
            Piece("The prompt is not known: the benchmark is not at hand, or the replies were made elsewhere.", "muted")
        ]
        return
    stored = sample.stored()
    yield [
        Piece(f"{stored.n_prompt} tokens" if stored else "not asked yet", "muted"),
        Piece("   "), Piece("template", ORIGINS["template"] + " bold"), Piece("   "), Piece("problem"), Piece("   "),
        Piece("header, which the answer continues", ORIGINS["header"]),
    ]  # fmt: skip
    yield from ([Piece(note, "muted")] for note in found.notes)
    yield [Piece("")]
    line: list[Piece] = []
    for origin, text in found.pieces:
        role = ORIGINS[origin] + (" bold" if origin == "template" else "")
        for index, part in enumerate(plain(text, role)):
            if index:
                yield line
                line = []
            line.extend(piece for piece in part if piece.text)
    yield [*line, Piece("▏", "muted")]


def reply(sample: Sample) -> Iterator[Line]:
    """The raw reply, with why it ended and how long it is."""
    stored, read = sample.stored(), sample.read()
    if stored is None or read is None:
        yield [Piece("No reply is kept for this sample.", "muted")]
        return
    limit = f"{len(stored.tokens)} of at most {stored.asked} tokens; ended by {stop(stored.stop)}"
    yield [Piece(f"{limit}; {stored.n_prompt} prompt tokens; {stored.decoding}", "muted")]
    if read.note:
        yield [Piece(read.note, "open")]
    yield [Piece("")]
    yield from plain(read.text)


def programs(sample: Sample) -> Iterator[Line]:
    """What each extraction makes of the reply; those that make the same stand together."""
    read = sample.read()
    found = sample.parts.extractions(sample.configuration, sample.task_id, read.text) if read else ()
    if not found:
        yield [Piece(NO_PROGRAM, "muted")]
        return
    groups: dict[str, list[Extracted]] = {}
    for one in found:
        groups.setdefault(one.problem or one.program, []).append(one)
    same = len(groups) == 1
    yield [Piece("every extraction makes the same program" if same else f"{len(groups)} different programs", "muted")]
    for text, members in groups.items():
        yield [Piece("")]
        names = ", ".join(one.name + ("" if one.code or one.problem else " (no code found)") for one in members)
        own = members[0] is found[0]
        yield [Piece("▸ " if own else "  "), Piece(names, "agree bold" if own else "text bold"),
               Piece("  this configuration" if own else "", "muted")]  # fmt: skip
        yield from plain(text.strip("\n"), "against" if members[0].problem else "text")


def diff(sample: Sample) -> Iterator[Line]:
    """The candidate against the buggy or the correct program."""
    item, candidate = sample.item(), sample.candidate()
    if item is None or not candidate:
        yield [Piece(NO_PROGRAM, "muted")]
        return
    body = item.buggy if sample.reference == "buggy" else item.canonical
    if not body.strip():
        yield [Piece(f"This benchmark has no {sample.reference} program.", "muted")]
        return
    before = (item.header + body).strip("\n").splitlines()
    after = candidate.strip("\n").splitlines()
    other = REFERENCES[1 - REFERENCES.index(sample.reference)]
    yield [Piece(f"against the {sample.reference} program; b shows it against the {other} one", "muted")]
    if before == after:
        role = "against" if sample.reference == "buggy" else "agree"
        yield [Piece(f"The program is the {sample.reference} one, unchanged.", role)]
    for text in difflib.unified_diff(before, after, sample.reference, "candidate", lineterm="", n=30):
        role = {"+": "agree", "-": "against", "@": "muted"}.get(text[:1], "text")
        yield plain(text, role)[0]


def judged(sample: Sample) -> Iterator[Line]:
    """The whole program, with its tests, as it was judged."""
    read = sample.read()
    text = "" if read is None else sample.parts.program(sample.configuration, sample.task_id, read.text)
    yield from plain(text or NO_PROGRAM, "text" if text else "muted")


def problem(sample: Sample) -> Iterator[Line]:
    """What the benchmark says."""
    item = sample.item()
    if item is None:
        yield [Piece("The benchmark's problems are not at hand.", "muted")]
        return
    yield [Piece(item.instruction or item.task_id, "text bold"), Piece(f"  bug type: {item.bug_type}", "muted")]
    for title, text in (("Shown to the model", item.prompt or item.context), ("Correct body", item.canonical),
                        ("Buggy body", item.buggy), ("Tests", item.test)):  # fmt: skip
        if text.strip():
            yield [Piece("")]
            yield [cell(title, 20, "muted")]
            yield from plain(text.strip("\n"))


def stop(name: str) -> str:
    """Why a reply ended, in words."""
    return {
        "end": "the model's end token", "limit": "the token limit", "cut": "the extraction's cut",
        "no room": "no room after the prompt",
    }.get(name, name)  # fmt: skip


VIEWS: Mapping[str, Callable[[Sample], Iterator[Line]]] = {
    "outcome": outcome, "prompt": prompt, "reply": reply, "programs": programs, "diff": diff, "judged": judged,
    "problem": problem,
}  # fmt: skip
"""Name -> lines, in the order of the keys."""


def as_text(name: str, sample: Sample, lines: Sequence[Line]) -> str:
    """A view as text for the clipboard or an editor: the raw text where it shows one, else its lines as they read."""
    if name == "prompt":
        found = sample.parts.prompt(sample.configuration, sample.task_id)
        return "" if found is None else found.text
    if name == "reply":
        read = sample.read()
        return "" if read is None else read.text
    if name == "judged":
        read = sample.read()
        return "" if read is None else sample.parts.program(sample.configuration, sample.task_id, read.text)
    return "\n".join("".join(piece.text for piece in line) for line in lines)
