"""The study file: a literature table, a benchmark, models and a grid, as one TOML file that reads back as written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from engine.errors import SettingsError
from engine.settings import Configuration, Grid, parse_decoding
from tui.errors import StudyError

FORMAT = 1


@dataclass(frozen=True)
class ModelChoice:
    """One model of a study: its name here, the file to load, and the names it goes by in the literature table.

    `file` is a path, `pypi:DISTRIBUTION`, or `hf:OWNER/REPO/FILE.gguf@REVISION`.
    """

    name: str
    file: str
    reported_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """A question under work. `tables` are shipped names (`humanevalfix`) or paths; `data` a benchmark's local file.

    `width` fixes how many sequences are decoded together (0: the default of the device). `stated` holds what a person
    knows and no file shows (hardware, who quantised the weights); the report keeps it apart as stated by the user.
    """

    name: str
    grid: Grid
    models: tuple[ModelChoice, ...]
    tables: tuple[str, ...] = ()
    data: str = ""
    width: int = 0
    note: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)

    def configurations(self) -> list[Configuration]:
        """Every configuration of the grid, for every model, in grid order."""
        return list(self.grid.configurations(model.name for model in self.models))

    def with_grid(self, grid: Grid) -> Study:
        """The same study over another grid."""
        return replace(self, grid=grid)


_TOP = {"format", "name", "note", "tables", "data", "width", "models", "grid", "stated"}
_GRID = tuple(axis.name for axis in fields(Grid))
_MODEL = {"name", "file", "reported_as"}


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
    if study.stated:
        body["stated"] = dict(study.stated)
    body["models"] = [
        {"name": m.name, "file": m.file, **({"reported_as": list(m.reported_as)} if m.reported_as else {})}
        for m in study.models
    ]
    body["grid"] = grid
    return tomli_w.dumps(body, multiline_strings=True)


def loads(text: str, place: str = "study") -> Study:
    """Read TOML text; `StudyError` names `place`, the key and what was expected."""
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{place}: not a TOML file: {error}") from None
    _known(place, body, _TOP)
    if body.get("format", FORMAT) != FORMAT:
        raise StudyError(f"{place}: key 'format': {body['format']!r}; this version reads format {FORMAT}")
    return Study(
        name=_text(place, body, "name"),
        grid=_grid(place, _of(place, body, "grid", dict)),
        models=tuple(
            _model(f"{place}: models[{i}]", entry) for i, entry in enumerate(_of(place, body, "models", list))
        ),
        tables=_texts(place, body, "tables"),
        data=_text(place, body, "data", ""),
        width=_of(place, body, "width", int, 0),
        note=_text(place, body, "note", ""),
        stated={str(key): str(value) for key, value in _of(place, body, "stated", dict, {}).items()},
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
    base = path.parent
    return replace(
        study,
        data=_anchored(base, study.data),
        tables=tuple(_anchored(base, table) for table in study.tables),
        models=tuple(replace(m, file=_anchored(base, m.file)) for m in study.models),
    )


def write_study(study: Study, path: Path) -> None:
    """Write a study file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(dumps(study), encoding="utf-8")
    part.replace(path)


def _anchored(base: Path, text: str) -> str:
    """A relative path that exists beside the study becomes whole; names and `pypi:`/`hf:` specs stay."""
    if not text or ":" in text or Path(text).is_absolute():
        return text
    beside = base / text
    return str(beside) if beside.exists() else text


def _grid(place: str, body: Mapping[str, Any]) -> Grid:
    place = f"{place}: grid"
    _known(place, body, set(_GRID))
    values: dict[str, Any] = {}
    for axis, found in body.items():
        if not isinstance(found, list):
            raise StudyError(f"{place}: key '{axis}': expected a list, found {found!r}")
        values[axis] = tuple(found)
    kinds: dict[str, type] = {"max_length": int, "samples": int, "seed": int, "prefill": bool}
    for axis, found in values.items():
        kind = kinds.get(axis, str)
        for value in found:
            if type(value) is not kind:
                raise StudyError(f"{place}: key '{axis}': expected {kind.__name__} values, found {value!r}")
    if "benchmark" not in values:
        raise StudyError(f"{place}: key 'benchmark' is missing: expected a list such as ['humanevalfixtests-python']")
    try:
        if "decoding" in values:
            values["decoding"] = tuple(parse_decoding(text) for text in values["decoding"])
        return Grid(**values)
    except SettingsError as error:
        raise StudyError(f"{place}: {error}") from None


def _model(place: str, body: Any) -> ModelChoice:
    if not isinstance(body, dict):
        raise StudyError(f"{place}: expected a table with 'name' and 'file', found {body!r}")
    _known(place, body, _MODEL)
    return ModelChoice(_text(place, body, "name"), _text(place, body, "file"), _texts(place, body, "reported_as"))


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
