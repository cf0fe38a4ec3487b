"""A report's document as one HTML file that loads nothing: style and plots are inside, and there is no script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from literature.report import plots
from literature.report.rendering import environment
from literature.report.rendering import render as render_template

TEMPLATE = "report.html.j2"


def render(document: Mapping[str, Any], templates: Path | None = None) -> str:
    """The HTML text of a document that `literature.report.document.build` made."""
    from markupsafe import Markup

    found = environment(templates, html=True)

    def drawn(plot: plots.Plot) -> dict[str, Any]:
        return {"svg": Markup(plot.svg), "caption": plot.caption}

    dots, effects = plots.ticks_and_dots(document), plots.effects(document)
    values = {
        **document,
        "dots": drawn(dots) if dots else None,
        "heat_maps": [drawn(plot) for plot in plots.heat_maps(document)],
        "effects_plot": drawn(effects) if effects else None,
        "classes": plots.CLASSES,
    }
    return render_template(found, TEMPLATE, values)
