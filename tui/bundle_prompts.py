"""The prompts of a run as text, rendered once more from what the bundle holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cache.transfer import Carried
from engine.chat import ChatTemplate, template_key
from engine.errors import TemplateError
from engine.prompts import CHAT, render
from engine.protocols import Benchmark
from engine.settings import Configuration


def prompt_rows(carried: Carried, benchmarks: Mapping[str, Benchmark], remarks: list[str]) -> Iterator[dict[str, Any]]:
    """One row per model file's template, benchmark and problem; what does not render goes into `remarks`."""
    started = [row["body"] for row in carried.events if row["body"].get("fact") == "Started"]
    asked = {id_: Configuration.from_dict(body) for row in started for id_, body in row["configurations"].items()}
    chats = _chats(carried)
    done = set()
    for c in asked.values():
        # A harness template makes the same prompt for every model.
        found = (
            [(model, chat) for model, chat in chats.items() if model == c.model] if c.template == CHAT else [("", None)]
        )
        if not found:
            remarks.append(
                f"prompts of {c.model} under its chat template are left out: the template's text is not kept"
            )
        for model, chat in found:
            key = (model, c.benchmark, c.template, c.prefill)
            if key in done or c.benchmark not in benchmarks:
                continue
            done.add(key)
            try:
                yield from _rows(benchmarks[c.benchmark], c, model, chat)
            except TemplateError as error:
                remarks.append(f"prompts of {c.template} are left out: {error}")


def _chats(carried: Carried) -> dict[str, ChatTemplate]:
    found = {}
    for row in carried.events:
        body = row["body"]
        if body.get("fact") == "ModelLoaded":
            kept = carried.facts.get(template_key(str(body["card"].get("template_sha256", ""))))
            if kept and "bos_token" in kept:
                found[str(body["model"])] = ChatTemplate(**kept)
    return found


def _rows(benchmark: Benchmark, c: Configuration, model: str, chat: ChatTemplate | None) -> Iterator[dict[str, Any]]:
    for problem in benchmark.problems:
        yield {
            "model": model, "benchmark": c.benchmark, "template": c.template, "prefill": c.prefill,
            "task_id": problem.task_id,
            "prompt": render(c.template, benchmark, problem, prefill=c.prefill, chat=chat),
        }  # fmt: skip
