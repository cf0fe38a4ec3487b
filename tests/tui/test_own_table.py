"""The study's own table: imported, added and corrected scores, on disk at once, with undo."""

from __future__ import annotations

import pytest
from app_kit import FakeSession, make_study

from literature.errors import ScoreTextError
from literature.shipped import shipped_tables
from literature.table import read_table
from tui.desk import Desk
from tui.errors import TypedError
from tui.own_table import own_path, read_score, read_states, shown_name, write_states
from tui.reading import Literature
from tui.reporting import collect
from tui.study import dumps, loads


def desk_of(**changes):
    """A desk on a study over the shipped table."""
    desk = Desk(FakeSession(), None)
    desk.open_study(make_study(**changes))
    return desk


def the_score(desk, value="48.9"):
    """A reported score of the shipped table by its value."""
    return next(score for entry in desk.literature.entries for score in entry.scores if score.value == value)


def test_a_corrected_value_of_a_shipped_table_is_kept_in_the_own_one():
    """The shipped file is not written; the study reads the own table instead, with every other score as it was."""
    shipped = shipped_tables()["humanevalfix"]
    before = shipped.read_bytes()
    desk = desk_of()
    old = the_score(desk)
    count = sum(len(entry.scores) for entry in desk.literature.entries)
    desk.correct(old, read_score(old.model, old.benchmark, old.metric, "49.8", "27", write_states(old)))
    assert shipped.read_bytes() == before
    assert desk.study.tables == (str(own_path("HumanEvalFix 2025")),)
    kept = read_table(desk.study.tables[0]).scores
    assert len(kept) == count
    assert {score.value for score in kept if score.model == old.model and score.sources == ("27",)} == {"49.8"}
    found = the_score(desk, "49.8")
    assert found.stated == old.stated and found.place == old.place


def test_a_study_opened_again_finds_its_own_table():
    """What an earlier session corrected is there, and the shipped value is not beside it."""
    desk = desk_of()
    old = the_score(desk)
    desk.correct(old, read_score(old.model, old.benchmark, old.metric, "49.8", "27", ""))
    again = desk_of()
    values = [score.value for entry in again.literature.entries for score in entry.scores if entry.model == old.model]
    assert "49.8" in values and "48.9" not in values
    assert Literature().add(again.study.tables[0]) == sum(len(entry.scores) for entry in again.literature.entries)


def test_undo_and_redo_are_on_disk_too():
    """Taking the only change back leaves no file and the shipped table in its place; redo brings both back."""
    desk = desk_of()
    path = own_path(desk.study.name)
    old = the_score(desk)
    desk.correct(old, None)
    assert old.id not in {score.id for score in read_table(path).scores}
    assert "taken away" in desk.undo()
    assert not path.exists() and desk.study.tables == ("humanevalfix",)
    assert the_score(desk) == old
    assert desk.undo() == ""
    assert "taken away" in desk.undo(redo=True)
    assert path.exists() and desk.undo(redo=True) == ""


def test_an_added_score_joins_the_row_of_its_model():
    """One row a model, whichever table says it; adding the same score again changes nothing."""
    desk = desk_of()
    old = the_score(desk)
    rows = len(desk.literature.entries)
    new = read_score(old.model, old.benchmark, old.metric, "28", "me", "T=0.2, n=20")
    assert desk.take_in([new], "added") == 1 and desk.take_in([new], "added") == 0
    assert len(desk.literature.entries) == rows
    entry = next(entry for entry in desk.literature.entries if entry.model == old.model)
    assert [score.label for score in entry.scores][-1] == "28 [me]"
    assert entry.scores[-1].stated == {"temperature": "0.2", "samples": "20"}


def test_the_source_s_own_measurements_stay_with_its_rows():
    """A row that was taken into the own table still says what the table's study measured."""
    desk = desk_of()
    old = the_score(desk)
    entry = next(entry for entry in desk.literature.entries if old in entry.scores)
    told = desk.literature.measured_by_reference(entry)
    desk.correct(old, read_score(old.model, old.benchmark, old.metric, "49.8", "27", ""))
    entry = next(entry for entry in desk.literature.entries if entry.model == old.model)
    assert told and desk.literature.measured_by_reference(entry) == told


def test_two_scores_that_are_the_same_are_refused():
    """Correcting one value into another of the same sources is a mistake."""
    desk = desk_of()
    entry = next(entry for entry in desk.literature.entries if len(entry.scores) > 1)
    first, second = entry.scores[:2]
    with pytest.raises(TypedError, match="is there already"):
        desk.correct(first, second)


def test_the_last_score_of_a_study_stays():
    """A table of one score cannot lose it, for an empty table cannot be read."""
    desk = desk_of(name="empty", tables=())
    desk.take_in([read_score("m", "b", "", "28", "a", "")], "added")
    with pytest.raises(TypedError, match="last score"):
        desk.correct(desk.literature.entries[0].scores[0], None)


@pytest.mark.parametrize("text", ["", "lots", "101", "-1", "12.1, 13.2"])
def test_a_value_that_is_no_score_is_refused(text):
    """One number from 0 to 100."""
    with pytest.raises(ScoreTextError):
        read_score("m", "b", "pass@1", text, "", "")


def test_what_sources_state_reads_back():
    """Short names for temperature and samples; commas inside a text stay."""
    found = read_states("T=0.2, n=20; note=as printed, page 3")
    assert found == {"temperature": "0.2", "samples": "20", "note": "as printed, page 3"}
    score = read_score("m", "b", "", "28", "a", "T=0.2; note=as printed, page 3")
    assert read_states(write_states(score)) == score.stated
    with pytest.raises(TypedError, match="AXIS=VALUE"):
        read_states("greedy")


def test_values_keep_their_text():
    """28 is not 28.0; a fraction of one is kept as printed beside its percentage; sources may stand with the value."""
    assert read_score("m", "b", "", "28.0", "", "").value == "28.0"
    found = read_score("m", "b", "", "0.475", "", "")
    assert (found.value, found.printed) == ("47.5", "0.475")
    assert read_score("m", "b", "", "28 [16,22]", "", "").sources == ("16", "22")
    assert read_score("m", "b", "", "47.6 (78/164)", "", "n=1").stated == {"samples": "1", "count": "78/164"}


def test_a_corrected_value_must_fit_the_count_that_stays():
    """The count is among what the source states: a value that it does not print as is refused, with both."""
    with pytest.raises(ScoreTextError, match="which does not print as 48"):
        read_score("m", "b", "", "48.2", "", "count=78/164")
    assert read_score("m", "b", "", "47.6", "", "count=78/164").value == "47.6"


def test_a_study_s_tables_are_its_own():
    """Opening another study puts the tables of the one before away."""
    desk = desk_of()
    desk.open_study(make_study(name="other", tables=("bugfix_mini",)))
    assert desk.literature.names == ["bugfix_mini"] and desk.study.tables == ("bugfix_mini",)


def test_shipped_names_and_paths():
    """The place of a score names the file that it came from."""
    assert shown_name("humanevalfix") == "humanevalfix.csv"
    assert shown_name("/x/own.csv") == "/x/own.csv"


def test_the_report_of_the_watched_run_reads_the_corrected_scores(tmp_path):
    """Its study names the own table from then on, and the shipped one again when the change is taken back."""
    from tui.local import LocalSession, job_of

    session = LocalSession(tmp_path / "store.sqlite")
    study = make_study()
    run = session.store.create_run(study.name, dumps(study), job_of(study).as_dict())
    desk = Desk(session, None)
    desk.attach(session.store.run(run))
    old = the_score(desk)
    desk.correct(old, read_score(old.model, old.benchmark, old.metric, "49.8", "27", ""))
    reported = [score.value for score in collect(session.store, run).reported]
    assert "49.8" in reported and "48.9" not in reported
    desk.undo()
    assert loads(session.store.run(run).study).tables == ("humanevalfix",)
    session.close()
