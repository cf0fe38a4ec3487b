"""Which rows of the literature are shown, and in which order: what is typed behind `/`, and the orders of `o`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tui.errors import TypedError
from tui.reading import Entry

HINT = "words, or model:, benchmark:, source:, spread>10, status:exact"
SORTS = ("table order", "spread", "model", "benchmark", "source", "status", "most values off the k/N grid")
STATUSES = (
    "not run", "measured", "exact", "rounding", "near", "within noise", "inconclusive", "open", "ruled out",
    "impossible", "off grid",
)  # fmt: skip
"""What `status:` may be followed by, with hyphens or without blanks: `status:ruled-out`."""

Statuses = Callable[[Entry], Sequence[str]]
"""The statuses of a row, out of STATUSES, best match first."""
Test = Callable[[Entry, Statuses], bool]
"""Whether a row is shown; asks for its statuses only where they matter."""
_SPREAD = re.compile(r"spread\s*(<=|>=|<|>|=)\s*(\d+(?:\.\d+)?)")


def parse_filter(text: str) -> Test:
    """What a row must hold: every word of the text. `TypedError` says what was expected."""
    tests: list[Test] = []
    for found in _SPREAD.finditer(text):
        tests.append(_spread(found[1], float(found[2])))
    # A comparison that is being typed is none yet.
    rest = re.sub(r"\bspread\s*[<>=]*\s*$", "", _SPREAD.sub(" ", text))
    if re.search(r"\bspread[<>=]", rest):
        raise TypedError("spread: expected a comparison with a number of points, such as spread>10")
    for word in rest.split():
        field, sign, wanted = word.partition(":")
        tests.append(_field(field, wanted.casefold()) if sign and field in _FIELDS else _word(word.casefold()))
    return lambda entry, statuses: all(test(entry, statuses) for test in tests)


def ordered(entries: Sequence[Entry], sort: int, statuses: Statuses) -> list[Entry]:
    """The rows in one of the orders of SORTS."""
    keys: tuple[Callable[[Entry], tuple[object, ...]], ...] = (
        lambda entry: (),
        lambda entry: (-entry.spread,),
        lambda entry: (entry.model.casefold(),),
        lambda entry: (entry.benchmark.casefold(), entry.model.casefold()),
        lambda entry: (_first_source(entry), entry.model.casefold()),
        lambda entry: (STATUSES.index(found) if (found := _best(statuses(entry))) else len(STATUSES),),
        lambda entry: (-off_grid(entry),),
    )
    return sorted(entries, key=keys[sort]) if sort else list(entries)


def off_grid(entry: Entry) -> int:
    """How many values one sample per problem cannot print."""
    return 0 if entry.printable is None else len(entry.scores) - entry.printable


def _best(statuses: Sequence[str]) -> str:
    return next((status for status in statuses if status not in ("not run", "measured", "off grid")), "")


def _first_source(entry: Entry) -> tuple[int, int, str]:
    """Numbered sources by number, others behind them by name, rows without any last."""
    sources = [source for score in entry.scores for source in score.sources]
    found = [(0, int(s), "") if s.isascii() and s.isdigit() else (1, 0, s.casefold()) for s in sources]
    return min(found, default=(2, 0, ""))


def _sources(entry: Entry) -> list[str]:
    return [source.casefold() for score in entry.scores for source in score.sources]


_FIELDS: dict[str, Callable[[Entry, Statuses, str], bool]] = {
    "model": lambda entry, statuses, wanted: wanted in entry.model.casefold(),
    "benchmark": lambda entry, statuses, wanted: wanted in entry.benchmark.casefold(),
    # A source is named whole: source:1 is not source 16.
    "source": lambda entry, statuses, wanted: not wanted or wanted in _sources(entry),
    "status": lambda entry, statuses, wanted: any(
        _plain(status).startswith(_plain(wanted)) for status in statuses(entry)
    ),
}  # fmt: skip


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text)


def _field(field: str, wanted: str) -> Test:
    return lambda entry, statuses: _FIELDS[field](entry, statuses, wanted)


def _word(word: str) -> Test:
    return lambda entry, statuses: word in _haystack(entry)


def _spread(sign: str, points: float) -> Test:
    compare: dict[str, Callable[[float], bool]] = {
        "<": lambda value: value < points,
        ">": lambda value: value > points,
        "<=": lambda value: value <= points,
        ">=": lambda value: value >= points,
        "=": lambda value: abs(value - points) < 0.05,
    }
    return lambda entry, statuses: compare[sign](entry.spread)


def _haystack(entry: Entry) -> str:
    return " ".join(
        [entry.model, entry.benchmark, entry.metric, *_sources(entry), *(score.value for score in entry.scores)]
    ).casefold()
