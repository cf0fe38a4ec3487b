"""The axes of a grid as toggles: which values are offered and chosen, custom values, presets. No screen in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import PurePath
from typing import Any

from engine.errors import SettingsError
from engine.settings import EXTRACTIONS, PRECISIONS, Decoding, Grid, parse_decoding, reference_grid
from tui import drafts
from tui.desk import Desk
from tui.study import ModelChoice, Study


@dataclass(frozen=True)
class Axis:
    """One axis: its key in `Grid` (or `model`), its name for people, a hint, and how values are read and shown."""

    key: str
    title: str
    help: str
    read: Callable[[str], Any]
    label: Callable[[Any], str] = str
    usual: tuple[Any, ...] = ()


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{text!r}: expected a whole number") from None


def _template(text: str) -> str:
    from engine.prompts import prompt_template

    return prompt_template(text).name


def _yes(text: str) -> bool:
    found = {"yes": True, "no": False, "pre-filled": True, "not pre-filled": False}.get(text.strip().lower())
    if found is None:
        raise SettingsError(f"{text!r}: expected 'yes' or 'no'")
    return found


def _header(value: bool) -> str:
    return "pre-filled" if value else "not pre-filled"


AXES: tuple[Axis, ...] = (
    Axis("model", "model", "Model files; f adds one.", str),
    Axis("benchmark", "variant", "Task variant, e.g. humanevalfixtests-python, humanevalfixdocs-python.", str),
    Axis("template", "prompt", "Prompt template by its harness name, or chat for the model's own.", _template,
         usual=("instruct", "chat")),
    Axis("prefill", "header", "Whether the answer begins with the function's header, as in the harness.", _yes, _header,
         (True, False)),
    Axis("decoding", "decoding", "greedy, or T=0.2 with top_p=... and top_k=... where they differ from 0.95 and 0.",
         parse_decoding, lambda value: str(value.label), (Decoding(), Decoding(0.2), Decoding(0.8))),
    Axis("samples", "samples", "Samples per problem for sampled decoding; greedy needs one.", _whole, usual=(1, 5, 20)),
    Axis("seed", "seed", "Seed of the random streams.", _whole, usual=(0, 1, 2)),
    Axis("max_length", "length", "Most tokens of prompt and output together.", _whole, usual=(512, 2048)),
    Axis("precision", "precision", f"Precision of the weights: {', '.join(PRECISIONS)}.", str, usual=PRECISIONS),
    Axis("extraction", "extraction", f"How the program is cut from the reply: {', '.join(EXTRACTIONS)}.", str,
         usual=EXTRACTIONS),
)  # fmt: skip
_BY_KEY = {axis.key: axis for axis in AXES}
_VARIANTS = {"humanevalfixtests": "humanevalfixdocs", "humanevalfixdocs": "humanevalfixtests"}


class Axes:
    """What is offered and chosen on each axis of a study; `apply` hands the choice to the desk, and keeps a draft."""

    def __init__(self, study: Study) -> None:
        self.name = study.name
        self._study = study
        self.models: dict[str, ModelChoice] = {model.name: model for model in study.models}
        self.offered: dict[str, tuple[Any, ...]] = {"model": tuple(self.models)}
        self.chosen: dict[str, tuple[Any, ...]] = {"model": tuple(self.models)}
        for axis in fields(Grid):
            values = getattr(study.grid, axis.name)
            usual = _BY_KEY[axis.name].usual or _variants(values)
            self.offered[axis.name] = tuple(dict.fromkeys((*usual, *values)))
            self.chosen[axis.name] = tuple(values)

    def grid(self) -> Grid:
        """The chosen grid; `SettingsError` when a value is none."""
        return Grid(**{axis.name: self.chosen[axis.name] for axis in fields(Grid)})

    def apply(self, desk: Desk) -> str:
        """Give the chosen models and grid to the desk's study; a sentence when that cannot be."""
        try:
            grid = self.grid()
        except SettingsError as error:
            return str(error)
        models = tuple(self.models[name] for name in self.chosen["model"])
        assert desk.study is not None
        desk.change(replace(desk.study, grid=grid, models=models))
        drafts.keep(self._study, desk.study)
        desk.drafted.add(self.name)
        return ""

    def recall(self, desk: Desk) -> bool:
        """Choose again what an app had that ended without being left; False where there is no such draft."""
        draft = drafts.recall(self._study)
        if draft is not None:
            self.take(draft)
            self.apply(desk)
        return draft is not None

    def take(self, study: Study) -> None:
        """Choose the models and the grid of a study, whatever was chosen before."""
        self.models.update({model.name: model for model in study.models})
        self.offered["model"] = tuple(self.models)
        self.chosen["model"] = tuple(model.name for model in study.models)
        self._take(study.grid)

    def _take(self, grid: Grid) -> None:
        for axis in fields(Grid):
            values = getattr(grid, axis.name)
            self.offered[axis.name] = tuple(dict.fromkeys((*self.offered[axis.name], *values)))
            self.chosen[axis.name] = tuple(values)

    def toggle(self, key: str, value: Any) -> None:
        """Switch a value; the chosen ones stay in the order in which they are offered."""
        wanted = set(self.chosen[key]) ^ {value}
        self.chosen[key] = tuple(found for found in self.offered[key] if found in wanted)

    def only(self, key: str, value: Any) -> None:
        """Choose one value and no other."""
        self.chosen[key] = (value,)

    def add(self, key: str, text: str) -> str:
        """Offer and choose a value as people write it; its label. `EngineError` says what was expected."""
        axis = _BY_KEY[key]
        value = axis.read(text.strip())
        Grid(**{"benchmark": ("any",), key: (value,)})
        if value not in self.offered[key]:
            self.offered[key] = (*self.offered[key], value)
        if value not in self.chosen[key]:
            self.toggle(key, value)
        return axis.label(value)

    def add_model(self, text: str) -> str:
        """Offer and choose a model file, written `FILE` or `FILE as NAME`; its name."""
        file, _, reported = text.partition(" as ")
        file, reported = file.strip(), reported.strip()
        if not file:
            raise SettingsError("expected a path, pypi:NAME, or hf:OWNER/REPO/FILE.gguf@REVISION")
        name = PurePath(file.partition(":")[2] or file).stem.partition("@")[0]
        self.models[name] = ModelChoice(name, file, (reported,) if reported else ())
        self.offered["model"] = tuple(self.models)
        if name not in self.chosen["model"]:
            self.toggle("model", name)
        return name

    def presets(self) -> Mapping[str, str]:
        """Name -> what it is."""
        return {
            "study": "The study's own grid",
            "reference 60": "Reference 60: 2 prompts, 3 decodings, 2 lengths, 5 precisions",
            "quick": "Quick: greedy, two lengths, one prompt, one precision",
            "one": "One configuration: greedy, 2048, first prompt and precision",
            "precisions": "Precision ladder: f32, f16, bf16, q8_0, q4_k_m, greedy",
            "prompts": "Prompt ladder: every offered prompt, with and without header",
        }

    def preset(self, name: str) -> None:
        """Choose a whole grid; variants stay as they are."""
        own = self._study.grid
        benchmark = self.chosen["benchmark"]
        first = replace(own, benchmark=benchmark, template=own.template[:1], precision=own.precision[:1],
                        decoding=(Decoding(),), max_length=(2048,), samples=(1,), seed=own.seed[:1], prefill=(True,),
                        extraction=own.extraction[:1])  # fmt: skip
        templates = (*own.template, *(found for found in ("instruct", "chat") if found not in own.template))
        reference = replace(reference_grid(benchmark[0], templates[:2]), benchmark=benchmark)
        grid = {
            "study": replace(own, benchmark=benchmark),
            "reference 60": reference,
            "quick": replace(first, max_length=(512, 2048)),
            "one": first,
            "precisions": replace(first, precision=reference.precision),
            "prompts": replace(first, template=tuple(self.offered["template"]), prefill=(True, False)),
        }[name]
        self._take(grid)


def _variants(benchmarks: tuple[str, ...]) -> tuple[str, ...]:
    """The other variant of each benchmark, where there is one."""
    found = []
    for name in benchmarks:
        head, dash, language = name.partition("-")
        found += [name, _VARIANTS[head] + dash + language] if head in _VARIANTS else [name]
    return tuple(found)
