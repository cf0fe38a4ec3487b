"""Completion tasks: the model continues a prompt, and the tests decide; HumanEval, MBPP, their plus versions."""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from engine.protocols import Limits, Problem, Program

HUMANEVAL_STOP_WORDS = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>")
MBPP_STOP_WORDS = ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```")

CHAT_INSTRUCTION = (
    "Please provide a self-contained Python script that solves the following problem in a markdown code block:"
)
"""What EvalPlus asks a chat model for; used with the model's own chat template only."""

PREFIXES = ("Mbpp/", "HumanEval/", "Python/")


@dataclass(frozen=True, eq=False)
class CompletionBenchmark:
    """Problems with an exact prompt each, judged by running candidate and tests; nothing is put before a candidate.

    `source` goes into `facts` as it is. `beside` names problems whose tests run in the candidate's own interpreter,
    because their outputs are too large to be handed over.
    """

    name: str
    problems: Sequence[Problem]
    stop_words: tuple[str, ...]
    limits: Limits
    source: Mapping[str, Any] = field(default_factory=dict)
    prelude: str = ""
    beside: frozenset[str] = frozenset()

    @cached_property
    def sha256(self) -> str:
        """Hash over the problems as read, which includes their prompts."""
        return problems_hash(self.problems)

    def program(self, problem: Problem, candidate: str) -> Program:
        """The candidate as it is, then the tests; helper functions that only the prompt defines are known to them."""
        # A function that is named like a builtin (MBPP's sum) is only found where it is defined.
        beside = problem.task_id in self.beside or hasattr(builtins, problem.entry_point)
        return Program(
            self.prelude, candidate, problem.test, problem.entry_point, helpers=problem.header, same_interpreter=beside
        )

    def facts(self) -> Mapping[str, Any]:
        """Source, revision, licence, size and known flaws, for the report."""
        return {
            "name": self.name,
            "language": "python",
            "variant": "completion",
            "problems": len(self.problems),
            "sha256": self.sha256,
            "cpu_limit_s": self.limits.cpu_s,
            "prelude": self.prelude.splitlines(),
            "flaws": {problem.task_id: problem.flaw for problem in self.problems if problem.flaw},
            **self.source,
        }


def completion_problem(
    task_id: str,
    entry_point: str,
    *,
    prompt: str,
    header: str,
    test: str,
    canonical: str,
    stub: str,
    flaw: str = "",
    extra: Mapping[str, str] | None = None,
) -> Problem:
    """One completion task; `header + canonical` passes and `header + stub`, which does nothing, has to fail."""
    return Problem(
        task_id=task_id,
        entry_point=entry_point,
        header=header,
        context=f"```\n{prompt.strip()}\n```\n",
        instruction=CHAT_INSTRUCTION,
        test=test,
        canonical=canonical,
        buggy=stub,
        extra=dict(extra or {}),
        prompt=prompt,
        flaw=flaw,
    )


def stub_of(entry_point: str) -> str:
    """A whole function that does nothing: tests that it passes decide nothing."""
    return f"def {entry_point}(*args, **kwargs):\n    return None\n"


def limits_of(seconds: float, memory: int = 1 << 30) -> Limits:
    """The harness's timeout as CPU seconds; the wall clock is wider so that a busy machine fails no program."""
    return Limits(cpu_s=seconds, wall_s=3 * seconds + 6, memory=memory)


def problems_hash(problems: Sequence[Problem]) -> str:
    """Sha256 over problems; what a task does not have, and what is only known about it, leaves the hash as it was."""
    rows = []
    for problem in problems:
        row = asdict(problem)
        del row["flaw"]
        if not problem.prompt:
            del row["prompt"]
        rows.append(row)
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def number_of(task_id: str) -> str:
    """The number in a task id, under whatever name a tool writes it: `HumanEval/3`, `Mbpp/3`, `3`."""
    return task_id.rpartition("/")[2]
