"""Read other people's generations: which kinds there are, and which one a file is."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.errors import ImportedError
from engine.imports.bigcode import read_bigcode
from engine.imports.inspect_log import read_inspect
from engine.imports.lm_eval import read_lm_eval
from engine.imports.records import Imported, Tasks, read_json, read_lines
from engine.imports.samples import read_evalplus, read_evalplus_results, read_human_eval
from engine.imports.studies import read_code_eval_harness, read_helm
from engine.protocols import Problem

__all__ = ["KINDS", "kind_of", "read_generations"]

READERS: Mapping[str, Callable[[Path, Tasks], list[Imported]]] = {
    "bigcode": read_bigcode,
    "human-eval": read_human_eval,
    "evalplus": read_evalplus,
    "evalplus-results": read_evalplus_results,
    "lm-eval": read_lm_eval,
    "inspect": read_inspect,
    "code-eval-harness": read_code_eval_harness,
    "helm": read_helm,
}
KINDS = tuple(READERS)


def read_generations(
    path: Path, problems: Sequence[Problem], kind: str = "", results: Path | None = None
) -> list[Imported]:
    """The configurations in a file or folder; without `kind` it is told by what the file holds.

    `results` is bigcode's evaluation_results.json. `ImportedError` names file, place and what was expected; so does
    a file without a single sample.
    """
    kind = kind or kind_of(path)
    if kind not in READERS:
        raise ImportedError(f"kind {kind!r} is unknown; expected one of {', '.join(KINDS)}")
    if results and kind != "bigcode":
        raise ImportedError(f"{results}: results of their own belong to the kind 'bigcode' only; leave out --results")
    tasks = Tasks(problems)
    found = read_bigcode(path, tasks, results) if kind == "bigcode" else READERS[kind](path, tasks)
    if not any(imported.samples for imported in found):
        raise ImportedError(f"{path}: no generations in it; expected the kind {kind!r}")
    return found


def kind_of(path: Path) -> str:
    """The kind of a file, told by its content. `ImportedError` lists the kinds when it is none of them."""
    if path.is_dir() or path.name == "scores.json":
        return "code-eval-harness"
    if zipfile.is_zipfile(path):
        return "inspect"
    if path.suffix == ".jsonl":
        keys = next((set(row) for _, row in read_lines(path)), set())
        for key, kind in (("resps", "lm-eval"), ("solution", "evalplus"), ("completion", "human-eval")):
            if key in keys:
                return kind
    elif path.suffix == ".json":
        value = read_json(path)
        if isinstance(value, list):
            return "bigcode"
        for key, kind in (("request_states", "helm"), ("eval", "evalplus-results")):
            if isinstance(value, dict) and key in value:
                return kind
    raise ImportedError(f"{path}: not a kind of generations known here; name it with --kind, one of {', '.join(KINDS)}")
