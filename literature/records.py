"""The values of this package: a reported score, and what a measurement must offer to be matched against one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

FIX = "humanevalfix-"
_JOINED = {
    "fix": ("humaneval",), "plus": ("humaneval", "mbpp"), "tests": ("humanevalfix",), "docs": ("humanevalfix",)
}  # fmt: skip
_PASS_AT = re.compile(r"\s*pass\s*[@_ ]\s*(?:at[_ ])?(\d+)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class ReportedScore:
    """One published number: its text as printed ("28" is not "28.0"), who printed it, and what they state of settings.

    `value` is a percentage with the decimals of the source; `printed` is the source's own form where that differs
    ("0.475", "47,5 %"), `uncertainty` what it prints behind ±. `place` is where it was read (`file:line`); `stated`
    maps axis names to what the source says, and lacks what it does not.
    """

    model: str
    benchmark: str
    metric: str
    value: str
    sources: tuple[str, ...]
    introduced_by: str = ""
    place: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)
    uncertainty: str = ""
    printed: str = ""

    @property
    def id(self) -> str:
        """Twelve hex digits that stand for this number of these sources."""
        text = "\x1f".join((self.model, self.benchmark, self.metric, self.value, *self.sources))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def is_count(self) -> bool:
        """False for pass@k with k > 1, the mean of 1 - C(n-c,k)/C(n,k): no count of passed samples prints as it."""
        named = _PASS_AT.fullmatch(self.metric)
        return named is None or int(named[1]) == 1

    @property
    def label(self) -> str:
        """`42.1 [21]`, the paper's own cell style."""
        return f"{self.value} [{','.join(self.sources)}]" if self.sources else self.value


class Measurement(Protocol):
    """What this package needs of one configuration's score, finished or not."""

    @property
    def id(self) -> str:
        """The configuration's id."""
        ...

    @property
    def model(self) -> str:
        """The model's name as the study gives it."""
        ...

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        ...

    @property
    def axes(self) -> Mapping[str, str]:
        """Axis name -> value label."""
        ...

    @property
    def greedy(self) -> bool:
        """True when decoding is deterministic in theory."""
        ...

    @property
    def problems(self) -> int:
        """N: the benchmark's size."""
        ...

    @property
    def samples(self) -> int:
        """n: samples per problem."""
        ...

    @property
    def passes(self) -> Sequence[int]:
        """Passed samples per problem, in the benchmark's order; 0 where nothing is judged yet."""
        ...

    @property
    def judged(self) -> Sequence[int]:
        """Judged samples per problem (passed or not; unavailable ones are not judged), in the benchmark's order."""
        ...


@lru_cache(maxsize=4096)
def plain_benchmark(name: str) -> str:
    """A benchmark's name in the harness's spelling: `HumanEval+` is `humanevalplus`, `HumanEvalFix (Python)` is
    `humanevalfix-python`; a name that is none of the known comes back in small letters.
    """
    text = name.casefold().replace("c++", "cpp").replace("javascript", "js").replace("+", " plus")
    words = [word for word in re.split(r"[\s_()\[\]/-]+", text) if word]
    if words[:1] == ["openai"]:
        words = words[1:]
    if words[:2] == ["human", "eval"]:
        words[:2] = ["humaneval"]
    for tail in ("fix", "plus", "tests", "docs"):
        if len(words) > 1 and words[1] == tail and words[0] in _JOINED[tail]:
            words[:2] = [words[0] + tail]
    return "-".join(words)


def configurations_text(count: int) -> str:
    """`1 configuration`, `3 configurations`."""
    return f"{count} configuration{'' if count == 1 else 's'}"


def same_benchmark(reported: str, measured: str) -> bool:
    """True when a reported benchmark name can mean the measured task: equal, blank, or its family.

    `humanevalfix-python` is either variant, `humanevalfixtests-python` or `humanevalfixdocs-python`; without a language
    the name can mean any of them; `humaneval` is also the task with its prompts left unstripped.
    """
    told, name = plain_benchmark(reported), plain_benchmark(measured)
    either = _either_variant(name)
    return told in ("", name, either) or (told in ("humanevalfix", name.partition("-")[0]) and either.startswith(FIX))


def task_family(benchmark: str) -> str:
    """What a task shares with its variants: tests or docs of HumanEvalFix, the plus version of HumanEval or MBPP."""
    return _either_variant(plain_benchmark(benchmark)).replace("plus", "")


def _either_variant(name: str) -> str:
    return name.replace("fixtests", "fix").replace("fixdocs", "fix").removesuffix("-unstripped")


def states_variant(reported: ReportedScore, measured: str) -> bool:
    """False when the source states a variant of HumanEvalFix (`tests`, `docs`) and the measured task is the other."""
    said = reported.stated.get("variant", "").casefold()
    other = {"tests": "fixdocs", "docs": "fixtests"}.get(said, "")
    return not (other and other in measured.casefold())
