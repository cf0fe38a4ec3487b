"""A study run to its end by a worker with a fake model, in the store that the command line uses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cache.paths import store_path
from tui.local import LocalSession
from tui.session import LIVE
from tui.study import Study


@pytest.fixture
def run_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Study], LocalSession]]:
    """Starts a study in a data folder of the test's own, and gives the session once the run has ended."""
    helper = Path(__file__).parents[1] / "engine" / "doomed_worker.py"
    monkeypatch.setattr("tui.local.WORKER", (str(helper), "sound"))
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path))
    opened: list[LocalSession] = []

    def run(study: Study) -> LocalSession:
        opened.append(LocalSession(store_path()))
        opened[-1].start(study)
        end = time.monotonic() + 600
        while opened[-1].status().state in LIVE:
            assert time.monotonic() < end
            time.sleep(0.05)
        return opened[-1]

    yield run
    for session in opened:
        session.close()
