"""The commands that run a study again, whole or one configuration of it; safe to paste into a POSIX shell."""

from __future__ import annotations

import shlex

STUDY_FILE = "study.toml"


def rerun_all(study: str = STUDY_FILE) -> str:
    """The command that runs every configuration of the study file again."""
    return shlex.join(["scoretrace", "run", _path(study)])


def rerun_one(configuration: str, study: str = STUDY_FILE) -> str:
    """The command that runs one configuration of the study file again, by its id."""
    return shlex.join(["scoretrace", "run", _path(study), "--only", configuration])


def _path(study: str) -> str:
    """A file whose name begins with a dash would be read as an option."""
    return f"./{study}" if study.startswith("-") else study
