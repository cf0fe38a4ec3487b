"""Where to begin or go on: studies on offer, and recent runs to attach to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult

from cache.store import Run
from tui.commands import Command, bindings
from tui.errand import Errand
from tui.recent import Recent, note, recent
from tui.screens.base import BaseScreen, numbered
from tui.screens.prompt import USER_ERRORS
from tui.session import LIVE
from tui.study import Study, read_study
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece, cell
from tui.widgets.rows import RowList
from tui.widgets.text import Line, TextView

if TYPE_CHECKING:
    from tui.doctor import Finding

ROLES = {"running": "agree", "finished": "agree", "paused": "open", "created": "open", "queued": "partial"}
LOOK_SECONDS, PATIENCE = 2.0, 0.7


class RunsScreen(BaseScreen):
    """Studies and runs."""

    PLACE = "runs"
    FLEETING = ("resume",)
    TABLE: ClassVar[Sequence[Command]] = (
        Command("enter", "open", "open", "Run: attach", "Open the study, or watch the run."),
        Command("o", "study", "open study", "Study: open a file", "Open a study file by its path."),
        Command("i", "import", "import", "Table: import", "Read a table of reported scores without any study."),
        Command("R", "resume", "resume", "Run: resume", "Watch the run and start a worker for it again."),
        Command("K", "up", "earlier", "Queue: earlier", "Let the waiting run begin before the one above it.", True),
        Command("J", "down", "later", "Queue: later", "Let the waiting run begin after the one below it.", True),
        Command("D", "remove", "unqueue", "Queue: take out", "Let the run wait no longer; it is kept.", True),
        Command(
            "d", "machine", "machine", "Machine: what it can do", "Show every finding of the look at this machine."
        ),
        Command("u", "refresh", "update", "Runs: update", "Read the list again.", True),
    )
    BINDINGS = bindings(TABLE)

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[str, Run] = {}
        self._waiting: list[int] = []
        self._recent: dict[str, Recent] = {}
        self._findings: Sequence[Finding] | None = None
        self._errand: Errand[Sequence[Finding]] | None = None
        self._whole = False
        self._began = 0.0
        self._looked = 0.0
        self._studies: dict[str, Study] = {}

    def body(self) -> ComposeResult:
        """One sentence, then the list."""
        yield TextLine(id="what")
        yield TextLine(id="hint")
        yield TextLine(id="head", classes="head")
        yield RowList(self._paint, id="list", empty="Nothing yet: o opens a study file, i reads a table of scores.")
        yield TextView(id="machine")

    @property
    def rows(self) -> RowList:
        """The list."""
        return self.query_one("#list", RowList)

    def focus_body(self) -> None:
        """Keys go to the list."""
        self.rows.focus()

    def fill(self) -> None:
        """Read the runs and show them under the studies."""
        super().fill()
        desk = self.root.desk
        self._recent = {f"recent {index}": found for index, found in enumerate(recent())}
        self._studies = {key: found.study for key, found in self._recent.items() if found.study is not None}
        self._studies |= {f"study {index}": study for index, study in enumerate(desk.offered)}
        try:
            self._read_runs()
        except USER_ERRORS as error:
            self._runs, self._waiting = {}, []
            self.say(str(error), warning=True)
        self.query_one("#what", TextLine).show(
            Piece(" Which settings did a published score come from?", "text bold"),
        )
        self.query_one("#hint", TextLine).show(
            Piece(" Open a study and press g for its grid; or i reads a table, no model needed.", "muted")
        )
        self.query_one("#head", TextLine).show(
            cell(" what", 11, "muted"),
            cell("name", 28, "muted"),
            cell("state", 11, "muted"),
            cell("detail", 30, "muted"),
        )
        self._rows()
        self._show_machine()
        self._began = self._began or time.monotonic()

    def _rows(self) -> None:
        self.rows.show([*dict.fromkeys([*self._recent, *self._studies]), *self._runs])

    def _look(self) -> None:
        """Begin to look at the machine, once, and not before the screen can be used."""
        look = self.root.parts.look
        waited = time.monotonic() - self._began >= PATIENCE
        if look is not None and waited and self._errand is None and self._findings is None:
            self._errand = Errand(look)
            self._show_machine()

    def _show_machine(self) -> None:
        view = self.query_one("#machine", TextView)
        lines = machine(self._findings, whole=self._whole) if self._findings is not None else []
        if self._errand is not None:
            lines = [[Piece("Looking at what this machine can do.", "muted")]]
        view.display = bool(lines)
        view.styles.max_height = "70%" if self._whole else "40%"
        view.show(lines)

    def _read_runs(self) -> None:
        """Those at work, those that wait in their order, the others with the newest first."""
        session = self.root.desk.session
        found = {run.id: run for run in session.runs()}
        self._waiting = [run for run in session.queue() if run in found]
        live = [run.id for run in found.values() if _state(run) in LIVE]
        order = dict.fromkeys([*live, *self._waiting, *found])
        self._runs = {f"run {run}": found[run] for run in order}
        self._looked = time.monotonic()

    def tick(self) -> None:
        """The queue goes forward by itself; what the look at the machine found is shown when it is there."""
        self._look()
        if self._errand is not None and self._errand.done:
            errand, self._errand = self._errand, None
            try:
                self._findings = errand.take()
            except USER_ERRORS as error:
                self._findings = []
                self.say(str(error), warning=True)
            self._show_machine()
        if self._waiting and time.monotonic() - self._looked >= LOOK_SECONDS:
            try:
                self._read_runs()
            except USER_ERRORS:
                self._looked = time.monotonic()
            self._rows()

    def _paint(self, key: str, width: int) -> Sequence[Piece]:
        if key in self._recent and key not in self._studies:
            broken = self._recent[key]
            name = broken.path.name
            return cell("study", 10, "against"), cell(name, 27), Piece(" "), Piece(broken.problem, "against")
        study = self._studies.get(key)
        if study is not None:
            if key in self._recent:
                note = str(self._recent[key].path)
                return cell("recent", 10, "agree"), cell(study.name, 27, "text bold"), Piece(" "), Piece(note, "muted")
            note = study.note or f"{numbered(len(study.configurations()), 'configuration')}"
            return cell("study", 10, "agree"), cell(study.name, 27, "text bold"), Piece(" "), Piece(note, "muted")
        run = self._runs[key]
        state = _state(run)
        if run.id in self._waiting:
            state = f"queued {self._waiting.index(run.id) + 1}"
        role = ROLES.get(state.partition(" ")[0], "against")
        detail = run.detail.splitlines()[-1] if run.detail else ""
        return (
            cell(key, 10), cell(run.name, 27), Piece(" "), cell(state, 11, role),
            Piece(f"{_ago(time.time() - run.created)}  ", "muted"), Piece(detail, "muted"),
        )  # fmt: skip

    # commands

    def why_not_open(self) -> str:
        """There must be a row that can be read."""
        found = self._recent.get(self.rows.key)
        if found is not None and found.problem:
            return found.problem
        return "" if self.rows.key else "Nothing to open: o opens a study file, i reads a table of scores."

    def do_open(self) -> None:
        """A study's literature, or a run."""
        study = self._studies.get(self.rows.key)
        if study is None:
            self.root.attach_run(self._runs[self.rows.key])
        elif self.root.open_study(study):
            if self.rows.key in self._recent:
                note(self._recent[self.rows.key].path)
            self.root.go("literature")

    @on(RowList.Opened, "#list")
    def _opened(self) -> None:
        self.run_command("open")

    def do_study(self) -> None:
        """Ask for a file."""
        from tui.screens.file import FileScreen

        hint = "A study file (TOML): models, a grid, tables of reported scores"
        self.app.push_screen(FileScreen("Open a study", hint, (".toml",), self._read), self._read_done)

    def _read(self, text: str) -> str:
        path = Path(text).expanduser()
        self.root.desk.open_study(read_study(path))
        note(path)
        return self.root.desk.name

    def _read_done(self, name: str | None) -> None:
        if name:
            self.root.go("literature")

    def do_import(self) -> None:
        """Ask for a file; the literature opens on what was kept."""
        from tui.screens.score_forms import ask_table

        ask_table(self.root, self._kept)

    def _kept(self, text: str) -> None:
        self.root.go("literature")
        self.app.call_after_refresh(self.root.say, text)

    def why_not_resume(self) -> str:
        """Only a run without a worker can be resumed."""
        run = self._runs.get(self.rows.key)
        if run is None:
            return "Choose a run first: studies are started from the grid."
        if _state(run) in ("running", "paused"):
            return f"Run {run.id} is {_state(run)}: enter watches it."
        if run.id in self._waiting:
            return f"Run {run.id} waits in the queue and begins by itself; D takes it out."
        return f"Run {run.id} is finished: enter shows it." if run.state == "finished" else ""

    def do_resume(self) -> None:
        """Watch it and start a worker."""
        self.root.attach_run(self._runs[self.rows.key])
        self.root.resume_run()

    def why_not_up(self) -> str:
        """Only a waiting run has a place in the queue."""
        run = self._runs.get(self.rows.key)
        if run is None or run.id not in self._waiting:
            return "This is no run that waits: Q on the grid puts one in the queue."
        return ""

    why_not_down = why_not_remove = why_not_up

    def do_up(self) -> None:
        """Earlier."""
        self._move(-1)

    def do_down(self) -> None:
        """Later."""
        self._move(1)

    def _move(self, step: int) -> None:
        run = self._runs[self.rows.key].id
        self._ask(lambda: self.root.desk.session.move(run, step))
        self.say(f"Run {run} is in place {self._waiting.index(run) + 1} of {len(self._waiting)}.")

    def do_remove(self) -> None:
        """Out of the queue."""
        run = self._runs[self.rows.key].id
        self._ask(lambda: self.root.desk.session.take_out(run))
        self.say(f"Run {run} waits no longer; R starts it.")

    def _ask(self, act: Callable[[], None]) -> None:
        try:
            act()
        except USER_ERRORS as error:
            self.say(str(error), warning=True)
        self.fill()

    def why_not_machine(self) -> str:
        """It must have been looked at."""
        if self._errand is not None:
            return "The machine is still being looked at."
        return "" if self._findings else "Nothing is known of this machine here: `scoretrace doctor` looks at it."

    def do_machine(self) -> None:
        """Every finding, or those with something to do."""
        self._whole = not self._whole
        self._show_machine()

    def do_refresh(self) -> None:
        """Read the list again."""
        self.fill()


def machine(findings: Sequence[Finding], *, whole: bool) -> list[Line]:
    """The findings as sentences with their remedy; unless `whole`, only where something is to do."""
    lines: list[Line] = []
    for found in findings:
        if found.state == "ok" and not whole:
            continue
        role = {"ok": "agree", "limited": "open"}.get(found.state, "against")
        lines.append([Piece(f"{found.state:<9}", role), Piece(f"{found.subject}: {found.text}")])
        if found.remedy:
            lines.append([Piece("         ", "muted"), Piece(f"to do: {found.remedy}", "muted")])
    good = sum(found.state == "ok" for found in findings)
    more = "" if whole else f"{numbered(good, 'finding')} without anything to do; d shows all"
    return [*lines, [Piece(more, "muted")]] if more and findings else lines


def _state(run: Run) -> str:
    """The state as kept, unless the worker that should be at it is gone."""
    gone = run.state in ("running", "paused") and not run.alive
    return "died" if gone else run.state


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return "just now"
