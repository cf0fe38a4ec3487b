"""What a table's columns are read as, and what becomes of it when the user says otherwise; no screen in it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from literature.errors import TableError
from tui.remembered import remembered_path
from tui.table_import import CHOICES, LEFT_OUT, SCORES, TableImport

WIDE = """# Results

| Modell | HumanEvalFix pass@1 [21] | MBPP | Jahr |
|---|---|---|---|
| M1 | 30.5 | 40.1 | 2023 |
| M2 | 28 | - | 2024 |

| Modell | Preis |
|---|---|
| M1 | cheap |
| M2 | dear |
"""
ROLES = [role for role, _, _ in CHOICES]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A document of two tables, one of scores and one of something else."""
    path = tmp_path_factory.mktemp("tables") / "wide.md"
    path.write_text(WIDE)
    return str(path)


def test_columns_of_every_table_are_listed_once(wide):
    """Each header with its first texts and what it is read as."""
    table = TableImport(wide)
    found = {column.header: column for column in table.columns()}
    assert list(found) == ["Modell", "HumanEvalFix pass@1 [21]", "MBPP", "Jahr", "Preis"]
    assert found["Modell"].role == "model" and found["MBPP"].role == SCORES
    assert found["Preis"].examples == ("cheap", "dear")


def test_a_column_that_is_left_out_gives_neither_scores_nor_complaints(wide):
    """A year is no score; its places are not listed as unread either."""
    table = TableImport(wide)
    before = len(table.scores)
    assert any("2023" in found.text or "2024" in found.text for found in table.unread)
    table.choose("Jahr", LEFT_OUT)
    table.choose("Preis", LEFT_OUT)
    assert len(table.scores) == before == 3
    assert [(score.benchmark, score.value, score.sources) for score in table.scores] == [
        ("HumanEvalFix", "30.5", ("21",)), ("MBPP", "40.1", ()), ("HumanEvalFix", "28", ("21",)),
    ]  # fmt: skip
    table.forget("Jahr")
    assert any("202" in found.text for found in table.unread)


def test_a_stated_setting_belongs_to_one_column(wide):
    """Saying it of another column takes it from the first."""
    table = TableImport(wide)
    table.choose("MBPP", "samples")
    table.choose("Jahr", "samples")
    roles = {column.header: column.role for column in table.columns() if column.chosen}
    assert roles == {"Jahr": "samples"} and not table.problem
    assert {score.stated.get("samples") for score in table.scores} == {"2023", "2024"}


def test_what_holds_for_all_rows_gives_way_to_a_column(wide):
    """A constant stands for a role until a column is given that role, or until it is taken back."""
    table = TableImport(wide)
    table.hold("benchmark", "mine")
    assert {score.benchmark for score in table.scores} == {"mine"}
    table.choose("Jahr", "benchmark")
    assert table.constants == {} and {score.benchmark for score in table.scores} == {"2023", "2024"}
    table.forget("Jahr")
    table.hold("benchmark", "")
    assert "mine" not in {score.benchmark for score in table.scores}


def test_what_was_said_of_columns_holds_for_the_next_table_with_these_headers(tmp_path):
    """In whatever order they stand; not for another set, and no longer once nothing is said."""
    first, moved, other = tmp_path / "first.csv", tmp_path / "moved.csv", tmp_path / "other.csv"
    first.write_text("zzm,zzv,zzb\nM1,30.5,humaneval\n")
    moved.write_text("zzb,zzm,zzv\nmbpp,M2,40\n")
    other.write_text("zzm,zzv\nM3,50\n")
    table = TableImport(str(first))
    assert not table.recalled and [score.benchmark for score in table.scores] != ["humaneval"]
    for header, role in (("zzm", "model"), ("zzv", "value"), ("zzb", "benchmark")):
        table.choose(header, role)
    assert TableImport(str(moved)).chosen == {}, "only what is kept is remembered"
    table.remember()
    again = TableImport(str(moved))
    assert again.recalled and again.chosen == {"zzm": "model", "zzv": "value", "zzb": "benchmark"}
    assert [(score.model, score.benchmark, score.value) for score in again.scores] == [("M2", "mbpp", "40")]
    assert TableImport(str(other)).chosen == {}
    for header in again.headers:
        again.forget(header)
    again.remember()
    assert not TableImport(str(first)).recalled


@pytest.mark.parametrize(
    "text",
    ["", "7", "{", '{"columns": 3}', '{"columns": [{"headers": ["zzm"], "roles": 4}]}',
     '{"columns": [{"headers": ["zzm", "zzv"], "roles": {"zzm": "colour", "gone": "model"}}]}'],
)  # fmt: skip
def test_what_cannot_be_remembered_is_passed_over(tmp_path, text):
    """Another version's file, or one edited by hand, spoils no import."""
    remembered_path().parent.mkdir(parents=True, exist_ok=True)
    remembered_path().write_text(text)
    path = tmp_path / "a.csv"
    path.write_text("zzm,zzv\nM1,30.5\n")
    table = TableImport(str(path))
    assert table.chosen == {} and not table.recalled
    table.choose("zzm", "model")
    table.remember()
    assert TableImport(str(path)).chosen == {"zzm": "model"}


def test_a_missing_or_empty_file_is_refused(tmp_path):
    """Before any preview."""
    (tmp_path / "empty.csv").write_text("")
    for name in ("missing.csv", "empty.csv"):
        with pytest.raises(TableError, match=name):
            TableImport(str(tmp_path / name))


def test_a_file_that_holds_scores_as_such_has_no_columns(tmp_path):
    """Nothing to map; the scores are there."""
    path = tmp_path / "results.json"
    path.write_text('{"results": {"humaneval": {"pass@1": 0.475}}, "config": {"model": "m"}}')
    table = TableImport(str(path))
    assert table.columns() == [] and (table.scores or table.problem)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([*ROLES, "forget"])), max_size=8))
def test_whatever_is_chosen_leaves_a_preview_or_a_reason(wide, steps):
    """No sequence of choices ends in anything but scores or one sentence."""
    table = TableImport(wide)
    headers = [column.header for column in table.columns()]
    for index, role in steps:
        table.forget(headers[index]) if role == "forget" else table.choose(headers[index], role)
        assert bool(table.scores) != bool(table.problem)
        assert [column.header for column in table.columns()] == headers
