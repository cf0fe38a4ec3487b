"""What every screen looks like, to the last cell and colour; and the pictures in the documents are of this app."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import scenes
from rich.terminal_theme import SVG_EXPORT_THEME

RENEW = "python tests/tui/scenes.py renews the pictures; look at what changed before it is committed"


def differs(path: Path, now: str) -> str:
    """What a picture shows otherwise than its file; empty for nothing."""
    if not path.exists():
        return f"{path.name} is missing"
    before = path.read_text(encoding="utf-8")
    if before == now:
        return ""
    texts = [words(found) for found in (before, now)]
    lines = list(difflib.unified_diff(*texts, "kept", "now", lineterm="", n=0))
    return f"{path.name}: " + ("\n".join(lines[:20]) or "the same words, other colours or places")


def words(svg: str) -> list[str]:
    """The texts of a picture."""
    return [text.replace("&#160;", " ") for text in re.findall(r"<text[^>]*>([^<]*)", svg)]


def test_every_screen_looks_as_it_did():
    """At 80x24 and 120x40, and without colour; every difference is named."""
    with scenes.home():
        found = scenes.snapshots(scenes.text_of)
    different = [text for path, svg in found.items() if (text := differs(path, svg))]
    assert not different, "\n".join([*different, RENEW])
    kept = set(scenes.SNAPSHOTS.glob("*.svg"))
    assert kept == set(found), f"no scene makes {kept - set(found)}; {RENEW}"


def test_the_picture_without_colour_has_none():
    """Text has the colours that stand for the terminal's own foreground and background, and no others."""
    svg = scenes.PLAIN.read_text(encoding="utf-8")
    colours = set(re.findall(r"-r\d+ \{ fill: (#[0-9a-f]{6})", svg))
    own = (SVG_EXPORT_THEME.foreground_color, SVG_EXPORT_THEME.background_color)
    assert colours and colours <= {colour.hex for colour in own}


def test_the_documents_show_this_app():
    """The pictures are the script's, and each is shown somewhere."""
    with scenes.home():
        found = scenes.documents(scenes.text_of)
    different = [text for path, svg in found.items() if (text := differs(path, svg))]
    assert not different, "\n".join([*different, RENEW])
    root = scenes.PICTURES.parent.parent
    pages = "".join(path.read_text(encoding="utf-8") for path in [root / "README.md", *(root / "docs").rglob("*.md")])
    for path in found:
        assert f"screens/{path.name}" in pages, f"no page shows {path.name}"
