"""What the app remembers from one time to the next by itself, in `remembered.json` of the data folder. No screen in it.

What a user writes by hand stands in `app.toml` (`tui.preferences`), which is never written by the app.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cache.paths import home
from tui.json_file import read_json, write_json

MOST = 200
"""Sets of headers that are remembered, the ones used last."""


def remembered_path() -> Path:
    """Where it lies."""
    return home() / "remembered.json"


def columns_of(headers: Sequence[str]) -> dict[str, str]:
    """Header -> role, as the user said of a table with exactly these headers, in whatever order; empty for none."""
    wanted = sorted(headers)
    for entry in _entries():
        if entry["headers"] == wanted:
            return dict(entry["roles"])
    return {}


def remember_columns(headers: Sequence[str], roles: Mapping[str, str]) -> None:
    """Keep what the user said of a table's columns; without a word, what was kept of these headers is forgotten.

    A data folder that cannot be written forgets it, which is no reason to stop.
    """
    wanted, entries = sorted(headers), _entries()
    others = [entry for entry in entries if entry["headers"] != wanted]
    own = [{"headers": wanted, "roles": dict(roles)}] if roles else []
    if own or others != entries:
        write_json(remembered_path(), {"columns": [*own, *others][:MOST]})


def _entries() -> list[dict[str, Any]]:
    found = read_json(remembered_path())
    entries = found.get("columns") if isinstance(found, dict) else None
    return [entry for entry in entries if _whole(entry)] if isinstance(entries, list) else []


def _whole(entry: Any) -> bool:
    """False for what another version, or a hand, has left in another shape."""
    if not isinstance(entry, dict):
        return False
    headers, roles = entry.get("headers"), entry.get("roles")
    texts = [*headers, *roles, *roles.values()] if isinstance(headers, list) and isinstance(roles, dict) else [None]
    return all(isinstance(text, str) for text in texts)
