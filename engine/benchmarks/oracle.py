"""EvalPlus's comparison of a candidate with the correct program; this file's text becomes part of each test program.

So it imports the standard library only, and is written to run both beside and apart from a candidate. After EvalPlus
0.3.1, `evalplus/eval/__init__.py` and `_special_oracle.py`.
"""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

RTOL = 1e-07
ATOL_OF_FLOATS = 1e-06
NOT_NONE = ("check_str", "text_match_three", "text_starta_endb")
SETS = (
    "similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum",
    "intersection_array", "find_dissimilar", "Diff",
)  # fmt: skip


class Oracle:
    """Whether outputs are right; `family` is `humaneval` or `mbpp`, `atol` the problem's absolute tolerance."""

    def __init__(self, family: str, entry_point: str, atol: float) -> None:
        self.family = family
        self.entry_point = entry_point
        self.atol = atol

    def accepts(self, arguments: Sequence[Any], out: Any, expected: Any) -> bool:
        """True for an output that EvalPlus counts as right."""
        if self.family == "humaneval" and self.entry_point == "find_zero":
            coefficients = arguments[0]
            return bool(abs(sum(c * math.pow(out, i) for i, c in enumerate(coefficients))) <= self.atol)
        equal = bool(self.mbpp_equal(arguments, out, expected) if self.family == "mbpp" else out == expected)
        # As in EvalPlus, a tolerance that a float brought in stays for the inputs that follow.
        if self.atol == 0 and _floats(expected):
            self.atol = ATOL_OF_FLOATS
        if equal or self.atol == 0:
            return equal
        if type(out) is not type(expected):
            return False
        return _close(out, expected, self.atol)

    def mbpp_equal(self, arguments: Sequence[Any], out: Any, expected: Any) -> bool:
        """Equality with the exceptions that EvalPlus makes for single MBPP problems."""
        if self.entry_point == "are_equivalent":
            return True
        if self.entry_point == "sum_div":
            return bool(out == expected or out == 0)
        if self.entry_point == "surface_Area":
            return bool(out == expected or abs(out - _pyramid(*arguments)) <= self.atol)
        if self.entry_point == "digit_distance_nums":
            return bool(out == expected or out == _digit_distance(*arguments))
        if self.entry_point in SETS:
            return set(out) == set(expected)
        if self.entry_point in NOT_NONE:
            found = expected is not None
            return bool(out == found) if isinstance(out, bool) else found == (out is not None)
        return bool(out == expected)


def _floats(value: Any) -> bool:
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _close(out: Any, expected: Any, atol: float) -> bool:
    """numpy's allclose on scalars and on lists of one shape."""
    if isinstance(expected, (list, tuple)):
        if not isinstance(out, (list, tuple)) or len(out) != len(expected):
            return False
        return all(_close(a, b, atol) for a, b in zip(out, expected, strict=True))
    if not all(isinstance(x, (int, float, complex)) for x in (out, expected)):
        return False
    return bool(out == expected or abs(out - expected) <= atol + RTOL * abs(expected))


def _pyramid(base: float, height: float) -> int:
    slant = math.sqrt((base / 2) ** 2 + height**2)
    return round(base**2 + 4 * (base * slant) / 2)


def _digit_distance(first: int, second: int) -> int:
    a, b = str(first), str(second)
    width = max(len(a), len(b))
    return sum(abs(int(x) - int(y)) for x, y in zip(a.zfill(width), b.zfill(width), strict=True))


def compare(
    oracle: Oracle,
    candidate: Callable[..., Any],
    correct: Callable[..., Any],
    inputs: Sequence[tuple[str, Sequence[Any]]],
) -> None:
    """Raise AssertionError at the first input that is answered wrongly; an input comes with what it is called."""
    for name, arguments in inputs:
        expected = correct(*deepcopy(arguments))
        out = candidate(*deepcopy(arguments))
        if not oracle.accepts(arguments, out, expected):
            raise AssertionError(f"{name}: got {out!r:.80}, expected {expected!r:.80}")
