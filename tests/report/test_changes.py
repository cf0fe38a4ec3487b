"""Two reports compared: every difference that matters is named, and equal reports have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cache.store import Store
from engine.settings import Decoding, Grid
from literature.report import document, output
from literature.report.changes import SECTIONS, changes, contents, lines, read_report
from literature.report.errors import ReportError
from tui.reporting import collect


@pytest.fixture
def built(store: Store, scene: Any) -> Any:
    """The document of a run with changes."""
    return lambda **changed: document.build(collect(store, scene(**changed).write(store)), 1.7e9)


def test_equal_runs_differ_in_nothing(built: Any) -> None:
    """The same study run twice with the same facts: no section has a row, all scores agree."""
    found = changes(built(), built())
    assert [found[section] for section in SECTIONS] == [[]] * len(SECTIONS)
    assert (found["scores_equal"], found["scores_in_both"]) == (2, 2)
    assert next(iter(lines(found))) == "2 of 2 scores that both reports have are equal"


def test_scores_settings_and_environment_that_changed_are_named(
    built: Any, scene: Any, study_of: Any, card_of: Any
) -> None:
    """Another count, another file, another axis value and another processor each make one row with both values."""
    grid = Grid(benchmark=study_of().grid.benchmark, template=("chat",), decoding=(Decoding(), Decoding(0.8)))
    recorded = scene().provenance
    recorded["lives"][0]["environment"]["cpu"] = "Other CPU"
    other = built(passing=(0, 1), study=study_of(grid=grid), card=card_of(sha256="99" * 32), provenance=recorded)
    found = changes(built(), other)
    scores = {row["before"]: row["after"] for row in found["scores"]}
    assert scores == {"1/4": "2/4 (+1 of 4)", "20/80": "not there", "not there": "2/4"}
    settings = {(row["of"], row["what"]): (row["before"], row["after"]) for row in found["settings"]}
    assert settings["grid", "decoding"] == ("greedy, T=0.2", "greedy, T=0.8")
    assert settings["small, f16", "sha256"] == ("ab" * 32, "99" * 32)
    (machine,) = found["environment"]
    assert (machine["what"], machine["before"], machine["after"]) == ("processor", "Some CPU", "Other CPU")
    assert next(row["what"] for row in found["checklist"]) == "Precision as released"
    made = contents(found)
    assert json.loads(made["changes.json"]) == found
    assert "| processor | Some CPU | Other CPU |" in made["changes.md"].decode()


def test_a_report_is_read_from_its_folder_or_named(built: Any, tmp_path: Path) -> None:
    """A folder stands for the report.json in it; what is no report is refused by name."""
    (tmp_path / "report.json").write_text(output.json_text(built()), encoding="utf-8")
    assert read_report(tmp_path) == read_report(tmp_path / "report.json")
    (tmp_path / "other.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ReportError, match=r"other\.json: is no report"):
        read_report(tmp_path / "other.json")
    with pytest.raises(ReportError, match=r"gone\.json: cannot be read"):
        read_report(tmp_path / "gone.json")
    (tmp_path / "later.json").write_text(json.dumps({**built(), "version": 9}), encoding="utf-8")
    with pytest.raises(ReportError, match="version 9; this Scoretrace reads 1"):
        read_report(tmp_path / "later.json")
