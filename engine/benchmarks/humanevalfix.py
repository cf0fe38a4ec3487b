"""Benchmarks in HumanEvalPack's shape: HumanEvalFix with tests or with docs, and bugfix-mini."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from engine.benchmarks.assembly import assemble
from engine.benchmarks.completion import problems_hash
from engine.benchmarks.languages import LANGUAGES, Language
from engine.benchmarks.rows import Row
from engine.errors import BenchmarkError
from engine.protocols import Limits, Problem, Program

STANDARD_IMPORTS = (
    "import math", "import re", "import sys", "import copy", "import datetime", "import itertools",
    "import collections", "import heapq", "import statistics", "import functools", "import hashlib",
)  # fmt: skip
NUMPY_IMPORTS = ("import numpy", "import numpy as np")
STAR_IMPORTS = ("import string", "from typing import *", "from collections import *")

HARNESS_PRELUDE = "\n".join((*STANDARD_IMPORTS, *NUMPY_IMPORTS, *STAR_IMPORTS))
"""The sixteen lines that the harness puts before every Python candidate: missing imports are forgiven."""

PLAIN_PRELUDE = "\n".join((*STANDARD_IMPORTS, *STAR_IMPORTS))
"""The harness's import lines without numpy, for problems that never need it."""

_DECLARED = "its declaration lacks the helper {} that its body calls, which only the docs variant shows"
_UNUSED = "its set-up imports {}, which the correct body does not use, and Go compiles no unused import"
FLAWS: Mapping[tuple[str, str], str] = {
    ("Go/10", "tests"): _DECLARED.format("IsPalindrome"),
    ("Go/32", "tests"): _DECLARED.format("Poly"),
    ("Go/38", "tests"): _UNUSED.format("math"),
    ("Go/50", "tests"): _DECLARED.format("EncodeShift"),
    ("Go/27", "docs"): _UNUSED.format("strings"),
    ("CPP/38", "tests"): "its declaration repeats the start of its body",
    **{("Go/95", variant): "its correct body looks at the first keys of a map only, whose order Go makes random"
       for variant in ("tests", "docs")},
    **{("CPP/23", variant): 'its tests call strlen with texts in quotes, which is the C library\'s function'
       for variant in ("tests", "docs")},
}  # fmt: skip
"""Why reference programs of HumanEvalPack do not behave, by task id and variant; found by running all of them."""

PROBLEM_FIELDS = ("task_id", "entry_point", "buggy_solution", "canonical_solution", "test", "bug_type")


@dataclass(frozen=True, eq=False)
class FixBenchmark:
    """Bug fixing: the model sees a buggy function with its tests or its docs, and the tests decide.

    `rows` are HumanEvalPack's; `docs` chooses the variant that shows the docstring instead of the tests; `source` goes
    into `facts` as it is. `given` replaces what would be made of rows, for benchmarks of other shapes.
    """

    name: str
    language: Language
    docs: bool
    rows: Sequence[Row]
    prelude: str
    limits: Limits
    source: Mapping[str, Any] = field(default_factory=dict)
    given: Sequence[Problem] = ()

    @property
    def stop_words(self) -> tuple[str, ...]:
        """The harness's stop words for this language."""
        return self.language.stop_words

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, in the file's order."""
        return tuple(self.given) or tuple(fix_problem(row, self.language, docs=self.docs) for row in self.rows)

    @cached_property
    def sha256(self) -> str:
        """Hash over the problems as read, which includes the variant."""
        return problems_hash(self.problems)

    def program(self, problem: Problem, candidate: str) -> Program:
        """Import lines, candidate and tests, as the harness joins them for the language."""
        if self.language.name != "python":
            return assemble(self.language.name, problem, candidate)
        # The harness strips import lines and candidate as one text, so only the candidate's end changes.
        return Program(self.prelude, candidate.rstrip(), problem.test, problem.entry_point, helpers=problem.header)

    def facts(self) -> Mapping[str, Any]:
        """Source, revision, licence and size, for the report."""
        return {
            "name": self.name,
            "language": self.language.name,
            "variant": "docs" if self.docs else "tests",
            "problems": len(self.problems),
            "sha256": self.sha256,
            "cpu_limit_s": self.limits.cpu_s,
            "prelude": self.prelude.splitlines(),
            **self.source,
        }


def fix_problem(row: Row, language: Language, *, docs: bool) -> Problem:
    """One row as the harness shows it (bigcode-evaluation-harness 8fc5bae, `humanevalpack.py`)."""
    header = row["prompt"] if docs else language.main + row["declaration"]
    shown = header + row["buggy_solution"]
    return Problem(
        task_id=row["task_id"],
        entry_point=row["entry_point"],
        header=header,
        context=shown if docs else shown + "\n" + row["test"],
        instruction=f"Fix bugs in {row['entry_point']}.",
        test="\n" + row["test"],
        canonical=row["canonical_solution"],
        buggy=row["buggy_solution"],
        bug_type=row.get("bug_type", "unknown"),
        extra={name: text for name, text in row.items() if name not in PROBLEM_FIELDS},
        flaw=FLAWS.get((row["task_id"], "docs" if docs else "tests"), ""),
    )


def check_language(rows: Sequence[Row], language: Language, source: str) -> None:
    """Raise `BenchmarkError` when rows carry the task ids of another language."""
    others = {other.prefix: other.name for other in LANGUAGES.values() if other is not language}
    for row in rows:
        prefix = row["task_id"].partition("/")[0]
        if prefix in others:
            raise BenchmarkError(
                f"{source}, field 'task_id': {row['task_id']!r} is a problem of {others[prefix]}, expected "
                f"{language.prefix}/...: choose the benchmark that ends in -{others[prefix]} or another file"
            )
