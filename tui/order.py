"""Which configurations the match matrix shows, in which order, and in which groups. No screen in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from engine.scoring import Score
from tui.matches import Matches

SORTS = ("grid order", "nearest match first", "highest score first", "nearest to the chosen score first")
_GROUP = "\x1d"
"""Begins the row key of a group; no configuration id does."""


@dataclass(frozen=True)
class Group:
    """Configurations of one model that share an axis value."""

    axis: str
    value: str
    members: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its row's key."""
        return f"{_GROUP}{self.axis}{_GROUP}{self.value}"


def is_group(key: str) -> bool:
    """True for a group's row."""
    return key.startswith(_GROUP)


def chosen(scores: Mapping[str, Score], keys: Sequence[str], words: Sequence[str]) -> list[str]:
    """Those whose axis values hold every word; a word that is a value means that one: `f16` is not `bf16`."""
    values = {key: [value.casefold() for value in scores[key].axes.values()] for key in keys}
    whole = {word for word in words if any(word in found for found in values.values())}
    return [
        key for key in keys
        if all(word in values[key] if word in whole else word in " ".join(values[key]) for word in words)
    ]  # fmt: skip


def ordered(
    scores: Mapping[str, Score], matches: Matches, model: str, keys: Sequence[str], sort: int, reported: str
) -> list[str]:
    """`keys` in one of `SORTS`; the nearest match is to the reported score `reported`, or to any of the model's."""
    if sort == 1:
        return sorted(keys, key=lambda key: matches.rank(key, model))
    if sort == 2:
        return sorted(keys, key=lambda key: -scores[key].passed / scores[key].asked)
    if sort == 3:
        return sorted(keys, key=lambda key: matches.rank(key, model, reported))
    return list(keys)


def varying(scores: Mapping[str, Score], keys: Sequence[str]) -> list[str]:
    """The axes on which these configurations differ, in grid order."""
    values: dict[str, set[str]] = {}
    for key in keys:
        for axis, value in scores[key].axes.items():
            values.setdefault(axis, set()).add(value)
    return [axis for axis, found in values.items() if len(found) > 1]


def groups(scores: Mapping[str, Score], keys: Sequence[str], axis: str) -> list[Group]:
    """`keys` by their value on an axis; groups and members in the order of `keys`."""
    found: dict[str, list[str]] = {}
    for key in keys:
        found.setdefault(scores[key].axes[axis], []).append(key)
    return [Group(axis, value, tuple(members)) for value, members in found.items()]


def rows(found: Sequence[Group], folded: Collection[str]) -> list[str]:
    """Row keys: each group's own, and below it its members unless it is folded."""
    return [key for group in found for key in (group.key, *(() if group.key in folded else group.members))]


def said(group: Group, scores: Mapping[str, Score], matches: Matches, reported: str, label: str) -> str:
    """What a group's row says: how many are finished, the span of their scores, how many are consistent."""
    done = [scores[key] for key in group.members if scores[key].finished]
    text = f"{len(done)}/{len(group.members)} done"
    if done:
        counts = [score.passed for score in done]
        span = str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        text += f" · {span} of {done[0].asked}"
    if label:
        cells = [cell for key in group.members if (cell := matches.cell(key, reported)) is not None]
        text += f" · {sum(cell.matches for cell in cells)} consistent with {label}"
    return text
