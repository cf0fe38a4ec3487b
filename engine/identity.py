"""One run, one file for each model, one numerics for each score: what a resumed run refuses to mix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.events import ModelLoaded
from engine.protocols import ModelCard


def mixture(earlier: Iterable[ModelLoaded], model: str, precision: str, card: ModelCard, *, begun: bool) -> str:
    """Why this loading does not belong to the run that `earlier` loadings began, in a sentence; empty when it does.

    Another file under a model's name is refused at any time; another derived file or other numerics where scores of
    this precision are begun and open (`begun`): their samples would come from two engines.
    """
    for event in earlier:
        if event.model != model:
            continue
        before = event.card
        if before.get("source_sha256") != card.source_sha256:
            return (
                f"{Path(card.path).name} is not the file that this run began with {model} "
                f"(sha256 {card.source_sha256[:12]}, then {str(before.get('source_sha256'))[:12]}), and one score must "
                "not come from two files; put the first file back and resume, or start a new run"
            )
        if event.precision == precision and begun and (changed := _changes(before, card)):
            return (
                f"the engine is not as it was when this run began: {changed}; one score must not come from two; "
                "go on where it was as before (a fixed width: --width), or start a new run"
            )
    return ""


def _changes(before: Mapping[str, Any], card: ModelCard) -> str:
    """What differs, as `width 8, now 4`."""
    old = dict(before.get("numerics", {}))
    names = [*old, *(name for name in card.numerics if name not in old)]
    found = [
        f"{name} {old.get(name, 'not recorded')}, now {card.numerics.get(name, 'not recorded')}"
        for name in names
        if old.get(name) != card.numerics.get(name)
    ]
    if not found and before.get("sha256") != card.sha256:
        found = [f"its file {str(before.get('sha256'))[:12]}, now {card.sha256[:12]}"]
    return "; ".join(found)
