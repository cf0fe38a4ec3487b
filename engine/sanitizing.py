"""EvalPlus-like sanitising: the longest stretch of a reply that is Python, and of it what the function needs.

After EvalPlus 0.3.1, `evalplus/sanitize.py`, with Python's own parser instead of tree-sitter. A difference: decorated
functions are kept, which EvalPlus drops.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

MOST_LINES = 2000
"""Longer replies are cut here before they are looked through: a repetition without end holds no later answer."""


def sanitized(text: str, entry_point: str) -> str:
    """The program in a reply: its imports, and the definitions that `entry_point` reaches; empty when none is found.

    Assumes that the code is one stretch of lines. Where no definition is left (no function returns anything, say), the
    whole stretch is the program, as in EvalPlus.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = longest_code(text)
    if not code.strip():
        return ""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    lines = code.splitlines(keepends=True)
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    definitions = dict(_definitions(tree.body))
    needed = _reachable(entry_point, definitions)
    kept = [*imports, *(node for name, node in definitions.items() if name in needed)]
    return "\n".join(_source(node, lines) for node in kept).strip() or code


def longest_code(text: str) -> str:
    """The stretch of lines that parses and has the most lines that are not blank; the first of several."""
    lines = text.split("\n")[:MOST_LINES]
    filled = [0]
    for line in lines:
        filled.append(filled[-1] + bool(line.strip()))
    best, stretch = 0, (0, 0)
    for first, line in enumerate(lines):
        if filled[-1] - filled[first] <= best:
            break
        # A stretch that begins with a blank or an indented line is no better than one that begins later.
        if not line.strip() or line[0] in " \t":
            continue
        last = _parses_to(lines, first)
        if filled[last] - filled[first] > best:
            best, stretch = filled[last] - filled[first], (first, last)
    return "\n".join(lines[stretch[0] : stretch[1]])


def _parses_to(lines: Sequence[str], first: int) -> int:
    """The end of the longest stretch from `first` on that parses; `first` when none does."""
    last = len(lines)
    while last > first:
        try:
            ast.parse("\n".join(lines[first:last]))
            return last
        except SyntaxError as error:
            # What stands up to the error is read alike in every longer stretch, so none that holds it parses.
            last = min(last - 1, first + max((error.lineno or 1) - 1, 0))
        except (ValueError, RecursionError, MemoryError):
            last -= 1
    return first


def _definitions(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Classes, functions that return something, and assignments to a name; the first of each name."""
    seen: set[str] = set()
    for node in body:
        name = ""
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = node.name if any(isinstance(inner, ast.Return) for inner in ast.walk(node)) else ""
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = target.id if isinstance(target, ast.Name) else ""
        if name and name not in seen:
            seen.add(name)
            yield name, node


def _reachable(entry_point: str, definitions: dict[str, ast.stmt]) -> set[str]:
    found, queue = {entry_point}, [entry_point]
    while queue:
        node = definitions.get(queue.pop())
        names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} if node else set()
        queue += names - found
        found |= names
    return found


def _source(node: ast.stmt, lines: Sequence[str]) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "".join(lines[first - 1 : node.end_lineno]).rstrip("\n")
