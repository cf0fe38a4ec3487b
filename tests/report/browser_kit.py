"""A page opened in headless Chromium: what it shows, what its console says, and which addresses it asks for."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OWN = "not an origin"
"""The initiator of what the browser asks for by itself (updates, the time)."""


@dataclass(frozen=True)
class Visit:
    """What opening a page came to; `requests` are those that the page caused, its own file aside."""

    text: str
    console: list[str]
    requests: list[str]


def find_browser() -> str:
    """The path of a Chromium; empty when there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), "")


def visit(page: bytes, folder: Path) -> Visit:
    """Open a page that lies in `folder`."""
    file, net = folder / "report.html", folder / "net.json"
    file.write_bytes(page)
    done = subprocess.run(
        [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
         "--no-first-run", "--disable-background-networking", "--enable-logging=stderr", f"--log-net-log={net}",
         "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    events = json.loads(net.read_text(errors="replace"))["events"]
    asked = [event["params"] for event in events if "url" in event.get("params", {}) and "initiator" in event["params"]]
    pages = {one["url"] for one in asked if one["initiator"] != OWN and not one["url"].startswith(("file:", "data:"))}
    return Visit(done.stdout, console, sorted(pages))
