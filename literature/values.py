"""Printed scores as exact numbers: a text becomes whole ticks of its last decimal place, in percent."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from literature.errors import ScoreTextError

_NUMBER = re.compile(r"[+-]?\d{1,12}(?:\.\d{0,40})?(?:e[+-]?\d{1,2})?", re.ASCII | re.IGNORECASE)
_FOREIGN = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "﹣": "-",
        "‐": "-",
        "‑": "-",
        "‒": "-",
        "➖": "-",
        "\u2009": " ",
        "\u202f": " ",
        "\u00a0": " ",
        "\u2007": " ",
    }
)
# Raised digits are footnote marks; compatibility normalisation would turn 42.1² into 42.12.
_RAISED = re.compile("[\u2070-\u209c\u00b9\u00b2\u00b3\u1d43-\u1dbf]+")
FRACTION_DECIMALS = 3


@dataclass(frozen=True)
class Printed:
    """A printed percentage, exactly: `ticks` units of 10**-`decimals` percent."""

    ticks: int
    decimals: int

    @property
    def percent(self) -> Fraction:
        """The value itself, in percent."""
        return Fraction(self.ticks, 10**self.decimals)

    @property
    def text(self) -> str:
        """The percentage with its decimals, marked `%` only where it would else be read as a fraction of one."""
        text = decimal_text(self.ticks, self.decimals)
        return text + "%" if looks_like_fraction(text) else text


def decimal_text(ticks: int, decimals: int) -> str:
    """`ticks` / 10**`decimals` as plain decimal digits, trailing zeros kept."""
    if decimals == 0:
        return str(ticks)
    whole, rest = divmod(ticks, 10**decimals)
    return f"{whole}.{rest:0{decimals}d}"


def clean(text: str) -> str:
    """One line of plain characters: foreign minus signs, thin spaces, full-width digits and footnote marks undone."""
    plain = unicodedata.normalize("NFKC", _RAISED.sub("", text.translate(_FOREIGN))).translate(_FOREIGN)
    return " ".join(plain.split())


def looks_like_fraction(text: str) -> bool:
    """True for a bare number from 0 to 1 with three decimals or more: 0.475 is read as 47.5 %, 0.6 as 0.6 %."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return False
    number = Decimal(text)
    return 0 <= number <= 1 and _decimals(number) >= FRACTION_DECIMALS


def number(text: str) -> Decimal:
    """The exact number that `text` spells (no sign for percent); `ScoreTextError` when it is none."""
    if _NUMBER.fullmatch(text) is None:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise ScoreTextError(f"{shown!r} is not a number")
    return Decimal(text)


def _decimals(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


@lru_cache(maxsize=65536)
def printed(text: str, unit: str = "") -> Printed:
    """Read one printed score; `unit` is "percent", "fraction" or "" (by the look of it).

    `ScoreTextError` when the text is no number, or not between 0 and 100 percent.
    """
    plain = clean(text)
    marked = plain.endswith("%")
    bare = plain.removesuffix("%").rstrip()
    value = number(bare)
    decimals = _decimals(value)
    ticks = int(value.scaleb(decimals)) if decimals <= 60 else 0
    if not marked and (unit == "fraction" or (not unit and looks_like_fraction(bare))):
        # Moving the point by two places loses nothing: 0.475 has one decimal as a percentage.
        ticks, decimals = (ticks, decimals - 2) if decimals >= 2 else (ticks * 10 ** (2 - decimals), 0)
    found = Printed(ticks, decimals)
    if value.is_signed() and value != 0:
        raise ScoreTextError(f"{plain!r} is below 0")
    if found.percent > 100:
        raise ScoreTextError(f"{plain!r} is above 100 percent")
    return found
