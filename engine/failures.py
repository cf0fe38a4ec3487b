"""Why a sample did not pass, in one word, and what was found in its reply before any program ran."""

from __future__ import annotations

import re

WHOLE, CUT_SHORT, NO_CODE = "whole", "cut short", "no code"
READINGS = (WHOLE, CUT_SHORT, NO_CODE, f"{CUT_SHORT}, {NO_CODE}")
"""What a reply can be to an extraction: whole, ended at its limit, without code, or the last two together."""

ERROR = re.compile(r"^(\w+(?:Error|Exception|Iteration|Exit|Interrupt))\b")


def reading(*, truncated: bool, no_code: bool) -> str:
    """The one out of READINGS."""
    return READINGS[truncated + 2 * no_code]


def failure_kind(kind: str, detail: str, *, truncated: bool = False, no_code: bool = False) -> str:
    """Why a program failed, in one word: what the extraction knows first, then the exception's name or the outcome.

    An assertion of the tests is `assertion`.
    """
    if no_code:
        return "no code found"
    if truncated:
        return "truncated"
    if kind == "failed":
        return "assertion"
    if kind in ("exception", "syntax error"):
        found = ERROR.match(detail)
        return found[1] if found else ("SyntaxError" if kind == "syntax error" else "exception")
    return kind


def failure_of(kind: str, detail: str, told: str) -> str:
    """`failure_kind` of an outcome whose reply was read as `told`, out of READINGS or empty."""
    return failure_kind(kind, detail, truncated=CUT_SHORT in told, no_code=NO_CODE in told)
