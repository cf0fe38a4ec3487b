"""How the passes of a run were judged is told in its report: data compared apart, or the program's own word."""

from __future__ import annotations

from typing import Any

from cache.store import Store
from tui.run_evidence import fold, sandbox


def told(store: Store, run: int) -> dict[str, str]:
    """The facts on the sandbox of a run."""
    return {found.name: found.value for found in sandbox(store, run, fold(store, run))}


def test_passes_are_counted_by_mode(store: Store, scene: Any) -> None:
    """Each pass counts under the mode in which it was judged; failures do not count."""
    made = scene(passing=(0, 1, 2), modes={0: "split", 1: "split", 2: "same interpreter", 3: "same interpreter"})
    found = told(store, made.write(store))["passes by mode"]
    assert [part.split(" ", 1)[1] for part in found.split("; ")] == ["split", "same interpreter"]
    apart, beside = (int(part.split()[0]) for part in found.split("; "))
    assert apart == 2 * beside > 0


def test_nothing_is_said_where_no_mode_was_stated(store: Store, scene: Any) -> None:
    """Runs of versions that did not state it have no such line."""
    assert "passes by mode" not in told(store, scene(passing=(0, 1)).write(store))
