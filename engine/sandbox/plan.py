"""What a test text needs: its names, its compiled form, and whether it can be judged apart from the candidate.

Everything here is read from the trusted side (prelude, tests, helpers), never from a candidate or from its answers.
"""

from __future__ import annotations

import ast
import builtins
import functools
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

TEST_NAME = "<test>"
GOT, WANTED = "_got_", "_wanted_"

# Tests that reach for these look at, replace or capture the candidate's own objects.
_SHARED_NAMES = frozenset(
    ("unittest", "mock", "patch", "pytest", "monkeypatch", "capsys", "inspect", "globals", "setattr", "modules",
     "redirect_stdout", "redirect_stderr", "stdout", "stderr", "stdin", "__globals__", "__code__", "__dict__",
     "__main__")
)  # fmt: skip
_TYPE_TESTS = ("isinstance", "issubclass")


@dataclass(frozen=True)
class Assertion:
    """One assert statement: its lines, its text on one line, and whether both sides of its comparison are kept."""

    first: int
    last: int
    text: str
    compares: bool
    swapped: bool


@dataclass(frozen=True)
class TestPlan:
    """A test text made ready: compiled, the names it takes from elsewhere, its asserts, why it cannot run apart."""

    __test__ = False

    code: CodeType
    names: tuple[str, ...]
    assertions: tuple[Assertion, ...]
    needs_candidate: str

    def assertion_at(self, line: int) -> Assertion | None:
        """The assert statement that covers a line of the test text."""
        return next((a for a in self.assertions if a.first <= line <= a.last), None)


@functools.lru_cache(maxsize=1024)
def plan(test: str, entry_point: str) -> TestPlan:
    """The plan of a test text. Raises SyntaxError or ValueError for a text that is no Python."""
    tree = ast.parse(test)
    assertions = tuple(_assertion(node) for node in ast.walk(tree) if isinstance(node, ast.Assert))
    reason = _needs_candidate(tree, free_names(test), entry_point)
    kept = ast.fix_missing_locations(_KeepSides().visit(tree))
    return TestPlan(compile(kept, TEST_NAME, "exec", dont_inherit=True), free_names(test), assertions, reason)


@functools.lru_cache(maxsize=1024)
def free_names(text: str) -> tuple[str, ...]:
    """Names that a module text reads from its globals without setting them, builtins left out, sorted."""
    table = symtable.symtable(text, TEST_NAME, "exec")
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    inner = [s for t in _tables(table) for s in t.get_symbols() if s.is_global()]
    bound |= {s.get_name() for s in inner if s.is_declared_global() and s.is_assigned()}
    read = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    read |= {s.get_name() for s in inner if s.is_referenced()}
    return tuple(sorted(name for name in read - bound if not hasattr(builtins, name)))


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for inner in table.get_children():
        yield inner
        yield from _tables(inner)


def _needs_candidate(tree: ast.Module, free: tuple[str, ...], entry_point: str) -> str:
    for node in ast.walk(tree):
        for name in _mentioned(node):
            if name in _SHARED_NAMES:
                return f"the tests use {name}"
        types: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TYPE_TESTS:
            types = node.args[1:]
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            types = [node.type]
        foreign = {n.id for t in types for n in ast.walk(t) if isinstance(n, ast.Name)} & set(free)
        if foreign & {entry_point}:
            return f"the tests look at the type {entry_point}"
    return ""


def _mentioned(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        return [part for text in (module, *(alias.name for alias in node.names)) for part in text.split(".")]
    return []


def _assertion(node: ast.Assert) -> Assertion:
    compares = isinstance(node.test, ast.Compare) and len(node.test.ops) == 1
    swapped = isinstance(node.test, ast.Compare) and _is_literal(node.test.left)
    return Assertion(node.lineno, node.end_lineno or node.lineno, f"assert {ast.unparse(node.test)}", compares, swapped)


def _is_literal(node: ast.expr) -> bool:
    return not any(isinstance(n, (ast.Call, ast.Name)) for n in ast.walk(node))


class _KeepSides(ast.NodeTransformer):
    """Keeps both sides of `assert a == b` in local names, so that a failure can be told without evaluating twice."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        """Only comparisons with one operator; the order of evaluation stays."""
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            test.left = _kept(GOT, test.left)
            test.comparators = [_kept(WANTED, test.comparators[0])]
        return node


def _kept(name: str, value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(name, ast.Store()), value), value), value)


@functools.lru_cache(maxsize=64)
def prelude_names(prelude: str) -> dict[str, Any]:
    """The namespace that a prelude leaves; not to be changed."""
    names: dict[str, Any] = {}
    exec(compile(prelude, "<prelude>", "exec", dont_inherit=True), names)
    return names


@functools.lru_cache(maxsize=256)
def helper_names(prelude: str, helpers: str) -> dict[str, Any]:
    """The prelude's namespace with what the helpers' text adds to it; not to be changed."""
    names = dict(prelude_names(prelude))
    exec(_helper_code(helpers), names)
    return names


def _helper_code(helpers: str) -> CodeType:
    """The helpers' text compiled; a function header left open at its end (a prompt's last lines) gets an empty body."""
    try:
        return compile(helpers, "<helpers>", "exec", dont_inherit=True)
    except SyntaxError:
        last = helpers.rstrip("\n").rsplit("\n", 1)[-1]
        indent = " " * (len(last) - len(last.lstrip()) + 4)
        return compile(f"{helpers.rstrip()}\n{indent}pass\n", "<helpers>", "exec", dont_inherit=True)
