"""The real parts, imported when one is first called: benchmarks and prompts are not needed for the first screen."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

from tui.local import LocalSession
from tui.parts import Parts


def late_parts(session: LocalSession) -> Parts:
    """As `tui.facts.app_parts`."""

    @lru_cache(maxsize=1)
    def real() -> Parts:
        from tui.facts import app_parts

        return app_parts(session)

    def late(name: str) -> Any:
        return lambda *arguments: getattr(real(), name)(*arguments)

    return Parts(**{part.name: late(part.name) for part in fields(Parts)})
