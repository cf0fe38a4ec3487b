"""Going from one screen to another: the commands that do, and why one cannot be gone to yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tui.commands import Commanded

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

    from tui.desk import Desk

    class _Host(App[int]):
        desk: Desk
else:
    _Host = object


def _literature() -> Screen[None]:
    from tui.screens.literature import LiteratureScreen

    return LiteratureScreen()


def _grid() -> Screen[None]:
    from tui.screens.grid import GridScreen

    return GridScreen()


def _run() -> Screen[None]:
    from tui.screens.run import RunScreen

    return RunScreen()


def _report() -> Screen[None]:
    from tui.screens.report import ReportScreen

    return ReportScreen()


def _runs() -> Screen[None]:
    from tui.screens.runs import RunsScreen

    return RunsScreen()


SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    "literature": _literature, "grid": _grid, "run": _run, "report": _report, "runs": _runs,
}  # fmt: skip
"""The places by name, each made when it is first gone to: the first one is on the terminal sooner so."""


class Places(Commanded, _Host):
    """The part of the app that shows places."""

    def go(self, place: str) -> None:
        """Show a place, whatever is open above it."""
        while len(self.screen_stack) > 2:
            self.pop_screen()
        if self.screen is not self.get_screen(place):
            self.switch_screen(place)

    def show_matches(self, configuration: str) -> None:
        """The run screen at a configuration."""
        from tui.screens.run import RunScreen

        self.go("run")
        screen = self.get_screen("run")
        assert isinstance(screen, RunScreen)
        self.call_after_refresh(screen.show_configuration, configuration)

    def do_literature(self) -> None:
        """Go there."""
        self.go("literature")

    def why_not_grid(self) -> str:
        """A grid belongs to a study."""
        return "" if self.desk.study else "No study is open: choose one under 5 Runs, or start with `scoretrace demo`."

    def do_grid(self) -> None:
        """Go there."""
        self.go("grid")

    def why_not_run(self) -> str:
        """There must be a run to look at."""
        return "" if self.desk.attached else "No run yet: g opens the grid, where s starts one; 5 lists recent runs."

    def do_run(self) -> None:
        """Go there."""
        self.go("run")

    why_not_report = why_not_run

    def do_report(self) -> None:
        """Go there."""
        self.go("report")

    def do_runs(self) -> None:
        """Go there."""
        self.go("runs")

    def why_not_problems(self) -> str:
        """There must be a configuration with outcomes."""
        reason = self.why_not_run()
        return reason or ("" if self._at_hand() else "Nothing of the run is judged yet.")

    def do_problems(self) -> None:
        """Go there."""
        from tui.screens.configuration import ConfigurationScreen

        key = self._at_hand()
        self.go("run")
        self.push_screen(ConfigurationScreen(key))

    def why_not_findings(self) -> str:
        """Something must be finished."""
        return self.why_not_run() or ("" if self.desk.state.finished else "No configuration is finished yet.")

    def do_findings(self) -> None:
        """Go there."""
        from tui.screens.findings import FindingsScreen

        key = self._at_hand()
        self.go("run")
        self.push_screen(FindingsScreen(key))

    def why_not_compare(self) -> str:
        """There must be two configurations with outcomes."""
        reason = self.why_not_run()
        return reason or ("" if self._beside(self._at_hand()) else "Nothing to compare: one configuration is judged.")

    def do_compare(self) -> None:
        """Go there."""
        from tui.beside import Side
        from tui.screens.compare import CompareScreen

        state, key = self.desk.state, self._at_hand()
        self.go("run")
        self.push_screen(CompareScreen(Side(state, key), Side(state, self._beside(key))))

    def _beside(self, key: str) -> str:
        """The judged configuration of the same model and benchmark that differs in the fewest settings."""
        scores = self.desk.state.scores
        here = scores.get(key)
        if here is None:
            return ""
        others = [
            other for other, score in scores.items()
            if other != key and score.kinds and (score.model, score.benchmark) == (here.model, here.benchmark)
        ]  # fmt: skip
        return min(others, key=lambda other: len(here.axes.items() - scores[other].axes.items()), default="")

    def _at_hand(self) -> str:
        """The configuration under the run screen's cursor, else the first one with outcomes; empty without any."""
        from tui.screens.run import RunScreen

        run, state = self.get_screen("run"), self.desk.state
        marked = run.rows.key if isinstance(run, RunScreen) and run.is_mounted else ""
        judged = [key for key in (marked, *state.order) if key in state.scores and state.scores[key].kinds]
        return next(iter(judged), "")
