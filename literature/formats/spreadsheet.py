"""XLSX sheets: numbers as the sheet shows them, so that 28.0 stays 28.0 and 0.475 formatted as percent is 47.5 %."""

from __future__ import annotations

import importlib
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from literature.errors import TableError
from literature.formats.grid import Cell, Grid, joined_header

_FORMULA = re.compile(rb"<f[ />]")
_FORMAT = re.compile(r"[#0,]*0(?:\.(0+))?(%?)")


def read(data: bytes, file: str) -> list[Grid]:
    """One grid a sheet that holds a header and a row; needs openpyxl; `TableError` says what to do without it."""
    try:
        openpyxl: Any = importlib.import_module("openpyxl")
    except ImportError:
        raise TableError(
            "XLSX needs openpyxl", file=file, expected="CSV, or openpyxl", remedy="pip install openpyxl, or save as CSV"
        ) from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
        formulas = openpyxl.load_workbook(io.BytesIO(data)) if _has_formulas(data) else None
    except Exception as error:
        # openpyxl lets through whatever zip, XML and its own classes raise at a broken file.
        raise TableError(
            f"no readable workbook ({type(error).__name__}: {error})", file=file, expected="an XLSX file",
            remedy="save it as CSV",
        ) from error  # fmt: skip
    sheets = [(sheet.title, _grid(sheet, formulas)) for sheet in book.worksheets]
    found = [(title, grid) for title, grid in sheets if grid is not None]
    if not found:
        raise TableError("no sheet with a header and a row", file=file, expected="one row a score")
    return [replace(grid, sheet=title if len(found) > 1 else "") for title, grid in found]


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        return any(_FORMULA.search(archive.read(name)) for name in sheets)


def _grid(sheet: Any, formulas: Any) -> Grid | None:
    """The rows of a sheet that hold something, merged cells filled; None without a header and a row."""
    merged = list(sheet.merged_cells.ranges)
    owner = {place: (area.min_row, area.min_col) for area in merged for place in area.cells}
    rows = []
    for cells in sheet.iter_rows():
        row = []
        for cell in cells:
            line, column = owner.get((cell.row, cell.column), (cell.row, cell.column))
            source = sheet.cell(line, column)
            text = shown(source.value, source.number_format)
            if not text and formulas is not None:
                # Nothing has calculated it yet: the formula itself says where, and is no score.
                text = shown(formulas[sheet.title].cell(line, column).value, "General")
            row.append(Cell(text, cell.row, cell.column))
        if any(cell.text for cell in row):
            rows.append(tuple(row))
    if not rows:
        return None
    last = _last_of_header(rows[0][0].line, merged)
    header, below = [row for row in rows if row[0].line <= last], [row for row in rows if row[0].line > last]
    return Grid(joined_header(header), tuple(below)) if below else None


def _last_of_header(first: int, merged: Sequence[Any]) -> int:
    """The last line of the header: where its merged cells end, or one below where one of them spans columns only."""
    areas = [area for area in merged if area.min_row == first]
    wide = any(area.max_col > area.min_col and area.max_row == first for area in areas)
    return int(max([first + wide, *(area.max_row for area in areas)]))


def shown(value: Any, number_format: str) -> str:
    """What the sheet shows for a cell: a number by its format's decimals and percent sign, other values as text."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).strip()
    exact = Decimal(repr(value))
    match = _FORMAT.fullmatch(number_format.split(";")[0].strip())
    if match is None:
        return format(exact.normalize() if exact == exact.to_integral() else exact, "f")
    exact = exact * 100 if match[2] else exact
    rounded = exact.quantize(Decimal(1).scaleb(-len(match[1] or "")), rounding=ROUND_HALF_UP)
    return format(rounded, "f") + match[2]
