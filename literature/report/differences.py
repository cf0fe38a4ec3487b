"""Where two texts or two documents of a report differ, and by what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Row = tuple[str, str, str]
"""(place, as told, as found)."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")
LONGEST = 120
NOTHING = "nothing"


def values_that_differ(told: Any, found: Any, place: str = "$") -> Iterator[Row]:
    """Leaves of two JSON values that differ, with their JSON paths."""
    if isinstance(told, dict) and isinstance(found, dict):
        for key in dict.fromkeys((*told, *found)):
            yield from _pair(told, found, key, f"{place}.{key}")
    elif isinstance(told, list) and isinstance(found, list):
        before, after = dict(enumerate(told)), dict(enumerate(found))
        for index in range(max(len(told), len(found))):
            yield from _pair(before, after, index, f"{place}[{index}]")
    elif told != found or isinstance(told, bool) != isinstance(found, bool):
        yield place, shortened(told), shortened(found)


def _pair(told: dict[Any, Any], found: dict[Any, Any], key: Any, place: str) -> Iterator[Row]:
    if key not in told:
        yield place, NOTHING, shortened(found[key])
    elif key not in found:
        yield place, shortened(told[key]), NOTHING
    else:
        yield from values_that_differ(told[key], found[key], place)


def lines_that_differ(told: str, found: str) -> Iterator[Row]:
    """Lines that differ, by their number."""
    before, after = told.split("\n"), found.split("\n")
    for number in range(max(len(before), len(after))):
        one = before[number] if number < len(before) else NOTHING
        other = after[number] if number < len(after) else NOTHING
        if one != other:
            yield f"line {number + 1}", shortened(one), shortened(other)


def numbers_missing(told: str, known: str) -> Iterator[Row]:
    """Numbers of a text that another text does not hold, with their lines."""
    there = set(NUMBER.findall(known))
    for number, line in enumerate(told.split("\n"), 1):
        for one in NUMBER.findall(line):
            if one not in there:
                yield f"line {number}", one, NOTHING


def shortened(value: object) -> str:
    """A value as text, not too long for a line."""
    text = value if isinstance(value, str) else repr(value)
    return repr(text) if len(text) <= LONGEST else f"{text[:LONGEST]!r}..."
