"""One configuration, the axes it is made of, and the grid that they span."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from engine.errors import SettingsError

PRECISIONS = ("f32", "f16", "bf16", "q8_0", "q4_k_m", "q4_0", "as released")
EXTRACTIONS = (
    "harness", "raw", "first_fence", "prompt+body", "all_fences", "smart", "humaneval-stop", "sanitize",
)  # fmt: skip
UNKNOWN = "unknown"
"""What an axis says where a setting of somebody else's run is not told."""


@dataclass(frozen=True, order=True)
class Decoding:
    """How the next token is chosen: greedy at temperature 0, else sampled from the top_p nucleus of the top_k best
    (0: all). -1 stands for what is unknown of other people's replies.
    """

    temperature: float = 0.0
    top_p: float = 0.95
    top_k: int = 0

    @property
    def greedy(self) -> bool:
        """True when the most likely token is always taken."""
        return self.temperature == 0.0

    @property
    def label(self) -> str:
        """`greedy` or `T=0.2`, with top_p and top_k only where they are not the harness defaults 0.95 and 0."""
        if self == UNKNOWN_DECODING:
            return UNKNOWN
        if self.greedy:
            return "greedy"
        unknown = " and ".join(name for name in ("top_p", "top_k") if name not in self.told)
        extra = ("" if self.top_p in (0.95, -1) else f" top_p={self.top_p:g}") + (
            "" if self.top_k in (0, -1) else f" top_k={self.top_k}"
        )
        return f"T={self.temperature:g}{extra}" + (f" ({unknown} {UNKNOWN})" if unknown else "")

    @property
    def told(self) -> dict[str, float]:
        """Temperature, top_p and top_k by name, without what is unknown."""
        return {name: value for name, value in asdict(self).items() if value >= 0}


UNKNOWN_DECODING = Decoding(-1.0)
"""Stands for a decoding that nobody told; no engine runs it."""


def parse_shape(text: str) -> tuple[int, int]:
    """Width and rows per step of a decoding shape: `8` or, with drafted rows, `8x4`; else `SettingsError`."""
    width, _, block = text.partition("x")
    for part in (width, block or "1"):
        if not (part.isdigit() and (int(part) == 1 or (int(part) and int(part) % 4 == 0))):
            raise SettingsError(f"shape {text!r}: expected a width such as '8', or width and rows such as '8x4'")
    return int(width), int(block or "1")


def shape_label(width: int, block: int) -> str:
    """What `parse_shape` reads."""
    return str(width) if block == 1 else f"{width}x{block}"


def parse_decoding(text: str) -> Decoding:
    """Read a decoding label back; `SettingsError` names what was expected."""
    words = text.strip().split()
    if words == ["greedy"]:
        return Decoding()
    values: dict[str, float] = {}
    for word in words:
        name, _, number = word.partition("=")
        try:
            values[{"T": "temperature", "top_p": "top_p", "top_k": "top_k"}[name]] = float(number)
        except (KeyError, ValueError):
            raise SettingsError(f"decoding {text!r}: expected 'greedy' or 'T=0.2 [top_p=0.95] [top_k=0]'") from None
    found = Decoding(values.get("temperature", 0.0), values.get("top_p", 0.95), int(values.get("top_k", 0)))
    if not 0 < found.temperature <= 10 or not 0 < found.top_p <= 1 or found.top_k < 0:
        raise SettingsError(f"decoding {text!r}: T must be in (0, 10], top_p in (0, 1], top_k >= 0")
    return found


@dataclass(frozen=True)
class Configuration:
    """One value on every axis: what a score is a score of.

    `model` is the study's name for a model; `benchmark` a harness task name (`humanevalfixtests-python`);
    `max_length` counts prompt and output tokens together, as the harness does. Where a score was made elsewhere,
    `unknown`, UNKNOWN_DECODING, length 0 and seed -1 stand for what is not told.
    """

    model: str
    benchmark: str
    template: str
    decoding: Decoding
    max_length: int
    precision: str
    prefill: bool = True
    samples: int = 1
    seed: int = 0
    extraction: str = "harness"

    @property
    def id(self) -> str:
        """Sixteen hex digits that stand for exactly these values, on every machine."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """One line for people: the values that usually differ within a grid."""
        header = self.template if self.prefill or self.template == UNKNOWN else f"{self.template} (no header)"
        samples = "" if self.samples == 1 else f" n={self.samples}"
        tail = "" if self.extraction == "harness" else f" · {self.extraction}"
        return f"{header} · {self.decoding.label}{samples} · {self.max_length or UNKNOWN} · {self.precision}{tail}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` reads it back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Configuration:
        """Rebuild what `as_dict` wrote."""
        return cls(**{**data, "decoding": Decoding(**data["decoding"])})

    def axes(self) -> dict[str, str]:
        """Axis name -> value label, in the order in which people read a configuration."""
        return {
            "benchmark": self.benchmark,
            "prompt": self.template,
            "header": UNKNOWN if self.template == UNKNOWN else "pre-filled" if self.prefill else "not pre-filled",
            "decoding": self.decoding.label,
            "samples": str(self.samples),
            "seed": UNKNOWN if self.seed < 0 else str(self.seed),
            "length": str(self.max_length or UNKNOWN),
            "precision": self.precision,
            "extraction": self.extraction,
        }


@dataclass(frozen=True)
class Grid:
    """The values asked for on each axis; its configurations are their product."""

    benchmark: tuple[str, ...]
    template: tuple[str, ...] = ("instruct",)
    decoding: tuple[Decoding, ...] = (Decoding(),)
    max_length: tuple[int, ...] = (2048,)
    precision: tuple[str, ...] = ("f16",)
    prefill: tuple[bool, ...] = (True,)
    samples: tuple[int, ...] = (1,)
    seed: tuple[int, ...] = (0,)
    extraction: tuple[str, ...] = ("harness",)

    def __post_init__(self) -> None:
        for axis in fields(self):
            values: Sequence[Any] = getattr(self, axis.name)
            if not values:
                raise SettingsError(f"grid axis '{axis.name}' is empty: give at least one value")
            if len(set(values)) != len(values):
                raise SettingsError(f"grid axis '{axis.name}' names a value twice: {list(values)}")
        _check_known("precision", self.precision, PRECISIONS)
        _check_known("extraction", self.extraction, EXTRACTIONS)
        for name in ("samples", "max_length"):
            if any(value < 1 for value in getattr(self, name)):
                raise SettingsError(f"grid axis '{name}' needs whole numbers from 1 up: {list(getattr(self, name))}")

    def configurations(self, models: Iterable[str]) -> Iterator[Configuration]:
        """Every combination; greedy decoding is deterministic, so its `samples` axis collapses to 1."""
        seen = set()
        product = itertools.product(
            models, self.benchmark, self.template, self.decoding, self.max_length, self.precision,
            self.prefill, self.samples, self.seed, self.extraction,
        )  # fmt: skip
        for model, benchmark, template, decoding, length, precision, prefill, samples, seed, extraction in product:
            if decoding.greedy:
                samples, seed = 1, self.seed[0]
            found = Configuration(
                model, benchmark, template, decoding, length, precision, prefill, samples, seed, extraction
            )
            if found not in seen:
                seen.add(found)
                yield found


def reference_grid(benchmark: str, templates: Sequence[str] = ("instruct", "chat")) -> Grid:
    """The reference study's 60 settings: 2 templates x 3 decodings x 2 lengths x 5 precisions."""
    return Grid(
        benchmark=(benchmark,),
        template=tuple(templates),
        decoding=(Decoding(), Decoding(0.2), Decoding(0.8)),
        max_length=(512, 2048),
        precision=("f32", "f16", "bf16", "q8_0", "q4_k_m"),
    )


def _check_known(axis: str, values: Sequence[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            raise SettingsError(f"grid axis '{axis}': {value!r} is unknown; expected one of {', '.join(known)}")
