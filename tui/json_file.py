"""Small JSON files of what the app remembers by itself: one that cannot be read or written is no reason to stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cache.atomic import write_whole


def read_json(path: Path) -> Any:
    """What the file holds; None where there is none, or it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, content: Any) -> None:
    """Write the file whole, with its folder; a data folder that cannot be written forgets it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content, indent=1).encode())
    except OSError:
        return
