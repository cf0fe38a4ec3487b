"""One table of commands per screen: its keys, help, palette entries and key line come from the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider


@dataclass(frozen=True)
class Command:
    """Something a user can do on a screen.

    `action` names the method `do_ACTION`; a method `why_not_ACTION` may return why it cannot be done now. `name` is the
    palette's text, noun first; `label` the one or two words of the key line; `hidden` keeps it out of the key line.
    """

    keys: str
    action: str
    label: str
    name: str
    help: str
    hidden: bool = False

    @property
    def key_text(self) -> str:
        """The first key, as people write it."""
        return _key_name(self.first_key)

    @property
    def all_keys_text(self) -> str:
        """Every key, as people write them."""
        return " ".join(_key_name(key) for key in self.keys.split(",") if key)

    def with_keys(self, keys: str) -> Command:
        """The same command under other keys."""
        return replace(self, keys=keys)

    @property
    def first_key(self) -> str:
        """The first key by its Textual name."""
        return self.keys.partition(",")[0]


_KEY_NAMES = {
    "question_mark": "?", "slash": "/", "colon": ":", "escape": "esc", "left_square_bracket": "[",
    "right_square_bracket": "]", "space": "space", "plus": "+", "minus": "-", "full_stop": ".", "comma": ",",
}  # fmt: skip


def _key_name(key: str) -> str:
    return _KEY_NAMES.get(key) or key.replace("ctrl+", "^")


def bindings(commands: Sequence[Command]) -> list[BindingType]:
    """Textual bindings that run the commands through `action_command`; a command's name is what keys are given to."""
    return [
        Binding(command.keys, f"command('{command.action}')", command.label, show=False, id=command.name)
        for command in commands
        if command.keys
    ]


class Commanded:
    """What screens and the app share: commands run through one gate that says why one cannot run."""

    TABLE: ClassVar[Sequence[Command]] = ()

    @property
    def commands(self) -> Sequence[Command]:
        """The table, with the keys that the user gave."""
        return self.TABLE

    def barred(self, action: str) -> str:
        """Why a command cannot be run in this app at all; empty when it can."""
        return ""

    def reason_against(self, action: str) -> str:
        """Why a command cannot be run now; empty when it can."""
        if reason := self.barred(action):
            return reason
        check = getattr(self, f"why_not_{action}", None)
        return str(check()) if check is not None else ""

    def run_command(self, action: str) -> None:
        """Run a command, or say on the status line why not."""
        reason = self.reason_against(action)
        if reason:
            self.say(reason, warning=True)
            return
        getattr(self, f"do_{action}")()

    def say(self, text: str, *, warning: bool = False) -> None:
        """Show one sentence on the status line."""
        raise NotImplementedError

    def action_command(self, action: str) -> None:
        """Textual's way in."""
        self.run_command(action)


def holders(screen: Any) -> Iterator[Commanded]:
    """The screen and the app, as far as they have command tables."""
    for holder in (screen, screen.app):
        if isinstance(holder, Commanded):
            yield holder


class CommandProvider(Provider):
    """Every command of the current screen and of the app, for the palette."""

    def _entries(self) -> Iterator[tuple[Commanded, Command]]:
        for holder in holders(self.screen):
            for command in holder.commands:
                yield holder, command

    async def discover(self) -> Hits:
        """All commands, in the order of their tables."""
        for holder, command in self._entries():
            yield DiscoveryHit(_title(command), _runner(holder, command), help=command.help)

    async def search(self, query: str) -> Hits:
        """Commands whose palette text matches."""
        matcher = self.matcher(query)
        for holder, command in self._entries():
            title = _title(command)
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, matcher.highlight(title), _runner(holder, command), help=command.help)


def _title(command: Command) -> str:
    keys = command.all_keys_text
    return f"{command.name}  ({keys})" if keys else command.name


def _runner(holder: Commanded, command: Command) -> Any:
    def run() -> None:
        holder.run_command(command.action)

    return run
