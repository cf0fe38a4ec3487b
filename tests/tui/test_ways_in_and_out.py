"""Beginning, coming back, reports, leaving, commands, and faults."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path

import pytest
from app_kit import (
    FakeSession,
    kept_run,
    make_study,
    script,
    settled,
    shown,
    typed,
    until_shown,
)
from textual.events import Key
from textual.keys import _character_to_key as character_to_key

from literature.errors import TableError
from tui.app import ScoretraceApp
from tui.commands import Commanded
from tui.parts import Parts
from tui.screens.compare import CompareScreen
from tui.screens.configuration import ConfigurationScreen
from tui.screens.findings import FindingsScreen
from tui.screens.grid import GridScreen
from tui.screens.literature import LiteratureScreen
from tui.screens.problem import ProblemScreen
from tui.screens.report import ReportScreen
from tui.screens.run import RunScreen
from tui.screens.runs import RunsScreen
from tui.screens.table_import import TableImportScreen
from tui.session import Status
from tui.study import dumps


async def test_a_first_start_without_any_file_is_of_use():
    """The embedded study is offered; enter opens its literature."""
    study = make_study(name="bugfix-mini", note="64 small bugs, minutes on a laptop")
    app = ScoretraceApp(FakeSession(), None, studies=(study,))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "bugfix-mini")
        assert "64 small bugs" in shown(app)
        await pilot.press("g")
        await until_shown(pilot, "No study is open")
        await pilot.press("enter")
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")


async def test_a_table_alone_is_enough_to_begin():
    """Arithmetic needs no study and no model."""
    app = ScoretraceApp(FakeSession(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "Nothing yet")
        await pilot.press("i")
        await typed(pilot, "humanevalfix")
        await pilot.press("enter")
        await until_shown(pilot, "not k/164")


async def test_a_study_file_opens_by_its_path(tmp_path):
    """A wrong one is one sentence that names the place."""
    good, bad = tmp_path / "a.toml", tmp_path / "b.toml"
    good.write_text(dumps(make_study(name="my own study")))
    bad.write_text('name = "x"')
    app = ScoretraceApp(FakeSession(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "Nothing yet")
        await pilot.press("o")
        app.screen.query_one("#answer").value = str(bad)
        await pilot.press("enter")
        await settled(pilot, lambda: "'grid' is missing" in " ".join(shown(app).split()), "the reason")
        app.screen.query_one("#answer").value = str(good)
        await pilot.press("enter")
        await until_shown(pilot, "my own study")


async def test_coming_back_to_a_run():
    """Recent runs are listed with state; enter watches one from its first event on."""
    study = make_study()
    session = FakeSession(script(study, [48, 20]))
    session.kept = [kept_run(study, 9, "stopped", "stopped at 31 of 64"), kept_run(study, 8)]
    session.state = Status("finished")
    app = ScoretraceApp(session, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "run 9")
        assert "stopped at 31 of 64" in shown(app) and "1 h ago" in shown(app)
        await pilot.press("j", "enter")
        await until_shown(pilot, "48/164")
        assert session.asked[0] == "attach 8"
        await until_shown(pilot, "48.9 [27]")


async def test_a_stopped_run_is_resumed_from_the_list():
    """R attaches and starts a worker."""
    study = make_study()
    session = FakeSession(script(study, [48]))
    session.kept = [kept_run(study, 9, "stopped"), kept_run(study, 8)]
    app = ScoretraceApp(session, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "run 9")
        await pilot.press("R")
        await until_shown(pilot, "48/164")
        assert session.asked[:2] == ["attach 9", "resume"]


async def test_a_finished_run_is_not_resumed():
    """The key says why."""
    session = FakeSession()
    session.kept = [kept_run(make_study(), 8)]
    app = ScoretraceApp(session, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "run 8")
        await pilot.press("R")
        await until_shown(pilot, "Run 8 is finished: enter shows it.")


@pytest.mark.parametrize(("key", "asked", "leaves"), [("l", [], True), ("s", ["stop"], True), ("c", [], False)])
async def test_quitting_while_a_run_is_at_work_asks(key, asked, leaves):
    """Leave it running, stop it, or stay."""
    study = make_study()
    session = FakeSession(script(study, [48]), study)
    app = ScoretraceApp(session, study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("q")
        await until_shown(pilot, "A run is at work")
        await pilot.press(key)
        await settled(pilot, lambda: not app.is_running or not leaves, "the app to leave")
        assert session.asked[1:] == asked
        if not leaves:
            assert isinstance(app.screen, RunScreen)


async def test_quitting_without_a_run_asks_nothing():
    """q leaves at once."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("q")
        await settled(pilot, lambda: not app.is_running, "the app to leave")
    assert app.return_code == 0


async def test_the_report_is_previewed_and_written():
    """Unanswered items come first; where it was written is said."""
    study = make_study()
    parts = Parts(
        preview_report=lambda run: f"# Report of run {run}\n\n| item | evidence |\n|---|---|\n",
        write_report=lambda run: (Path("reports/run-1/report.md"), Path("reports/run-1/scores.csv")),
        open_items=lambda run: ["who quantised the weights"],
    )
    app = ScoretraceApp(FakeSession(script(study, [48]), study), study, autostart=True, parts=parts)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("x")
        await until_shown(pilot, "# Report of run 1")
        text = shown(app)
        assert text.index("1 checklist item without an answer") < text.index("# Report of run 1")
        await pilot.press("w")
        await until_shown(pilot, "Wrote 2 files; the first is reports/run-1/report.md")
        assert "written  reports/run-1/scores.csv" in shown(app)


async def test_a_report_that_fails_is_a_sentence():
    """Nothing written, nothing lost."""

    def fail(run):
        raise TableError("cannot be written (No space left on device)", file="report.md", remedy="free space")

    study = make_study()
    parts = Parts(preview_report=lambda run: "# Report", write_report=fail)
    app = ScoretraceApp(FakeSession(script(study, [48]), study), study, autostart=True, parts=parts)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        await pilot.press("x", "w")
        await until_shown(pilot, "report.md: cannot be written (No space left on device)")


async def test_the_palette_knows_every_command_noun_first():
    """What a key does can be found by name."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("colon")
        await until_shown(pilot, "Table: import")
        await typed(pilot, "theme")
        await until_shown(pilot, "Theme: dark or light")
        await pilot.press("enter")
        await settled(pilot, lambda: app.theme == "scoretrace-light", "the light theme")


SCREENS = (
    LiteratureScreen, GridScreen, RunScreen, ReportScreen, RunsScreen, ConfigurationScreen, ProblemScreen,
    FindingsScreen, CompareScreen, TableImportScreen,
)  # fmt: skip


@pytest.mark.parametrize("screen", [*SCREENS, ScoretraceApp])
def test_every_command_has_its_method_its_sentence_and_its_noun(screen):
    """Tables, methods, help and palette cannot drift apart."""
    assert issubclass(screen, Commanded)
    for command in screen.TABLE:
        assert callable(getattr(screen, f"do_{command.action}"))
        assert command.help.endswith(".") and ": " in command.name
    named = [name for name in dir(screen) if name.startswith("do_") and name != "do_help"]
    own = {f"do_{command.action}" for command in (*screen.TABLE, *ScoretraceApp.TABLE)}
    assert set(named) <= own


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_means_two_things_on_a_screen(screen):
    """Letters that the app takes are free on every screen, but for what the screen overrides knowingly."""
    keys = [key for command in screen.TABLE for key in command.keys.split(",")]
    assert len(keys) == len(set(keys))
    app = {key for command in ScoretraceApp.TABLE for key in command.keys.split(",")}
    assert not app & set(keys)


async def test_help_lists_the_keys_of_the_screen():
    """? shows the same table."""
    app = ScoretraceApp(FakeSession(), make_study())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("question_mark")
        await until_shown(pilot, "Keys: Literature")
        text = app.screen.query_one("#help").text
        for command in (*LiteratureScreen.TABLE, *ScoretraceApp.TABLE):
            assert command.help in text
        assert "within noise" in text
        await pilot.press("escape")
        await settled(pilot, lambda: isinstance(app.screen, LiteratureScreen), "the list")


async def test_a_study_whose_table_is_missing_still_opens():
    """The reason is on the status line, the rest works."""
    study = replace(make_study(), tables=("nowhere.csv",))
    app = ScoretraceApp(FakeSession(), study)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "nowhere.csv: no such file")
        await pilot.press("g")
        await until_shown(pilot, "16 configurations")


async def test_a_fault_of_the_program_is_kept_in_a_log():
    """The app leaves with code 3 and names the file; the traceback is in it."""
    session = FakeSession()
    app = ScoretraceApp(session, make_study())
    with pytest.raises(ZeroDivisionError):
        async with app.run_test(size=(80, 24)) as pilot:
            await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
            app.call_later(lambda: 1 / 0)
            await settled(pilot, lambda: not app.is_running, "the app to leave")
    assert app.return_code == 3
    log = Path(app.crash_path)
    assert log.parent == Path(os.environ["SCORETRACE_HOME"]) / "logs"
    assert "ZeroDivisionError" in log.read_text()


class Flood(FakeSession):
    """However many events are asked for, there are more, until far more were asked for than any key may wait for."""

    polls = 0

    def poll(self, limit=2000):
        """The script, then its end again and again."""
        self.polls += 1
        found = list(super().poll(limit))
        if self.polls > 200_000:
            return found
        return found + [(2000.0, event) for event in self.events[len(found) - limit :] if len(found) < limit]


async def test_keys_are_answered_while_events_flood_in():
    """Folding has its time box: with events that never end, cursor keys act, and what is folded is drawn."""
    study = make_study()
    app = ScoretraceApp(Flood(script(study, [48] * 16), study), study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "catching up")
        rows = app.screen.query_one("#matrix")
        await settled(pilot, lambda: bool(rows.key), "the first rows")
        for step in range(20):
            app.simulate_key("j" if step % 2 == 0 else "k")
            await settled(pilot, lambda step=step: rows.keys.index(rows.key) == (step + 1) % 2, "the cursor")
        await until_shown(pilot, "48/164")
        assert app.desk.behind


async def test_long_runs_do_not_slow_the_garbage_collector_down():
    """Facts that stay are taken out of what it looks through, so that it never holds a key up."""
    gc.unfreeze()
    app = ScoretraceApp(FakeSession(), make_study())
    try:
        async with app.run_test(size=(80, 24)) as pilot:
            await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
            assert gc.get_freeze_count() == 0
            app.desk.state.events = 6000
            await settled(pilot, lambda: gc.get_freeze_count() > 0, "the facts to be spared")
    finally:
        gc.unfreeze()


async def test_keys_faster_than_screens_do_no_harm():
    """Screens that are left before they were drawn, and a text typed right after the key that asks for it."""
    study = make_study()
    app = ScoretraceApp(FakeSession(script(study, [48, 47], state="finished"), study), study, autostart=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        for key in ("6", "1", "6", "7", "3", "6", "enter", "1", "6", "3", "f", "3", "1"):
            app.simulate_key(key)
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        await pilot.press("3")
        await until_shown(pilot, "48/164")
        for text in "/q8_0 1":
            app.post_message(Key(character_to_key(text), text))
        await pilot.press("enter")
        await until_shown(pilot, "8 of 16 configurations shown")
        assert isinstance(app.screen, RunScreen) and app.screen.text == "q8_0 1"
