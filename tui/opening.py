"""Opening the app: the user's settings are checked before the terminal is taken over."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from cache.store import Run
from tui import drafts
from tui.app import ScoretraceApp
from tui.commands import Command
from tui.parts import Parts
from tui.preferences import Preferences, check_keys
from tui.screens.base import HELP
from tui.session import Session
from tui.study import Study


def tables() -> dict[str, Sequence[Command]]:
    """Every screen's commands by its name."""
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

    return {
        screen.PLACE or screen.__name__: screen.TABLE
        for screen in (
            LiteratureScreen, GridScreen, RunScreen, ReportScreen, RunsScreen, ConfigurationScreen, ProblemScreen,
            FindingsScreen, CompareScreen, TableImportScreen,
        )
    }  # fmt: skip


def run_app(
    session: Session,
    study: Study | None,
    *,
    autostart: bool = False,
    studies: Sequence[Study] = (),
    parts: Parts | None = None,
    view_only: bool = False,
    view_of: Run | None = None,
    preferences: Preferences | None = None,
) -> int:
    """Run the app until the user leaves; 0, or 3 after a fault of the program. The session is closed in any case;
    drafts of grids outlive a fault only.

    With `view_only` it changes nothing, and begins at the run `view_of` if there is one.
    """
    preferences = preferences or Preferences()
    if preferences.keys:
        check_keys(preferences, tables(), (*ScoretraceApp.TABLE, HELP))
    app = ScoretraceApp(
        session, study, autostart=autostart, studies=studies, parts=parts, view_only=view_only, view_of=view_of,
        preferences=preferences,
    )  # fmt: skip
    # What is loaded by now stays until the end: looking through it again and again cost pauses of 20 ms between keys.
    gc.freeze()
    try:
        app.run()
    finally:
        app.desk.close()
    if not app.return_code:
        for name in app.desk.drafted:
            drafts.forget(name)
    return app.return_code or 0
