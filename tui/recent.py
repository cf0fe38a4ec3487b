"""The study files that were opened last, so that the first screen can offer them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cache.paths import studies_folder
from tui.errors import StudyError
from tui.json_file import read_json, write_json
from tui.study import Study, read_study

MOST = 8


@dataclass(frozen=True)
class Recent:
    """A study file: what it holds, or the sentence that says why it cannot be read."""

    path: Path
    study: Study | None
    problem: str = ""


def note(path: Path) -> None:
    """Put a file in front; a data folder that cannot be written forgets it, which is no reason to stop."""
    paths = [str(path.expanduser().absolute()), *_paths()]
    write_json(_file(), list(dict.fromkeys(paths))[:MOST])


def recent() -> Sequence[Recent]:
    """The files that are still there, the one opened last first."""
    return [_read(Path(path)) for path in _paths() if Path(path).is_file()]


def _read(path: Path) -> Recent:
    try:
        return Recent(path, read_study(path))
    except StudyError as error:
        return Recent(path, None, str(error))


def _file() -> Path:
    return studies_folder() / "recent.json"


def _paths() -> list[str]:
    found = read_json(_file())
    return [path for path in found if isinstance(path, str)] if isinstance(found, list) else []
