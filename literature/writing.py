"""Tables of reported scores, written so that reading gives the same scores back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from literature.cells import split_sources
from literature.columns import STATED_PREFIX
from literature.errors import TableError
from literature.records import ReportedScore
from literature.values import printed

WRITTEN_AS = (".eee.json", ".json", ".jsonl", ".csv", ".tsv", ".md", ".tex")
"""Endings that `write_table` knows, the more special one first."""
_FIELDS = ("model", "introduced_by", "benchmark", "metric", "value", "sources", "uncertainty", "printed", "place")


def write_table(scores: Sequence[ReportedScore], path: str | Path) -> None:
    """Write scores in long form, in the format of the file's name; `read_table` gives the same scores back.

    CSV, TSV, Markdown (`.md`), LaTeX (`.tex`), JSON, JSON Lines, every-eval-ever (`.eee.json`). `TableError` for
    another name, when a source's name holds a semicolon, which separates sources, or a text a line break.
    """
    target = Path(path)
    rows = _long_form(scores, target)
    name = target.name.casefold()
    suffix = next((known for known in WRITTEN_AS if name.endswith(known)), "")
    if not suffix:
        raise TableError(
            f"no format goes by the name {target.suffix or target.name!r}", file=str(target),
            expected=f"a name that ends in {', '.join(WRITTEN_AS)}", remedy="rename it",
        )  # fmt: skip
    try:
        target.write_text(_as_text(suffix, rows, scores), encoding="utf-8", newline="")
    except OSError as error:
        raise TableError(f"cannot be written ({error.strerror})", file=str(target), remedy="check the folder") from None


def _as_text(suffix: str, rows: Sequence[Sequence[str]], scores: Sequence[ReportedScore]) -> str:
    from literature.formats import delimited, every_eval_ever, latex, markdown, results

    if suffix == ".eee.json":
        return every_eval_ever.written(scores)
    if suffix in (".json", ".jsonl"):
        return results.written(rows, [score.sources for score in scores], lines=suffix == ".jsonl")
    if suffix in (".csv", ".tsv"):
        return delimited.written(rows, "\t" if suffix == ".tsv" else ",")
    return markdown.written(rows) if suffix == ".md" else latex.written(rows)


def _long_form(scores: Sequence[ReportedScore], target: Path) -> list[list[str]]:
    """A header and one row a score."""
    axes = sorted({axis for score in scores for axis in score.stated})
    optional = [name for name in ("uncertainty", "printed", "place") if any(getattr(score, name) for score in scores)]
    fields = [name for name in _FIELDS if name not in ("uncertainty", "printed", "place") or name in optional]
    rows = [[*fields, *(STATED_PREFIX + axis for axis in axes)]]
    for score in scores:
        special = {"sources": _sources_text(score, target), "value": _value_text(score.value)}
        texts = [special[name] if name in special else getattr(score, name) for name in fields]
        rows.append([*texts, *(score.stated.get(axis, "") for axis in axes)])
        if any("\n" in text or "\r" in text for text in rows[-1]):
            raise TableError(
                f"a text of {score.label} holds a line break", file=str(target), remedy="write it in one line"
            )
    return rows


def _value_text(value: str) -> str:
    """The value, marked as a percentage where a reader could take it for a fraction of one."""
    return value if value.endswith("%") or printed(value).percent > 1 else value + "%"


def _sources_text(score: ReportedScore, target: Path) -> str:
    if any(";" in source for source in score.sources):
        raise TableError(f"source of {score.label} holds a semicolon", file=str(target), remedy="rename the source")
    plain = " ".join(score.sources)
    if split_sources(plain) == score.sources:
        return plain
    return "; ".join(score.sources) + ";"
