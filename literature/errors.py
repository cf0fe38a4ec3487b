"""Errors of this package, each of which a user can act on.

LiteratureError
├── TableError        a table of reported scores cannot be read or written; says where, what was expected and what to do
├── ScoreTextError    a text is not one printed score
└── PairingError      two sets of results do not concern the same problems
"""

from __future__ import annotations


class LiteratureError(Exception):
    """Something in the material stops the work; its text is one sentence that names the place and the remedy."""


class ScoreTextError(LiteratureError):
    """A text is not one printed score between 0 and 100 percent."""


class PairingError(LiteratureError):
    """Two sets of results do not concern the same problems, or too few of them."""


class TableError(LiteratureError):
    """A table cannot be read or written: `file`, `line` and `column` from 1 (0: none), `expected`, `remedy`."""

    def __init__(
        self, problem: str, *, file: str, line: int = 0, column: int = 0, expected: str = "", remedy: str = ""
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        self.column = column
        self.expected = expected
        self.remedy = remedy
        tail = "".join(f"; {word}{text}" for word, text in (("expected ", expected), ("", remedy)) if text)
        super().__init__(f"{self.place}: {problem}{tail}")

    @property
    def place(self) -> str:
        """`file:line:column`, as far as known."""
        numbers = [str(number) for number in (self.line, self.column if self.line else 0) if number]
        return ":".join([self.file, *numbers])
