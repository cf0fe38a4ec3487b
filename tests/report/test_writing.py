"""Files of a report appear whole or not at all, and a folder that refuses them is named with what to do."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cache.store import Store
from engine.events import Noted
from literature.report.errors import ReportError
from literature.report.writing import csv_text, write_files
from tui import study as studies
from tui.reporting import preview, write_report


def test_a_report_lies_in_its_folder(store: Store, scene: Any, tmp_path: Path) -> None:
    """The formats, the tables and the study lie in the folder, nothing else does.

    The study reads back equal but for the shape that the run decoded in, which a rerun has to keep.
    """
    made = scene()
    run = made.write(store)
    folder = tmp_path / "deep" / "folder"
    paths = write_report(store, run, folder)
    named = [str(path.relative_to(folder)) for path in paths]
    assert [name for name in named if not name.startswith("tables/")] == [
        "report.md", "report.json", "report.html", "report.tex", "study.toml", "ro-crate-metadata.json",
    ]  # fmt: skip
    assert sorted(named) == sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    models = tuple(replace(model, shapes={"f16": "8"}) for model in made.study.models)
    assert studies.read_study(folder / "study.toml") == replace(made.study, models=models)
    assert paths[0].read_text(encoding="utf-8").splitlines()[0] == preview(store, run).splitlines()[0]


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a write fails half-way, what was there before is untouched and no part is left behind."""
    (tmp_path / "report.md").write_text("before", encoding="utf-8")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReportError, match="No space left on device"):
        write_files(tmp_path, {"report.md": b"after"})
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == "before"


def test_a_folder_that_is_a_file_is_one_clear_error(tmp_path: Path) -> None:
    """The error names the path and says to choose another one."""
    place = tmp_path / "taken"
    place.write_text("", encoding="utf-8")
    with pytest.raises(ReportError, match=r"taken: the report cannot be written: .*choose another folder"):
        write_files(place, {"report.md": b""})


def test_written_files_are_readable_as_the_umask_allows(tmp_path: Path) -> None:
    """A report is no private file: its mode is that of any file the user makes."""
    (tmp_path / "plain").write_text("", encoding="utf-8")
    (path,) = write_files(tmp_path, {"report.md": b"x"})
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_text_that_is_no_unicode_is_written_escaped(store: Store, scene: Any, study_of: Any, tmp_path: Path) -> None:
    """A lone surrogate out of a damaged store does not stop the report, in any format."""
    notes = [Noted("info", "a\udce9b")]
    paths = write_report(store, scene(notes=notes).write(store), tmp_path)
    assert "a\\\\udce9b" in paths[0].read_text(encoding="utf-8") or "a\\udce9b" in paths[0].read_text(encoding="utf-8")


def test_csv_quotes_what_it_must() -> None:
    """Separators, quotes and line ends stay in their field; a missing value is an empty one."""
    assert csv_text([{"a": 'x,"y"\n', "c": 1}], ("a", "b", "c")) == 'a,b,c\n"x,""y""\n",,1\n'
