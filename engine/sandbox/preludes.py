"""Import lines that a fork server runs once, so that not every child has to.

Prelude and candidate are one text, as in the harness. They may be run apart only where nothing can show it: the prelude
is nothing but imports of what the fork server has loaded anyway, and stands before the candidate as `pass` on its last
line, so that line numbers, docstrings and misplaced `from __future__` come out the same.
"""

from __future__ import annotations

import ast
import functools
import sys
from types import ModuleType
from typing import Any

_MOST = 8


class Preludes:
    """The preludes that a fork server has run, by number from 1; `names(number)` is what each left."""

    def __init__(self) -> None:
        self._names: list[dict[str, Any]] = [{}]
        self._numbers: dict[str, int] = {}

    def run(self, prelude: str) -> int:
        """Run a prelude, unless it is among them; its number, 0 where it is not one to be run apart."""
        if prelude not in self._numbers:
            self._numbers[prelude] = self._run(prelude) if len(self._names) <= _MOST else 0
        return self._numbers[prelude]

    def _run(self, prelude: str) -> int:
        if not imports_only(prelude) or not all(_is_loaded(node) for node in ast.parse(prelude).body):
            return 0
        names: dict[str, Any] = {}
        exec(compile(prelude, "<string>", "exec", dont_inherit=True), names)
        self._names.append(names)
        return len(self._names) - 1

    def names(self, number: int) -> dict[str, Any]:
        """The namespace that a child starts from: the one itself, as each child has its own copy of this process."""
        return self._names[number]


@functools.lru_cache(maxsize=64)
def imports_only(prelude: str) -> bool:
    """True for one or more import statements that a candidate's text cannot go on with or take part in."""
    if not set(prelude) <= _PLAIN:
        return False
    try:
        body = ast.parse(prelude).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    found = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return bool(body) and len(found) == len(body) and "__future__" not in prelude


_PLAIN = frozenset(map(chr, range(32, 127))) | {"\n"}


def rest(prelude: str, candidate: str) -> str | None:
    """What remains to be run of both as one text when the prelude has been; None where they must not be parted."""
    if "global" in candidate or not imports_only(prelude):
        return None  # `global x` at module level is an error after `import x`
    return "\n" * prelude.count("\n") + "pass\n" + candidate


def _is_loaded(node: ast.stmt) -> bool:
    """True where an import statement finds everything in place and loads nothing."""
    if isinstance(node, ast.Import):
        return all(alias.name in sys.modules for alias in node.names)
    if not isinstance(node, ast.ImportFrom) or node.level:
        return False
    module = sys.modules.get(node.module or "")
    if not isinstance(module, ModuleType):
        return False
    named = [alias.name for alias in node.names if alias.name != "*"]
    if len(named) < len(node.names):
        named += getattr(module, "__all__", ())
    plain = not hasattr(module, "__path__")  # a package may load a module for a name
    return all(name in vars(module) or (plain and hasattr(module, name)) for name in named)
