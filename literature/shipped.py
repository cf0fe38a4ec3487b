"""The tables that ship with the product, and the facts beside them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

SIDECARS = ("_sources", "_measured")
NOT_TABLES = frozenset({"known_causes", "harness_defaults"})


def data_folder() -> Traversable:
    """Where the shipped data lie."""
    return files("literature") / "data"


def shipped_tables() -> dict[str, Traversable]:
    """Name -> file of each table of reported scores that ships: `humanevalfix`, `mbpp_deepseekcoder`."""
    return {
        name: entry
        for entry in sorted(data_folder().iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".csv")
        and not (name := entry.name.removesuffix(".csv")).endswith(SIDECARS)
        and name not in NOT_TABLES
    }


@dataclass(frozen=True)
class StudyMeasured:
    """A score, or a span of scores, that a study printed from its own runs; percent as text, "" where unknown."""

    model: str
    setting: str
    low: str
    high: str
    note: str


@dataclass(frozen=True)
class KnownCause:
    """A public thread in which a score did not reproduce, and what the difference was put down to."""

    thread: str
    model: str
    benchmark: str
    reported: str
    measured: str
    axis: str
    cause: str


@lru_cache(maxsize=8)
def study_measured(name: str) -> tuple[StudyMeasured, ...]:
    """What the study behind the shipped table `name` measured itself; empty when nothing ships."""
    return tuple(StudyMeasured(**row) for row in rows_of(f"{name}_measured.csv"))


@lru_cache(maxsize=1)
def known_causes() -> tuple[KnownCause, ...]:
    """Public threads on scores that did not reproduce, in the file's order."""
    return tuple(KnownCause(**row) for row in rows_of("known_causes.csv"))


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of a shipped CSV file, header -> text; none where it does not ship."""
    entry = data_folder() / name
    if not entry.is_file():
        return []
    return list(csv.DictReader(io.StringIO(entry.read_text(encoding="utf-8"), newline="")))
