"""Samples of lm-evaluation-harness: one line per problem and filter, so that a problem stands there more than once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.imports.records import (
    AS_STORED,
    COMPLETION,
    PROGRAM,
    REPLY,
    Imported,
    Sample,
    Tasks,
    known,
    read_lines,
    typed,
)


def read_lm_eval(path: Path, tasks: Tasks) -> list[Imported]:
    """`samples_{task}_{time}.jsonl`: the programs of each filter, and the raw replies once, as configurations."""
    by_filter: dict[str, list[Sample]] = {}
    raw: dict[tuple[str, int], Sample] = {}
    settings: dict[str, Any] = {}
    continues = False
    for where, row in read_lines(path):
        doc = typed(row, "doc", dict, where)
        task_id = tasks.of(doc.get("task_id", row.get("doc_id")), where)
        texts, replies = list(_texts(row.get("filtered_resps"))), list(_texts(row.get("resps")))
        passed = _verdict(row) if len(texts) == 1 else None
        name = str(row.get("filter", "none"))
        by_filter.setdefault(name, []).extend(
            Sample(task_id, number, text, passed=passed) for number, text in enumerate(texts)
        )
        for number, text in enumerate(replies):
            raw[task_id, number] = Sample(task_id, number, text)
        settings = settings or _settings(row, where)
        prompt = str(doc.get("prompt", "\0"))
        continues = continues or any(
            text.startswith(prompt + reply) for text, reply in zip(texts, replies, strict=False)
        )
    found = [
        Imported("unknown", PROGRAM, f"{AS_STORED} ({name})", tuple(samples), settings)
        for name, samples in by_filter.items()
        if samples
    ]
    if raw:
        form, rule = (COMPLETION, "prompt+body") if continues else (REPLY, "smart")
        found.append(Imported("unknown", form, rule, tuple(raw.values()), settings))
    return found


def _texts(value: Any) -> Iterator[str]:
    """Texts in lists nested as deep as a filter leaves them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _verdict(row: dict[str, Any]) -> bool | None:
    names = row.get("metrics") or [name for name in row if name.startswith("pass")]
    values = {name: row.get(name, row.get(f"{name},{row.get('filter')}")) for name in names}
    told = [value for name, value in values.items() if isinstance(value, (int, float)) and "pass" in name]
    return bool(told[0]) if told and told[0] in (0, 1) else None


def _settings(row: dict[str, Any], where: str) -> dict[str, Any]:
    arguments = row.get("arguments")
    first = arguments.get("gen_args_0", {}) if isinstance(arguments, dict) else {}
    options = first.get("arg_1", {}) if isinstance(first, dict) else {}
    if not isinstance(options, dict):
        return {}
    greedy = options.get("do_sample") is False
    return known(
        where,
        temperature=0.0 if greedy else options.get("temperature"),
        top_p=options.get("top_p"),
        top_k=options.get("top_k"),
    )
