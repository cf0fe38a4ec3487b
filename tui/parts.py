"""The functions that the app is given from outside, so that it knows neither benchmarks nor report formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cache.store import StoredGeneration
from engine.protocols import Problem
from engine.settings import Configuration

if TYPE_CHECKING:
    from engine.again import Again
    from tui.doctor import Finding
    from tui.stated import Ask


@dataclass(frozen=True)
class Prompt:
    """What was tokenised: (origin, text) pieces in order, origins `template`, `problem` and `header`, and remarks."""

    pieces: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole of it."""
        return "".join(text for _, text in self.pieces)


@dataclass(frozen=True)
class Read:
    """A reply as one configuration reads it; `note` says where that is less than what is kept.

    `partly` is true where the text is more than the configuration read, because its own part is not kept as text.
    """

    text: str
    note: str = ""
    partly: bool = False


@dataclass(frozen=True)
class Extracted:
    """What one extraction makes of a reply: the candidate, whether there was code to take, or why it cannot be made."""

    name: str
    program: str
    code: bool = True
    problem: str = ""


@dataclass(frozen=True)
class Intake:
    """Other people's generations to be taken in: the file, the benchmark that they answer, and its own file.

    `kind` is the file's format, told by its content when empty; `results` the results file that belongs to it, if any.
    """

    file: str
    benchmark: str
    data: str = ""
    kind: str = ""
    results: str = ""


def _no_problem(benchmark: str, task_id: str) -> Problem | None:
    return None


def _no_prompt(configuration: Configuration, task_id: str) -> Prompt | None:
    return None


def _whole(configuration: Configuration, stored: StoredGeneration) -> Read:
    return Read(stored.text)


def _no_program(configuration: Configuration, task_id: str, reply: str) -> str:
    return ""


def _no_extractions(configuration: Configuration, task_id: str, reply: str) -> Sequence[Extracted]:
    return ()


def _room(configuration: Configuration) -> str:
    return ""


def _no_items(run: int) -> Sequence[str]:
    return ()


def _no_asks(run: int) -> Sequence[Ask]:
    return ()


@dataclass(frozen=True)
class Parts:
    """What screens call for facts that no event holds; each may raise the errors of `engine`, `literature` and `cache`.

    `problem(benchmark, task_id)` is a benchmark item or None; `prompt(configuration, task_id)` what was tokenised;
    `read(configuration, stored)` a kept reply as the configuration's limit leaves it;
    `candidate(configuration, task_id, reply)` the candidate program that the configuration's extraction makes of a
    reply, `program` the same with its tests, as judged, `extractions` what every extraction makes of it;
    `again(configuration id, task_id, sample)` judges and makes one sample once more, which takes seconds to minutes;
    `no_room(configuration)` says why its model does not fit beside the worker at work, empty when it does;
    `take_generations(intake)` keeps other people's generations as a run and gives its id;
    `preview_report(run)` the report as Markdown; `write_report(run)` writes it and names the files; `open_items(run)`
    the checklist items that the evidence leaves unanswered; `asks(run)` what of them a person can state, and
    `state(run, key, value)` keeps such an answer; `look()` what this machine can do, which takes seconds.
    """

    problem: Callable[[str, str], Problem | None] = _no_problem
    prompt: Callable[[Configuration, str], Prompt | None] = _no_prompt
    read: Callable[[Configuration, StoredGeneration], Read] = _whole
    candidate: Callable[[Configuration, str, str], str] = _no_program
    program: Callable[[Configuration, str, str], str] = _no_program
    extractions: Callable[[Configuration, str, str], Sequence[Extracted]] = _no_extractions
    again: Callable[[str, str, int], Again] | None = None
    no_room: Callable[[Configuration], str] = _room
    take_generations: Callable[[Intake], int] | None = None
    preview_report: Callable[[int], str] | None = None
    write_report: Callable[[int], tuple[Path, ...]] | None = None
    open_items: Callable[[int], Sequence[str]] = _no_items
    asks: Callable[[int], Sequence[Ask]] = _no_asks
    state: Callable[[int, str, str], None] | None = None
    look: Callable[[], Sequence[Finding]] | None = None
