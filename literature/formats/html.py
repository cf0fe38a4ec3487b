"""HTML tables, with rowspan and colspan."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from literature.errors import TableError
from literature.formats.grid import Cell, Grid, joined_header

MOST_SPAN = 200
_DEVIATION_OR_CITATION = re.compile(r"(?:±|\+/-|\+-)[^<>]*|(?:\[[^\[\]]*\]\s*)+")


class _Tables(HTMLParser):
    """Collects tables as rows of (text, line, is header, rowspan, colspan); nested tables are read as their own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[tuple[str, int, bool, int, int]]]] = []
        self._open: list[list[list[tuple[str, int, bool, int, int]]]] = []
        self._cell: tuple[int, bool, int, int] | None = None
        self._text: list[str] = []
        self._skip = 0
        self._raised: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._close_cell()
            self._open.append([])
        elif tag == "tr" and self._open:
            self._close_cell()
            self._open[-1].append([])
        elif tag in ("td", "th") and self._open:
            self._close_cell()
            values = dict(attrs)
            self._cell = (self.getpos()[0], tag == "th", _span(values.get("rowspan")), _span(values.get("colspan")))
        elif tag in ("sup", "sub", "script", "style"):
            self._skip += 1
        elif tag == "br":
            self._text.append(", ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr"):
            self._close_cell()
        elif tag in ("sup", "sub", "script", "style"):
            self._skip = max(0, self._skip - 1)
            if not self._skip:
                self._text.append(raised_text("".join(self._raised)))
                self._raised = []
        elif tag == "table" and self._open:
            self._close_cell()
            self.tables.append(self._open.pop())

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            (self._raised if self._skip else self._text).append(data)

    def _close_cell(self) -> None:
        if self._cell is not None and self._open:
            if not self._open[-1]:
                self._open[-1].append([])
            line, header, rows, columns = self._cell
            self._open[-1][-1].append((" ".join("".join(self._text).split()), line, header, rows, columns))
        self._cell, self._text, self._raised, self._skip = None, [], [], 0


def raised_text(text: str) -> str:
    """What of a raised or lowered text belongs to a score: a deviation or a citation; "" for a footnote mark."""
    return f" {text.strip()}" if _DEVIATION_OR_CITATION.fullmatch(text.strip()) else ""


def _span(text: str | None) -> int:
    return min(MOST_SPAN, max(1, int(text))) if text and text.strip().isdecimal() else 1


def read(text: str, file: str) -> list[Grid]:
    """Every table with a header and a row; `TableError` when there is none."""
    parser = _Tables()
    parser.feed(without_comments(text))
    parser.close()
    found = [grid for table in parser.tables if (grid := _grid(table)) is not None]
    if not found:
        raise TableError("no table with rows", file=file, expected="<table> with <tr>", remedy="check the file")
    return found


def without_comments(text: str) -> str:
    """The text with comments blanked (line breaks kept); the parser is slow where one is never closed."""
    parts, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start + 4)
        stop = end + 3 if end >= 0 else len(text)
        parts += [text[position:start], "\n" * text.count("\n", start, stop)]
        position = stop
    return "".join([*parts, text[position:]])


def _grid(table: list[list[tuple[str, int, bool, int, int]]]) -> Grid | None:
    heads = 0
    for row in table:
        if not row or not all(header for _, _, header, _, _ in row):
            break
        heads += 1
    rows = _spread(table)
    heads = max(1, heads)
    if len(rows) <= heads:
        return None
    if not any(rows[:heads]):
        return None
    return Grid(joined_header(rows[:heads]), tuple(tuple(row) for row in rows[heads:] if row))


def _spread(table: list[list[tuple[str, int, bool, int, int]]]) -> list[list[Cell]]:
    """Rows with every spanned place filled by the spanning cell's text."""
    pending: dict[int, tuple[str, int]] = {}
    rows: list[list[Cell]] = []
    for source in table:
        row: list[Cell] = []
        line = source[0][1] if source else 1
        cells = list(source)
        while cells or len(row) in pending:
            column = len(row)
            if column in pending:
                text, left = pending.pop(column)
                row.append(Cell(text, line, column + 1))
                if left > 1:
                    pending[column] = (text, left - 1)
                continue
            text, at, _, tall, wide = cells.pop(0)
            for _ in range(wide):
                if tall > 1:
                    pending[len(row)] = (text, tall - 1)
                row.append(Cell(text, at, len(row) + 1))
        rows.append(row)
    return rows
