"""EvalPlus's comparison: tolerance, types, the exceptions for single problems, and the test text made of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from engine.benchmarks.evalplus import oracle_test
from engine.benchmarks.oracle import Oracle, compare


@pytest.mark.parametrize(
    ("family", "name", "atol", "arguments", "out", "expected", "right"),
    [
        ("mbpp", "f", 0, [], 1, 1, True),
        ("mbpp", "f", 0, [], [1], (1,), False),
        ("mbpp", "f", 0, [], 0.1 + 0.2, 0.3, True),
        ("mbpp", "f", 0, [], 0.31, 0.3, False),
        ("mbpp", "f", 0, [], 1, 1.0000001, False),
        ("mbpp", "f", 0.1, [], [0.31, 2.0], [0.3, 2.0], True),
        ("mbpp", "f", 0.1, [], [0.3], [0.3, 2.0], False),
        ("mbpp", "f", 0, [], math.nan, math.nan, False),
        ("mbpp", "are_equivalent", 0, [1, 2], None, True, True),
        ("mbpp", "sum_div", 0, [8], 0, 7, True),
        ("mbpp", "similar_elements", 0, [], [2, 1], (1, 2), True),
        ("mbpp", "check_str", 0, [], object(), "match", True),
        ("mbpp", "check_str", 0, [], None, "match", False),
        ("mbpp", "digit_distance_nums", 0, [23, 1], 4, 9, True),
        ("humaneval", "find_zero", 1e-4, [[-6, 11, -6, 1]], 1.0, None, True),
        ("humaneval", "find_zero", 1e-4, [[-6, 11, -6, 1]], 1.5, None, False),
        ("humaneval", "similar_elements", 0, [], [2, 1], (1, 2), False),
    ],
)
def test_outputs_are_accepted_as_evalplus_does(
    family: str, name: str, atol: float, arguments: list[Any], out: Any, expected: Any, right: bool
) -> None:
    """Exact, or close where a tolerance holds and the types are the same; some problems have rules of their own."""
    assert Oracle(family, name, atol).accepts(arguments, out, expected) is right


def test_first_wrong_input_is_named_and_arguments_stay_as_they_are() -> None:
    """A candidate that changes its argument does not change what the correct program sees."""

    def candidate(values: list[int]) -> int:
        return values.pop()

    inputs = [("base input 0", [[1, 2]]), ("plus input 0", [[3, 4]])]
    compare(Oracle("mbpp", "f", 0), candidate, lambda values: values[-1], inputs)
    with pytest.raises(AssertionError, match="plus input 0: got 4, expected 3"):
        compare(Oracle("mbpp", "f", 0), candidate, lambda values: min(values) if 3 in values else 2, inputs)


def test_test_text_stands_alone() -> None:
    """The text holds all it needs: infinities, quotes, an object in place of no inputs, the correct program apart."""
    row = {
        "task_id": "HumanEval/7", "entry_point": "f", "atol": 0, "base_input": [[math.inf, "it's \"so\"\n"]],
        "plus_input": {},
    }  # fmt: skip
    text = oracle_test("humaneval", row, "def f(x, y):\n    return [x, y]\n")
    exec(text, {"f": lambda x, y: [x, y]})
    with pytest.raises(AssertionError, match="base input 0"):
        exec(text, {"f": lambda x, y: [y, x]})
