"""Importing with a preview, correcting and adding scores with undo, sorting and filtering, all by keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from app_kit import FakeSession, drawn, make_study, script, settled, shown, typed, until_shown
from textual.widgets import Input, OptionList

from literature.table import read_table
from tui.app import ScoretraceApp
from tui.own_table import own_path
from tui.screens.literature import LiteratureScreen
from tui.screens.table_import import TableImportScreen

ROW = "My model,humanevalfix-python,pass@1,28,a\n"
OWN = own_path  # read when used: SCORETRACE_HOME is set for each test


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder that the app is started in."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


async def at_import(pilot, name, text):
    """Write a file and open it in the preview."""
    Path(name).write_text(text)
    await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
    await pilot.press("i")
    await typed(pilot, name)
    await pilot.press("enter")
    await settled(pilot, lambda: isinstance(pilot.app.screen, TableImportScreen), "the preview")


async def test_a_table_is_shown_before_it_is_kept(folder):
    """Scores, columns and what could not be read with its place; s keeps the scores in the study's own table."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        text = "model,benchmark,metric,value,sources\n" + ROW + "My model,x,pass@1,lots,b\n"
        await at_import(pilot, "own.csv", text)
        await until_shown(pilot, "1 score from own.csv, 1 place not read")
        assert "own.csv:3:4" in shown(app) and "'lots' is not a score" in shown(app)
        assert not OWN("HumanEvalFix 2025").exists()
        await pilot.press("s")
        await settled(pilot, lambda: isinstance(app.screen, LiteratureScreen), "the list")
        await until_shown(pilot, "Kept 1 reported scores from own.csv")
        await pilot.press("end")
        await until_shown(pilot, "28 [a]")
    (score,) = read_table(OWN("HumanEvalFix 2025")).scores
    assert (score.model, score.value, score.sources) == ("My model", "28", ("a",))
    assert Path("own.csv").read_text() == text


async def test_escape_keeps_nothing(folder):
    """Looking changes nothing."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_import(pilot, "own.csv", "model,benchmark,value\n" + "m,b,28\n")
        await pilot.press("escape")
        await settled(pilot, lambda: isinstance(app.screen, LiteratureScreen), "the list")
        assert app.desk.literature.names == ["humanevalfix"]


async def test_columns_that_are_not_understood_are_mapped_by_keys(folder):
    """A table of foreign headers: each column is given its meaning, and one benchmark for all rows."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_import(pilot, "odd.csv", "wer,value,woher,je,was\nM1,30.5,21,20,4\nM2,28,22,1,5\n")
        await until_shown(pilot, "Nothing can be kept yet")
        await pilot.press("s")
        await until_shown(pilot, "no column of models")
        await pilot.press("enter", "m")
        await until_shown(pilot, "2 scores from odd.csv")
        await pilot.press("j", "j", "enter", "s", "j", "enter", "n", "j", "o")
        await until_shown(pilot, "left out (you)")
        await pilot.press("c")
        await typed(pilot, "humanevalfix-python")
        await pilot.press("enter")
        await until_shown(pilot, "benchmark: humanevalfix-python")
        assert "not read" not in shown(app) and "states n=20" in " ".join(shown(app).split())
        await pilot.press("s")
        await until_shown(pilot, "Kept 2 reported scores")
    first, second = read_table(OWN("HumanEvalFix 2025")).scores
    assert (first.model, first.benchmark, first.value, first.sources) == ("M1", "humanevalfix-python", "30.5", ("21",))
    assert first.stated == {"samples": "20"} and second.stated == {"samples": "1"}


async def test_a_mapping_is_remembered_for_the_same_headers(folder):
    """The next table with these headers is read as the user said; it says so, and u takes one column's meaning back."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_import(pilot, "odd.csv", "wer,value,benchmark\nM1,30.5,humaneval\n")
        await pilot.press("enter", "m")
        await until_shown(pilot, "1 score from odd.csv")
        await pilot.press("s")
        await until_shown(pilot, "Kept 1 reported scores")
        await at_import(pilot, "next.csv", "benchmark,wer,value\nmbpp,M2,28\n")
        await until_shown(pilot, "1 score from next.csv")
        assert "as you said the last time" in shown(app)
        await pilot.press("u")
        await until_shown(pilot, "This column is read as it was found.")
        await pilot.press("j", "u")
        await until_shown(pilot, "Nothing can be kept yet")


async def test_a_left_out_column_comes_back_and_a_role_moves(folder):
    """o is a switch; a role that one column only can have leaves the column that had it."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await at_import(pilot, "two.csv", "model,system card,benchmark,value\nA,B,bugfix-mini,50\n")
        table = app.screen.table
        await pilot.press("j", "enter", "m")
        await settled(pilot, lambda: table.scores and table.scores[0].model == "B", "the other column's names")
        await pilot.press("o", "o")
        await settled(pilot, lambda: table.scores and table.scores[0].model == "A", "the first column's names")


async def test_a_file_is_chosen_with_the_arrows(folder):
    """The box lists tables and folders; a folder is entered, a file opened."""
    (folder / "sub").mkdir()
    (folder / "sub" / "own.csv").write_text("model,benchmark,value\nm,b,28\n")
    (folder / "sub" / "notes.txt").write_text("no table")
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("i")
        await until_shown(pilot, "sub/")
        await typed(pilot, "su")
        await pilot.press("down", "enter")
        await until_shown(pilot, "sub/own.csv")
        assert "notes.txt" not in shown(app)
        await pilot.press("down")
        assert isinstance(app.focused, OptionList)
        await pilot.press("up")
        assert isinstance(app.focused, Input)
        await pilot.press("down", "enter")
        await settled(pilot, lambda: isinstance(app.screen, TableImportScreen), "the preview")


async def test_a_score_is_corrected_in_place_and_back_again():
    """e shows the marked value; the row follows at once, u brings the old one back, U the new one."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("u")
        await until_shown(pilot, "Nothing to take back")
        await pilot.press("j", "j", "l", "l", "e")
        await settled(pilot, lambda: isinstance(app.focused, Input), "the form")
        value = app.focused
        assert value.value == "48.9"
        value.value = "lots"
        await pilot.press("enter")
        await until_shown(pilot, "'lots' is not a score")
        value.value = "84.9"
        await pilot.press("enter")
        await until_shown(pilot, "48.9 [27] is now 84.9 [27]")
        await until_shown(pilot, "▸84.9 [27]")
        row = next(text for text in drawn(app) if "DeepSeekCoder-Inst (1.3B)" in text)
        assert "75.8" in row
        await pilot.press("u")
        await until_shown(pilot, "Taken back:")
        assert "48.9 [27]" in shown(app) and not OWN("HumanEvalFix 2025").exists()
        await pilot.press("U")
        await until_shown(pilot, "Made again:")
        assert "84.9 [27]" in shown(app) and OWN("HumanEvalFix 2025").exists()


async def test_a_score_is_added_to_the_marked_model():
    """a asks for value and sources; the tick joins the model's line, and the matrix gets its column."""
    study = make_study()
    app = ScoretraceApp(FakeSession(script(study, [48]), study), study)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("j", "j", "a")
        await settled(pilot, lambda: isinstance(app.focused, Input), "the form")
        app.focused.value = "31.7 [me]"
        await pilot.press("enter")
        await until_shown(pilot, "31.7 [me] added to")
        row = next(text for text in drawn(app) if "DeepSeekCoder-Inst (1.3B)" in text)
        assert row.count("│") == 4 and "3/4" in row
        assert "31.7" in [score.value for score in app.desk.matches.reported("DSC-1.3B")]


async def test_a_score_is_taken_away():
    """D leaves it out of the study; the shipped table keeps it."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("j", "j", "D")
        await until_shown(pilot, "9.1 [16] is taken away; u brings it back.")
        row = next(text for text in drawn(app) if "DeepSeekCoder-Inst (1.3B)" in text)
        assert row.count("│") == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("source:27", 16), ("spread>30", 5), ("model:gemma source:27", 3), ("benchmark:nowhere", 0),
        ("status:not-run", 24), ("status:off-grid spread>=39", 2), ("33b deepseek", 1),
    ],
)  # fmt: skip
async def test_filters_by_field(text, count):
    """Words, and fields for model, benchmark, source, spread and status, all of which must hold."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("slash")
        await typed(pilot, text)
        rows = app.screen.query_one("#models")
        scores = [app.desk.literature.entry(key) for key in rows.keys]
        await settled(pilot, lambda: len(rows.keys) == count, f"{count} rows, not {len(scores)}")


async def test_a_filter_that_is_not_understood_says_what_is_expected():
    """A comparison that is being typed filters nothing yet; one without a number is refused."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("slash")
        rows = app.screen.query_one("#models")
        await typed(pilot, "spread>")
        await settled(pilot, lambda: len(rows.keys) == 24, "all rows")
        await typed(pilot, "spread>wide")
        await pilot.press("enter")
        await until_shown(pilot, "spread: expected a comparison")


async def test_filtering_and_sorting_by_the_status_of_a_run():
    """Measured rows are found, and the best match comes first."""
    study = make_study()
    app = ScoretraceApp(FakeSession(script(study, [48, 30]), study), study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("1")
        await until_shown(pilot, "DeepSeekCoder-Inst (1.3B)")
        await pilot.press("slash")
        await typed(pilot, "status:exact")
        rows = app.screen.query_one("#models")
        await settled(pilot, lambda: len(rows.keys) == 1, "the measured row")
        await pilot.press("enter", "slash", "escape", *"ooooo")
        await until_shown(pilot, "; status")
        assert "1.3B" in rows.keys[0]


async def test_every_order_has_its_rows():
    """o goes round all orders; sources are sorted by number."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        for name in ("spread", "model", "benchmark", "source"):
            await pilot.press("o")
            await until_shown(pilot, f"; {name}")
        rows = app.screen.query_one("#models")
        first = [app.desk.literature.entry(key).scores for key in rows.keys]
        numbers = [min(int(source) for score in scores for source in score.sources) for scores in first]
        assert numbers == sorted(numbers)
