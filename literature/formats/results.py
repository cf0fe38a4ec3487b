"""JSON: plain lists of scores, harness results, Papers-with-Code dumps, every-eval-ever files. Numbers stay text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from literature.errors import TableError
from literature.formats import every_eval_ever
from literature.formats.grid import Cell, Grid, Records
from literature.formats.rows import Entry, Skipped, renamed, to_records, within

_CODE = re.compile(
    r"humaneval|mbpp|multipl-?e|livecodebench|apps\b|ds-?1000|codecontests|bigcodebench|codexglue", re.IGNORECASE
)
_PASS = re.compile(r"pass@\d+", re.IGNORECASE)
_PASS_WORDS = re.compile(r"pass_at_(\d+)", re.IGNORECASE)


def read(text: str, file: str) -> Grid | Records:
    """Read JSON or JSON Lines; `TableError` with line and column when malformed, or when no known shape is in it."""
    data = _load(text, file)
    if isinstance(data, list):
        if any(isinstance(item, dict) and "datasets" in item for item in data):
            return to_records(_papers_with_code(data, file))
        if data and all(every_eval_ever.is_record(item) for item in data):
            records = (every_eval_ever.entries(item, f"{file}:{place}") for place, item in enumerate(data, start=1))
            return to_records(entry for record in records for entry in record)
        return _plain_rows(data, file)
    if isinstance(data, dict):
        if every_eval_ever.is_record(data):
            return to_records(every_eval_ever.entries(data, file))
        if "model" in data and "value" in data:
            return _plain_rows([data], file)
        if isinstance(data.get("results"), dict):
            return to_records(_lm_eval(data, file))
        if isinstance(data.get("pass_at_k"), dict):
            return to_records(_evalplus(data, file))
        if isinstance(data.get("results"), list) and isinstance(data.get("meta"), dict):
            return to_records(_leaderboard(data, file))
        if isinstance(data.get("config"), dict):
            return to_records(_bigcode(data, file))
        if any(isinstance(value, list) for value in data.values()):
            lists = [value for value in data.values() if isinstance(value, list)]
            return _plain_rows(
                next((one for one in lists if any(isinstance(row, dict) for row in one)), lists[0]), file
            )
        if any(_PASS.fullmatch(key) for key in data):
            return to_records(_flat(data, file))
    raise TableError(
        "no known shape of results", file=file, line=1, column=1,
        expected="a list of objects with model and value, or a harness's results file", remedy="convert it to CSV",
    )  # fmt: skip


def _load(text: str, file: str) -> Any:
    def once(source: str) -> Any:
        return json.loads(source, parse_float=str, parse_int=str, parse_constant=str)

    try:
        return once(text)
    except RecursionError:
        raise TableError("JSON nested too deeply", file=file, line=1, column=1, remedy="convert it to CSV") from None
    except json.JSONDecodeError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if len(lines) > 1 and error.msg == "Extra data":
            found = []
            for number, line in lines:
                try:
                    found.append(once(line))
                except json.JSONDecodeError as inner:
                    raise _malformed(inner, file, number) from None
            return found
        raise _malformed(error, file, error.lineno) from None


def _malformed(error: json.JSONDecodeError, file: str, line: int) -> TableError:
    return TableError(
        f"malformed JSON ({error.msg})",
        file=file,
        line=line,
        column=error.colno,
        expected="JSON",
        remedy="correct it there",
    )


def _plain_rows(rows: list[Any], file: str) -> Grid:
    """A list of objects as a table: keys are the header, in order of appearance."""
    objects = [(number, row) for number, row in enumerate(rows, start=1) if isinstance(row, dict)]
    if not objects:
        raise TableError("a list without objects", file=file, line=1, column=1, expected='{"model": ..., "value": ...}')
    keys = list(dict.fromkeys(key for _, row in objects for key in row))
    header = tuple(Cell(key, 1, column) for column, key in enumerate(keys, start=1))
    return Grid(
        header,
        tuple(
            tuple(Cell(_scalar(row.get(key)), number, column) for column, key in enumerate(keys, start=1))
            for number, row in objects
        ),
        unread=tuple(
            (f"{file}:{number}", str(row)[:200], "no object with model and value")
            for number, row in enumerate(rows, start=1)
            if not isinstance(row, dict)
        ),
    )


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(str(item).replace(";", ",") for item in value) + (";" if value else "")
    return str(value).strip()


def _stem(file: str) -> str:
    name = PurePath(file).name
    for end in (".gz", ".json", "_eval_results", ".eval_results", "_pass_at_k", "evaluation_results"):
        name = name.removesuffix(end)
    return name or PurePath(file).stem


def _other_metric(place: str, name: str, value: Any) -> Skipped:
    return Skipped(place, f"{name}: {value}", "no pass@k")


def _bigcode(data: Mapping[str, Any], file: str) -> Iterator[Entry | Skipped]:
    """bigcode-evaluation-harness: {task: {pass@1: x}, config: {...}}; fractions of one."""
    config = within(data, "config")
    stated = renamed(
        config,
        {
            "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "n_samples": "samples", "seed": "seed",
            "precision": "precision", "max_length_generation": "length", "prompt": "prompt",
        },
    )  # fmt: skip
    if config.get("do_sample") is False:
        stated = {axis: value for axis, value in stated.items() if axis not in ("temperature", "top_p", "top_k")}
        stated["decoding"] = "greedy"
    elif "temperature" in stated:
        stated["decoding"] = "sampled"
    stated["harness"] = "bigcode-evaluation-harness"
    for task, metrics in data.items():
        for metric, value in metrics.items() if isinstance(metrics, dict) and task != "config" else ():
            if _PASS.fullmatch(metric):
                model = str(config.get("model", _stem(file)))
                yield Entry(model, task, metric, str(value), f"{file}:{task}", (), stated, "fraction")
            else:
                yield _other_metric(f"{file}:{task}", metric, value)


def _leaderboard(data: Mapping[str, Any], file: str) -> Iterator[Entry]:
    """Code leaderboard: {results: [{task, pass@1}], meta: {model}}."""
    model = str(within(data, "meta").get("model", _stem(file)))
    for result in data["results"]:
        for metric, value in result.items() if isinstance(result, dict) else ():
            if _PASS.fullmatch(metric):
                yield Entry(model, str(result.get("task", "")), metric, str(value), f"{file}:{result.get('task', '')}")


def _lm_eval(data: Mapping[str, Any], file: str) -> Iterator[Entry | Skipped]:
    """lm-evaluation-harness: {results: {task: {"metric,filter": x}}}; fractions of one."""
    config = within(data, "config")
    stated = {
        "harness": "lm-evaluation-harness",
        **renamed(config, {"model_dtype": "precision", "model_revision": "revision"}),
    }
    # `model` there is the kind of loader ("hf"); the weights stand among its arguments.
    loaded = re.search(r"(?:^|,)pretrained=([^,]+)", str(config.get("model_args", "")))
    model = str(data.get("model_name") or (loaded[1] if loaded else "") or config.get("model") or _stem(file))
    for task, metrics in data["results"].items():
        for name, value in metrics.items() if isinstance(metrics, dict) else ():
            metric, _, chosen = name.partition(",")
            if name == "alias" or metric.endswith("_stderr"):
                continue
            spelled = _PASS_WORDS.sub(r"pass@\1", metric)
            if _PASS.fullmatch(spelled) or metric == "acc":
                error = str(metrics.get(f"{metric}_stderr,{chosen}", ""))
                more = {**stated, **({"filter": chosen} if chosen and chosen != "none" else {})}
                known = "" if error in ("", "N/A") else error
                yield Entry(model, task, spelled, str(value), f"{file}:{task}", (), more, "fraction", known)
            else:
                yield _other_metric(f"{file}:{task}", name, value)


def _evalplus(data: Mapping[str, Any], file: str) -> Iterator[Entry]:
    """EvalPlus: {pass_at_k: {base: {pass@1: x}, plus: {...}}}; fractions of one, the model in the file's name."""
    benchmark = "mbpp" if "mbpp" in file.casefold() else "humaneval"
    for part, metrics in data["pass_at_k"].items():
        for metric, value in metrics.items() if isinstance(metrics, dict) else ():
            name = benchmark if part == "base" else f"{benchmark}plus"
            yield Entry(
                _stem(file), name, metric, str(value), f"{file}:{part}", (), {"harness": "evalplus"}, "fraction"
            )


def _flat(data: Mapping[str, Any], file: str) -> Iterator[Entry]:
    """BigCodeBench and others: {"pass@1": x, model, split, subset}."""
    benchmark = "-".join(str(data[key]) for key in ("benchmark", "split", "subset") if data.get(key))
    for metric, value in data.items():
        if _PASS.fullmatch(metric):
            yield Entry(str(data.get("model", _stem(file))), benchmark, metric, str(value), f"{file}:{metric}")


def _papers_with_code(data: list[Any], file: str) -> Iterator[Entry | Skipped]:
    """Papers with Code dump: task -> datasets -> rows; code benchmarks only, subtasks included."""
    for task in data:
        if not isinstance(task, dict):
            continue
        yield from _papers_with_code(task.get("subtasks") or [], file)
        for dataset in task.get("datasets") or []:
            name = str(dataset.get("dataset", "")) if isinstance(dataset, dict) else ""
            if not _CODE.search(name):
                continue
            for number, row in enumerate(within(dataset, "sota").get("rows") or [], start=1):
                if not isinstance(row, dict):
                    yield Skipped(f"{file}:{name}:{number}", str(row), "no row with model_name and metrics")
                    continue
                paper = str(row.get("paper_title") or row.get("paper_url") or "").replace(";", ",").strip()
                for metric, value in within(row, "metrics").items():
                    place = f"{file}:{name}:{number}"
                    sources = (paper,) if paper else ()
                    yield Entry(str(row.get("model_name", "")), name, metric, str(value), place, sources)


def written(rows: Sequence[Sequence[str]], sources: Sequence[Sequence[str]], *, lines: bool = False) -> str:
    """Rows, the first of them the header, as a list of objects (or one a line), `sources` of each as a list."""
    head, *body = rows
    objects = [
        {**{key: cell for key, cell in zip(head, row, strict=True) if cell or key == "value"}, "sources": list(listed)}
        for row, listed in zip(body, sources, strict=True)
    ]
    if lines:
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)
    return json.dumps(objects, indent=1, ensure_ascii=False) + "\n"
