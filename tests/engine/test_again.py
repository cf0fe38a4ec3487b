"""One sample again: its program executed once more, its reply made alone, and nothing kept of either."""

from __future__ import annotations

from typing import Any

import pytest

from cache.store import Store
from engine.again import again
from engine.audit import DIFFERENT, NOT_MADE, SAME, checked
from engine.cells import read_run
from engine.errors import ModelError, SettingsError
from engine.settings import Decoding, Grid

GRID = Grid(benchmark=("fake-python",), decoding=(Decoding(), Decoding(0.8)), max_length=(105, 200))


@pytest.fixture
def life(store: Store, fakes: Any) -> Any:
    """A finished run."""
    found = fakes.Life(store, GRID)
    assert found.go() == "finished"
    return found


def cells(life: Any) -> list[Any]:
    """All judged samples that have a reply."""
    found = read_run(life.store, life.run)
    return [cell for of in found.cells.values() for cell in of.values() if cell.key]


def once_more(life: Any, fakes: Any, cell: Any, **more: Any) -> Any:
    """Go through one sample again with fakes."""
    place = (cell.configuration.id, cell.task_id, cell.sample)
    parts = {
        "open_model": lambda name, precision, slot: fakes.Model(name, precision),
        "open_benchmark": lambda name: fakes.Benchmark(),
        "sandbox": fakes.Sandbox(),
    } | more
    return again(life.store, life.run, place, **parts)


def test_a_good_sample_is_the_same_in_reply_and_outcome(life: Any, fakes: Any) -> None:
    """Every sample of a good run; prefixes under a shorter limit too."""
    found = [once_more(life, fakes, cell) for cell in cells(life)]
    assert {one.result for one in found} == {SAME}
    assert all(one.kind == one.recorded for one in found)
    assert any(one.tokens for one in found)


def test_nothing_is_kept_of_it(life: Any, fakes: Any) -> None:
    """No event and no fact: the run's audit draws its own samples."""
    before = life.store.events(life.run)
    once_more(life, fakes, cells(life)[0])
    assert life.store.events(life.run) == before and checked(life.store, life.run) == []


def test_another_outcome_is_seen(life: Any, fakes: Any) -> None:
    """A sandbox that judges otherwise shows in both, and the recorded outcome stands beside it."""

    class Strict(fakes.Sandbox):  # type: ignore[misc]
        def run(self, program: Any, limits: Any) -> Any:
            return type(super().run(program, limits))("timeout", "30 s")

    found = once_more(life, fakes, cells(life)[0], sandbox=Strict())
    assert found.kind == "timeout" and found.said == "30 s" and found.recorded != "timeout"
    assert found.result == DIFFERENT and "judged timeout" in found.detail


def test_without_the_model_the_program_is_judged_all_the_same(life: Any, fakes: Any) -> None:
    """A file that is gone says so; the kept reply is judged."""

    def gone(name: str, precision: str, slot: int) -> Any:
        raise ModelError("m.gguf: no such file")

    found = once_more(life, fakes, cells(life)[0], open_model=gone)
    assert found.result == NOT_MADE and "no such file" in found.detail
    assert found.kind == found.recorded


def test_a_sample_that_was_not_judged_is_refused(life: Any, fakes: Any) -> None:
    """Nothing to compare with."""
    cell = cells(life)[0]
    with pytest.raises(SettingsError, match="has not judged P/99"):
        again(
            life.store, life.run, (cell.configuration.id, "P/99", 0), lambda *a: None, lambda name: None, None
        )  # fmt: skip
