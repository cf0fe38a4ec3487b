"""A report's document as Markdown, through the template that ships with this package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = "report.md.j2"
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&$])")
_BACKTICKS = re.compile(r"`+")


def render(document: Mapping[str, Any]) -> str:
    """The Markdown text of a document that `literature.report.document.build` made."""
    return _template().render(document)


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("literature.report", "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(text=text, code=code, fence=fence)
    return environment.get_template(TEMPLATE)


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
