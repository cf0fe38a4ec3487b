"""Generations of bigcode-evaluation-harness: a list for each problem, by place and not by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.errors import ImportedError
from engine.imports.records import AS_STORED, PROGRAM, Imported, Sample, Tasks, known, read_json


def read_bigcode(path: Path, tasks: Tasks, results: Path | None = None) -> list[Imported]:
    """`generations_{task}.json`, programs as the harness cut them; `results` is its `evaluation_results.json`.

    A problem is the list's place plus the configuration's limit_start. Empty places (an intermediate file) are missing.
    """
    lists = read_json(path)
    if not isinstance(lists, list):
        raise ImportedError(f"{path}: expected a list of lists of programs, found {type(lists).__name__}")
    config = _config(results) if results else {}
    start = config.get("limit_start") or 0
    if not isinstance(start, int) or start < 0:
        raise ImportedError(f"{results}, config.limit_start: expected a whole number from 0 up, found {start!r}")
    if start + len(lists) > len(tasks.ids):
        raise ImportedError(
            f"{path}: {len(lists)} problems from place {start} on, but the benchmark has {len(tasks.ids)}: "
            "name the benchmark that the file belongs to"
        )
    samples = []
    for place, texts in enumerate(lists):
        if texts is not None and not isinstance(texts, list):
            raise ImportedError(
                f"{path}, problem {place}: expected a list of programs, found {type(texts).__name__}; "
                "a list of texts alone holds references, not generations"
            )
        for number, text in enumerate(texts or ()):
            if not isinstance(text, str):
                raise ImportedError(f"{path}, problem {place}, sample {number}: found {type(text).__name__}, not text")
            samples.append(Sample(tasks.ids[start + place], number, text))
    model = str(config.get("model") or "unknown")
    notes = _notes(config, max((len(texts or ()) for texts in lists), default=0))
    return [Imported(model, PROGRAM, AS_STORED, tuple(samples), _settings(config, str(results)), notes)]


def _config(path: Path) -> dict[str, Any]:
    found = read_json(path)
    config = found.get("config") if isinstance(found, dict) else None
    if not isinstance(config, dict):
        raise ImportedError(f"{path}, field 'config': missing; expected the harness's evaluation_results.json")
    return config


def _settings(config: dict[str, Any], where: str) -> dict[str, Any]:
    greedy = config.get("do_sample") is False
    quantised = "8bit" if config.get("load_in_8bit") else "4bit" if config.get("load_in_4bit") else None
    # The harness notes its --precision even where a quantised model is loaded, which does not use it.
    return known(
        where,
        temperature=0.0 if greedy else config.get("temperature"),
        top_p=config.get("top_p"),
        top_k=config.get("top_k"),
        seed=config.get("seed"),
        max_length=config.get("max_length_generation"),
        precision=quantised or config.get("precision"),
        template=config.get("prompt"),
    )


def _notes(config: dict[str, Any], most: int) -> tuple[str, ...]:
    asked = config.get("n_samples")
    if isinstance(asked, int) and asked < most:
        return (f"the file holds {most} samples a problem, of which the harness scored the first {asked} only",)
    return ()
