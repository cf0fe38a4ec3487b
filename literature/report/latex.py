"""A report's document as LaTeX with booktabs tables, and as PDF through the LaTeX that the user has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from literature.report.errors import ReportError
from literature.report.rendering import environment
from literature.report.rendering import render as render_template

TEMPLATE = "report.tex.j2"
PROGRAMS = ("pdflatex", "tectonic", "lualatex", "xelatex")
"""Looked for in this order, the fastest first."""
WALL_S = 120.0
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", '"': r"\symbol{34}",
    "-": "-{}", "·": r"\textperiodcentered{}", "→": r"$\rightarrow$", "±": r"$\pm$", "×": r"$\times$",
    "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "µ": r"\textmu{}", "–": "--", "—": "---", "‘": "`", "’": "'",
    "“": "``", "”": "''", "…": r"\ldots{}", "●": r"$\bullet$", "○": r"$\circ$", "✗": r"$\times$", "✓": r"$\surd$",
}  # fmt: skip
_LONG = 20
_STEP = 8


def render(document: Mapping[str, Any], templates: Path | None = None) -> str:
    """The LaTeX text of a document that `literature.report.document.build` made."""
    found = environment(templates, latex=True)
    found.filters.update(text=text, code=code)
    return render_template(found, TEMPLATE, document)


def text(value: object) -> str:
    """A value as plain words on one line; long words may break, nothing in it is read as a command."""
    return " ".join(_word(word) for word in str(value).split())


def code(value: object) -> str:
    """A value in typewriter letters; empty for an empty value."""
    plain = text(value)
    return rf"\texttt{{{plain}}}" if plain else ""


def _word(word: str) -> str:
    parts = [word] if len(word) <= _LONG else [word[i : i + _STEP] for i in range(0, len(word), _STEP)]
    return r"\allowbreak{}".join("".join(map(_character, part)) for part in parts)


def _character(one: str) -> str:
    if one in _SPECIAL:
        return _SPECIAL[one]
    if one.isascii():
        return one if one.isprintable() else ""
    # Every LaTeX has the letters of European languages; anything else is named rather than lost.
    return one if "\u00c0" <= one <= "\u017f" else f"[U+{ord(one):04X}]"


def latex_program() -> str:
    """The path of the LaTeX to use; empty when there is none."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), "")


def pdf(source: str) -> bytes:
    """The PDF that the user's LaTeX makes of a text; `ReportError` says what is missing or what LaTeX said."""
    program = latex_program()
    if not program:
        raise ReportError(
            f"no PDF: none of {', '.join(PROGRAMS)} is installed (Debian: apt install texlive-latex-recommended); "
            "without one, ask for --formats tex and compile it elsewhere"
        )
    with tempfile.TemporaryDirectory(prefix="scoretrace-tex-") as name:
        folder = Path(name)
        (folder / "report.tex").write_text(source, encoding="utf-8")
        # Twice: the widths of long tables settle in the second run. tectonic repeats by itself.
        for _ in range(1 if Path(program).name == "tectonic" else 2):
            _compile(program, folder)
        return (folder / "report.pdf").read_bytes()


def _compile(program: str, folder: Path) -> None:
    options = ["-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    command = [program, *([] if Path(program).name == "tectonic" else options), "report.tex"]
    quiet = {**os.environ, "openin_any": "p", "openout_any": "p"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=quiet, stdin=subprocess.DEVNULL, capture_output=True, timeout=WALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReportError(f"no PDF: {program} did not finish: {error}; ask for --formats tex instead") from error
    if done.returncode or not (folder / "report.pdf").is_file():
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        line = next(iter(re.findall(r"^! ?.*(?:\n.*){0,3}", said, re.M)), said[-300:])
        raise ReportError(f"no PDF: {program} says: {' '.join(line.split())}; ask for --formats tex instead")
