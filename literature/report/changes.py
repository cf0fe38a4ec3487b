"""Two reports compared: what changed in settings, environment, scores, checklist and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from literature.report.document import NAME, VERSION
from literature.report.errors import ReportError
from literature.report.markdown import code, text
from literature.report.rendering import environment, render

JSON_FILE, MARKDOWN_FILE = "changes.json", "changes.md"
SECTIONS = ("settings", "environment", "scores", "checklist", "verdicts")
ABSENT = "not there"
Document = Mapping[str, Any]
Values = Mapping[tuple[str, str], str]


def read_report(path: Path) -> dict[str, Any]:
    """A report.json, or the one in a folder; `ReportError` names the path and what was expected."""
    place = path / "report.json" if path.is_dir() else path
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{place}: cannot be read as a report: {error}; expected a report.json") from error
    return checked(found, str(place))


def checked(found: Any, place: str) -> dict[str, Any]:
    """The document again when it is a report of a version that is known; else `ReportError`."""
    if not isinstance(found, dict) or found.get("schema") != NAME:
        raise ReportError(f"{place}: is no report: expected a report.json that `scoretrace report` wrote")
    if found.get("version") != VERSION:
        raise ReportError(f"{place}: is a report of version {found.get('version')}; this Scoretrace reads {VERSION}")
    read: dict[str, Any] = found
    return read


def changes(before: Document, after: Document) -> dict[str, Any]:
    """What differs, by section, as (of, what, before, after); and how many scores both have and agree on."""
    sections = {
        "settings": _differences(_settings(before), _settings(after)),
        "environment": _differences(_environment(before), _environment(after)),
        "scores": list(_scores(before, after)),
        "checklist": _differences(_marks(before), _marks(after)),
        "verdicts": _differences(_verdicts(before), _verdicts(after)),
    }
    old, new = _by_id(before), _by_id(after)
    both = old.keys() & new.keys()
    return {
        "before": _head(before),
        "after": _head(after),
        "scores_in_both": len(both),
        "scores_equal": sum(_result(old[id_]) == _result(new[id_]) for id_ in both),
        **sections,
    }


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The changes for people."""
    yield f"{found['scores_equal']} of {found['scores_in_both']} scores that both reports have are equal"
    for section in SECTIONS:
        if not found[section]:
            yield f"{section}: no change"
        for row in found[section]:
            yield f"{section}: {row['of']}: {row['what']}: {row['before']} -> {row['after']}"


def contents(found: Mapping[str, Any]) -> dict[str, bytes]:
    """The changes as files."""
    templates = environment()
    templates.filters.update(text=text, code=code)
    return {
        MARKDOWN_FILE: render(templates, "changes.md.j2", {**found, "sections": SECTIONS}).encode("utf-8", "replace"),
        JSON_FILE: (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"),
    }


def _head(found: Document) -> dict[str, Any]:
    return {
        "title": found["title"],
        "run": found["run"]["id"],
        "made": found["made"],
        "scoretrace": found["scoretrace"],
    }


def _differences(before: Values, after: Values) -> list[dict[str, str]]:
    return [
        {"of": of, "what": what, "before": old, "after": new}
        for of, what in dict.fromkeys((*before, *after))
        if (old := before.get((of, what), ABSENT)) != (new := after.get((of, what), ABSENT))
    ]


def _facts(of: str, rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], str]:
    return {(of, row["name"]): row["value"] or "unknown" for row in rows}


def _settings(found: Document) -> Values:
    values = {("grid", axis["axis"]): ", ".join(axis["searched"]) for axis in found["not_searched"]["axes"]}
    for benchmark in found["benchmarks"]:
        values[benchmark["name"], "problems"] = str(benchmark["problems"])
        values |= _facts(benchmark["name"], benchmark["facts"])
    for model in found["models"]:
        values[model["name"], "file asked for"] = model["file"] or "unknown"
        for card in model["loaded"]:
            of = f"{model['name']}, {card['precision']}"
            for name in ("sha256", "source_sha256", "recipe", "template_sha256", "width"):
                values[of, name] = str(card[name]) or "unknown"
            values |= {(of, f"numerics: {name}"): value for name, value in card["numerics"].items()}
    return values


def _environment(found: Document) -> Values:
    return {**_facts("machine", found["environment"]), **_facts("sandbox", found["sandbox"])}


def _by_id(found: Document) -> dict[str, Any]:
    return {row["configuration"]: row for row in found["scores"]}


def _result(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["state"], row["score"]


def _scores(before: Document, after: Document) -> Iterator[dict[str, str]]:
    old, new = _by_id(before), _by_id(after)
    for id_ in dict.fromkeys((*old, *new)):
        first, second = old.get(id_), new.get(id_)
        if first and second and _result(first) == _result(second):
            continue
        row = second or first or {}
        told = _said(second)
        if first and second and first["state"] == second["state"] == "finished" and first["asked"] == second["asked"]:
            told += f" ({second['passed'] - first['passed']:+d} of {second['asked']})"
        yield {"of": f"{id_} ({row['label']})", "what": "score", "before": _said(first), "after": told}


def _said(row: Mapping[str, Any] | None) -> str:
    return ABSENT if row is None else row["score"] or row["state"]


def _marks(found: Document) -> Values:
    return {(str(item["number"]), item["title"]): item["mark"] for item in (*found["checklist"], *found["further"])}


def _verdicts(found: Document) -> Values:
    return {
        (
            f"{row['model']} {row['label']}",
            "verdict",
        ): f"{row['verdict']}, {row['matching']} of {row['configurations']} match"
        for row in found["matches"]
    }
