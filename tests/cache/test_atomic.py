"""Files that are whole or not there at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cache.atomic import whole_file, write_whole


def test_what_stood_there_stays_until_its_successor_is_whole(tmp_path: Path) -> None:
    """An error on the way leaves the old file and nothing else; success leaves the new one and nothing else."""
    target = tmp_path / "kept.csv"
    write_whole(target, b"old")
    with pytest.raises(KeyboardInterrupt), whole_file(target) as part:
        part.write_bytes(b"half")
        assert part.suffix == ".csv"
        raise KeyboardInterrupt
    assert target.read_bytes() == b"old"
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.csv"]


def test_others_may_read_what_the_umask_allows(tmp_path: Path) -> None:
    """The temporary file is private, the finished one is not."""
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_folder_that_is_not_there_is_the_system_s_error(tmp_path: Path) -> None:
    """Who writes knows what to tell the user; here the error stays what it is."""
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "file", b"")
