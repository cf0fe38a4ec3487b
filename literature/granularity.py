"""Which counts print as a reported score: granularity of percentages, decided in whole numbers.

A score of N problems with n samples each is k / (N n) for a whole k; a printed value has a set of counts, often empty.
Source: Brown and Heathers 2017 (SPPS 8:363-369), the GRIM test, here for percentages with five rounding
rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from literature.values import Printed, decimal_text, printed

ROUNDINGS = ("half_up", "half_even")
RULES = (*ROUNDINGS, "truncate", "ceiling")
DOUBLE = "double"
"""Rounded half up to one place more first, then again: 47.445 prints as 47.45 and then as 47.5."""
Span = tuple[int, int]
FLOAT_DIGITS = 10**14


@dataclass(frozen=True)
class Nearest:
    """The count whose score lies nearest to a printed value, and that score in percent, with two decimals or more."""

    count: int
    percent: str


@dataclass(frozen=True)
class Counts:
    """The counts k of `total` = `problems` x `samples` that print as `value`, by rounding rule; ascending."""

    value: str
    problems: int
    samples: int
    half_up: tuple[int, ...]
    half_even: tuple[int, ...]
    truncate: tuple[int, ...]
    ceiling: tuple[int, ...]
    nearest: Nearest

    @property
    def total(self) -> int:
        """N n, the denominator."""
        return self.problems * self.samples

    @property
    def rounded(self) -> tuple[int, ...]:
        """Counts that print so under either rounding to the nearest; at ties both neighbours are accepted."""
        return self.accepted(ROUNDINGS)

    @property
    def double(self) -> tuple[int, ...]:
        """Counts that print so when rounded twice."""
        low, high = count_span(printed(self.value), self.total, DOUBLE)
        return tuple(range(low, high + 1))

    def accepted(self, rules: Iterable[str]) -> tuple[int, ...]:
        """Counts that print so under at least one of `rules`."""
        return tuple(sorted({count for rule in rules for count in getattr(self, rule)}))


def counts(value: str, problems: int, samples: int = 1) -> Counts:
    """Counts of `problems` x `samples` that print as `value`; `ScoreTextError` when the text is no score."""
    return _counts(printed(value), value, problems, samples)


@lru_cache(maxsize=65536)
def _counts(value: Printed, text: str, problems: int, samples: int) -> Counts:
    total = _total(problems, samples)
    half_up, half_even, truncate, ceiling = (
        tuple(range(low, high + 1)) for low, high in (count_span(value, total, rule) for rule in RULES)
    )
    return Counts(text, problems, samples, half_up, half_even, truncate, ceiling, nearest(value, total))


def _total(problems: int, samples: int) -> int:
    if problems < 1 or samples < 1:
        raise ValueError(f"problems and samples must be 1 or more, not {problems} and {samples}")
    return problems * samples


def count_span(value: Printed, total: int, rule: str) -> Span:
    """First and last count of `total` that prints as `value` under `rule`; the last is the smaller when none does."""
    ticks, scale = value.ticks, 100 * 10**value.decimals
    if rule in ROUNDINGS and ticks > FLOAT_DIGITS:
        # The print of a float: the sum behind it is off by up to 1e-14 of itself, more than half of the last place.
        slack = ticks // FLOAT_DIGITS + 1
        low, high = -((slack - ticks) * total // scale), (ticks + slack) * total // scale
    elif rule in ROUNDINGS:
        # k prints as t when t - 1/2 <= k scale / total < t + 1/2; both sides doubled to stay whole.
        low, high = -(-(2 * ticks - 1) * total // (2 * scale)), -(-(2 * ticks + 1) * total // (2 * scale)) - 1
        if rule == "half_even":
            if ticks % 2 == 0 and (2 * ticks + 1) * total % (2 * scale) == 0:
                high += 1
            elif ticks % 2 == 1 and (2 * ticks - 1) * total % (2 * scale) == 0:
                low += 1
    elif rule == DOUBLE:
        # Rounding 10 x to the nearest and then a tenth of it: x from t - .55 to below t + .45; both sides times 20.
        low, high = -(-(20 * ticks - 11) * total // (20 * scale)), -(-(20 * ticks + 9) * total // (20 * scale)) - 1
    elif rule == "truncate":
        low, high = -(-ticks * total // scale), -(-(ticks + 1) * total // scale) - 1
    elif rule == "ceiling":
        low, high = (ticks - 1) * total // scale + 1, ticks * total // scale
    else:
        raise ValueError(f"rounding rule {rule!r}: expected one of {', '.join(RULES)}")
    return max(0, low), min(total, high)


@lru_cache(maxsize=65536)
def rounded_span(value: Printed, total: int) -> Span:
    """First and last count of `total` that prints as `value` under rounding to the nearest, ties to either side."""
    up, even = count_span(value, total, "half_up"), count_span(value, total, "half_even")
    spans = [span for span in (up, even) if span[0] <= span[1]] or [up]
    return min(low for low, _ in spans), max(high for _, high in spans)


def nearest(value: Printed, total: int) -> Nearest:
    """The count of `total` nearest to `value` (the lower of two at the same distance)."""
    scale = 100 * 10**value.decimals
    # Doubling and subtracting one rounds exact halves down.
    count = min(total, max(0, -((scale - 2 * value.ticks * total) // (2 * scale))))
    return Nearest(count, percent_text(count, total, max(2, value.decimals + 1)))


def percent_text(count: int, total: int, decimals: int) -> str:
    """100 `count` / `total`, rounded half up to `decimals`."""
    scale = 100 * 10**decimals
    return decimal_text((2 * count * scale + total) // (2 * total), decimals)


def possible(value: str, problems: int, samples: int = 1, rules: Iterable[str] = ROUNDINGS) -> bool:
    """True when some count of `problems` x `samples` prints as `value` under one of `rules`."""
    number, total = printed(value), _total(problems, samples)
    return any(low <= high for low, high in (count_span(number, total, rule) for rule in rules))


@lru_cache(maxsize=4096)
def coverage(problems: int, samples: int, decimals: int) -> Fraction:
    """Share of the values 0..100 with `decimals` places that some count prints as."""
    total, scale = _total(problems, samples), 100 * 10**decimals
    if total >= scale:
        return Fraction(1)
    distinct = len({(2 * count * scale + total) // (2 * total) for count in range(total + 1)})
    return Fraction(distinct, scale + 1)


def fitting_problems(values: Sequence[str], candidates: Iterable[int], samples: int = 1) -> list[int]:
    """The problem numbers N among `candidates` on which every one of `values` can be printed."""
    numbers = [printed(value) for value in values]
    return [size for size in candidates if all(_prints(number, size * samples) for number in numbers)]


def fitting_samples(value: str, problems: int, most: int = 20) -> list[int]:
    """The numbers of samples n = 1..`most` with which `value` can be printed on `problems`."""
    number = printed(value)
    return [samples for samples in range(1, most + 1) if _prints(number, problems * samples)]


def _prints(value: Printed, total: int) -> bool:
    low, high = rounded_span(value, total)
    return low <= high


def missing_records(value: str, problems: int, most: int = 3) -> list[tuple[int, int]]:
    """(k, N) that print as `value` when 1..`most` records were lost: a dropped record changes the denominator."""
    number = printed(value)
    return [
        (count, size)
        for size in range(problems - 1, max(0, problems - 1 - most), -1)
        for count in range(rounded_span(number, size)[0], rounded_span(number, size)[1] + 1)
    ]


def describe(value: str, problems: int, samples: int = 1) -> str:
    """One sentence on what `value` can be a count of, for people."""
    found = counts(value, problems, samples)
    grid = f"k/{problems}" if samples == 1 else f"k/({problems}·{samples})"
    if found.rounded:
        return f"{count_list(found.rounded)} of {found.total}"
    size = f"{found.nearest.count}/{found.total} = {found.nearest.percent}"
    who = "one sample per problem" if samples == 1 else f"{samples} samples per problem"
    sentence = f"not {grid}: {who} cannot print it (nearest {size})"
    named = (("cut off", found.truncate), ("rounded twice", found.double), ("rounded up", found.ceiling))
    rule, ks = next(((rule, ks) for rule, ks in named if ks), ("", ()))
    return f"{sentence}; {count_list(ks)}/{found.total} prints so if {rule}" if ks else sentence


def count_list(numbers: Sequence[int]) -> str:
    """`80`, `80, 81` or `1603-1605`: ascending whole numbers for people."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(map(str, numbers))
