"""What the app remembers by itself, in small files."""

from __future__ import annotations

import pytest

from tui.json_file import read_json, write_json


def test_what_is_written_is_read_back_and_its_folder_is_made(tmp_path):
    """The first time there is no folder yet."""
    path = tmp_path / "new" / "a.json"
    write_json(path, {"a": ["é", 1]})
    assert read_json(path) == {"a": ["é", 1]}
    assert [found.name for found in path.parent.iterdir()] == ["a.json"], "nothing is left beside it"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_what_cannot_be_read_is_nothing(tmp_path, content):
    """A file that a hand or a fault has spoilt is as good as none."""
    path = tmp_path / "a.json"
    assert read_json(path) is None
    path.write_bytes(content)
    assert read_json(path) is None


def test_a_folder_that_cannot_be_made_stops_nothing(tmp_path):
    """What was to be remembered is forgotten."""
    (tmp_path / "file").write_text("x")
    write_json(tmp_path / "file" / "a.json", [1])
    assert read_json(tmp_path / "file" / "a.json") is None
