"""What an import brings: samples of one configuration, what its file says of the settings, and what it leaves open."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from engine.benchmarks.completion import number_of
from engine.errors import ImportedError
from engine.protocols import Problem

PROGRAM, COMPLETION, REPLY = "program", "completion", "reply"
"""Forms of a sample's text: a whole program, the continuation of the prompt, a chat reply."""

AS_STORED = "as stored"
"""The extraction of a configuration whose programs were made elsewhere, by a rule that its file need not tell."""

NUMBERS = frozenset({"temperature", "top_p", "top_k", "seed", "max_length"})
PACK = frozenset({"python", "javascript", "java", "go", "cpp", "rust"})

LARGEST = 1 << 30
"""Bytes; generations of a benchmark are some megabytes."""


@dataclass(frozen=True)
class Sample:
    """One text: `task_id` is the benchmark's, `stop` out of STOPS or `unknown`; `passed` is the file's own verdict."""

    task_id: str
    sample: int
    text: str
    stop: str = "unknown"
    passed: bool | None = None
    why: str = ""


@dataclass(frozen=True)
class Imported:
    """The samples of one configuration. What `settings` does not hold is unknown: temperature, top_p, top_k, seed,
    max_length (all tokens), precision.

    `form` says what the texts are, `extraction` the rule that makes programs of them; `notes` are for the reader.
    """

    model: str
    form: str
    extraction: str
    samples: tuple[Sample, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Tasks:
    """The benchmark's problems under whatever name a file gives them: task id, its number, or the prompt's text."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.ids = [problem.task_id for problem in problems]
        self._known = {task_id: task_id for task_id in self.ids}
        self._numbers = {number_of(task_id): task_id for task_id in self.ids}
        families = {family_of(task_id) for task_id in self.ids}
        # HumanEvalPack's problems are HumanEval's, under the name of their language.
        self._families = {"", *families, *(("humaneval",) if families & PACK else ())}
        self._prompts = {(problem.prompt or problem.header).strip(): problem.task_id for problem in problems}

    def of(self, name: object, where: str) -> str:
        """The benchmark's task id for a name. `ImportedError` when it has no such problem."""
        text = str(name)
        found = self._known.get(text)
        if found is None and family_of(text) in self._families:
            found = self._numbers.get(number_of(text))
        if found is None:
            raise ImportedError(
                f"{where}: task {text!r} is no problem of this benchmark, whose first is {self.ids[0]!r}: "
                "name the benchmark that the file belongs to"
            )
        return found

    def of_prompt(self, prompt: str) -> str | None:
        """The task id whose prompt this text is, or ends with; None when there is none."""
        text = prompt.strip()
        return self._prompts.get(text) or next((t for p, t in self._prompts.items() if p and text.endswith(p)), None)


def family_of(task_id: str) -> str:
    """What stands before the number in a task id, in small letters; "" where it is a number alone."""
    return task_id.rpartition("/")[0].casefold()


@contextmanager
def opened_text(path: Path) -> Iterator[TextIO]:
    """A file's lines, also of one that is packed with gzip; `ImportedError` names the file and the reason.

    Lines end at a newline only: a reply may hold what else Unicode takes for the end of a line.
    """
    unpack = gzip.open if path.suffix == ".gz" else open
    try:
        if path.stat().st_size > LARGEST:
            raise ImportedError(f"{path}: more than {LARGEST:,} bytes; expected a file of generations")
        with unpack(path, "rt", encoding="utf-8-sig", newline="\n") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise ImportedError(f"{path}: cannot be read as UTF-8 text ({error}); save it as UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ImportedError(f"{path}: cannot be read ({error}); check the path, or get it again") from error


def read_json(path: Path) -> Any:
    """A JSON file's value."""
    with opened_text(path) as stream:
        text = stream.read()
    if not text.strip():
        raise ImportedError(f"{path}: the file is empty")
    return parse_json(text, str(path))


def parse_json(text: str, where: str) -> Any:
    """JSON text's value; `ImportedError` names the place."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ImportedError(f"{where}: not JSON ({error}); the file may be cut short: get it again") from error


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with its place for messages."""
    some = False
    with opened_text(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            value = parse_json(line, where)
            if not isinstance(value, dict):
                raise ImportedError(f"{where}: expected an object, found {type(value).__name__}")
            some = True
            yield where, value
    if not some:
        raise ImportedError(f"{path}: the file is empty")


def typed(row: Any, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """A field of an object; `ImportedError` names place and field when it is missing or of another type."""
    value = row.get(key) if isinstance(row, dict) else None
    if not isinstance(value, kind):
        found = type(value).__name__ if isinstance(row, dict) and key in row else "nothing"
        raise ImportedError(f"{where}, field {key!r}: found {found}; the file is not of this format: choose --kind")
    return value


def numbered(rows: Sequence[tuple[str, Callable[[int], Sample]]]) -> tuple[Sample, ...]:
    """Samples of tasks in the order in which they stand in a file: the first of a task is its sample 0."""
    counts: dict[str, int] = {}
    found = []
    for task_id, make in rows:
        number = counts.get(task_id, 0)
        counts[task_id] = number + 1
        found.append(make(number))
    return tuple(found)


def known(where: str, **settings: Any) -> dict[str, Any]:
    """The settings that a file tells; None means that it does not. `ImportedError` where a number is none."""
    told = {name: value for name, value in settings.items() if value is not None}
    for name in told.keys() & NUMBERS:
        try:
            number = float(told[name])
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ImportedError(f"{where}, setting {name}: expected a number, found {told[name]!r}: correct it there")
        told[name] = number
    return told
