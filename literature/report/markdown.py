"""A report's document as Markdown, through the template that ships with this package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from literature.report.rendering import environment
from literature.report.rendering import render as render_template

TEMPLATE = "report.md.j2"
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&$])")
_BACKTICKS = re.compile(r"`+")


def render(document: Mapping[str, Any], templates: Path | None = None) -> str:
    """The Markdown text of a document that `literature.report.document.build` made; `templates` may hold another
    template of the same name.
    """
    found = environment(templates)
    found.filters.update(text=text, code=code, fence=fence)
    return render_template(found, TEMPLATE, document)


def text(value: object) -> str:
    """A value as plain words on one line, in a table cell or anywhere else: nothing in it is read as markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))


def code(value: object) -> str:
    """A value as inline code on one line, safe in a table cell; empty for an empty value."""
    plain = " ".join(str(value).split()).replace("|", "\\|")
    if not plain:
        return ""
    longest = max((len(run) for run in _BACKTICKS.findall(plain)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def fence(value: object, language: str = "") -> str:
    """A value as a fenced block whose fence is longer than any run of backticks inside it."""
    plain = str(value)
    longest = max((len(run) for run in _BACKTICKS.findall(plain)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{plain.rstrip(chr(10))}\n{ticks}"
