"""The further points: evidence makes a tick, and taking any piece of it away unmakes the tick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cache.store import Store
from engine.settings import Grid
from literature.report.checklist import Item
from literature.report.further import further
from tui.reporting import collect, preview

SHARED, SEEDS, HARDWARE, COST, CONTAMINATION = range(8, 13)


@pytest.fixture
def points(store: Store, scene: Any) -> Callable[..., dict[int, Item]]:
    """The further points of a run that lacks something."""
    return lambda **changes: {i.number: i for i in further(collect(store, scene(**changes).write(store)))}


def test_a_run_with_all_its_evidence_has_every_further_point(points: Any) -> None:
    """Nothing removed: all five hold, though energy was never measured and says so."""
    found = points()
    assert {number: item.mark for number, item in found.items()} == dict.fromkeys(range(8, 13), "yes")
    (energy,) = [a for a in found[COST].answers if a.fact.name == "energy"]
    assert (energy.fact.known, energy.fact.pointer) == ("unknown", "not measured")


REMOVED: dict[str, tuple[dict[str, Any], set[int]]] = {
    "nothing stated": ({"started": False}, {SHARED, HARDWARE, COST, SEEDS}),
    "nothing recorded of the machine": ({"provenance": None}, {SHARED, HARDWARE}),
    "no loading": ({"cards": False}, {SHARED, HARDWARE}),
    "no reply stated": ({"replies": False}, {SHARED, COST}),
    "the template's text": ({"template_kept": False}, {SHARED}),
}


@pytest.mark.parametrize(("change", "lost"), REMOVED.values(), ids=REMOVED)
def test_each_missing_piece_unmakes_its_points(points: Any, change: dict[str, Any], lost: set[int]) -> None:
    """What the run did not keep is unknown in the points that need it, and changes no other point."""
    found = points(**change)
    assert {number for number, item in found.items() if item.mark == "unknown"} == lost
    assert {number for number, item in found.items() if item.mark == "yes"} == set(found) - lost


def test_outputs_that_are_gone_cannot_be_shared(points: Any) -> None:
    """Replies that the run names and the store has no more are counted, and the point is not held."""
    item = points(kept=False)[SHARED]
    assert item.mark == "in part"
    assert any("0 of 84 distinct replies" in a.fact.value for a in item.answers)


@pytest.mark.parametrize("removed", ["cpu", "memory", "gpu_looked"])
def test_hardware_needs_every_part(points: Any, scene: Any, removed: str) -> None:
    """A machine that does not name its processor, memory or GPU leaves the point unknown."""
    recorded = scene().provenance
    recorded["lives"][0]["environment"][removed] = {"cpu": "", "memory": 0, "gpu_looked": False}[removed]
    assert points(provenance=recorded)[HARDWARE].mark == "unknown"


def test_hardware_needs_the_device_of_the_model(points: Any, card_of: Any) -> None:
    """Where the model card names no device, nobody knows what computed the replies."""
    assert points(card=card_of(numerics={"build": "b9999"}))[HARDWARE].mark == "unknown"


def test_contamination_is_never_assumed(points: Any, study_of: Any) -> None:
    """Unstated is unknown; "not checked" is a statement that does not hold the point."""
    silent = {key: text for key, text in study_of().stated.items() if key != "contamination"}
    assert points(study=study_of(stated=silent))[CONTAMINATION].mark == "unknown"
    told = study_of(stated={**silent, "contamination": "not checked"})
    assert points(study=told)[CONTAMINATION].mark == "no"


def test_measured_energy_is_shown(store: Store, scene: Any) -> None:
    """An energy that was recorded for the run stands in the report with its fact."""
    run = scene().write(store)
    store.put_fact(f"energy:{run}", {"text": "36.5 kJ (GPU, NVML)"})
    assert "36.5 kJ" in preview(store, run)


def test_spread_between_extraction_rules_is_shown(store: Store, scene: Any, study_of: Any) -> None:
    """Two rules over the same replies make one row with both counts; one rule alone makes the spread unknown."""
    assert "Unknown: no two finished configurations differ in the extraction rule" in preview(
        store, scene().write(store)
    )
    benchmark = study_of().grid.benchmark
    grid = Grid(benchmark=benchmark, template=("chat",), extraction=("harness", "raw"))
    text = preview(store, scene(study=study_of(grid=grid)).write(store))
    assert "harness 1/4, raw 1/4" in text
    assert "| extraction | harness | raw | +0.00 |" in text
