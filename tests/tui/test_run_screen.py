"""A run while it goes on, and when it does not."""

from __future__ import annotations

from app_kit import (
    drawn,
    make_study,
    running,
    script,
    settled,
    shown,
    started,
    typed,
    until_shown,
)

from engine.events import ConfigurationFailed, ConfigurationStopped, ModelLoaded, Noted, StateChanged
from tui.screens.configuration import ConfigurationScreen
from tui.session import Status
from tui.study import ModelChoice
from tui.theme import DARK


async def test_the_matrix_shows_class_and_signed_difference():
    """One row a configuration, one column a reported score, glyph and difference in points."""
    app, _ = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await settled(pilot, lambda: not app.desk.matches.busy, "all matches")
        first = next(text for text in drawn(app) if "48/164" in text)
        assert "✗ +20.2" in first and "●" in first and "✗ -19.6" in first
        third = next(text for text in drawn(app) if "20..124/164" in text)
        assert third.split()[-2:] == ["?", "?"]
        assert "9.1 [16]" in shown(app) and "48.9 [27]" in shown(app)
        assert "2/16" in shown(app) and "generation 388/2 624" in shown(app)


async def test_what_rests_on_assumed_jitter_has_a_star():
    """Ruled out by the assumed jitter alone is another sign than ruled out whatever the jitter, and the key says so."""
    app, _ = running((53,), last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "53/164")
        await settled(pilot, lambda: not app.desk.matches.busy, "all matches")
        first = next(text for text in drawn(app) if "53/164" in text)
        assert "✗ +23.2" in first and "✗*+3.0" in first
        await pilot.press("right")
        await until_shown(pilot, "✗* ruled out")
        assert "✗ ruled out * assumed" in shown(app)


async def test_the_chance_of_a_match_stands_beside_it():
    """The status line says how many configurations are consistent and what that is worth."""
    app, _ = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("l")
        await until_shown(pilot, "29.3 [21]: 2 of 16 consistent; chance match")


async def test_the_chosen_cell_is_said_in_words():
    """Arrow keys choose the reported score; its sentence is below the matrix."""
    app, _ = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await until_shown(pilot, "ruled out 9.1 [16]")
        await pilot.press("right")
        await until_shown(pilot, "exact 29.3 [21]: 48/164 prints as 29.3")
        await pilot.press("down")
        await until_shown(pilot, "near 29.3 [21]: 47/164")


async def test_pause_go_on_and_stop_are_wishes():
    """The keys ask the worker and say so."""
    app, session = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("p")
        await until_shown(pilot, "Asked the worker to pause")
        session.state = Status("paused")
        await until_shown(pilot, "paused")
        await pilot.press("p", "S")
        await until_shown(pilot, "Asked the worker to stop")
        assert session.asked[-3:] == ["pause", "resume", "stop"]


async def test_a_worker_that_died_is_told_with_its_last_words():
    """The banner shows them, one key resumes."""
    app, session = running()
    session.state = Status("died", "some line\nGGML_ASSERT(n_ctx) failed")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "The worker died")
        await until_shown(pilot, "GGML_ASSERT(n_ctx) failed")
        await pilot.press("p")
        await until_shown(pilot, "there is nothing to pause")
        await pilot.press("R")
        await settled(pilot, lambda: "resume" in session.asked, "the resume")
        await until_shown(pilot, "takes the run up where it was")
        await settled(pilot, lambda: "The worker died" not in shown(app), "the banner to go")


async def test_the_key_line_offers_what_can_be_asked_of_the_worker():
    """Pause and stop while it works, resume when it is gone, none of them once the run is finished."""
    app, session = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "p pause  S stop  o sort")
        assert "R resume" not in drawn(app)[-1]
        session.state = Status("died", "")
        await until_shown(pilot, "enter problems  R resume  o sort")
        session.state = Status("finished", "")
        await until_shown(pilot, "enter problems  o sort")


async def test_resume_of_a_live_run_is_refused():
    """R is for runs without a worker."""
    app, session = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("R")
        await until_shown(pilot, "The run is running: only a stopped")
        assert "resume" not in session.asked


async def test_sorting_by_nearest_match():
    """The configuration that is consistent with a reported score comes first."""
    app, _ = running((20, 60, 48), last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await settled(pilot, lambda: not app.desk.matches.busy, "all matches")
        await pilot.press("o")
        await until_shown(pilot, "nearest match first")
        assert app.screen.query_one("#matrix").keys[0] == app.desk.state.order[2]


async def test_filter_by_axis_values():
    """Every word must be among the configuration's values; a word that is a value means that one alone."""
    app, _ = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("slash")
        await typed(pilot, "q8_0 greedy")
        await settled(pilot, lambda: len(app.screen.query_one("#matrix").keys) == 4, "four rows")
        app.screen.query_one("#filter").value = "512"
        await settled(pilot, lambda: len(app.screen.query_one("#matrix").keys) == 8, "eight rows")
        app.screen.query_one("#filter").value = "51"
        await settled(pilot, lambda: len(app.screen.query_one("#matrix").keys) == 8, "the same by a part")
        await pilot.press("enter")
        assert app.screen.query_one("#matrix").has_focus


async def test_a_configuration_that_cannot_run_says_why_in_its_row():
    """The others go on."""
    study = make_study()
    failed = study.configurations()[1].id
    events = [started(study), ConfigurationFailed(failed, "q8_0: too large for this device"), StateChanged("running")]
    app, _ = running(study=study, events=events)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "cannot run")
        row = next(text for text in drawn(app) if "cannot run" in text)
        assert "q8_0: too large" in row
        await pilot.press("j")
        await until_shown(pilot, "cannot run q8_0: too large for this device")
        assert "1/16" in shown(app)


async def test_a_stopped_configuration_shows_its_bounds_and_why():
    """Its row has a span, never a score; the line below says that it is asked no further, and the reason."""
    study = make_study()
    stopped = study.configurations()[1].id
    reason = "exact bound: it ends within 0..9 of 64"
    events = [started(study), ConfigurationStopped(stopped, reason, 0, 0, 64), StateChanged("running")]
    app, _ = running(study=study, events=events)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "0..")
        await pilot.press("j")
        await until_shown(pilot, f"asked no further {reason}")
        assert "1/16" in shown(app)


async def test_warnings_of_the_run_are_shown():
    """What a user should know stands above the matrix."""
    study = make_study()
    app, _ = running(
        study=study, events=[*script(study, [3]), Noted("warning", "this device is not order-independent")]
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "this device is not order-independent")


async def test_enter_opens_problems_only_when_there_are_some():
    """A waiting configuration says so."""
    app, _ = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("end", "enter")
        await until_shown(pilot, "Nothing of this configuration is judged yet")
        await pilot.press("home", "enter")
        await settled(pilot, lambda: isinstance(app.screen, ConfigurationScreen), "the problems")


async def test_models_are_shown_one_at_a_time():
    """m goes to the next model, with its own reported scores."""
    study = make_study()
    study = make_study(models=(*study.models, ModelChoice("other", "x", ("CodeGemma (2B)",))))
    app, _ = running(study=study)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48.9 [27]")
        await pilot.press("m")
        await until_shown(pilot, "22.7 [27]")
        assert "48.9 [27]" not in shown(app)


async def test_time_left_and_speed_are_shown_while_running_only():
    """A finished run has neither."""
    app, session = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "tok/s")
        await until_shown(pilot, " min left")
        session.events.append(StateChanged("finished"))
        session.state = Status("finished")
        await settled(pilot, lambda: "left ·" not in shown(app) and "finished" in shown(app), "the end")


async def test_rows_are_repainted_as_events_come():
    """New outcomes reach the row without a key press."""
    study = make_study()
    app, session = running((48,), last=100, study=study)
    whole = script(study, [48], last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        session.events += whole[len(session.events) :]
        await until_shown(pilot, "48/164")


async def test_findings_show_effects_and_what_is_identified():
    """f works out paired effects against the configuration under the cursor, and one line per source."""
    app, _ = running(tuple(30 + 3 * (index % 5) for index in range(16)), last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "16/16")
        await pilot.press("f")
        await until_shown(pilot, "Effects of settings")
        text = app.screen.query_one("#view").text
        row = next(line for line in text.splitlines() if line.startswith("decoding"))
        assert "T=0.2" in row and "○" in row and "8 pairs" in row
        assert "[21]" in text and "effective number of settings" in text
        await pilot.press("escape")
        await until_shown(pilot, "9.1 [16]")


async def test_findings_need_something_finished():
    """The key says why not."""
    app, _ = running((48,), last=30)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "30..164/164")
        await pilot.press("f")
        await until_shown(pilot, "No configuration is finished yet.")


async def test_a_sorted_matrix_follows_the_scores():
    """The cursor stays on its configuration while rows change places."""
    study = make_study()
    app, session = running((10, 20), last=164, study=study)
    whole = script(study, [10, 20, 90], last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "20/164")
        await pilot.press("o", "o")
        await until_shown(pilot, "highest score first")
        rows, state = app.screen.query_one("#matrix"), app.desk.state
        rows.go(state.order[0])
        session.events += whole[len(session.events) :]
        await settled(pilot, lambda: rows.keys[0] == state.order[2], "the new first row")
        assert rows.key == state.order[0]


async def test_grouping_by_an_axis():
    """b groups by each axis that varies in turn; a group says what it holds, and enter folds it."""
    app, _ = running((48, 47, 20), last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await settled(pilot, lambda: not app.desk.matches.busy, "all matches")
        await pilot.press("l", "b")
        await until_shown(pilot, "▾ prompt instruct")
        row = next(text for text in drawn(app) if "▾ prompt instruct" in text)
        assert "3/8 done · 20 to 48 of 164 · 2 consistent with 29.3 [21]" in row
        rows = app.screen.query_one("#matrix")
        assert len(rows.keys) == 18
        await pilot.press("home", "enter")
        await until_shown(pilot, "▸ prompt instruct")
        assert len(rows.keys) == 10
        await pilot.press("f")
        await until_shown(pilot, "Put the cursor on a configuration")
        await pilot.press("enter", "b", "b", "b")
        await until_shown(pilot, "Grouped by precision")
        assert [text.split()[2] for text in drawn(app) if "▾" in text] == ["f16", "q8_0"]
        await pilot.press("b")
        await until_shown(pilot, "Not grouped")
        assert len(rows.keys) == 16


async def test_a_filter_and_groups_go_together():
    """What the filter leaves is grouped; the count is of configurations."""
    app, _ = running((48,), last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("b", "slash")
        await typed(pilot, "q8_0 greedy")
        await until_shown(pilot, "▾ prompt deepseek")
        assert len(app.screen.query_one("#matrix").keys) == 2 + 4
        assert "4 of 16 configurations shown" in app.base_screen.said


async def test_a_group_is_repainted_when_a_member_finishes():
    """Its row counts what is finished, without a key press."""
    study = make_study()
    app, session = running((48,), last=100, study=study)
    whole = script(study, [48], last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        await pilot.press("b")
        await until_shown(pilot, "0/8 done")
        session.events += whole[len(session.events) :]
        await until_shown(pilot, "1/8 done · 48 of 164")


async def test_nearest_to_the_chosen_score_first():
    """One of the orders looks at one reported score only."""
    app, _ = running((48, 15), last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "15/164")
        await settled(pilot, lambda: not app.desk.matches.busy, "all matches")
        rows, state = app.screen.query_one("#matrix"), app.desk.state
        await pilot.press("o", "o", "o")
        await until_shown(pilot, "nearest to the chosen score first")
        assert rows.keys[0] == state.order[1]


async def test_ruled_out_cells_fall_silent():
    """Their colour goes outside the chosen column, so that what is still in play stands out."""
    app, _ = running((48,), last=164)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await settled(pilot, lambda: not app.desk.matches.busy, "all matches")

        def colours():
            line = app.screen.query_one("#matrix").render_line(0)
            return [segment.style.color.triplet.hex for segment in line if segment.text.startswith("✗")]

        assert colours() == [DARK["against"], DARK["muted"]]
        await pilot.press("right", "right")
        assert colours() == [DARK["muted"], DARK["against"]]


async def test_device_and_memory_are_shown_while_running():
    """From what the model's card and the system say of the worker; nothing is shown once the run has ended."""
    study = make_study()
    events = script(study, [48], last=100)
    events[3] = ModelLoaded(study.models[0].name, "f16", {"numerics": {"device": "CPU"}}, 8, 1.5)
    app, session = running(study=study, events=events)
    session.state = Status("running", "", 1_240_000_000)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "CPU 1.2 GB")
        session.state = Status("running", "", 900_000_000, 14_100_000_000)
        await until_shown(pilot, "CPU 14.1 GB + 0.9 GB")
        session.events.append(StateChanged("finished"))
        session.state = Status("finished")
        await settled(pilot, lambda: "GB" not in shown(app), "the end")


async def test_the_mouse_works():
    """A click marks a row, a second one opens it; places and keys can be clicked."""
    app, _ = running()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        rows = app.screen.query_one("#matrix")
        await pilot.click("#matrix", offset=(10, 1))
        await settled(pilot, lambda: rows.key == app.desk.state.order[1], "the second row")
        await pilot.click("#matrix", offset=(10, 1))
        await settled(pilot, lambda: isinstance(app.screen, ConfigurationScreen), "the problems")
        await pilot.click("TitleBar", offset=(16, 0))
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        line = drawn(app)[-1]
        await pilot.click("KeyLine", offset=(line.index("sort"), 0))
        await until_shown(pilot, "; spread")
