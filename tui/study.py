"""The study file: a literature table, a benchmark, models and a grid, as one TOML file that reads back as written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from cache.atomic import write_whole
from engine.errors import SettingsError
from engine.settings import PRECISIONS, Configuration, Grid, parse_decoding, parse_shape
from engine.stopping import RULES
from tui.errors import StudyError

FORMAT = 1


@dataclass(frozen=True)
class ModelChoice:
    """One model of a study: its name here, the file to load, and the names it goes by in the literature table.

    `file` is a path, `pypi:DISTRIBUTION`, or `hf:OWNER/REPO/FILE.gguf@REVISION`. `axes` are grid axes on which this
    model has values of its own, as they stand in TOML: a file released in 4 bits has no f32 worth running. `shapes`
    (precision -> `8` or `8x4`) are widths and drafted rows to decode in, as a report writes them for a rerun.
    """

    name: str
    file: str
    reported_as: tuple[str, ...] = ()
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    shapes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A question under work. `tables` are shipped names (`humanevalfix`) or paths; `data` a benchmark's local file.

    `width` fixes how many sequences are decoded together (0: the shape that is fastest here); `audit` is how many
    samples are made again alone when all is judged; `repeats` under how many other seeds programs are then executed
    again; `stop` the rule by which configurations are asked no further once
    no reported score can be reached (empty: none is). `stated` holds what a person knows and no file shows (hardware,
    who quantised the weights); the report keeps it apart as stated by the user.
    """

    name: str
    grid: Grid
    models: tuple[ModelChoice, ...]
    tables: tuple[str, ...] = ()
    data: str = ""
    width: int = 0
    note: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)
    audit: int = 0
    repeats: int = 0
    stop: str = ""

    def configurations(self) -> list[Configuration]:
        """Every configuration of the grid, for every model, in grid order."""
        return [c for model in self.models for c in self.grid_of(model).configurations([model.name])]

    def grid_of(self, model: ModelChoice) -> Grid:
        """The study's grid with the model's own axes in place of the common ones."""
        return replace(self.grid, **axes_from_toml(model.axes)) if model.axes else self.grid

    def shape(self, model: str, precision: str) -> str:
        """The shape that is fixed for a model at a precision, as `8` or `8x4`; empty when it is to be measured."""
        pinned = next((m.shapes.get(precision, "") for m in self.models if m.name == model), "")
        return pinned or (str(self.width) if self.width else "")

    def with_grid(self, grid: Grid) -> Study:
        """The same study over another grid."""
        return replace(self, grid=grid)


_TOP = {"format", "name", "note", "tables", "data", "width", "audit", "repeats", "stop", "models", "grid", "stated"}
_GRID = tuple(axis.name for axis in fields(Grid))
_MODEL = {"name", "file", "reported_as", "axes", "shapes"}


def dumps(study: Study) -> str:
    """The study as TOML text; `loads` reads it back equal."""
    import tomli_w

    grid = {name: list(getattr(study.grid, name)) for name in _GRID}
    grid["decoding"] = [decoding.label for decoding in study.grid.decoding]
    body: dict[str, Any] = {"format": FORMAT, "name": study.name}
    if study.note:
        body["note"] = study.note
    body["tables"] = list(study.tables)
    if study.data:
        body["data"] = study.data
    if study.width:
        body["width"] = study.width
    if study.audit:
        body["audit"] = study.audit
    if study.repeats:
        body["repeats"] = study.repeats
    if study.stop:
        body["stop"] = study.stop
    if study.stated:
        body["stated"] = dict(study.stated)
    body["models"] = [_model_table(model) for model in study.models]
    body["grid"] = grid
    return tomli_w.dumps(body, multiline_strings=True)


def _model_table(model: ModelChoice) -> dict[str, Any]:
    table: dict[str, Any] = {"name": model.name, "file": model.file}
    if model.reported_as:
        table["reported_as"] = list(model.reported_as)
    if model.axes:
        table["axes"] = {axis: list(values) for axis, values in model.axes.items()}
    if model.shapes:
        table["shapes"] = dict(model.shapes)
    return table


def loads(text: str, place: str = "study") -> Study:
    """Read TOML text; `StudyError` names `place`, the key and what was expected."""
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{place}: not a TOML file: {error}") from None
    _known(place, body, _TOP)
    if body.get("format", FORMAT) != FORMAT:
        raise StudyError(f"{place}: key 'format': {body['format']!r}; this version reads format {FORMAT}")
    grid = _grid(place, _of(place, body, "grid", dict))
    models = [_model(f"{place}: models[{i}]", entry, grid) for i, entry in enumerate(_of(place, body, "models", list))]
    if not models or len({model.name for model in models}) != len(models):
        raise StudyError(f"{place}: key 'models': expected one or more models, each with a name of its own")
    return Study(
        name=_text(place, body, "name"),
        grid=grid,
        models=tuple(models),
        tables=_texts(place, body, "tables"),
        data=_text(place, body, "data", ""),
        width=_of(place, body, "width", int, 0),
        note=_text(place, body, "note", ""),
        stated={str(key): str(value) for key, value in _of(place, body, "stated", dict, {}).items()},
        audit=_of(place, body, "audit", int, 0),
        repeats=_repeats(place, body),
        stop=_rule(place, body),
    )


def read_study(path: Path) -> Study:
    """Read a study file; relative paths in it are taken from the file's folder."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file; `scoretrace demo` opens the embedded study") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    study = loads(text, str(path))
    base = path.absolute().parent
    return replace(
        study,
        data=_anchored(base, study.data),
        tables=tuple(_anchored(base, table) for table in study.tables),
        models=tuple(replace(m, file=_anchored(base, m.file)) for m in study.models),
    )


def embedded() -> Study:
    """The study that ships: a small model, a small benchmark, and numbers that this project measured itself."""
    return loads((files("tui") / "data" / "demo.toml").read_text(encoding="utf-8"), "the embedded study")


def write_study(study: Study, path: Path) -> None:
    """Write a study file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, dumps(study).encode())


def _anchored(base: Path, text: str) -> str:
    """A relative path that exists beside the study becomes whole; names and `pypi:`/`hf:` specs stay."""
    if not text or ":" in text or Path(text).is_absolute():
        return text
    beside = base / text
    return str(beside) if beside.exists() else text


def _rule(place: str, body: Mapping[str, Any]) -> str:
    rule: str = _text(place, body, "stop", "")
    if rule not in ("", *RULES):
        raise StudyError(f"{place}: key 'stop': expected {' or '.join(map(repr, RULES))}, found {rule!r}")
    return rule


def _repeats(place: str, body: Mapping[str, Any]) -> int:
    seeds: int = _of(place, body, "repeats", int, 0)
    if seeds < 0:
        raise StudyError(f"{place}: key 'repeats': expected a number of other seeds, 0 for none, found {seeds}")
    return seeds


def _grid(place: str, body: Mapping[str, Any]) -> Grid:
    place = f"{place}: grid"
    axes = _axes(place, body)
    if "benchmark" not in axes:
        raise StudyError(f"{place}: key 'benchmark' is missing: expected a list such as ['humanevalfixtests-python']")
    try:
        return Grid(**axes_from_toml(axes))
    except SettingsError as error:
        raise StudyError(f"{place}: {error}") from None


def _axes(place: str, body: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Axis -> values with the right types, decodings still as text."""
    _known(place, body, set(_GRID))
    kinds: dict[str, type] = {"max_length": int, "samples": int, "seed": int, "prefill": bool}
    for axis, found in body.items():
        if not isinstance(found, list):
            raise StudyError(f"{place}: key '{axis}': expected a list, found {found!r}")
        kind = kinds.get(axis, str)
        for value in found:
            if type(value) is not kind:
                raise StudyError(f"{place}: key '{axis}': expected {kind.__name__} values, found {value!r}")
    return {axis: tuple(values) for axis, values in body.items()}


def axes_from_toml(axes: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """The same axes as `Grid` wants them: decodings read from their labels; `SettingsError` when one is not
    understood.
    """
    found = dict(axes)
    if "decoding" in found:
        found["decoding"] = tuple(parse_decoding(text) for text in found["decoding"])
    return found


def _model(place: str, body: Any, grid: Grid) -> ModelChoice:
    if not isinstance(body, dict):
        raise StudyError(f"{place}: expected a table with 'name' and 'file', found {body!r}")
    _known(place, body, _MODEL)
    axes = _axes(f"{place}: axes", _of(place, body, "axes", dict, {}))
    try:
        replace(grid, **axes_from_toml(axes))
    except SettingsError as error:
        raise StudyError(f"{place}: axes: {error}") from None
    return ModelChoice(
        name=_text(place, body, "name"),
        file=_text(place, body, "file"),
        reported_as=_texts(place, body, "reported_as"),
        axes=axes,
        shapes=_shapes(f"{place}: shapes", _of(place, body, "shapes", dict, {})),
    )


def _shapes(place: str, body: Mapping[str, Any]) -> dict[str, str]:
    """Precision -> shape, each checked."""
    _known(place, body, set(PRECISIONS))
    for precision in body:
        try:
            parse_shape(_text(place, body, precision))
        except SettingsError as error:
            raise StudyError(f"{place}: key '{precision}': {error}") from None
    return dict(body)


def _known(place: str, body: Mapping[str, Any], keys: set[str]) -> None:
    for key in body:
        if key not in keys:
            raise StudyError(f"{place}: key '{key}' is unknown; expected {', '.join(sorted(keys))}")


_MISSING: Any = object()


def _of(place: str, body: Mapping[str, Any], key: str, kind: type, default: Any = _MISSING) -> Any:
    if key not in body:
        if default is _MISSING:
            raise StudyError(f"{place}: key '{key}' is missing: expected a {kind.__name__}")
        return default
    if type(body[key]) is not kind:
        raise StudyError(f"{place}: key '{key}': expected a {kind.__name__}, found {body[key]!r}")
    return body[key]


def _text(place: str, body: Mapping[str, Any], key: str, default: Any = _MISSING) -> str:
    found: str = _of(place, body, key, str, default)
    return found


def _texts(place: str, body: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = _of(place, body, key, list, [])
    if not all(isinstance(item, str) for item in found):
        raise StudyError(f"{place}: key '{key}': expected a list of texts, found {found!r}")
    return tuple(found)
