"""Model cards and sieval alignment cards (front matter), and `.eval_results` files; every scalar stays text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from literature.errors import TableError
from literature.formats.grid import Records
from literature.formats.rows import Entry, Skipped, to_records


def read_card(text: str, file: str) -> Records:
    """Scores of the `model-index` in a model card's front matter, or of a sieval card's `reference_scores`."""
    end = text.find("\n---", 3)
    data = _load(text[3 : end if end > 0 else None], file, "---")
    if not isinstance(data, dict):
        return to_records(())
    return to_records([*_index(data.get("model-index"), file), *_alignment(data, file)])


def _alignment(data: dict[str, Any], file: str) -> Iterator[Entry | Skipped]:
    """sieval alignment card: {reference: {source, title}, reference_scores: {model: {task: score}}}."""
    source = (_text(data, "reference", "source") or _text(data, "reference", "title")).replace(";", ",")
    scores = data.get("reference_scores")
    for model, tasks in scores.items() if isinstance(scores, dict) else ():
        if not isinstance(tasks, dict):
            yield Skipped(f"{file}:reference_scores", f"{model}: {tasks}", "no task with a score under this model")
            continue
        for task, value in tasks.items():
            place, note = f"{file}:reference_scores", {"note": _text(data, "reference", "title")}
            # The card does not say which metric its numbers are of.
            yield Entry(str(model), str(task), "score", _scalar(value), place, (source,) if source else (), note)


def _scalar(value: Any) -> str:
    return value.strip() if isinstance(value, str) else repr(value)


def read_yaml(text: str, file: str) -> Records:
    """Scores of an `.eval_results` file (a list of dataset and value), or of a `model-index` in plain YAML."""
    data = _load(text, file, "a list of results")
    if isinstance(data, dict):
        return to_records(_index(data.get("model-index"), file))
    return to_records(_results(data if isinstance(data, list) else [], file))


def _results(data: list[Any], file: str) -> Iterator[Entry | Skipped]:
    """`.eval_results`: one dataset and value each; the metric is not named there and taken as pass@1."""
    model = _model_of(file)
    for number, entry in enumerate(data, start=1):
        if not _text(entry, "value"):
            yield Skipped(f"{file}:{number}", str(entry), "no single value")
            continue
        yield Entry(
            model, _text(entry, "dataset", "task_id") or _text(entry, "dataset", "id"), "pass@1", _text(entry, "value"),
            f"{file}:{number}", _sources(entry), {"note": _text(entry, "notes"), "date": _text(entry, "date")},
        )  # fmt: skip


def _load(text: str, file: str, expected: str) -> Any:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise TableError("YAML needs PyYAML", file=file, remedy="pip install pyyaml, or save as CSV") from None
    try:
        # BaseLoader keeps every scalar as the text that stands there: 28.0 is not turned into a float.
        return yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TableError(
            "malformed YAML", file=file, line=mark.line + 1 if mark else 0, column=mark.column + 1 if mark else 0,
            expected=expected, remedy="correct it there",
        ) from None  # fmt: skip
    except RecursionError:
        raise TableError("YAML nested too deeply", file=file, expected=expected) from None


def _index(index: Any, file: str) -> Iterator[Entry | Skipped]:
    for model in index if isinstance(index, list) else ():
        for result in _list(model, "results"):
            for metric in _list(result, "metrics"):
                value = _text(metric, "value")
                if not value:
                    yield Skipped(f"{file}:model-index", f"{_text(model, 'name')}: {metric}", "no single value")
                else:
                    name = _text(metric, "name") or _text(metric, "type")
                    dataset = _text(result, "dataset", "name") or _text(result, "dataset", "type")
                    stated = {"revision": _text(result, "dataset", "revision")}
                    place = f"{file}:model-index"
                    yield Entry(_text(model, "name"), dataset, name, value, place, _sources(result), stated)


def _sources(entry: Any) -> tuple[str, ...]:
    name = _text(entry, "source", "name") or _text(entry, "source", "url")
    return (name.replace(";", ","),) if name else ()


def _list(data: Any, key: str) -> list[Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, list) else []


def _text(data: Any, *keys: str) -> str:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data.strip() if isinstance(data, str) else ""


def _model_of(file: str) -> str:
    """The model that an `.eval_results` file belongs to: the folder above, else the file's stem."""
    from pathlib import PurePath

    path = PurePath(file)
    parts = [part for part in path.parts[:-1] if part != ".eval_results"]
    return parts[-1] if ".eval_results" in path.parts and parts else path.stem
