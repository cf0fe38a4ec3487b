"""The few SVG elements that plots are made of; colours are classes, so that the page's style sheet decides them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

CHARACTER = 6.7
"""Width of an average character at 11 px, in user units."""


def element(name: str, body: str = "", **attributes: object) -> str:
    """One element; `class_` becomes `class`, other underscores become dashes, numbers have one decimal."""
    text = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{text}>{body}</{name}>" if body else f"<{name}{text}/>"


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else escape(str(value), quote=True)


def text(x: float, y: float, content: str, class_: str = "t", anchor: str = "start") -> str:
    """Words at a place."""
    return element("text", escape(content), x=x, y=y, class_=class_, text_anchor=anchor)


def titled(shape: str, title: str) -> str:
    """A shape in a group with a title, which browsers show on hover and screen readers read."""
    return element("g", element("title", escape(title)) + shape)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def picture(id_: str, title: str, description: str, width: float, height: float, parts: Sequence[str]) -> str:
    """A whole image with its title and its description for people who do not see it."""
    head = element("title", escape(title), id=f"{id_}-title") + element("desc", escape(description), id=f"{id_}-desc")
    return element(
        "svg", head + "".join(parts), viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}",
        height=f"{height:.0f}", role="img", aria_labelledby=f"{id_}-title {id_}-desc", class_="plot",
    )  # fmt: skip
