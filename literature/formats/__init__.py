"""Readers of tables of reported scores, one file each, chosen by a file's name and what it holds."""

from __future__ import annotations

import re
import zlib
from pathlib import PurePath

from literature.errors import TableError
from literature.formats.grid import Grid, Records, decode

MOST_BYTES = 512 * 1024 * 1024
_SEPARATOR_ROW = re.compile(
    r"^[ \t]*+\|?+[ \t]*+:?-{2,}+:?[ \t]*+(?:\|[ \t]*+:?-{2,}+:?[ \t]*+)++\|?[ \t]*+$", re.MULTILINE
)


def read_any(data: bytes, file: str) -> list[Grid | Records]:
    """Everything in a file that may hold scores, by the reader that its name or its content calls for.

    CSV, TSV, Markdown, LaTeX, HTML, XLSX, JSON results and dumps, model cards and `.eval_results`; each also gzipped.
    `TableError` when the file holds no table.
    """
    name = PurePath(file).name.casefold()
    if data.startswith(b"\x1f\x8b"):
        data, name = _unzipped(data, file), name.removesuffix(".gz")
    if name.endswith((".xlsx", ".xlsm")) or data.startswith(b"PK\x03\x04"):
        from literature.formats import spreadsheet

        return list(spreadsheet.read(data, file))
    text = decode(data, file)
    return _read(_kind(name, text), text, file)


def _kind(name: str, text: str) -> str:
    """The reader for a text. The name comes first: a model may be called "<table" in a CSV file."""
    if name.endswith((".csv", ".tsv")):
        return "delimited"
    if name.endswith(".tex") and "\\begin{" in text:
        return "latex"
    if name.endswith(".md") and not text.startswith("---") and _SEPARATOR_ROW.search(text):
        return "markdown"
    if name.endswith((".json", ".jsonl")) or text.lstrip()[:1] in ("{", "["):
        return "results"
    if name.endswith((".yaml", ".yml")):
        return "yaml"
    if text.startswith("---") and ("model-index" in text or "reference_scores" in text):
        return "card"
    if "\\begin{" in text and "&" in text:
        return "latex"
    if "<table" in text.casefold():
        return "html"
    return "markdown" if _SEPARATOR_ROW.search(text) else "delimited"


def _read(kind: str, text: str, file: str) -> list[Grid | Records]:
    """A reader is loaded when it is needed: together they take longer than reading a small table."""
    if kind == "results":
        from literature.formats import results

        return [results.read(text, file)]
    if kind in ("yaml", "card"):
        from literature.formats import cards

        if kind == "yaml":
            return [cards.read_yaml(text, file)]
        tables = _read("markdown", text, file) if _SEPARATOR_ROW.search(text) else []
        return [cards.read_card(text, file), *tables]
    if kind == "latex":
        from literature.formats import latex

        return list(latex.read(text, file))
    if kind == "html":
        from literature.formats import html

        return list(html.read(text, file))
    if kind == "markdown":
        from literature.formats import markdown

        return list(markdown.read(text, file))
    from literature.formats import delimited

    return [delimited.read_text(text, file)]


def _unzipped(data: bytes, file: str) -> bytes:
    """What a gzip file holds, all its members one after the other."""
    found = b""
    while data.startswith(b"\x1f\x8b"):
        stream = zlib.decompressobj(wbits=31)
        try:
            found += stream.decompress(data, MOST_BYTES - len(found) + 1)
        except zlib.error as error:
            raise TableError(f"broken gzip ({error})", file=file, remedy="fetch it again") from None
        if len(found) > MOST_BYTES:
            raise TableError(
                "unpacks to more than 512 MiB", file=file, expected="a table", remedy="unpack and filter it first"
            )
        if not stream.eof:
            raise TableError("the gzip ends in the middle", file=file, remedy="fetch it again")
        data = stream.unused_data
    return found
