"""Plots of a report's document as SVG: reported ticks and measured dots, the match heat map, effects of settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from literature.report import svg
from literature.values import printed

WIDTH, LEFT, RIGHT = 860.0, 24.0, 30.0
CELL_W, CELL_H = 76.0, 18.0
MOST_ROWS = 150
"""Configurations that one heat map shows; the JSON holds all."""
CLASSES = {
    "exact": "exact", "rounding": "rounding", "near": "near", "within noise": "noise", "inconclusive": "inconclusive",
    "open": "open", "ruled out": "out", "impossible": "impossible",
}  # fmt: skip

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Plot:
    """One image: `svg` is markup, `caption` one sentence for everybody."""

    svg: str
    caption: str


@dataclass(frozen=True)
class _Scale:
    """Percent to user units."""

    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        return self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)

    def marks(self) -> list[float]:
        """Round values along the scale, five to ten of them."""
        step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50) if (self.high - self.low) / s <= 10)
        return [i * step for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


# reported ticks and measured dots


def ticks_and_dots(document: Document) -> Plot | None:
    """One line per model: reported scores as ticks, finished configurations as dots, unfinished ones as spans."""
    rows = _model_rows(document)
    values = [v for _, claims, scores in rows for v in (*(_percent(c) for c in claims), *map(_end, scores))]
    if not values:
        return None
    scale = _Scale(0, min(100.0, 10 * math.ceil((max(values) + 3) / 10)), LEFT, WIDTH - RIGHT)
    parts: list[str] = []
    y = 8.0
    for name, claims, scores in rows:
        drawn, height = _model_row(name, claims, scores, scale, y)
        parts += drawn
        y += height
    parts += [svg.text(scale(v), y + 16, f"{v:g}", "t muted", "middle") for v in scale.marks()]
    parts.append(svg.text(WIDTH - RIGHT, y + 32, "percent of samples that pass", "t muted", "end"))
    caption = (
        "Each model on one line: a tick is a reported score with its sources, a dot a finished configuration, "
        "a bar what an unfinished one can still reach."
    )
    return Plot(svg.picture("dots", "Reported and measured scores", caption, WIDTH, y + 40, parts), caption)


def _model_rows(document: Document) -> list[tuple[str, list[Any], list[Any]]]:
    """(heading, reported scores, measured configurations) per reported model and benchmark, then models without any."""
    groups: dict[tuple[str, str], tuple[list[Any], dict[str, Any]]] = {}
    by_id = {row["configuration"]: row for row in document["scores"]}
    for claim, row in zip(document["matches"], document["reported"], strict=True):
        claims, scores = groups.setdefault((row["model"], row["benchmark"]), ([], {}))
        claims.append(row)
        scores.update({m["configuration"]: by_id[m["configuration"]] for m in claim["matches"]})
    shown = {id_ for _, scores in groups.values() for id_ in scores}
    for row in document["scores"]:
        if row["configuration"] not in shown and row["score"]:
            groups.setdefault((row["model"], row["benchmark"]), ([], {}))[1][row["configuration"]] = row
    return [
        (f"{model} · {benchmark}" if benchmark else model, claims, [s for s in scores.values() if s["judged"]])
        for (model, benchmark), (claims, scores) in groups.items()
    ]


def _percent(claim: Mapping[str, Any]) -> float:
    return float(printed(claim["value"]).percent)


def _end(score: Mapping[str, Any]) -> float:
    return 100 * int(score["lowest"]) / int(score["asked"])


def _model_row(
    name: str, claims: Sequence[Any], scores: Sequence[Any], scale: _Scale, top: float
) -> tuple[list[str], float]:
    labels, levels = _labels(claims, scale)
    base = top + 22 + 13 * levels + 12
    parts = [svg.text(LEFT, top + 12, name, "t strong")]
    parts += [svg.line(scale(v), base - 10, scale(v), base + 10, "grid") for v in scale.marks()]
    parts.append(svg.line(scale.left, base, scale.right, base, "axis"))
    for row in scores:
        told = f"{row['label']}: {row['score']}"
        x, end = scale(_end(row)), scale(100 * row["highest"] / row["asked"])
        if row["state"] == "finished":
            parts.append(svg.titled(svg.element("circle", cx=x, cy=base, r=4.5, class_="dot"), told))
        else:
            bar = svg.element("rect", x=x, y=base - 3.0, width=max(1.0, end - x), height=6.0, class_="span")
            parts.append(svg.titled(bar, told))
    for claim, (x, level) in zip(claims, labels, strict=True):
        y = top + 22 + 13 * level + 8
        tick = svg.line(scale(_percent(claim)), y + 2, scale(_percent(claim)), base + 10, "tick")
        parts.append(svg.titled(tick + svg.text(x, y, claim["label"], "t tick-label", "middle"), claim["label"]))
    return parts, base + 22 - top


def _labels(claims: Sequence[Any], scale: _Scale) -> tuple[list[tuple[float, int]], int]:
    """Where each tick's label goes: its centre and its level, so that no two overlap; and how many levels there are."""
    ends: list[float] = []
    places: dict[int, tuple[float, int]] = {}
    for index in sorted(range(len(claims)), key=lambda i: _percent(claims[i])):
        half = svg.CHARACTER * len(claims[index]["label"]) / 2
        x = max(half + 4, min(WIDTH - half - 4, scale(_percent(claims[index]))))
        level = next((i for i, end in enumerate(ends) if end + 6 < x - half), len(ends))
        ends[level : level + 1] = [x + half]
        places[index] = (x, level)
    return [places[i] for i in range(len(claims))], max(1, len(ends))


# the match heat map


def heat_maps(document: Document) -> list[Plot]:
    """One map per reported model: its configurations down, its reported scores across, the class of each match."""
    models: dict[tuple[str, str], list[Any]] = {}
    for claim in document["matches"]:
        if claim["matches"]:
            models.setdefault((claim["model"], claim["benchmark"]), []).append(claim)
    scores = {row["configuration"]: row for row in document["scores"]}
    return [_heat_map(index, *key, claims, scores) for index, (key, claims) in enumerate(models.items())]


def _heat_map(index: int, model: str, benchmark: str, claims: list[Any], scores: Mapping[str, Any]) -> Plot:
    cells = {(m["configuration"], i): m for i, claim in enumerate(claims) for m in claim["matches"]}
    order = [id_ for id_ in scores if any((id_, i) in cells for i in range(len(claims)))]
    shown = order[:MOST_ROWS]
    label = max(len(scores[id_]["label"]) for id_ in shown) * svg.CHARACTER + 12
    score = max(len(scores[id_]["score"] or "none") for id_ in shown) * svg.CHARACTER + 16
    left = label + score
    parts = [svg.text(left + CELL_W * (i + 0.5), 14, c["label"], "t strong", "middle") for i, c in enumerate(claims)]
    parts.append(svg.text(left - 10, 14, "score", "t muted", "end"))
    for number, id_ in enumerate(shown):
        y = 22 + CELL_H * number
        parts.append(svg.text(0, y + 13, scores[id_]["label"]))
        parts.append(svg.text(left - 10, y + 13, scores[id_]["score"] or "none", "t", "end"))
        for i, claim in enumerate(claims):
            if (id_, i) in cells:
                parts.append(_cell(left + CELL_W * i, y, cells[id_, i], claim["label"]))
    more = f" The first {len(shown)} of {len(order)} configurations are shown." if len(order) > len(shown) else ""
    caption = (
        f"{model}, {benchmark or 'benchmark not stated'}: {len(order)} configurations down, {len(claims)} reported "
        f"scores across. A match says consistent with, no more.{more}"
    )
    title = f"Matches of {model}"
    size = left + CELL_W * len(claims) + 4, 26 + CELL_H * len(shown)
    return Plot(svg.picture(f"heat-{index}", title, caption, *size, parts), caption)


def _cell(x: float, y: float, match: Mapping[str, Any], reported: str) -> str:
    class_ = CLASSES.get(match["kind"], "open")
    box = svg.element("rect", x=x + 1, y=y + 1, width=CELL_W - 2, height=CELL_H - 2, class_=f"cell {class_}")
    glyph = svg.text(x + CELL_W / 2, y + 13, match["glyph"], f"t glyph {class_}", "middle")
    return svg.titled(box + glyph, f"{reported} against {match['label']}: {match['kind']}. {match['sentence']}")


# effects


def effects(document: Document) -> Plot | None:
    """One row per change of a setting: the difference in points with its 95 % interval, and the line of no effect."""
    rows = document["effects"]
    if not rows:
        return None
    names = [f"{row['axis']}: {row['base']} → {row['level']}" for row in rows]
    left = max(map(len, names)) * svg.CHARACTER + 30
    reach = max(1.0, *(abs(float(row[end])) for row in rows for end in ("low", "high")))
    scale = _Scale(-reach * 1.05, reach * 1.05, left, WIDTH - RIGHT - 60)
    bottom = 14 + 24.0 * len(rows)
    parts = [svg.line(scale(v), 6, scale(v), bottom, "grid") for v in scale.marks()]
    parts.append(svg.line(scale(0), 6, scale(0), bottom, "axis"))
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        y = 22 + 24.0 * number
        class_ = "clear" if row["clear"] else "unclear"
        shape = svg.line(scale(float(row["low"])), y, scale(float(row["high"])), y, f"interval {class_}")
        shape += svg.element("circle", cx=scale(float(row["points"])), cy=y, r=4.5, class_=f"point {class_}")
        parts += [svg.text(0, y + 4, name), svg.titled(shape, row["sentence"])]
        parts.append(svg.text(WIDTH, y + 4, row["points"], "t", "end"))
    parts += [svg.text(scale(v), bottom + 16, f"{v:+g}" if v else "0", "t muted", "middle") for v in scale.marks()]
    caption = (
        "Change of the score in percentage points, paired over the same problems, with 95 % intervals. "
        "An interval over 0 does not say that both are equal."
    )
    return Plot(svg.picture("effects", "Effects of settings", caption, WIDTH, bottom + 26, parts), caption)
