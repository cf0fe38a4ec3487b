"""Which configuration to compare with: one of this run, of another run, or an imported set of generations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui.beside import Side, fitting
from tui.errand import Errand
from tui.errors import TypedError
from tui.parts import Intake
from tui.screens.form import Field, FormScreen
from tui.screens.prompt import USER_ERRORS, ChoiceScreen
from tui.state import RunState

if TYPE_CHECKING:
    from tui.app import ScoretraceApp

ELSEWHERE, FROM_FILE = "elsewhere", "file"


class OtherSide:
    """Asks step by step, without holding the screen up; `tick` brings it forward, `done` gets the side."""

    def __init__(self, root: ScoretraceApp, key: str, done: Callable[[Side], None]) -> None:
        self._root = root
        self._key = key
        self._done = done
        self._errand: Errand[tuple[int, RunState]] | None = None

    @property
    def busy(self) -> bool:
        """True while a run is read or a file is taken in."""
        return self._errand is not None

    def ask(self) -> None:
        """One of this run, or elsewhere."""
        state = self._root.desk.state
        score = state.scores[self._key]
        choices = [
            (key, "", f"{state.scores[key].text:>9}  {_label(state, key, score.model)}")
            for key in fitting(state, score, self._key)
        ]
        choices.append((ELSEWHERE, "a", "a configuration of another run, or imported generations"))
        self._root.push_screen(ChoiceScreen("Compare with", choices), self._chosen)

    def _chosen(self, answer: str | None) -> None:
        if answer == ELSEWHERE:
            self._runs()
        elif answer:
            self._done(Side(self._root.desk.state, answer))

    def _runs(self) -> None:
        session = self._root.desk.session
        try:
            runs = [run for run in session.runs() if run.id != session.run]
        except USER_ERRORS as error:
            self._root.say(str(error), warning=True)
            return
        choices = [(str(run.id), "", f"run {run.id}  {run.name}  {run.state}") for run in runs]
        if self._root.parts.take_generations is not None:
            choices.append((FROM_FILE, "i", "import a file of generations, and judge it here"))
        if not choices:
            self._root.say("There is no other run: `scoretrace import-generations` keeps a file as one.", warning=True)
            return
        self._root.push_screen(ChoiceScreen("Compare with a configuration of", choices), self._run)

    def _run(self, answer: str | None) -> None:
        if answer == FROM_FILE:
            self._ask_file()
        elif answer:
            self._read(lambda: int(answer), f"Reading run {answer}.")

    def _ask_file(self) -> None:
        state, study = self._root.desk.state, self._root.desk.study
        fields = [
            Field("file", "file", "", "samples.jsonl, results.json, a folder ..."),
            Field("benchmark", "benchmark", state.scores[self._key].benchmark, "the benchmark that it answers"),
            Field("data", "data", study.data if study else "", "the benchmark's own file; empty: as it comes"),
            Field("kind", "kind", "", "the file's format; empty: told by its content"),
            Field("results", "results", "", "bigcode's evaluation_results.json; empty: none"),
        ]
        self._root.push_screen(FormScreen("Import generations", fields, self._take), lambda answer: None)

    def _take(self, answers: Mapping[str, str]) -> str:
        from engine.imports import KINDS

        if not answers["file"] or not Path(answers["file"]).expanduser().exists():
            raise TypedError(f"{answers['file'] or 'file'}: no such file; name one that holds generations")
        results = Path(answers["results"]).expanduser()
        if answers["results"] and not results.is_file():
            raise TypedError(f"{answers['results']}: no such file; name bigcode's evaluation_results.json, or nothing")
        if answers["kind"] not in ("", *KINDS):
            raise TypedError(f"kind {answers['kind']!r}: expected one of {', '.join(KINDS)}, or nothing")
        path = str(Path(answers["file"]).expanduser())
        intake = Intake(**{**answers, "file": path, "results": str(results) if answers["results"] else ""})
        take = self._root.parts.take_generations
        assert take is not None
        self._read(lambda: take(intake), f"Judging {Path(path).name} here.")
        return path

    def _read(self, run: Callable[[], int], said: str) -> None:
        session = self._root.desk.session

        def work() -> tuple[int, RunState]:
            found = run()
            state = RunState()
            state.apply(session.read(found))
            return found, state

        self._errand = Errand(work)
        self._root.say(said)

    def tick(self) -> None:
        """Go on when what was asked for is there."""
        if self._errand is None or not self._errand.done:
            return
        errand, self._errand = self._errand, None
        try:
            run, state = errand.take()
        except USER_ERRORS as error:
            self._root.say(str(error), warning=True)
            return
        keys = fitting(state, self._root.desk.state.scores[self._key])
        if not keys:
            self._root.say(f"Run {run} has judged no problem of this benchmark.", warning=True)
        elif len(keys) == 1:
            self._done(Side(state, keys[0], f"run {run}"))
        else:
            choices = [(key, "", f"{state.scores[key].text:>9}  {_label(state, key, '')}") for key in keys]

            def chosen(key: str | None) -> None:
                if key:
                    self._done(Side(state, key, f"run {run}"))

            self._root.push_screen(ChoiceScreen(f"Compare with, of run {run}", choices), chosen)


def _label(state: RunState, key: str, model: str) -> str:
    score = state.scores[key]
    name = "" if score.model == model else f"{score.model} · "
    return name + score.configuration.label
