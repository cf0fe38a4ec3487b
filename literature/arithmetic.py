"""Whether a reported score fits the setup that its source states: N problems, n samples each. No run is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from literature.granularity import (
    DOUBLE,
    count_list,
    count_span,
    counts,
    coverage,
    fitting_samples,
    missing_records,
    rounded_span,
)
from literature.records import ReportedScore
from literature.values import printed

_WHOLE = re.compile(r"(\d{1,6})(?:\.0+)?", re.ASCII)


@dataclass(frozen=True)
class Arithmetic:
    """What arithmetic says of one value: `possible` under the setup asked about, and a sentence.

    `cut_off` is True when only truncation could print it; `coverage` is the share of values that the setup can print.
    """

    possible: bool
    cut_off: bool
    coverage: float
    sentence: str


def stated_samples(reported: ReportedScore) -> int | None:
    """Samples per problem that the source states: 1 for greedy; None where it does not say, or two sources differ."""
    if reported.stated.get("decoding", "") == "greedy":
        return 1
    return whole(reported.stated.get("samples", ""))


def stated_problems(reported: ReportedScore) -> int | None:
    """Number of problems that the source states; None where it does not say.

    A count printed beside the score, 78/164, says it where the samples are stated too.
    """
    said = whole(reported.stated.get("problems", ""))
    total, samples = whole(reported.stated.get("count", "").rpartition("/")[2]), stated_samples(reported)
    if said is None and total and samples and total % samples == 0:
        return total // samples
    return said


def whole(text: str) -> int | None:
    """The whole number from 1 up that `text` spells (`20`, `20.0`); None when it spells none."""
    found = _WHOLE.fullmatch(text.strip())
    return int(found[1]) if found and int(found[1]) > 0 else None


def arithmetic(value: str, problems: int, samples: int = 1) -> Arithmetic:
    """Whether `value` can be a score of `problems` with `samples` each, what is near, what would make it possible."""
    return _arithmetic(value, problems, samples)


@lru_cache(maxsize=16384)
def _arithmetic(value: str, problems: int, samples: int) -> Arithmetic:
    number, total = printed(value), problems * samples
    share = float(coverage(problems, samples, number.decimals))
    low, high = rounded_span(number, total)
    if low <= high:
        fits = f"{count_list(range(low, high + 1))} of {total} print as {value}"
        return Arithmetic(True, False, share, f"{fits}; {share:.0%} of all values could be printed so")
    cut_low, cut_high = count_span(number, total, "truncate")
    cut_off = cut_low <= cut_high
    close = counts(value, problems, samples).nearest
    who = "one sample per problem" if samples == 1 else f"n={samples}"
    sentence = (
        f"no count of {total} prints as {value} ({who} on {problems} problems; nearest {close.count}/{total} = "
        f"{close.percent}): the stated setup and the number do not fit. "
    )
    others = _others(value, problems, samples)
    twice_low, twice_high = count_span(number, total, DOUBLE)
    if twice_low <= twice_high:
        others.insert(0, f"{count_list(range(twice_low, twice_high + 1))}/{total} if rounded twice")
    if cut_off:
        others.insert(0, f"{count_list(range(cut_low, cut_high + 1))}/{total} if cut off instead of rounded")
    sentence += f"It would be {'; '.join(others)}. " if others else ""
    return Arithmetic(False, cut_off, share, sentence + f"{share:.0%} of all values could be printed so.")


def _others(value: str, problems: int, samples: int) -> list[str]:
    found = [f"{count}/{size} with {problems - size} lost" for count, size in missing_records(value, problems)]
    more = [number for number in fitting_samples(value, problems) if number > 1] if samples == 1 else []
    if more:
        found.append(f"possible from n={more[0]} samples per problem on")
    return found


def misfit(reported: ReportedScore, problems: int) -> str:
    """The sentence beside a claim whose stated samples cannot print its value; "" where none is stated or it fits.

    The number of problems is the source's own where it states one, else `problems`.
    """
    samples = stated_samples(reported)
    if samples is None or not reported.is_count:
        return ""
    found = _arithmetic(reported.value, stated_problems(reported) or problems, samples)
    return "" if found.possible else found.sentence
