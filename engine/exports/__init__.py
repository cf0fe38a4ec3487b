"""Write a run's configurations in the shapes that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.errors import SettingsError
from engine.exports.cells import Sheet, sheets
from engine.exports.records import eval_results, every_eval_ever
from engine.exports.samples import bigcode, evalplus, human_eval, lm_eval

__all__ = ["KINDS", "sheets", "write"]

WRITERS: Mapping[str, Callable[[Sheet], dict[str, str]]] = {
    "evalplus": evalplus,
    "human-eval": human_eval,
    "bigcode": bigcode,
    "lm-eval": lm_eval,
    "every-eval-ever": every_eval_ever,
    "eval-results": eval_results,
}
KINDS = tuple(WRITERS)


def write(found: list[Sheet], kind: str, folder: Path) -> list[Path]:
    """Write one kind for each configuration into a folder; the files. `SettingsError` for an unknown kind, or a folder
    that cannot be written.
    """
    if kind not in WRITERS:
        raise SettingsError(f"kind {kind!r} is unknown; expected one of {', '.join(KINDS)}")
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for sheet in found:
            for name, text in WRITERS[kind](sheet).items():
                path = folder / name
                path.write_text(text, encoding="utf-8")
                written.append(path)
    except OSError as error:
        raise SettingsError(f"{folder}: cannot be written ({error.strerror or error}); choose another --out") from error
    return written
