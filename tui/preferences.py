"""What a user has set for the app, in `app.toml` of the data folder: theme, animation, keys. No screen in it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cache.paths import home
from tui.commands import Command
from tui.errors import PreferencesError

THEMES = ("dark", "light", "terminal")


@dataclass(frozen=True)
class Preferences:
    """`keys` maps a command's name, as the palette shows it, to its keys, comma-separated; `place` names the file."""

    theme: str = "dark"
    animation: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)
    place: str = ""


def preferences_path() -> Path:
    """Where they lie."""
    return home() / "app.toml"


def read_preferences(path: Path | None = None) -> Preferences:
    """Read them; the usual ones without a file. `PreferencesError` names the file, the key and what was expected."""
    path = path or preferences_path()
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Preferences()
    except (OSError, UnicodeDecodeError) as error:
        raise PreferencesError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise PreferencesError(f"{path}: not a TOML file: {error}") from None
    for key in body:
        if key not in ("theme", "animation", "keys"):
            raise PreferencesError(f"{path}: key '{key}' is unknown; expected theme, animation or [keys]")
    theme = body.get("theme", "dark")
    if theme not in THEMES:
        raise PreferencesError(f"{path}: key 'theme': {theme!r}; expected one of {', '.join(THEMES)}")
    animation = body.get("animation", True)
    if not isinstance(animation, bool):
        raise PreferencesError(f"{path}: key 'animation': expected true or false, found {animation!r}")
    return Preferences(theme, animation, _keys(path, body.get("keys", {})), str(path))


def _keys(path: Path, table: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        raise PreferencesError(f"{path}: key 'keys': expected a table such as [keys], found {table!r}")
    found = {}
    for name, value in table.items():
        keys = [value] if isinstance(value, str) else value
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) and key.strip() for key in keys):
            raise PreferencesError(f'{path}: keys: {name!r}: expected a key such as "x" or a list of keys')
        found[name] = ",".join("comma" if key == "," else key.strip() or "space" for key in keys)
    return found


def check_keys(preferences: Preferences, tables: Mapping[str, Iterable[Command]], common: Iterable[Command]) -> None:
    """`PreferencesError` for a name that no command has, and for a key that would mean two things on one screen.

    `tables` are the screens' commands by the screen's name; `common` those that act on every screen.
    """
    common = list(common)
    names = {command.name for table in (*tables.values(), common) for command in table}
    for name in preferences.keys:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1, 0.4)
            hint = f"did you mean {near[0]!r}?" if near else "the palette (:) shows every name"
            raise PreferencesError(f"{preferences.place}: keys: no command is called {name!r}; {hint}")
    for screen, table in tables.items():
        taken: dict[str, str] = {}
        for command in remapped([*table, *common], preferences.keys):
            for key in command.keys.split(","):
                other = taken.setdefault(key, command.name)
                if key and other != command.name:
                    raise PreferencesError(
                        f"{preferences.place}: keys: {key!r} would mean both {other!r} and {command.name!r} "
                        f"on the screen {screen}; give one of them another key"
                    )


def remapped(commands: Iterable[Command], keys: Mapping[str, str]) -> list[Command]:
    """The commands with the keys that the user gave them."""
    return [command.with_keys(keys[command.name]) if command.name in keys else command for command in commands]
