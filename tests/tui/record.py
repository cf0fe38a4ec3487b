"""Make `recorded_run.json.gz` out of a run in a store: the facts with their times, and the replies that they name.

    python tests/tui/record.py STORE RUN

Only configurations that the run has finished are kept, so that a run that was stopped half-way makes a whole recording.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from cache.store import Store

TARGET = Path(__file__).with_name("recorded_run.json.gz")
KEPT = ("ReferenceChecked", "ModelLoaded", "PassStarted", "Generated", "Judged", "ConfigurationFinished")


def wanted(body: dict[str, Any], done: set[str], read: set[str]) -> bool:
    """True for a fact of a finished configuration, or of all."""
    match body["fact"]:
        case "Judged" | "ConfigurationFinished":
            return body["configuration"] in done
        case "PassStarted":
            return bool(done & set(body["configurations"]))
        case "Generated":
            return body["key"] in read
    return True


def record(store: Store, run: int) -> dict[str, object]:
    """Facts as [seconds since the first, body], replies by key, and the study."""
    rows = store.events(run, limit=10_000_000)
    done = {body["configuration"] for _, _, body in rows if body["fact"] == "ConfigurationFinished"}
    read = {body["key"] for _, _, body in rows if body["fact"] == "Judged" and body["configuration"] in done}
    began = rows[0][1]
    facts: list[tuple[float, dict[str, Any]]] = []
    seen = set()
    for _, moment, body in rows:
        if body["fact"] not in KEPT or body.get("reused") or not wanted(body, done, read):
            continue
        text = json.dumps({key: value for key, value in body.items() if key not in ("seconds", "load_seconds")})
        if text not in seen:
            seen.add(text)
            facts.append((round(moment - began, 2), body))
    keys = {body["key"] for _, body in facts if body["fact"] == "Generated"}
    kept = [store.generation(key) for key in sorted(keys)]
    replies = {
        found.key: [found.text, len(found.tokens), found.stop, found.asked, found.n_prompt, found.decoding]
        for found in kept if found is not None
    }  # fmt: skip
    models = {body["model"] for _, body in facts if body["fact"] == "ModelLoaded"}
    for _, body in facts:
        if body["fact"] == "ModelLoaded":
            body["card"]["path"] = Path(body["card"]["path"]).name
    return {"models": sorted(models), "configurations": sorted(done), "facts": facts, "replies": replies}


def main() -> None:
    """Write the file."""
    store = Store(Path(sys.argv[1]), read_only=True)
    body = json.dumps(record(store, int(sys.argv[2])), separators=(",", ":")).encode()
    # No time and no name in the header: the same run gives the same bytes.
    TARGET.write_bytes(gzip.compress(body, 9, mtime=0))
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
