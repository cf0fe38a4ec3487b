"""Files of a report, each written whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from cache.atomic import write_whole
from literature.report.errors import ReportError


def write_files(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write each content under its name in `folder`, which is made when missing as are folders in names; the paths.

    `ReportError` names the path and the remedy; a file that stood there before stays until its successor is whole.
    """
    for place in dict.fromkeys((folder, *((folder / name).parent for name in contents))):
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _refused(place, error) from error
    return tuple(_write(folder / name, content) for name, content in contents.items())


def _write(path: Path, content: bytes) -> Path:
    try:
        write_whole(path, content)
    except OSError as error:
        raise _refused(path, error) from error
    return path


def _refused(path: Path, error: OSError) -> ReportError:
    return ReportError(
        f"{path}: the report cannot be written: {error.strerror or error}; choose another folder, "
        "or make this one writable and free some disk space"
    )


def csv_text(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """Rows as CSV with a header line and `\\n` line ends; a missing value is an empty field."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
