"""Real replies of two models get the verdicts that were published for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from engine.protocols import Limits, Program, Sandbox

FENCE = re.compile(r"```(?:python|py)?[^\S\n]*\n(.*?)```", re.DOTALL)
AMPLE, SHORT = Limits(cpu_s=60.0, wall_s=300.0), Limits(cpu_s=0.5, wall_s=300.0)
"""For what passed when it was published, and for what did not, some of which never ends."""


def extracted(strategy: str, reply: str, prompt: str) -> str:
    """The candidate that a strategy takes from a reply."""
    fences = FENCE.findall(reply)
    if strategy == "raw":
        return reply
    if strategy == "prompt+body":
        return prompt + reply
    if strategy == "first_fence":
        return fences[0] if fences else reply
    joined = "\n".join(fences) if fences else reply
    return prompt + "\n" + joined if strategy == "smart" and "def " not in joined else joined


def test_published_verdicts_are_reproduced(sandbox: Sandbox, rows: Callable[[str], list[dict[str, Any]]]) -> None:
    """All 52 replies, under five extraction strategies each, pass and fail as recorded."""
    problems = {r["task_id"].rpartition("/")[2]: r for r in rows("humanevalpack/python.jsonl")}
    differing = []
    for reply in rows("replies/replies.jsonl"):
        problem = problems[reply["task_id"].rpartition("/")[2]]
        for strategy, verdict in reply["verdicts"].items():
            candidate = extracted(strategy, reply["response"], problem["prompt"])
            program = Program("", candidate, "\n" + problem["test"], problem["entry_point"], problem["declaration"])
            outcome = sandbox.run(program, AMPLE if verdict["pass"] else SHORT)
            if outcome.passed is not verdict["pass"]:
                differing.append((reply["model"], reply["task_id"], strategy, verdict, outcome))
    assert differing == []
