"""The first screen: what was reported, and what arithmetic says of it without any model."""

from __future__ import annotations

from pathlib import Path

from app_kit import FakeSession, drawn, make_study, script, settled, shown, typed, until_shown

from tui.app import ScoretraceApp
from tui.screens.literature import LiteratureScreen


def app_of(study=None, session=None, **more):
    """The app on a study, nothing started."""
    return ScoretraceApp(session or FakeSession(), study or make_study(), **more)


async def test_models_values_and_arithmetic_are_there_at_once():
    """The first screen names the models, their spread, and which values one sample per problem can print."""
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        row = next(text for text in drawn(app) if "DeepSeekCoder-Inst (1.3B)" in text)
        assert "39.8" in row and "2/3" in row and "not run" in row and row.count("│") == 3
        assert "not k/164: one sample per problem cannot print it (nearest" in " ".join(shown(app).split())


async def test_details_follow_the_cursor():
    """Each value of the marked model stands with its sources, its counts and the settings that they state."""
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("j", "j")
        await until_shown(pilot, "29.3 [21]")
        text = " ".join(app.screen.query_one("#details").text.split())
        assert "48.9 [27] not k/164" in text
        assert "1603-1605 of 3280" in text
        assert "states T=0.2, n=20" in text
        assert "29.3 [21] 48 of 164" in text
        assert "the source of this table measured 21.34 itself" in text


async def test_filter_narrows_and_escape_widens():
    """Typing after / keeps rows that hold the text; esc shows all again."""
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("slash")
        await typed(pilot, "gemma")
        rows = app.screen.query_one("#models")
        await settled(pilot, lambda: len(rows.keys) == 3, "three rows")
        await pilot.press("enter", "j")
        assert rows.has_focus
        await pilot.press("slash", "escape")
        await settled(pilot, lambda: len(rows.keys) == 24, "all rows")


async def test_sorting_by_spread_puts_the_widest_first():
    """o sorts; the status line says how."""
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("o")
        await until_shown(pilot, "; spread")
        entries = [app.desk.literature.entry(key) for key in app.screen.query_one("#models").keys]
        spreads = [entry.spread for entry in entries]
        assert spreads == sorted(spreads, reverse=True)


async def test_a_table_that_cannot_be_read_is_one_sentence():
    """The box stays open with the reason; the app stays up; a good path then works."""
    table = Path("own.csv").absolute()
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("i")
        await typed(pilot, "missing.csv")
        await pilot.press("enter")
        await until_shown(pilot, "missing.csv: no such file")
        await pilot.press("escape", "i")
        await typed(pilot, "mbpp_deepseekcoder")
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, LiteratureScreen), "the list")
        await until_shown(pilot, "reported scores from mbpp_deepseekcoder")
        assert len(app.desk.literature.names) == 2
    assert not table.exists()


async def test_an_imported_file_joins_the_list(tmp_path):
    """A table of the user's own, by its path."""
    path = tmp_path / "own.csv"
    path.write_text("model,benchmark,metric,value,sources\nMy model,humanevalfix-python,pass@1,28,a\n")
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        app.import_table(str(path))
        app.screen.fill()
        await pilot.press("end")
        await until_shown(pilot, "My model")
        await until_shown(pilot, "28 [a]")


async def test_a_key_that_cannot_act_says_why():
    """No silence: the status line gives the reason."""
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("enter")
        await until_shown(pilot, "is not among the models of this run")
        await pilot.press("r")
        await until_shown(pilot, "No run yet")
        await pilot.press("x")
        await until_shown(pilot, "No run yet")


async def test_measured_scores_join_the_line():
    """Finished configurations are drawn on the line, and the best match of each value stands in its row."""
    study = make_study()
    app = app_of(study, FakeSession(script(study, [48, 30]), study), autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("1")
        await until_shown(pilot, "DeepSeekCoder-Inst (1.3B)")
        row = next(text for text in drawn(app) if "DeepSeekCoder-Inst (1.3B)" in text)
        assert "○" in row and "─" in row and "✗●✗" in row
        await pilot.press("j", "j", "enter")
        await until_shown(pilot, "generation 328/2 624")


async def test_wide_terminals_show_details_at_the_side():
    """At 120 columns the list keeps its height."""
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "InstructCodeT5+")
        details, rows = app.screen.query_one("#details"), app.screen.query_one("#models")
        assert details.region.x >= rows.region.right - 1
        assert details.region.height > 30
