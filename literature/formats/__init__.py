"""Readers of tables of reported scores, one file each, chosen by a file's name and first characters."""

from __future__ import annotations

from literature.formats import delimited
from literature.formats.grid import Grid, Records, decode


def read_any(data: bytes, file: str) -> Grid | Records:
    """Read a file's bytes with the reader that its name or its content calls for; `TableError` when none can."""
    return delimited.read_text(decode(data, file), file)
