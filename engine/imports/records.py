"""What an import brings: samples of one configuration, what its file says of the settings, and what it leaves open."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.benchmarks.completion import number_of
from engine.errors import ImportedError
from engine.protocols import Problem

PROGRAM, COMPLETION, REPLY = "program", "completion", "reply"
"""Forms of a sample's text: a whole program, the continuation of the prompt, a chat reply."""

AS_STORED = "as stored"
"""The extraction of a configuration whose programs were made elsewhere, by a rule that its file need not tell."""

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
        self._prompts = {(problem.prompt or problem.header).strip(): problem.task_id for problem in problems}

    def of(self, name: object, where: str) -> str:
        """The benchmark's task id for a name. `ImportedError` when it has no such problem."""
        text = str(name)
        found = self._known.get(text) or self._numbers.get(number_of(text))
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


def read_text(path: Path) -> str:
    """A file's text; `ImportedError` names the file and the reason."""
    try:
        if path.stat().st_size > LARGEST:
            raise ImportedError(f"{path}: more than {LARGEST:,} bytes; expected a file of generations")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ImportedError(f"{path}: cannot be read as UTF-8 text ({error}); check the path") from error


def read_json(path: Path) -> Any:
    """A JSON file's value."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, where: str) -> Any:
    """JSON text's value; `ImportedError` names the place."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ImportedError(f"{where}: not JSON ({error}); the file may be cut short: get it again") from error


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with its place for messages."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        value = parse_json(line, where)
        if not isinstance(value, dict):
            raise ImportedError(f"{where}: expected an object, found {type(value).__name__}")
        yield where, value


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


def known(**settings: Any) -> dict[str, Any]:
    """The settings that a file tells; None means that it does not."""
    return {name: value for name, value in settings.items() if value is not None}
