"""The hub: one download at the pinned revision, then never the network again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.benchmarks import hub, open_benchmark
from engine.benchmarks.rows import parse_rows, rows_hash
from engine.errors import BenchmarkError

ROW = {
    "task_id": "Python/0", "entry_point": "f", "declaration": "def f():\n", "prompt": "def f():\n", "test": "check(f)",
    "buggy_solution": "    return 1\n", "canonical_solution": "    return 2\n",
}  # fmt: skip
FILE = json.dumps(ROW).encode() + b"\n"
PATH = f"/datasets/{hub.REPOSITORY}/resolve/{hub.REVISION}/data/python/data/humanevalpack.jsonl"
NAME = "humanevalfixtests-python"


@dataclass
class FakeHub:
    """A local server that holds one file; `asked` lists method and path of every request."""

    url: str = ""
    file: bytes = FILE
    asked: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture
def fake_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """The hub client pointed at a local server and an empty cache."""
    state = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            state.asked.append((self.command, self.path))
            known = self.path == PATH
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(state.file) if known else 0))
            self.send_header("ETag", f'"{hashlib.sha256(state.file).hexdigest()}"')
            self.send_header("X-Repo-Commit", hub.REVISION)
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            if self.path == PATH:
                self.wfile.write(state.file)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("HF_ENDPOINT", state.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(hub.ROW_HASHES, "python", rows_hash(parse_rows(FILE, "fake")))
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def test_file_is_downloaded_once_at_the_pinned_revision(fake_hub: FakeHub) -> None:
    """The first opening fetches the pinned revision; the second asks the hub for nothing."""
    first = open_benchmark(NAME)
    assert {path for _, path in fake_hub.asked if path.startswith("/datasets")} == {PATH}
    before = len(fake_hub.asked)
    second = open_benchmark(NAME)
    assert len(fake_hub.asked) == before
    assert first.sha256 == second.sha256
    assert first.facts()["revision"] == hub.REVISION


def test_other_layout_of_the_same_rows_is_accepted(fake_hub: FakeHub) -> None:
    """What counts is what the rows hold: a hub that serves them with other spacing serves the same benchmark."""
    fake_hub.file = json.dumps(dict(reversed(ROW.items())), separators=(",", ":")).encode()
    assert open_benchmark(NAME).facts()["revision"] == hub.REVISION


def test_changed_rows_are_refused(fake_hub: FakeHub) -> None:
    """A mirror that serves other rows is an error that names the file, both hashes and the way out."""
    fake_hub.file = FILE.replace(b"return 2", b"return 3")
    with pytest.raises(BenchmarkError, match=r"humanevalpack.jsonl: rows with hash \w{16}, expected \w{16} .* --data"):
        open_benchmark(NAME)


def test_unreachable_hub_is_one_error_with_the_remedies(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without network and cache, the error names the file, the revision, and the three ways on."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    # The client waits between its attempts.
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    with pytest.raises(BenchmarkError, match=r"570eda2, data/python.* not in the cache .*HF_ENDPOINT.*--data"):
        open_benchmark(NAME)


def test_file_that_the_hub_lacks_is_the_same_error(fake_hub: FakeHub) -> None:
    """A mirror without the file answers 404, which is told as not downloaded."""
    with pytest.raises(BenchmarkError, match=r"data/go/data/humanevalpack.jsonl: not in the cache and not downloaded"):
        open_benchmark("humanevalfixtests-go")
