"""The files of a report in the formats asked for, with the study that runs it all again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from literature.report import document, html, latex, markdown
from literature.report.commands import STUDY_FILE
from literature.report.crate import CRATE_FILE, metadata
from literature.report.errors import ReportError
from literature.report.evidence import ReportInput
from literature.report.tables import csv_files
from literature.report.writing import write_files

FORMATS = ("md", "json", "html", "tex", "csv", "pdf")
DEFAULT_FORMATS = FORMATS[:-1]
"""Without the PDF, which takes the user's LaTeX and its time."""
MARKDOWN_FILE, JSON_FILE, HTML_FILE = "report.md", "report.json", "report.html"
LATEX_FILE, PDF_FILE = "report.tex", "report.pdf"


def write(
    given: ReportInput,
    folder: Path,
    made: float,
    formats: Sequence[str] = DEFAULT_FORMATS,
    templates: Path | None = None,
) -> tuple[Path, ...]:
    """Write the formats into `folder`; their paths. `ReportError` names the path or the format, and the remedy."""
    return write_files(folder, contents(given, made, formats, templates))


def contents(
    given: ReportInput, made: float, formats: Sequence[str] = DEFAULT_FORMATS, templates: Path | None = None
) -> dict[str, bytes]:
    """File name -> bytes of every file of the report, made at Unix time `made`; RO-Crate metadata come last."""
    content = document.build(given, made)
    found = {name: _encoded(text) for name, text in texts(content, formats, templates).items()}
    if "pdf" in formats:
        found[PDF_FILE] = latex.pdf(latex.render(content, templates))
    found[STUDY_FILE] = _encoded(given.study)
    found[CRATE_FILE] = _encoded(metadata(content, found))
    return found


def texts(content: Mapping[str, Any], formats: Sequence[str], templates: Path | None = None) -> dict[str, str]:
    """File name -> text of the text formats of a document; `ReportError` when a format is unknown."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise ReportError(f"format {unknown[0]!r} is unknown; expected some of {','.join(FORMATS)}")
    found: dict[str, str] = {}
    if "md" in formats:
        found[MARKDOWN_FILE] = markdown.render(content, templates)
    if "json" in formats:
        found[JSON_FILE] = json_text(content)
    if "html" in formats:
        found[HTML_FILE] = html.render(content, templates)
    if "tex" in formats:
        found[LATEX_FILE] = latex.render(content, templates)
    if "csv" in formats:
        found.update(csv_files(content))
    return found


def preview(given: ReportInput, made: float) -> str:
    """The Markdown alone."""
    return markdown.render(document.build(given, made))


def json_text(content: Mapping[str, Any]) -> str:
    """A document as JSON text."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def schema() -> dict[str, Any]:
    """The published JSON schema of report.json (draft 2020-12)."""
    text = (files("literature.report") / "report.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _encoded(text: str) -> bytes:
    # Half a surrogate pair out of a damaged store has no UTF-8: it is shown by its number.
    return text.encode("utf-8", "backslashreplace")
