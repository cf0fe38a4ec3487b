"""The app for looking on: it attaches to runs and reads; starting, changing, writing and opening files are refused.

`python -m tui.view --run N` is what `scoretrace serve` starts for each browser; it speaks Textual's web protocol there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cache.paths import store_path
from cache.store import Run
from tui.errors import ViewOnlyError
from tui.local import LocalSession
from tui.session import Preflight
from tui.study import Study

REFUSED = "This is a view: it changes nothing. Use `scoretrace` on the machine itself for that."

READING: Mapping[str, frozenset[str]] = {
    "app": frozenset(
        ("literature", "grid", "run", "report", "runs", "problems", "findings", "compare", "theme", "palette", "quit")
    ),
    "literature": frozenset(("open", "filter", "sort", "left", "right")),
    "grid": frozenset(("left", "right", "needs")),
    "run": frozenset(
        (
            "open",
            "sort",
            "group",
            "filter",
            "findings",
            "left",
            "right",
            "model",
            "stream",
            "next",
            "previous",
            "detach",
        )
    ),
    "report": frozenset(("refresh",)),
    "runs": frozenset(("open", "refresh", "machine")),
    "configuration": frozenset(("open", "compare", "beside", "kind", "show", "filter", "next", "previous", "back")),
    "compare": frozenset(("open", "view", "show", "next", "previous", "sample", "sample_before", "swap", "back")),
    "problem": frozenset(("right", "left", "next", "previous", "sample", "reference", "back")),
    "findings": frozenset(("refresh", "back")),
}
"""Place -> the commands that only look. Whatever is not listed is refused in a view, so a new command is, until its
author has thought about it.
"""


def refusal(place: str, action: str) -> str:
    """Why a view does not run a command; empty when the command only looks."""
    if action == "help" or action in READING.get(place, frozenset()):
        return ""
    return REFUSED


class ViewSession(LocalSession):
    """Meets `tui.session.Session` over a store opened for reading; everything else raises `ViewOnlyError`."""

    def __init__(self, store: Path) -> None:
        super().__init__(store, read_only=True)

    def start(self, study: Study, only: Sequence[str] = ()) -> int:
        """Refused."""
        raise ViewOnlyError(REFUSED)

    def enqueue(self, study: Study) -> int:
        """Refused."""
        raise ViewOnlyError(REFUSED)

    def amend(self, tables: Sequence[str]) -> None:
        """Refused."""
        raise ViewOnlyError(REFUSED)

    def move(self, run: int, step: int) -> None:
        """Refused."""
        raise ViewOnlyError(REFUSED)

    def take_out(self, run: int) -> None:
        """Refused."""
        raise ViewOnlyError(REFUSED)

    def resume(self) -> None:
        """Refused."""
        raise ViewOnlyError(REFUSED)

    def wish(self, kind: str) -> None:
        """Refused."""
        raise ViewOnlyError(REFUSED)

    def preflight(self, study: Study, only: Sequence[str] = ()) -> Preflight:
        """Refused: counting may fetch a benchmark."""
        raise ViewOnlyError(REFUSED)


def first_run(session: LocalSession, wanted: int | None) -> Run | None:
    """The run to show first: the wanted one, else the newest, else none."""
    if wanted is not None:
        return session.store.run(wanted)
    return next(iter(session.runs()), None)


def main(arguments: Sequence[str]) -> int:
    """One viewer's app, until its browser closes; the exit status."""
    from tui.late import late_parts
    from tui.opening import run_app
    from tui.study import embedded

    parser = argparse.ArgumentParser(prog="scoretrace serve (one viewer)")
    parser.add_argument("--run", type=int)
    options = parser.parse_args(arguments)
    session = ViewSession(store_path())
    try:
        parts = replace(
            late_parts(session), write_report=None, again=None, take_generations=None, state=None, look=None
        )
        run = first_run(session, options.run)
        return run_app(session, None, parts=parts, studies=(embedded(),), view_of=run, view_only=True)
    finally:
        session.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
