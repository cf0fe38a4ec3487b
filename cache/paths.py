"""Where things lie: one data folder of the user, moved as a whole by SCORETRACE_HOME."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The data folder (created on demand by whoever writes): SCORETRACE_HOME, else the platform's user data folder."""
    moved = os.environ.get("SCORETRACE_HOME")
    if moved:
        return Path(moved).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("scoretrace", appauthor=False))


def store_path() -> Path:
    """The SQLite file that holds generations, outcomes, runs, events and wishes."""
    return home() / "store.sqlite"


def models_folder() -> Path:
    """Derived and assembled model files."""
    return home() / "models"


def studies_folder() -> Path:
    """The user's own studies and the tables they edit."""
    return home() / "studies"


def logs_folder() -> Path:
    """Logs of workers (their stderr) and of the app."""
    return home() / "logs"
