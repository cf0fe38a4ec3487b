"""CSV and TSV, as text: no field is ever turned into a float."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from literature.errors import TableError
from literature.formats.grid import Cell, Grid, as_grid

DELIMITERS = (",", ";", "\t", "|")


def read_text(text: str, file: str) -> Grid:
    """Read fields separated by comma, semicolon, tab or bar, by the first line; `TableError` for bad quotes."""
    if len(text) > csv.field_size_limit():
        csv.field_size_limit(len(text))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    rows: list[list[Cell]] = []
    line = 1
    try:
        for fields in reader:
            rows.append([Cell(field.strip(), line, column) for column, field in enumerate(fields, start=1)])
            line = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"malformed from here on ({error})", file=file, line=line, column=1,
            expected="quotes closed and doubled inside quotes", remedy="correct this row",
        ) from None  # fmt: skip
    return as_grid(rows, file)


def delimiter_of(text: str) -> str:
    """The separator that the first line which is not blank holds most of, outside quotes and brackets."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    outside, depth, quoted = [], 0, False
    for char in first:
        quoted ^= char == '"'
        depth += (char == "[") - (char == "]")
        if not quoted and depth <= 0:
            outside.append(char)
    found = max(DELIMITERS, key=outside.count)
    return found if found in outside else ","


def written(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Rows of text as CSV, or TSV with a tab."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue()
