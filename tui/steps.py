"""Single steps on files, JSON Lines in and out, so that people can check, script, or use only one of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tui.errors import OptionError
from tui.lines import parse_map, print_objects, read_objects


def read(options: argparse.Namespace) -> int:
    """What each value of a table can be, by arithmetic alone."""
    import sys

    from literature.arithmetic import stated_problems
    from literature.granularity import RULES, counts
    from literature.table import read_table
    from tui.claims import settings_of
    from tui.reading import size_of

    table = read_table(options.table, mapping=parse_map(options.map))

    def objects() -> Iterator[dict[str, Any]]:
        for score in table.scores:
            problems = options.problems or stated_problems(score) or size_of(score.benchmark)
            found: dict[str, Any] = {
                "model": score.model, "benchmark": score.benchmark, "metric": score.metric, "value": score.value,
                "sources": list(score.sources),
            }  # fmt: skip
            if problems is None or not score.is_count:
                yield {**found, "counts": None, "nearest": None, **(settings_of(score) if options.settings else {})}
                continue
            read_as = counts(score.value, problems, options.samples)
            found["counts"] = {rule: list(getattr(read_as, rule)) for rule in RULES}
            found["nearest"] = {"count": read_as.nearest.count, "percent": read_as.nearest.percent}
            yield found | (settings_of(score) if options.settings else {})

    print_objects(objects(), options.format)
    for place, text, reason in table.unread:
        print(f"{place}: {text!r} not read: {reason}", file=sys.stderr)
    return 0


def prompts(options: argparse.Namespace) -> int:
    """The prompts of a benchmark under a template, exactly as tokenised, with the stop words."""
    from engine.benchmarks import open_benchmark
    from engine.chat import ChatTemplate
    from engine.prompts import CHAT, render, stop_words

    benchmark = open_benchmark(options.benchmark, options.data or None)
    chat: ChatTemplate | None = None
    if options.template == CHAT:
        if not options.model:
            raise OptionError("--template chat needs --model FILE: the GGUF that holds the chat template")
        chat = _chat_of_file(options.model)
    words = list(stop_words(benchmark, options.template, chat.eos_token if chat else ""))
    print_objects(
        (
            {
                "task_id": problem.task_id,
                "prompt": render(options.template, benchmark, problem, prefill=not options.no_prefill, chat=chat),
                "stop_words": words,
            }
            for problem in benchmark.problems
        ),
        "jsonl",
    )
    return 0


def _chat_of_file(spec: str) -> Any:
    """A file's own chat template, read from its header: no model is loaded."""
    from cache.files import find_model
    from engine.chat import chat_of_file

    return chat_of_file(find_model(spec).path)


def extract(options: argparse.Namespace) -> int:
    """Replies in, candidate programs out; without a benchmark a reply stands for itself."""
    from engine.benchmarks import open_benchmark
    from engine.extraction import extract as cut

    benchmark = open_benchmark(options.benchmark or "bugfix-mini", options.data or None)
    problems = {problem.task_id: problem for problem in benchmark.problems}

    def objects() -> Iterator[dict[str, Any]]:
        for found in read_objects([("task_id", "response")]):
            problem = problems.get(found["task_id"])
            if problem is None:
                raise OptionError(
                    f"task_id {found['task_id']!r} is not in {benchmark.name}; "
                    "name the benchmark with --benchmark and its file with --data"
                )
            program = cut(
                options.strategy, benchmark, problem, options.template, found["response"],
                prefill=not options.no_prefill,
            )  # fmt: skip
            yield {"task_id": found["task_id"], "program": program}

    print_objects(objects(), "jsonl")
    return 0


def plan(options: argparse.Namespace) -> int:
    """What a study would cost: counts after sharing, and estimates."""
    from cache.paths import store_path
    from cache.store import Store
    from tui.preflight import estimate
    from tui.study import read_study

    store = Store(store_path())
    try:
        print_objects([asdict(estimate(read_study(Path(options.study)), store))], options.format)
    finally:
        store.close()
    return 0
