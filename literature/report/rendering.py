"""Jinja environments of the report's formats: templates of this package, or a user's own of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from literature.report.errors import ReportError

if TYPE_CHECKING:
    from jinja2 import Environment

LATEX_MARKS = {
    "block_start_string": "((*", "block_end_string": "*))", "variable_start_string": "(((",
    "variable_end_string": ")))", "comment_start_string": "((#", "comment_end_string": "#))",
}  # fmt: skip
"""In LaTeX, braces are everywhere: templates use round brackets."""


def environment(folder: Path | None = None, *, html: bool = False, latex: bool = False) -> Environment:
    """An environment whose templates come from `folder` first, then from this package.

    Templates run in Jinja's sandbox: a folder that came from somebody else gets at nothing but the document.
    """
    from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    if folder is not None and not folder.is_dir():
        raise ReportError(f"{folder}: no such folder of templates; `--templates` names a folder that holds report.*.j2")
    loaders = [PackageLoader("literature.report", "templates")]
    own = [FileSystemLoader(folder)] if folder else []
    return SandboxedEnvironment(
        loader=ChoiceLoader([*own, *loaders]),
        undefined=StrictUndefined,
        autoescape=html,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **(LATEX_MARKS if latex else {}),
    )


def render(found: Environment, name: str, values: Mapping[str, Any]) -> str:
    """A template's text; `ReportError` names the template and the line where a user's own does not work."""
    from jinja2 import TemplateError, TemplateSyntaxError

    try:
        return found.get_template(name).render(values)
    except TemplateSyntaxError as error:
        place = f"{error.filename or error.name}, line {error.lineno}"
        raise ReportError(f"{place}: not a template: {error.message}; correct it or leave out --templates") from error
    except TemplateError as error:
        raise ReportError(f"{name}: {error}; correct the template or leave out --templates") from error


def packaged(name: str) -> str:
    """The text of a file among this package's templates."""
    return (files("literature.report") / "templates" / name).read_text(encoding="utf-8")
