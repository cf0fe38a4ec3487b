"""What is kept of a fault of the program: its traceback in a file, for a bug report."""

from __future__ import annotations

import time
import traceback

from cache.paths import logs_folder


def write_crash(error: BaseException) -> str:
    """Write the traceback to the logs folder; the file's path, or why there is none."""
    text = "".join(traceback.format_exception(error))
    path = logs_folder() / f"app-{time.strftime('%Y%m%d-%H%M%S')}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        return f"no file, for {path} cannot be written ({problem})\n{text}"
    return str(path)
