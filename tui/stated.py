"""What only a person knows and the report asks for: which answers are missing, and where one that is given is kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cache.store import Store
from literature.report.checklist import Answer, checklist
from literature.report.evidence import UNKNOWN, USER
from literature.report.further import further
from tui import study as studies
from tui.errors import TypedError
from tui.reporting import collect

_KEY = re.compile(r"stated\.('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
"""How the report's pointers name a key of the study's `stated` table."""

EXAMPLES = {
    "released precision": "the type that the authors released the weights in, such as BF16",
    "authors' prompt format": "the name of the template that the authors give, such as instruct",
    "model name": "the exact name under which the model was released",
    "tuning": "base, or how it was tuned, such as instruct",
    "version": "the revision or date of the weights",
}
"""What a good answer looks like, by the last part of its key."""


@dataclass(frozen=True)
class Ask:
    """One thing to state: the checklist point it belongs to, the key it is kept under, what is stated now."""

    point: str
    key: str
    value: str = ""

    @property
    def hint(self) -> str:
        """What a good answer looks like."""
        return EXAMPLES.get(self.key.rpartition(": ")[2], "in your own words; the report says that you state it")


def asks(store: Store, run: int) -> Sequence[Ask]:
    """Everything that the report would take from a person, unanswered first, each key once."""
    given = collect(store, run)
    found: dict[str, Ask] = {}
    for item in (*checklist(given), *further(given)):
        for ask in _asks(f"{item.number} {item.title}", item.answers):
            found.setdefault(ask.key, ask)
    return sorted(found.values(), key=lambda ask: bool(ask.value))


def _asks(point: str, answers: Sequence[Answer]) -> Iterator[Ask]:
    for answer in answers:
        fact = answer.fact
        key = _KEY.search(fact.pointer) if fact.known in (UNKNOWN, USER) else None
        if key is not None:
            yield Ask(point, str(ast.literal_eval(key[1])), fact.value if fact.known == USER else "")


def state(store: Store, run: int, key: str, value: str) -> None:
    """Keep an answer in the run's study, as stated by the user; an empty one is taken away again.

    `StudyError` when the run's study cannot be read.
    """
    study = studies.loads(store.run(run).study, f"run {run}")
    answers = {**study.stated, key: value.strip()}
    if "\n" in value:
        raise TypedError(f"{key}: expected one line")
    kept = {name: text for name, text in answers.items() if text}
    store.set_study(run, studies.dumps(replace(study, stated=kept)))
