"""A file that is whole or not there at all: filled beside its place, then renamed to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Gives an empty file in `target`'s folder to be filled; it takes `target`'s name when the block ends well.

    What stood under that name stays until then. On the way out with an error nothing new is left. OSError as the
    system raises it; the folder must be there.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=f".part{target.suffix}")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp makes a private file; this one is for others to read as far as the user's umask allows.
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(target: Path, content: bytes) -> None:
    """Write a file's content whole, or leave what was there."""
    with whole_file(target) as part:
        part.write_bytes(content)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
