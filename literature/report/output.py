"""The files of a report: Markdown, JSON, the scores as CSV, and the study that runs it all again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from literature.report import document, markdown
from literature.report.commands import STUDY_FILE
from literature.report.evidence import ReportInput
from literature.report.measured import CSV_COLUMNS, csv_rows
from literature.report.writing import csv_text, write_files

MARKDOWN_FILE, JSON_FILE, CSV_FILE = "report.md", "report.json", "scores.csv"


def write(given: ReportInput, folder: Path, made: float) -> tuple[Path, ...]:
    """Write all files into `folder`; their paths. `ReportError` names the path and the remedy."""
    return write_files(folder, texts(given, made))


def texts(given: ReportInput, made: float) -> dict[str, str]:
    """File name -> text of every file of the report, made at Unix time `made`."""
    content = document.build(given, made)
    return {
        MARKDOWN_FILE: markdown.render(content),
        JSON_FILE: json_text(content),
        CSV_FILE: csv_text(csv_rows(content["scores"]), CSV_COLUMNS),
        STUDY_FILE: given.study,
    }


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
