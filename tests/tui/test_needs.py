"""What each reported score would need of a grid."""

from __future__ import annotations

from app_kit import FakeSession, make_study, settled, shown, until_shown

from engine.settings import Decoding, Grid
from literature.records import ReportedScore
from tui.app import ScoretraceApp
from tui.needs import needs
from tui.reading import Literature

GRID = Grid(
    ("humanevalfixtests-python",), ("instruct",), (Decoding(), Decoding(0.2)), (512,), ("f16",), samples=(1, 20)
)


def found(*stated):
    """Needs of scores that state these settings, over GRID."""
    literature = Literature()
    scores = [
        ReportedScore("DSC-1.3B", "humanevalfix-python", "pass@1", f"{20 + index}.0", (str(index),), stated=axes)
        for index, axes in enumerate(stated)
    ]
    literature.put("own", scores)
    return needs(make_study(GRID), literature)


def test_stated_values_are_found_on_the_grid():
    """Temperature and samples together; greedy whatever its number of samples; a score without settings is silent."""
    sampled, greedy, silent = found(
        {"temperature": "0.2", "samples": "20"}, {"decoding": "greedy", "samples": "5"}, {"harness": "own"}
    )
    assert (sampled.candidates, sampled.missing) == (
        1,
        (),
    ) and "1 of 3 configurations are as stated" in sampled.sentence
    assert (greedy.candidates, greedy.missing) == (1, ())
    assert silent.silent and "any of the 3 configurations" in silent.sentence


def test_what_the_grid_lacks_is_named():
    """As the grid screen would take it; a source that states two values is met by either."""
    lacking, either = found({"temperature": "0.4", "precision": "q8_0"}, {"temperature": "0.4 / 0.2"})
    assert lacking.missing == (("decoding", "T=0.4"), ("precision", "q8_0")) and lacking.candidates == 0
    assert either.missing == () and either.candidates == 2


def test_values_that_are_there_but_never_together():
    """No single configuration has them all: said apart from a value that is missing."""
    (apart,) = found({"temperature": "0", "decoding": "greedy", "samples": "20", "max_length": "512"})
    assert apart.candidates == 1, "greedy needs no second sample"
    (never,) = found({"temperature": "words"})
    assert never.missing == (("decoding", "T=words"),)


def test_the_counts_stand_beside():
    """What arithmetic says of the value."""
    (one,) = found({})
    assert one.counts.startswith("not k/164: one sample per problem cannot print it")


async def test_the_grid_shows_what_reported_scores_need_and_adds_it():
    """n shows it in place of the cost, W switches the missing values on, and then says that nothing is missing."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("g")
        await until_shown(pilot, "configurations,")
        await pilot.press("n")
        await until_shown(pilot, "3 reported scores, 2 with a stated value that the grid lacks")
        assert "needs samples 20, which the grid lacks" in " ".join(shown(app).split())
        await pilot.press("W")
        await until_shown(pilot, "Added 20.")
        await until_shown(pilot, "3 reported scores, 0 with a stated value")
        assert app.desk.study.grid.samples == (1, 20)
        await pilot.press("W")
        await until_shown(pilot, "The grid has every value that the sources")
        await pilot.press("n")
        await settled(pilot, lambda: "24 configurations" in shown(app), "the cost")


async def test_a_study_without_reported_scores_says_so():
    """And where to get some."""
    app = ScoretraceApp(FakeSession(), make_study(tables=()))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "No table yet")
        await pilot.press("g")
        await until_shown(pilot, "configurations,")
        await pilot.press("n")
        await until_shown(pilot, "No reported score of these models")
