"""What every reader of a rectangular table hands on: rows of cells that know where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from literature.errors import TableError
from literature.records import ReportedScore


@dataclass(frozen=True)
class Cell:
    """The text of one cell and where it stands in the file: `line` and `column` (field of the row) from 1."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Grid:
    """A header row and the rows below it, as cells; `sheet` names the part of a file where lines begin anew.

    `unread` is what of the file is no row: (place, text, reason).
    """

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sheet: str = ""
    unread: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Records:
    """Scores that a structured file holds as such, and what of it gave none: (place, text, reason)."""

    scores: tuple[ReportedScore, ...]
    unread: tuple[tuple[str, str, str], ...] = ()


def decode(data: bytes, file: str) -> str:
    """The text of a file: UTF-8, or UTF-16 with its mark; `TableError` names the first byte that is neither."""
    if not data.strip():
        raise TableError("the file is empty", file=file, expected="a header line and rows", remedy="check the path")
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        raise TableError("UTF-32 text", file=file, expected="UTF-8 or UTF-16", remedy="save the table as UTF-8")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise TableError("broken UTF-16 text", file=file, remedy="save the table as UTF-8") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise TableError(
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            file=file, line=line, column=column, expected="UTF-8 text", remedy="save the table as UTF-8",
        ) from None  # fmt: skip
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise TableError(
            "the file is not text (it holds a NUL)", file=file, line=line, expected="a table as text",
            remedy="export it as CSV",
        )  # fmt: skip
    return text


def as_grid(rows: Sequence[Sequence[Cell]], file: str) -> Grid:
    """The first row that is not blank as header, the rest as rows; `TableError` when there is nothing below it."""
    filled = [tuple(row) for row in rows if any(cell.text.strip() for cell in row)]
    if not filled:
        raise TableError("no table in it", file=file, expected="a header and rows", remedy="check the file")
    if len(filled) == 1:
        line = filled[0][0].line
        raise TableError("a header but no row", file=file, line=line, expected="one row a score", remedy="add the rows")
    return Grid(filled[0], tuple(filled[1:]))


def unused_block(text: str) -> int:
    """The first of 128 private-use characters in a row of which `text` holds none."""
    used = {ord(char) // 128 for char in set(text) if char >= "\ue000"}
    blocks: list[int] = [*range(0xE000 // 128, 0xF800 // 128), 0xF0000 // 128]
    return 128 * next(block for block in blocks if block not in used)


@lru_cache(maxsize=64)
def shown_again(base: int) -> dict[int, str]:
    """For `str.translate`: printable ASCII that stands from `base` on, back as itself."""
    return {base + code: chr(code) for code in range(33, 127)}


def joined_header(rows: Sequence[Sequence[Cell]]) -> tuple[Cell, ...]:
    """One header from its rows: the distinct texts of a column from top to bottom, at the place of the first row."""
    columns = []
    for column in range(max(map(len, rows))):
        texts = dict.fromkeys(row[column].text for row in rows if column < len(row) and row[column].text)
        columns.append(Cell(" ".join(texts), next((row[0].line for row in rows if row), 1), column + 1))
    return tuple(columns)
