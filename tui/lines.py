"""JSON Lines and plain lines: how commands print results and read objects from standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from tui.errors import OptionError


def print_objects(objects: Iterable[Mapping[str, Any]], form: str) -> None:
    """Print results: `jsonl` one object a line as they come, `json` one list, `plain` `key: value` blocks."""
    if form == "json":
        print(json.dumps(list(objects), indent=2, ensure_ascii=False))
        return
    for number, found in enumerate(objects):
        if form == "jsonl":
            print(json.dumps(found, ensure_ascii=False), flush=True)
            continue
        if number:
            print()
        for key, value in found.items():
            print(f"{key}: {_plain(value)}")


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_plain(item) for item in value) or "none"
    return str(value)


OF_OTHER_TYPES = ("task_id", "id", "timeout", "passed")
"""Keys of read objects that need not be text."""


def read_objects(required: Sequence[Sequence[str]], stream: TextIO | None = None) -> Iterator[dict[str, Any]]:
    """JSON objects from standard input, each holding one of the `required` sets of text keys."""
    for number, line in enumerate(stream or sys.stdin, 1):
        if not line.strip():
            continue
        where = f"standard input, line {number}"
        try:
            found = json.loads(line)
        except ValueError as error:
            raise OptionError(f"{where}: not a JSON object: {error}; expected one object a line") from None
        if not isinstance(found, dict) or not any(all(key in found for key in keys) for keys in required):
            expected = " or ".join("{" + ", ".join(keys) + "}" for keys in required)
            raise OptionError(f"{where}: expected an object with {expected}")
        keys = next(keys for keys in required if all(key in found for key in keys))
        if odd := next((key for key in keys if key not in OF_OTHER_TYPES and not isinstance(found[key], str)), ""):
            raise OptionError(f"{where}, {odd}: expected text, found {json.dumps(found[odd])[:40]}")
        yield found


def parse_map(pairs: Sequence[str]) -> dict[str, str] | None:
    """`--map FIELD=COLUMN` as a mapping; None when there is none."""
    for pair in pairs:
        if "=" not in pair:
            raise OptionError(f"--map {pair}: expected FIELD=COLUMN, such as --map value='pass@1 (%)'")
    return dict(pair.split("=", 1) for pair in pairs) or None
