"""Nothing is cut at 80x24; colours are told apart by every eye; terminals without colour or Unicode lose nothing."""

from __future__ import annotations

import itertools
import re

import pytest
from app_kit import FakeSession, drawn, make_study, script, shown, until_shown
from rich.cells import cell_len

from tui.app import ScoretraceApp
from tui.theme import DARK, LIGHT, MARKS, Look, wants_ascii
from tui.widgets.pieces import Piece, cell, fit, scale, scale_header
from tui.widgets.text import plain, wrap

NORMAL = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))
DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
"""Machado, Oliveira and Fernandes 2009, severity 1, over linear RGB."""


def linear(colour):
    """Linear RGB of a hex colour."""
    values = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def lab(colour, eye):
    """CIE L*a*b* (D65) of a colour as an eye sees it."""
    rgb = [min(1, max(0, sum(a * b for a, b in zip(row, linear(colour), strict=True)))) for row in eye]
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    x, y, z = (sum(a * b for a, b in zip(row, rgb, strict=True)) for row in matrix)
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x / 0.95047, y, z / 1.08883))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def contrast(left, right):
    """WCAG contrast ratio."""
    lights = sorted(sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (left, right))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("eye", [NORMAL, PROTANOPIA, DEUTERANOPIA], ids=["normal", "protan", "deutan"])
def test_meanings_keep_their_distance(palette, eye):
    """Any two colours that mean something differ by 20 or more (CIE76), for every eye."""
    for left, right in itertools.combinations(("agree", "partial", "open", "against", "background"), 2):
        found = distance(palette[left], palette[right], eye)
        assert found >= 20, (left, right, found)


def distance(left, right, eye):
    """CIE76 of two colours as an eye sees them."""
    return sum((a - b) ** 2 for a, b in zip(lab(left, eye), lab(right, eye), strict=True)) ** 0.5


def test_the_check_would_notice():
    """A red and a green that everybody else tells apart fall together for the eyes that it simulates."""
    assert distance("#904040", "#407040", NORMAL) > 60
    assert distance("#904040", "#407040", DEUTERANOPIA) < 5 and distance("#904040", "#407040", PROTANOPIA) < 20
    assert lab("#ffffff", NORMAL) == pytest.approx((100, 0, 0), abs=0.1)
    for eye in (PROTANOPIA, DEUTERANOPIA):
        assert lab("#808080", eye) == pytest.approx(lab("#808080", NORMAL), abs=0.1), "grey must stay grey"


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
def test_text_can_be_read_on_its_ground(palette):
    """4.5 to 1 on the background for every text colour, 3 to 1 on the cursor's row."""
    for role in ("text", "muted", "agree", "partial", "open", "against"):
        assert contrast(palette[role], palette["background"]) >= 4.5, role
        assert contrast(palette[role], palette["cursor"]) >= 3, role


def test_every_match_class_has_glyph_and_word_of_its_own():
    """Colour is never the only sign, in either character set, and no class of the literature is missing."""
    from literature.matching import KINDS

    assert set(MARKS) == set(KINDS)
    for part in ("glyph", "ascii", "word"):
        values = [getattr(mark, part) for mark in MARKS.values()]
        assert len(set(values)) == len(values)
    assert all(mark.ascii.isascii() for mark in MARKS.values())


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}, False),
        ({"TERM": "linux", "LANG": "en_US.UTF-8"}, True),
        ({"TERM": "xterm", "LC_ALL": "C.ISO-8859-1"}, True),
        ({"TERM": "xterm", "LANG": "C.UTF-8", "SCORETRACE_ASCII": "1"}, True),
    ],
)
def test_where_ascii_is_drawn(environ, expected):
    """The Linux console, other encodings, and whoever asks."""
    assert wants_ascii(environ) is expected


def ended_app(**more):
    """An app on a run with some of everything."""
    study = make_study()
    return ScoretraceApp(FakeSession(script(study, [48, 47, 20], last=60), study), study, autostart=True, **more)


PLACES = (("3", "48/164"), ("1", "DeepSeekCoder-Inst (33B)"), ("2", "configurations,"), ("5", "Which settings"))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_lines_fill_the_terminal_and_no_more(size):
    """Every line of every place is exactly as wide as the terminal; title, status and keys have their lines."""
    app = ended_app()
    async with app.run_test(size=size) as pilot:
        for key, text in PLACES:
            await pilot.press(key)
            await until_shown(pilot, text)
            lines = drawn(app)
            assert len(lines) == size[1]
            assert {cell_len(line) for line in lines} == {size[0]}
            assert lines[0].startswith(" Scoretrace ") and "5 Runs" in lines[0]
            assert lines[-1].rstrip().endswith("? help")


async def test_the_legend_is_whole_at_80_columns():
    """Every class with its glyph and its word, and what a star says."""
    app = ended_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        assert "● exact ◑ rounding ○ near ~ noise ± inconclusive ? open ✗ ruled out * assumed" in shown(app)


async def test_an_ascii_terminal_gets_ascii_only():
    """No box drawing, no circles, on any place."""
    app = ended_app(ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        for key, text in (*PLACES, ("question_mark", "Keys: Runs"), ("escape", "Which"), ("colon", "Run: attach")):
            await pilot.press(key)
            await until_shown(pilot, text)
            foreign = {char for line in drawn(app) for char in line if not char.isascii()}
            assert not foreign, (key, foreign)


async def test_no_color_is_honoured(monkeypatch):
    """With NO_COLOR set no segment carries a colour, and the cursor's row is still told apart."""
    monkeypatch.setenv("NO_COLOR", "1")
    app = ended_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        styles = [
            style
            for strip in app.screen._compositor.render_strips()
            for _, style, _ in strip.apply_filter(app._filters[-1], app.screen.background_colors[1])
            if style is not None
        ]
        assert all(style.color is None or style.color.is_default for style in styles)
        assert all(style.bgcolor is None or style.bgcolor.is_default for style in styles)
        assert any(style.reverse for style in styles)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_screens_can_be_exported(size):
    """The SVG holds what the screen shows."""
    app = ended_app()
    async with app.run_test(size=size) as pilot:
        await until_shown(pilot, "48/164")
        svg = app.export_screenshot()
    assert svg.startswith("<svg") and "48/164" in svg and "Scoretrace" in svg


async def test_themes_change_what_is_painted():
    """T switches dark and light for everything that paints lines."""
    app = ended_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        assert DARK["against"].upper() in app.export_screenshot().upper()
        await pilot.press("T")
        await until_shown(pilot, "48/164")
        text = app.export_screenshot().upper()
        assert LIGHT["against"].upper() in text and DARK["against"].upper() not in text


def test_cells_have_their_width_whatever_is_in_them():
    """Wide characters, long texts, nothing."""
    for text in ("", "abc", "a much longer text", "模型模型模型模型", "é" * 9):
        assert cell_len(cell(text, 8).text) == 8
        assert cell_len(cell(text, 8, right=True).text) == 8
    assert cell("a much longer text", 8).text.endswith("…")
    assert sum(cell_len(text) for text, _ in fit([("模型模型", "text")], 5)) == 5


@pytest.mark.parametrize("width", [12, 31, 60])
def test_the_scale_keeps_its_ends(width):
    """0 and 100 are the first and last cell; the header is as wide as the line."""
    text = "".join(piece.text for piece in scale([0.0, 100.0], [], width))
    assert len(text) == width and text[0] == text[-1] == "│"
    header = scale_header(width)
    assert len(header) == width and header.startswith("0") and header.endswith("100")


def test_the_scale_shows_where_reported_and_measured_meet():
    """A reported value inside the measured span crosses it; one outside does not."""
    text = "".join(piece.text for piece in scale([20.0, 80.0], [10.0, 40.0], 101))
    assert text[10] == text[40] == "○" and text[20] == "┼" and text[80] == "│" and text[30] == "─" and text[60] == "·"


def test_wrapped_text_loses_no_word():
    """Whatever the width, the words and their order stay."""
    found = [Piece("48.9 [27]     ", "against"), Piece("not k/164: one sample per problem cannot print it " * 3)]
    for width in (20, 33, 76):
        lines = wrap(found, width)
        assert all(sum(cell_len(piece.text) for piece in line) <= width + 1 for line in lines)
        text = " ".join("".join(piece.text for piece in line) for line in lines)
        assert text.split() == "".join(piece.text for piece in found).split()


def test_plain_text_is_free_of_control_characters():
    """Tabs become spaces, everything else that could steer a terminal a mark."""
    text = "\n".join(line[0].text for line in plain("a\tb\x1b]0;title\x07\r\nc\u202e"))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert text.startswith("a   b")


def test_styles_without_colour_still_differ():
    """Agreement, opposition and the cursor are told apart by attributes."""
    look = Look(dark=True, colour=False, ascii_only=True)
    styles = [look.style("agree"), look.style("text"), look.style("text", cursor=True)]
    assert all(style.color is None for style in styles)
    assert len({str(style) for style in styles}) == 3
