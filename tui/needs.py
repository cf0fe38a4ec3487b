"""What each reported score would need of a grid: which configurations are as its sources state, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.settings import Configuration
from literature.records import ReportedScore
from tui.reading import Literature, arithmetic, size_of
from tui.study import Study


@dataclass(frozen=True)
class Need:
    """One reported score of a study's model against the grid.

    `candidates` counts the configurations that differ in nothing from what the sources state, out of `configurations`
    of the model; `missing` are (axis, value) pairs that are stated and nowhere on the grid; `silent` is true where no
    source states a setting that is an axis here; `counts` says which counts print so.
    """

    model: str
    score: ReportedScore
    candidates: int
    configurations: int
    missing: tuple[tuple[str, str], ...]
    silent: bool
    counts: str

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.missing:
            values = ", ".join(f"{axis} {value}" for axis, value in self.missing)
            return f"needs {values}, which the grid lacks; W adds it"
        if self.silent:
            return f"states no setting: any of the {self.configurations} configurations may be it"
        if not self.candidates:
            return "each stated value is on the grid, but no configuration has them all"
        return f"{self.candidates} of {self.configurations} configurations are as stated"


def needs(study: Study, literature: Literature) -> list[Need]:
    """One for each reported score of the study's models, in the order of models and tables."""
    found = []
    for choice in study.models:
        mine = list(study.grid_of(choice).configurations([choice.name]))
        for score in literature.reported(choice, study.grid.benchmark):
            found.append(_need(choice.name, score, mine))
    return found


def _need(model: str, score: ReportedScore, mine: Sequence[Configuration]) -> Need:
    stated = dict(_stated(score))
    fits = {
        axis: [c for c in mine if any(_AXES[axis](c, value) for value in values)] for axis, values in stated.items()
    }
    missing = [(axis, values[0]) for axis, values in stated.items() if not fits[axis]]
    # Greedy decoding is deterministic: n samples of it are one.
    if any(value in ("greedy", "T=0") for value in stated.get("decoding", ())):
        missing = [(axis, value) for axis, value in missing if axis != "samples"]
        stated.pop("samples", None)
    both = [c for c in mine if all(c in fits[axis] for axis in stated)]
    size = size_of(score.benchmark)
    counts = arithmetic(score, size) if size is not None else "number of problems unknown"
    return Need(model, score, len(both), len(mine), tuple(missing), not stated, counts)


def _stated(score: ReportedScore) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Grid axis -> values that the sources state, as the grid screen reads them."""
    said = {axis: tuple(part.strip() for part in text.split(" / ")) for axis, text in score.stated.items() if text}
    if temperatures := said.get("temperature"):
        yield "decoding", tuple("greedy" if _zero(value) else f"T={value}" for value in temperatures)
    elif any(value.casefold().startswith("greedy") for value in said.get("decoding", ())):
        yield "decoding", ("greedy",)
    for axis, names in _NAMES.items():
        values = next((said[name] for name in names if name in said), ())
        if values:
            yield axis, values


def _zero(text: str) -> bool:
    try:
        return float(text) == 0
    except ValueError:
        return False


_NAMES: Mapping[str, tuple[str, ...]] = {
    "samples": ("samples",),
    "max_length": ("max_length", "length"),
    "precision": ("precision", "quantisation", "quantization"),
    "template": ("prompt",),
    "extraction": ("extraction",),
}
"""Grid axis -> the words under which sources state it."""

_AXES: Mapping[str, Callable[[Configuration, str], bool]] = {
    "decoding": lambda c, value: c.decoding.greedy if value == "greedy" else _temperature(c, value),
    "samples": lambda c, value: str(c.samples) == value,
    "max_length": lambda c, value: str(c.max_length) == value,
    "precision": lambda c, value: c.precision.casefold() == value.casefold(),
    "template": lambda c, value: c.template.casefold() == value.casefold(),
    "extraction": lambda c, value: c.extraction.casefold() == value.casefold(),
}


def _temperature(c: Configuration, value: str) -> bool:
    try:
        return not c.decoding.greedy and c.decoding.temperature == float(value.removeprefix("T="))
    except ValueError:
        return False
