"""How a reported score is asked for in a form, and how a table is asked for, looked at and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from literature.records import ReportedScore
from tui.own_table import read_score, write_states
from tui.reading import shipped
from tui.screens.file import TABLES, FileScreen
from tui.screens.form import Field

if TYPE_CHECKING:
    from tui.app import ScoretraceApp
    from tui.table_import import TableImport


def ask_table(root: ScoretraceApp, kept: Callable[[str], None]) -> None:
    """Ask for a table: one that ships is added as it is, a file is shown first; `kept` gets what was done."""
    from tui.screens.table_import import TableImportScreen
    from tui.table_import import TableImport

    opened: list[TableImport] = []

    def accept(text: str) -> str:
        if text in shipped():
            return root.import_table(text)
        opened.append(TableImport(str(Path(text).expanduser())))
        return ""

    def done(said: str | None) -> None:
        if said:
            kept(said)
        elif opened and said is not None:
            root.push_screen(TableImportScreen(opened[-1], kept))

    hint = "CSV, TSV, XLSX, Markdown, LaTeX, HTML or JSON; or a table that ships"
    root.push_screen(FileScreen("Import a table", hint, TABLES, accept, shipped()), done)


def score_fields(score: ReportedScore) -> list[Field]:
    """The lines in which a reported score is written."""
    return [
        Field("model", "model", score.model, "name as the source prints it"),
        Field("benchmark", "benchmark", score.benchmark, "e.g. humanevalfix-python"),
        Field("metric", "metric", score.metric, "pass@1"),
        Field("value", "value", score.printed or score.value, "as printed: 28 is not 28.0"),
        Field("sources", "sources", " ".join(score.sources), "e.g. 16 22, or a name"),
        Field("states", "states", write_states(score), "what the source says: T=0.2, n=20; prompt=instruct"),
    ]


def read_fields(answers: Mapping[str, str], old: ReportedScore | None) -> ReportedScore:
    """The score that a form's answers spell; `old` is the one that is corrected."""
    found = read_score(**answers, place=old.place if old else "")
    if old is None:
        return found
    # Text that was left alone keeps exactly what the source states, however it reads in one line.
    states = old.stated if answers["states"] == write_states(old) else found.stated
    return replace(found, stated=states, introduced_by=old.introduced_by)
