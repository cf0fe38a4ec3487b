"""Make `recorded_pace.json.gz`: when each reply of a run was there, for the test of the time-left figure.

    python tests/tui/record_pace.py STORE RUN

The run must have gone through without a break, over several precisions.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from cache.store import Store

TARGET = Path(__file__).with_name("recorded_pace.json.gz")


def record(store: Store, run: int) -> dict[str, object]:
    """The first fact's configurations, and [seconds, pass, tokens] of each reply with the seconds of each loading."""
    rows = list(store.every_event(run))
    started = next(body for _, _, body in rows if body["fact"] == "Started")
    began = next(moment for _, moment, body in rows if body["fact"] == "Started")
    ((name, tasks),) = started["problems"].items()
    finished = ((t, b["configuration"]) for _, t, b in rows if b["fact"] == "ConfigurationFinished")
    return {
        "configurations": started["configurations"],
        "problems": {name: [f"P/{i}" for i in range(len(tasks))]},
        "passes": started["passes"],
        "generations": started["generations"],
        "finished": [[round(t - began, 2), id_] for t, id_ in finished],
        "loads": [[round(t - began, 2), b["precision"]] for _, t, b in rows if b["fact"] == "ModelLoaded"],
        "replies": [
            [round(t - began, 2), b["index"], b["tokens"], tasks.index(b["task_id"])]
            for _, t, b in rows
            if b["fact"] == "Generated" and not b["reused"]
        ],
    }


if __name__ == "__main__":
    found = json.dumps(record(Store(Path(sys.argv[1])), int(sys.argv[2])), separators=(",", ":"))
    TARGET.write_bytes(gzip.compress(found.encode(), mtime=0))
