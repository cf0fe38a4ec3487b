"""A grid that is being chosen, kept until the app is left, for when it ends otherwise. No screen in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tui.errors import StudyError
from tui.own_table import own_path
from tui.study import Study, dumps, loads


def draft_path(study: str) -> Path:
    """Where the draft of a study of that name lies."""
    own = own_path(study)
    return own.with_name(own.name.removesuffix("-scores.csv") + "-draft.json")


def keep(own: Study, changed: Study) -> None:
    """Keep models and grid of `changed`, which came from those of `own`; nothing is kept of what is as in `own`.

    A data folder that cannot be written keeps none, which is no reason to stop.
    """
    if (changed.grid, changed.models) == (own.grid, own.models):
        forget(own.name)
        return
    path = draft_path(own.name)
    part = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written at each key press, for a fault of the app and not of the disk: it is not waited for.
        part.write_text(json.dumps({"own": dumps(own), "changed": dumps(changed)}), encoding="utf-8")
        part.replace(path)
    except OSError:
        return


def recall(own: Study) -> Study | None:
    """The study with models and grid as they were kept; None without a draft, or where the study is another by now."""
    try:
        body = json.loads(draft_path(own.name).read_text(encoding="utf-8"))
        then, changed = (loads(body[name], "a draft") for name in ("own", "changed"))
    except (OSError, ValueError, KeyError, TypeError, StudyError):
        return None
    if (then.grid, then.models) != (own.grid, own.models):
        return None
    return replace(own, grid=changed.grid, models=changed.models)


def forget(study: str) -> None:
    """No draft any more."""
    try:
        draft_path(study).unlink(missing_ok=True)
    except OSError:
        return
