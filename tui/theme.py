"""How things look: one colour-blind-safe palette, a glyph and a word for every match class, and an ASCII set."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

ROLES = ("text", "muted", "agree", "partial", "open", "against", "cursor")
"""What a colour may stand for; blue agrees, orange speaks against, and no meaning rests on colour alone."""

DARK: Mapping[str, str] = {
    "background": "#11151c",
    "panel": "#1b2230",
    "cursor": "#26344d",
    "text": "#e6e6e6",
    "muted": "#8b95a3",
    "agree": "#3d9bff",
    "partial": "#a5d8ff",
    "open": "#b9b29a",
    "against": "#ff9130",
}
LIGHT: Mapping[str, str] = {
    "background": "#fafafa",
    "panel": "#e9edf3",
    "cursor": "#cfe0f8",
    "text": "#1a1a1a",
    "muted": "#676d75",
    "agree": "#0043b0",
    "partial": "#1a72b5",
    "open": "#6b5f33",
    "against": "#c24a00",
}

TERMINAL: Mapping[str, str] = {
    "text": "default",
    "muted": "bright_black",
    "agree": "blue",
    "partial": "cyan",
    "open": "yellow",
    "against": "red",
}
"""The terminal's own sixteen colours, for those who have chosen them with care; the cursor's row is in reverse."""


@dataclass(frozen=True)
class Mark:
    """How one match class is shown: glyph, glyph in ASCII, word, colour role."""

    glyph: str
    ascii: str
    word: str
    role: str


MARKS: Mapping[str, Mark] = {
    "exact": Mark("●", "@", "exact", "agree"),
    "rounding": Mark("◑", "%", "rounding", "agree"),
    "near": Mark("○", "o", "near", "partial"),
    "within noise": Mark("~", "~", "within noise", "partial"),
    "inconclusive": Mark("±", "&", "inconclusive", "open"),
    "ruled out": Mark("✗", "x", "ruled out", "against"),
    "impossible": Mark("!", "!", "impossible", "against"),
    "open": Mark("?", "?", "open", "open"),
}

STARRED = "*"
"""Behind the glyph of a class that rests on assumed jitter."""

_ASCII = str.maketrans(
    {
        "·": ".", "─": "-", "│": "|", "┼": "+", "║": "H", "╪": "#", "○": "o", "●": "@", "◑": "%", "✗": "x",
        "▌": ">", "▏": "|", "→": ">", "←": "<", "▸": ">", "▾": "v", "…": "~", "█": "#", "░": ".", "↑": "^", "↓": "v",
        "✓": "*", "±": "+", "×": "x", "━": "=", "≈": "~",
    }
)  # fmt: skip


def wants_ascii(environ: Mapping[str, str] | None = None) -> bool:
    """True where box drawing cannot be trusted: the Linux console, a non-UTF-8 locale, or SCORETRACE_ASCII."""
    found = os.environ if environ is None else environ
    if found.get("SCORETRACE_ASCII"):
        return True
    if found.get("TERM") in ("linux", "dumb", "vt100"):
        return True
    name = found.get("LC_ALL") or found.get("LC_CTYPE") or found.get("LANG")
    encoding = name if name and "." in name else locale.getpreferredencoding(False)
    return "utf" not in encoding.lower()


class Look:
    """Rich styles and glyphs for what the line-drawing widgets paint; made once per theme change.

    `terminal` takes the terminal's own colours, `still` asks that nothing moves or blinks by itself.
    """

    def __init__(
        self, *, dark: bool, colour: bool, ascii_only: bool, terminal: bool = False, still: bool = False
    ) -> None:
        self.dark = dark
        self.still = still
        self.terminal = terminal
        self.colour = colour
        self.ascii_only = ascii_only
        self._styles: dict[tuple[str, bool], Style] = {}

    def style(self, role: str, *, cursor: bool = False) -> Style:
        """The style of a role (or `role bold`), on the cursor's row or off it."""
        key = (role, cursor)
        found = self._styles.get(key)
        if found is None:
            found = self._styles[key] = self._make(*key)
        return found

    def _make(self, role: str, cursor: bool) -> Style:
        name, _, extra = role.partition(" ")
        bold = extra == "bold"
        if not self.colour:
            plain = Style(bold=bold or name in ("agree", "against"), reverse=cursor)
            return plain + Style(underline=name == "agree") if name == "agree" else plain
        if self.terminal:
            return Style(color=TERMINAL.get(name, "default"), bold=bold or None, reverse=cursor or None)
        colours = DARK if self.dark else LIGHT
        ground = colours["cursor"] if cursor else colours["panel"] if name == "panel" else None
        return Style(color=colours["text" if name == "panel" else name], bgcolor=ground, bold=bold or None)

    def draw(self, text: str) -> str:
        """The text in glyphs that this terminal shows."""
        return text.translate(_ASCII) if self.ascii_only else text

    def glyph(self, kind: str, *, assumed: bool = False) -> str:
        """The glyph of a match class; a star behind it says that the class rests on assumed jitter."""
        mark = MARKS.get(kind, MARKS["open"])
        return (mark.ascii if self.ascii_only else mark.glyph) + (STARRED if assumed else "")


def themes() -> tuple[Theme, ...]:
    """The dark and the light Textual theme over the palette, and one of the terminal's own colours."""
    return (
        _theme("scoretrace-dark", DARK, dark=True),
        _theme("scoretrace-light", LIGHT, dark=False),
        _terminal_theme(),
    )


def _terminal_theme() -> Theme:
    """Textual's own theme of the sixteen colours, with our roles."""
    base = BUILTIN_THEMES["ansi-dark"]
    colours = {role: f"ansi_{colour}" for role, colour in TERMINAL.items()}
    variables = {
        **base.variables,
        "muted": colours["muted"],
        "footer-key-foreground": colours["agree"],
        "block-cursor-text-style": "bold",
    }
    return replace(
        base, name="scoretrace-terminal", accent=colours["agree"], warning=colours["against"], variables=variables
    )


def _theme(name: str, colours: Mapping[str, str], *, dark: bool) -> Theme:
    return Theme(
        name=name,
        primary=colours["agree"],
        secondary=colours["partial"],
        accent=colours["agree"],
        warning=colours["against"],
        error=colours["against"],
        success=colours["agree"],
        foreground=colours["text"],
        background=colours["background"],
        surface=colours["background"],
        panel=colours["panel"],
        dark=dark,
        variables={
            "muted": colours["muted"],
            "footer-key-foreground": colours["agree"],
            "block-cursor-background": colours["cursor"],
            "block-cursor-foreground": colours["text"],
            "block-cursor-text-style": "bold",
            "scrollbar": colours["panel"],
            "scrollbar-hover": colours["muted"],
            "scrollbar-active": colours["agree"],
            "scrollbar-background": colours["background"],
        },
    )
