"""One cell of a table of reported scores: `42.1 [21], 44.9 [16,22]`, `31.8±1.2`, `47.5%`, `47.6 (78/164)`, `-`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from literature.errors import ScoreTextError
from literature.granularity import count_span, percent_text, rounded_span
from literature.values import FRACTION_DECIMALS, Printed, clean, printed

LONGEST = 4096
_EMPTY = frozenset({"", "-", "--", "---", "n/a", "na", "n.a.", "none", "nan", "null", "?", "x", "tbd", "/"})
_DIGITS = r"(?:\d{1,12}(?:[.,]\d{1,40}|\.(?!\d))?|\.\d{1,40})(?:e[+-]?\d{1,2})?"
_BRACKETS = r"(?:\[[^\[\]]*\]\s*)*"
_ITEM = re.compile(
    rf"[*†‡§¶#]*\s*(?P<number>[+-]?{_DIGITS})\s*(?P<percent>%?)\s*[*†‡§¶#]*\s*"
    rf"(?:\(?\s*(?:±|\+/-|\+-)\s*(?P<uncertainty>{_DIGITS})\s*%?\s*\)?)?\s*[*†‡§¶#]*\s*"
    rf"(?P<sources>{_BRACKETS})"
    rf"(?:\(\s*(?P<passed>\d{{1,6}})\s*(?:/|of)\s*(?P<total>\d{{1,6}})\s*\)\s*[*†‡§¶#]*\s*(?P<more>{_BRACKETS}))?",
    re.IGNORECASE,
)
_COUNT_FIRST = re.compile(r"(?<![\d.,])(\d{1,6}\s*(?:/|of)\s*\d{1,6})\s*\(\s*(\.?\d[^()/]*?)\s*\)")
_SEPARATOR = re.compile(r"\s*(?:[,;/|]|\band\b)\s*|\s+")
_RANGE = re.compile(r"(\d{1,4})\s*-\s*(\d{1,4})")
_BARE_COMMA = re.compile(r"\d,\d")
_POINT = re.compile(r"\.\d")
_COUNT = re.compile(r"(\d{1,6})\s*/\s*(\d{1,6})")
_ABOUT = re.compile(r"\\?(?:[~≈≃∼<>≤≥]|sim\b|approx\b)\s*\d")


@dataclass(frozen=True)
class CellScore:
    """One number of a cell: digits with a decimal point, the written form, whether it has `%`, its ± and sources.

    `count` is (passed, of how many) where the cell prints them beside the number.
    """

    text: str
    written: str
    percent: bool = False
    uncertainty: str = ""
    sources: tuple[str, ...] = ()
    count: tuple[int, int] | None = None

    @property
    def stated(self) -> dict[str, str]:
        """What the cell states beside its number: `count`, as `78/164`; nothing in most cells."""
        return {} if self.count is None else {"count": f"{self.count[0]}/{self.count[1]}"}


def is_empty(text: str) -> bool:
    """True where a table says that there is no score: blank, a dash, n/a."""
    return clean(text).strip("*†‡ ").casefold() in _EMPTY


def decimal_mark(texts: Iterable[str]) -> str:
    """The decimal mark of a column: `,` where commas stand between digits and no point does, else `.`."""
    commas = False
    for text in texts:
        if len(text) > LONGEST:
            continue
        outside = re.sub(r"\[[^\[\]]*\]", " ", clean(text))
        if _POINT.search(outside):
            return "."
        commas = commas or _BARE_COMMA.search(outside) is not None
    return "," if commas else "."


def parse_cell(text: str, mark: str = ".") -> list[CellScore]:
    """The numbers of one cell, none for an empty one; `ScoreTextError` when something in it has no single meaning."""
    if len(text) > LONGEST:
        raise ScoreTextError(f"{len(text)} characters are no cell of scores (at most {LONGEST})")
    plain = clean(text)
    if is_empty(plain):
        return []
    _refuse_no_print(plain)
    plain = _COUNT_FIRST.sub(r"\2 (\1)", plain)
    found: list[CellScore] = []
    position = 0
    while position < len(plain):
        match = _ITEM.match(plain, position)
        if match is None:
            raise ScoreTextError(f"{_shown(plain[position:])} is not a score")
        number = match["number"]
        _refuse_comma(number, match["uncertainty"] or "", mark)
        uncertainty = (match["uncertainty"] or "").replace(",", ".")
        brackets = re.findall(r"\[([^\[\]]*)\]", match["sources"] + (match["more"] or ""))
        sources = tuple(source for part in brackets for source in split_marks(part))
        written = number + match["percent"]
        digits = number.replace(",", ".")
        digits = "0" + digits if digits.startswith(".") else digits
        count = (int(match["passed"]), int(match["total"])) if match["total"] else None
        found.append(CellScore(digits, written, bool(match["percent"]), uncertainty, sources, count))
        position = match.end()
        if position == len(plain):
            break
        separator = _SEPARATOR.match(plain, position)
        if separator is None and not match[0].endswith((" ", "]")):
            raise ScoreTextError(f"{_shown(plain[position:])} follows {number!r} without a separator")
        position = separator.end() if separator else position
    return found


def _refuse_no_print(plain: str) -> None:
    """Refuse a count such as 78/164, which is not the percentage 78, and a number that is only said to be about so."""
    if "/" in plain and (count := _COUNT.fullmatch(plain)):
        raise ScoreTextError(
            f"{plain!r} is a count or two scores: write what the source prints in percent, with the count behind it in "
            f"brackets or without, or {count[1]}, {count[2]}"
        )
    if not plain[0].isdigit() and _ABOUT.match(plain):
        raise ScoreTextError(f"{_shown(plain)} is no printed score: it is a bound or an approximation")


def _refuse_comma(number: str, uncertainty: str, mark: str) -> None:
    for text in (number, uncertainty):
        if "," in text and mark == ".":
            raise ScoreTextError(f"{text!r} may be one number or two: other cells of this column use a decimal point")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def split_marks(text: str) -> list[str]:
    """The reference marks of one bracket: `16, 22` or `16-18`."""
    found: list[str] = []
    for part in re.split(r"[,;\s]+", text.replace("–", "-").strip()):
        span = _RANGE.fullmatch(part)
        if span and 0 < int(span[2]) - int(span[1]) <= 50:
            found.extend(str(value) for value in range(int(span[1]), int(span[2]) + 1))
        elif part:
            found.append(part)
    return found


def split_sources(text: str) -> tuple[str, ...]:
    """Sources of a long-form row: `16 22`, `[16], [22]`, `Li et al. 2023; Wei 2024`, or one text."""
    plain = text.strip()
    if ";" in plain:
        return tuple(part.strip() for part in plain.split(";") if part.strip())
    marks = split_marks(plain.replace("[", " ").replace("]", " "))
    if all(mark.isascii() and mark.isdigit() for mark in marks):
        return tuple(marks)
    return (plain,) if plain else ()


def percentages(cells: Sequence[CellScore], unit: str = "") -> list[Printed | ScoreTextError]:
    """The exact percentage of each number of one column, or why it has none.

    Percent and fractions of one may be mixed: a bare number up to 1 is a fraction when it has two decimals more than
    the column's percentages, a percentage when it has no more decimals than they, and is refused in between. So is
    a number that the count beside it does not print as, rounded or cut off.
    """
    bare = [(cell, Decimal(cell.text)) for cell in cells]
    sure = [_decimals(value) for cell, value in bare if cell.percent or value > 1]
    small = [_decimals(value) for cell, value in bare if not cell.percent and 0 <= value <= 1]
    found: list[Printed | ScoreTextError] = []
    for cell, value in bare:
        try:
            reading = "percent" if cell.percent or value > 1 or value < 0 else unit or _small_unit(value, sure, small)
            number = printed(cell.text, reading)
            refuse_other_count(cell.written, cell.stated.get("count", ""), number)
            found.append(number)
        except ScoreTextError as error:
            found.append(error)
    return found


def refuse_other_count(written: str, count: str, number: Printed) -> None:
    """`ScoreTextError` where a count such as 78/164 does not print as the number beside it, rounded or cut off."""
    found = _COUNT.fullmatch(count)
    if found is None:
        return
    passed, total = int(found[1]), int(found[2])
    if passed > total or not total:
        raise ScoreTextError(f"'{written} ({passed}/{total})': {passed} of {total} cannot be")
    spans = rounded_span(number, total), count_span(number, total, "truncate")
    if not any(low <= passed <= high for low, high in spans):
        raise ScoreTextError(
            f"'{written} ({passed}/{total})' contradicts itself: {passed}/{total} is "
            f"{percent_text(passed, total, max(2, number.decimals + 1))} %, which does not print as {number.text}"
        )


def _decimals(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _small_unit(value: Decimal, sure: Sequence[int], small: Sequence[int]) -> str:
    decimals = _decimals(value)
    if value == 0 and decimals < FRACTION_DECIMALS:
        return "percent"
    if sure:
        if decimals <= max(sure):
            return "percent"
        if decimals >= max(sure) + 2:
            return "fraction"
    elif max(small) >= FRACTION_DECIMALS or (len(small) > 1 and max(small) == 2):
        return "fraction"
    raise ScoreTextError(f"'{value}' may be {value} % or a fraction of one: write {value}% or {value * 100}%")


def in_percent(uncertainty: str, text: str, value: Printed) -> str:
    """The ± of a number that stands as `text`, in percent: moved by two places where that is a fraction of one."""
    try:
        moved = "%" not in text and value.percent != Fraction(text.replace(",", "."))
        return format(Decimal(uncertainty).scaleb(2), "f") if uncertainty and moved else uncertainty
    except (ValueError, ArithmeticError):
        return uncertainty
