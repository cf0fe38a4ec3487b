"""XLSX sheets: numbers as the sheet shows them, so that 28.0 stays 28.0 and 0.475 formatted as percent is 47.5 %."""

from __future__ import annotations

import importlib
import io
import re
import zipfile
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from literature.errors import TableError
from literature.formats.grid import Cell, Grid

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
    except (openpyxl.utils.exceptions.InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise TableError(
            f"no readable workbook ({error})", file=file, expected="an XLSX file", remedy="save it as CSV"
        ) from None
    found = []
    for sheet in book.worksheets:
        rows = [
            tuple(Cell(shown(cell.value, cell.number_format), cell.row, cell.column) for cell in row)
            for row in sheet.iter_rows()
        ]
        filled = [row for row in rows if any(cell.text for cell in row)]
        if len(filled) > 1:
            found.append(Grid(filled[0], tuple(filled[1:])))
    if not found:
        raise TableError("no sheet with a header and a row", file=file, expected="one row a score")
    return found


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
