"""What leaves a run for other people: its report in all formats, what changed since another report, its bundle."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cache.paths import store_path
from cache.store import Store
from tui import cli
from tui.errors import OptionError


def report(options: argparse.Namespace) -> int:
    """Write a run's report; with --against, say what changed since another one."""
    from literature.report import output
    from tui.reporting import write_report

    formats = [name.strip() for name in options.formats.split(",") if name.strip()]
    if not formats:
        raise OptionError(f"--formats {options.formats!r}: expected some of {','.join(output.FORMATS)}")
    before = _other(options.against) if options.against else None
    store = Store(store_path())
    try:
        run, folder = _chosen(store, options.run), Path(options.out)
        templates = Path(options.templates) if options.templates else None
        paths = write_report(store, run, folder, formats, templates)
        if before is not None:
            paths = (*paths, *_write_changes(store, run, before, folder))
    finally:
        store.close()
    for path in paths:
        print(path)
    return cli.DONE


def _chosen(store: Store, wanted: int | None) -> int:
    if wanted is not None:
        return store.run(wanted).id
    runs = store.runs()
    if not runs:
        raise OptionError("the store holds no run yet; start one with `scoretrace run STUDY` or `scoretrace demo`")
    return runs[0].id


def _other(place: str) -> Mapping[str, Any]:
    from literature.report.changes import read_report

    return read_report(Path(place))


def _write_changes(store: Store, run: int, before: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    import time

    from literature.report import changes, document
    from literature.report.writing import write_files
    from tui.reporting import collect

    found = changes.changes(before, document.build(collect(store, run), time.time()))
    for line in changes.lines(found):
        print(line)
    return write_files(folder, changes.contents(found))


def bundle(options: argparse.Namespace) -> int:
    """Put a run into one file."""
    from tui.bundle import write_bundle

    store = Store(store_path())
    try:
        made = write_bundle(store, _chosen(store, options.run), Path(options.out))
    finally:
        store.close()
    for remark in made.remarks:
        print(f"scoretrace: {remark}", file=sys.stderr)
    print(f"{made.path}  {made.files} files, {made.size} bytes, manifest sha256 {made.manifest_sha256}")
    return cli.DONE


def verify(options: argparse.Namespace) -> int:
    """Re-score a bundle without a model; 1 when anything differs."""
    from engine.sandbox import open_sandbox
    from tui.lines import print_objects
    from tui.verify import verify_bundle

    found = verify_bundle(Path(options.bundle), partial(open_sandbox, options.level), data=options.data)
    if options.format == "plain":
        for line in found.lines():
            print(line)
    else:
        print_objects([found.as_dict()], options.format)
    return cli.DONE if found.holds else cli.UNMET
