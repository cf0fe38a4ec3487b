"""Pipe tables of Markdown documents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from literature.cells import LONGEST
from literature.errors import TableError
from literature.formats.grid import Cell, Grid, shown_again, unused_block
from literature.formats.html import raised_text

_SEPARATOR = re.compile(r"\|?+\s*+:?-{2,}+:?\s*+(?:\|\s*+:?-{2,}+:?\s*+)*+\|?")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]*(?:\([^()]*\)[^()]*)*\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~|`)(.+?)\1")
_RAISED = re.compile(r"<sup>.*?</sup>|<sub>.*?</sub>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPECIAL = re.compile(r"[\\`*_~|\[\]<>]")


def read(text: str, file: str) -> list[Grid]:
    """Every pipe table with at least one row; `TableError` when there is none."""
    lines = text.splitlines()
    # Escaped punctuation waits among characters that the text has not, while markup is undone.
    base = unused_block(text)
    found: list[Grid] = []
    for index, line in enumerate(lines[1:], start=1):
        if "|" in lines[index - 1] and "|" in line and _SEPARATOR.fullmatch(line.strip()):
            rows = []
            below = index + 1
            while below < len(lines) and "|" in lines[below]:
                rows.append(_cells(lines[below], below + 1, base))
                below += 1
            if rows:
                found.append(Grid(_cells(lines[index - 1], index, base), tuple(rows)))
    if not found:
        raise TableError("no pipe table with rows", file=file, expected="| model | value |", remedy="add the table")
    return found


def _cells(line: str, number: int, base: int) -> tuple[Cell, ...]:
    hidden = _ESCAPED.sub(lambda found: chr(base + ord(found[1])), line.strip())
    shown = shown_again(base)
    parts = hidden.removeprefix("|").removesuffix("|").split("|")
    return tuple(Cell(plain(part).translate(shown), number, column) for column, part in enumerate(parts, start=1))


def plain(text: str) -> str:
    """A cell without emphasis, links (text stays), raised marks and tags; as it is when too long for scores."""
    if len(text) > LONGEST:
        return text
    text = _BREAK.sub(", ", _RAISED.sub(lambda found: raised_text(_TAG.sub("", found[0])), text))
    text = _LINK.sub(r"\1", text)
    for _ in range(3):
        text = _EMPHASIS.sub(r"\2", text)
    text = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"\1", text)
    return _TAG.sub("", text).strip()


def written(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first of them the header, as one pipe table; reading it gives the same cells."""
    lines = [[_SPECIAL.sub(r"\\\g<0>", cell) for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(rows[0]))
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
