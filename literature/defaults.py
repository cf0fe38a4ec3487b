"""What a harness does when its user says nothing: "evaluated with harness X" as a candidate configuration.

A candidate is worked out here from the harness's defaults. It is never the source's own words, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from literature.records import Measurement, ReportedScore, task_family
from literature.shipped import rows_of

AXES = ("decoding", "temperature", "top_p", "top_k", "samples", "seed", "length", "precision")
_DRAWING = ("temperature", "top_p", "top_k", "seed")
_SAME = {"max_length": "length", "fp32": "f32", "fp16": "f16", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}


@dataclass(frozen=True)
class HarnessDefaults:
    """One harness's defaults, axis -> value; `names` it goes by, `benchmarks` it is limited to (families; none: all).

    `counts` says what the length counts: prompt and reply, or the reply alone.
    """

    harness: str
    names: tuple[str, ...]
    version: str
    benchmarks: tuple[str, ...]
    settings: Mapping[str, str]
    counts: str
    note: str


@dataclass(frozen=True)
class Candidate:
    """A configuration that a report may have used: what its source `stated`, and what was `assumed` for the rest."""

    harness: str
    version: str
    stated: Mapping[str, str]
    assumed: Mapping[str, str]
    counts: str
    note: str

    @property
    def settings(self) -> dict[str, str]:
        """Axis -> value, stated and assumed together."""
        return {**self.assumed, **self.stated}

    @property
    def sentence(self) -> str:
        """For people; whose words these are is part of it."""
        listed = ", ".join(f"{axis} {value}" for axis, value in self.assumed.items())
        version = f" ({self.version})" if self.version else ""
        length = f", length counting {self.counts}" if "length" in self.assumed and self.counts else ""
        note = f"; {self.note}" if self.note else ""
        return f"not stated, by the defaults of {self.harness}{version}: {listed}{length}{note}"


@lru_cache(maxsize=1)
def harness_defaults() -> tuple[HarnessDefaults, ...]:
    """The defaults that ship, in the file's order."""
    return tuple(
        HarnessDefaults(
            row["harness"], _listed(row["names"]), row["version"], _listed(row["benchmarks"]),
            {axis: row[axis] for axis in AXES if row[axis]}, row["length_counts"], row["note"],
        )
        for row in rows_of("harness_defaults.csv")
    )  # fmt: skip


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip().casefold() for part in text.split(";") if part.strip())


def candidates(reported: ReportedScore) -> list[Candidate]:
    """The configurations that "evaluated with harness X" may mean, one for each known version; empty without a harness.

    Only what the source leaves open is assumed: under stated greedy decoding nothing is drawn, so nothing of it is.
    """
    name = reported.stated.get("harness", "").casefold()
    family = task_family(reported.benchmark).partition("-")[0]
    stated = _stated(reported)
    found = (
        Candidate(one.harness, one.version, stated, _open(one.settings, stated), one.counts, one.note)
        for one in harness_defaults()
        if name in one.names and (not one.benchmarks or not family or family in one.benchmarks)
    )
    return [one for one in found if one.assumed]


def _stated(reported: ReportedScore) -> dict[str, str]:
    """What the source states of the axes, in our labels."""
    return {
        _SAME.get(axis, axis): _SAME.get(value.casefold(), value)
        for axis, value in reported.stated.items()
        if _SAME.get(axis, axis) in AXES
    }


def _open(settings: Mapping[str, str], stated: Mapping[str, str]) -> dict[str, str]:
    greedy = stated.get("decoding", settings.get("decoding", "")) == "greedy"
    rest = {axis: value for axis, value in settings.items() if axis not in stated}
    if "temperature" in stated:
        rest.pop("decoding", None)
    return {
        axis: "1" if greedy and axis == "samples" else value
        for axis, value in rest.items()
        if not (greedy and axis in _DRAWING)
    }


def agrees(candidate: Candidate, measurement: Measurement) -> bool:
    """True when a measured configuration has every setting of the candidate that is an axis of it."""
    settings = candidate.settings
    heat = settings.get("temperature", "")
    wanted = {
        "decoding": "greedy" if settings.get("decoding") == "greedy" else f"T={float(heat):g}" if _number(heat) else "",
        **{axis: settings.get(axis, "") for axis in ("samples", "length", "precision")},
    }
    axes = measurement.axes
    return all(not value or axis not in axes or axes[axis].split(" ")[0] == value for axis, value in wanted.items())


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def agreeing(reported: ReportedScore, measurements: Iterable[Measurement]) -> list[str]:
    """Ids of the measured configurations with the settings that the source states, its harness's defaults for the rest.

    Empty where the source does not even say how tokens were chosen: then every configuration would agree.
    """
    found = candidates(reported) or [Candidate("", "", _stated(reported), {}, "", "")]
    known = [one for one in found if {"decoding", "temperature"} & one.settings.keys()]
    return [one.id for one in measurements if any(agrees(candidate, one) for candidate in known)]
