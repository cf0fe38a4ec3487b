"""How the passes of a run were judged is told in its report: data compared apart, or the program's own word."""

from __future__ import annotations

from cache.store import Store
from engine.events import Judged
from engine.recorder import Recorder
from tui.run_evidence import fold, sandbox


def judged(store: Store, *events: Judged) -> dict[str, str]:
    """The facts on the sandbox of a run with these events."""
    run = store.create_run("a run", "", {})
    recorder = Recorder(store, run)
    for event in events:
        recorder.event(event)
    recorder.flush()
    return {found.name: found.value for found in sandbox(store, run, fold(store, run))}


def test_passes_are_counted_by_mode(store: Store) -> None:
    """Failures do not count, and a sample that was judged again counts as it was judged last."""
    split = Judged("c", "P/0", 0, "k", "passed", mode="split")
    beside = Judged("c", "P/1", 0, "k", "passed", mode="same interpreter")
    again = Judged("c", "P/2", 0, "k", "passed", mode="same interpreter")
    failed = Judged("c", "P/2", 0, "k", "failed", mode="split")
    assert judged(store, split, beside, again, failed)["passes by mode"] == "1 split; 1 same interpreter"


def test_nothing_is_said_where_no_mode_was_stated(store: Store) -> None:
    """Runs of versions that did not state it have no such line."""
    assert "passes by mode" not in judged(store, Judged("c", "P/0", 0, "k", "passed"))
