"""Read other people's generations: which kinds there are, and which one a file is."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from engine.errors import ImportedError
from engine.imports.bigcode import read_bigcode
from engine.imports.inspect_log import read_inspect
from engine.imports.lm_eval import read_lm_eval
from engine.imports.records import Imported, Sample, Tasks, read_json, read_lines
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
    return [_checked(imported, path) for imported in found]


def _checked(imported: Imported, path: Path) -> Imported:
    """The same with what a reader has to know of its samples; `ImportedError` where one stands there twice."""
    times = Counter((sample.task_id, sample.sample) for sample in imported.samples)
    (task_id, number), most = times.most_common(1)[0] if times else (("", 0), 0)
    if most > 1:
        raise ImportedError(
            f"{path}: sample {number} of {task_id} stands there {most} times ({imported.extraction}): "
            "import one file for each run"
        )
    notes, samples = [], [_stored(sample) for sample in imported.samples]
    changed = sum(new is not old for new, old in zip(samples, imported.samples, strict=True))
    if changed:
        notes.append(f"{changed} texts hold half a character, which UTF-8 cannot: it is replaced there")
    sizes = Counter(task_id for task_id, _ in times).values()
    if len(set(sizes)) > 1:
        notes.append(
            f"problems have {min(sizes)} to {max(sizes)} samples: {max(sizes)} are taken as asked of each, so that the "
            "score is a range; a tool that takes the mean of each problem's rate prints one number"
        )
    return replace(imported, samples=tuple(samples), notes=(*imported.notes, *notes)) if notes else imported


def _stored(sample: Sample) -> Sample:
    """The sample itself, or one that can be kept: a lone surrogate, as cut JSON escapes leave, is no character."""
    try:
        sample.text.encode()
    except UnicodeEncodeError:
        whole = sample.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return replace(sample, text=whole)
    return sample


def kind_of(path: Path) -> str:
    """The kind of a file, told by its content. `ImportedError` lists the kinds when it is none of them."""
    if path.is_dir() or path.name == "scores.json":
        return "code-eval-harness"
    if zipfile.is_zipfile(path):
        return "inspect"
    name = path.name.removesuffix(".gz")
    if name.endswith(".eval") and path.is_file():
        raise ImportedError(f"{path}: not a whole .eval log: get it again")
    if name.endswith(".jsonl"):
        keys = next((set(row) for _, row in read_lines(path)), set())
        for key, kind in (("resps", "lm-eval"), ("solution", "evalplus"), ("completion", "human-eval")):
            if key in keys:
                return kind
    elif name.endswith(".json"):
        value = read_json(path)
        if isinstance(value, list):
            return "bigcode"
        for key, kind in (("request_states", "helm"), ("eval", "evalplus-results")):
            if isinstance(value, dict) and key in value:
                return kind
    raise ImportedError(f"{path}: not a kind of generations known here; name it with --kind, one of {', '.join(KINDS)}")
