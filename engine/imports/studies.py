"""Two shapes of kept replies: code-eval-harness's folder, whose strategies are ours, and HELM's scenario state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.errors import ImportedError
from engine.imports.records import COMPLETION, REPLY, Imported, Sample, Tasks, known, read_json, typed

STRATEGIES = ("raw", "prompt+body", "first_fence", "all_fences", "smart")
STOP = {"length": "limit", "stop": "end", "endoftext": "end"}


def read_code_eval_harness(path: Path, tasks: Tasks) -> list[Imported]:
    """A folder with `generations/*.json` and, here or under `results/`, `scores.json`: five strategies per model.

    Replies that were never made are missing in both, so the number of problems that scores.json states is not used.
    """
    folder = path if path.is_dir() else path.parent
    files = sorted((folder / "generations").glob("*.json"))
    if not files:
        raise ImportedError(f"{folder}: no generations/*.json here; expected the folder of a code-eval-harness run")
    scores = _scores(folder)
    by_model: dict[str, list[tuple[str, str]]] = {}
    for file in files:
        row = read_json(file)
        model = typed(row, "model", str, str(file))
        task_id = tasks.of(typed(row, "task_id", str, str(file)), str(file))
        by_model.setdefault(model, []).append((task_id, typed(row, "response", str, str(file))))
    found = []
    for model, replies in by_model.items():
        for strategy in STRATEGIES:
            samples = []
            for task_id, text in replies:
                record = scores.get((model, task_id.rpartition("/")[2]), {})
                verdict = record.get(strategy) if isinstance(record.get(strategy), bool) else None
                why = str(record.get(f"{strategy}__why", ""))
                samples.append(Sample(task_id, 0, text, passed=verdict, why=why))
            found.append(Imported(model, REPLY, strategy, tuple(samples)))
    return found


def _scores(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    places = [place for place in (folder / "scores.json", folder / "results" / "scores.json") if place.is_file()]
    if not places:
        return {}
    records = typed(read_json(places[0]), "records", list, str(places[0]))
    return {(str(r.get("model")), str(r.get("task_id")).rpartition("/")[2]): r for r in records if isinstance(r, dict)}


def read_helm(path: Path, tasks: Tasks) -> list[Imported]:
    """`scenario_state.json`; a problem is found by its prompt, else by the number of its instance."""
    state = read_json(path)
    spec = typed(state, "adapter_spec", dict, str(path))
    samples = []
    seen: dict[str, int] = {}
    for place, entry in enumerate(typed(state, "request_states", list, str(path))):
        where = f"{path}, request state {place}"
        instance = typed(entry, "instance", dict, where)
        prompt = typed(typed(entry, "request", dict, where), "prompt", str, where)
        task_id = tasks.of_prompt(prompt) or tasks.of(str(instance.get("id", "")).removeprefix("id"), where)
        result = entry.get("result")
        for completion in typed(result, "completions", list, f"{where}, result") if result else ():
            text = typed(completion, "text", str, f"{where}, completion")
            reason = completion.get("finish_reason") or {}
            stop = STOP.get(reason.get("reason", "") if isinstance(reason, dict) else "", "unknown")
            number = seen.get(task_id, 0)
            seen[task_id] = number + 1
            samples.append(Sample(task_id, number, text, stop))
    settings = known(f"{path}, adapter_spec", temperature=spec.get("temperature"))
    model = str(spec.get("model_deployment") or spec.get("model") or "unknown")
    return [Imported(model, COMPLETION, "humaneval-stop", tuple(samples), settings)]
