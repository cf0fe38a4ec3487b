"""Sanitising: the longest stretch of Python in a reply, and of it what the function needs."""

from __future__ import annotations

import ast

import pytest

from engine.sanitizing import longest_code, sanitized

REPLY = """Here is it:
```python
import math
UNUSED = 1
LIMIT = 3

@decorated
def helper(x):
    return x + LIMIT

def f(x):
    return math.floor(helper(x))

def other():
    return 1

print(f(1))
```
I hope this helps.
"""


def test_what_the_function_reaches_is_kept() -> None:
    """Imports, the function, and what it calls and reads; not prose, fences, unused definitions, or calls."""
    assert sanitized(REPLY, "f") == (
        "import math\nLIMIT = 3\n@decorated\ndef helper(x):\n    return x + LIMIT\n"
        "def f(x):\n    return math.floor(helper(x))"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("prose here\nx = 1\ny = (2,\n     3)\nmore prose", "x = 1\ny = (2,\n     3)"),
        ("x = 1\nnot code at\ny = 2\nz = 3", "y = 2\nz = 3"),
        ("def f():\n    return 1\ndef g(:", "def f():\n    return 1"),
        ("s = '''open\nx = 1", "x = 1"),
        ("no code at all", ""),
        ("", ""),
    ],
)
def test_longest_stretch_that_parses(text: str, code: str) -> None:
    """The most lines that are not blank win, the first of several."""
    assert longest_code(text).strip("\n") == code


def test_without_the_function_the_imports_remain_or_the_whole_stretch() -> None:
    """As in EvalPlus: a reply with other definitions only leaves its imports; one without any stays as it is."""
    assert sanitized("import re\ndef g():\n    return 1", "f") == "import re"
    assert sanitized("x = 1\nprint(x)", "f") == "x = 1\nprint(x)"


def test_long_replies_take_no_long_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand lines that nearly parse few stretches are tried, not each of half a million."""
    tried = 0
    parse = ast.parse

    def counting(text: str) -> ast.Module:
        nonlocal tried
        tried += 1
        return parse(text)

    monkeypatch.setattr("engine.sanitizing.ast.parse", counting)
    sanitized("\n".join("def f(x):\n    return x +" for _ in range(500)), "f")
    assert 0 < tried < 3000
