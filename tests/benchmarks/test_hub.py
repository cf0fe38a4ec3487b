"""The hub: one download at the pinned revision, then never the network again, for every benchmark that is there."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine.benchmarks import hub, open_benchmark
from engine.benchmarks.rows import parse_rows, read_objects, rows_hash
from engine.errors import BenchmarkError

ROW = {
    "task_id": "Python/0", "entry_point": "f", "declaration": "def f():\n", "prompt": "def f():\n", "test": "check(f)",
    "buggy_solution": "    return 1\n", "canonical_solution": "    return 2\n",
}  # fmt: skip
FILE = json.dumps(ROW).encode() + b"\n"
PATH = f"/datasets/{hub.REPOSITORY}/resolve/{hub.REVISION}/data/python/data/humanevalpack.jsonl"
NAME = "humanevalfixtests-python"


PARQUET: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "parquet_files.json").read_text(encoding="utf-8")
)["files"]


@dataclass
class FakeHub:
    """A local server that holds files by path, `file` under PATH; `asked` lists method and path of every request."""

    url: str = ""
    file: bytes = FILE
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def content(self, path: str) -> bytes | None:
        """The file of a path."""
        return self.file if path == PATH else self.files.get(path)


@pytest.fixture
def fake_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """The hub client pointed at a local server and an empty cache."""
    state = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            state.asked.append((self.command, self.path))
            content = state.content(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.send_header("ETag", f'"{hashlib.sha256(content or b"").hexdigest()}"')
            self.send_header("X-Repo-Commit", self.path.partition("/resolve/")[2].partition("/")[0])
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            self.wfile.write(state.content(self.path) or b"")

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


def serve(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch, name: str, contents: dict[str, bytes]) -> hub.Pinned:
    """Serve the pinned dataset's paths with these contents, and expect their hashes."""
    pinned = hub.PINNED[name]
    assert set(contents) == set(pinned.files)
    root = f"/datasets/{pinned.repository}/resolve/{pinned.revision}"
    fake_hub.files |= {f"{root}/{path}": content for path, content in contents.items()}
    files = {path: hashlib.sha256(contents[path]).hexdigest() for path in pinned.files}
    expected = replace(pinned, files=files, rows="")
    monkeypatch.setattr("engine.benchmarks.families.PINNED", {**hub.PINNED, name: expected})
    return expected


def parquet(*names: str) -> list[bytes]:
    """Parquet files of rows made up here."""
    return [base64.b64decode(PARQUET[name]["base64"]) for name in names]


def lines(name: str) -> bytes:
    """The same rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in PARQUET[name]["rows"]).encode()


SPLITS = ("prompt", "test", "validation", "train")
SERVED = {
    "humaneval": (parquet("humaneval"), ["HumanEval/0", "HumanEval/1", "HumanEval/2"]),
    "humaneval-unstripped": (parquet("humaneval"), ["HumanEval/0", "HumanEval/1", "HumanEval/2"]),
    "humanevalplus": ([lines("humaneval")], ["HumanEval/0", "HumanEval/1", "HumanEval/2"]),
    "humanevalplus-unstripped": ([lines("humaneval")], ["HumanEval/0", "HumanEval/1", "HumanEval/2"]),
    "mbpp-full": (
        parquet(*(f"full/{split}" for split in SPLITS)), [f"Mbpp/{n}" for n in (1, 2, 11, 12, 511, 601)],
    ),
    "mbpp-sanitized": (parquet(*(f"sanitized/{split}" for split in SPLITS)), [f"Mbpp/{n}" for n in (2, 3, 4, 5)]),
    "mbppplus": (parquet("mbppplus"), ["Mbpp/2"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SERVED)
def test_every_benchmark_on_the_hub_opens_without_a_file(
    fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each comes at its pinned commit, once, and the report names dataset, files, commit, licence and hashes."""
    contents, task_ids = SERVED[name]
    expected = serve(fake_hub, monkeypatch, name, dict(zip(hub.PINNED[name].files, contents, strict=True)))
    benchmark = open_benchmark(name)
    assert [problem.task_id for problem in benchmark.problems] == task_ids
    facts = benchmark.facts()
    assert (facts["revision"], facts["licence"]) == (expected.revision, expected.licence)
    assert expected.repository in facts["source"]
    assert facts["file_sha256"] == hashlib.sha256(b"".join(contents)).hexdigest()
    before = len(fake_hub.asked)
    open_benchmark(name)
    assert len(fake_hub.asked) == before


def test_mbpp_s_test_split_is_one_file_of_500(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number of rows than the split has is an error, wherever the file is from."""
    serve(fake_hub, monkeypatch, "mbpp", dict(zip(hub.PINNED["mbpp"].files, parquet("full/test"), strict=True)))
    with pytest.raises(BenchmarkError, match="2 rows with task ids 11 to 510, expected all 500"):
        open_benchmark("mbpp")


def test_another_file_than_the_recorded_one_is_refused(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sha256 that is on record decides; where a file has none, what the rows hash to."""
    contents = dict(zip(hub.PINNED["humaneval"].files, parquet("humaneval"), strict=True))
    serve(fake_hub, monkeypatch, "humaneval", contents)
    monkeypatch.setattr("engine.benchmarks.families.PINNED", hub.PINNED)
    with pytest.raises(BenchmarkError, match=r"sha256 \w{16}, expected 2f2871a15fbc95b6 \(openai/openai_humaneval at"):
        open_benchmark("humaneval")
    unknown = replace(hub.PINNED["humaneval"], files=dict.fromkeys(contents, ""))
    monkeypatch.setattr("engine.benchmarks.families.PINNED", {"humaneval": unknown})
    with pytest.raises(BenchmarkError, match=r"rows with hash \w{16}, expected 62eeaa082ca37540"):
        open_benchmark("humaneval")


def test_offline_every_benchmark_says_what_to_type(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without network, one sentence names dataset, commit and file, and the local copy's option and study key."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    for name, pinned in hub.PINNED.items():
        with pytest.raises(BenchmarkError, match=r'not in the cache .* --data FILE \(in a study file: data = "FILE"\)'):
            open_benchmark(name)
        with pytest.raises(BenchmarkError, match=f"{pinned.repository} at {pinned.revision[:7]}"):
            open_benchmark(name)


@pytest.mark.parametrize("name", ["quixbugs", "custom"])
def test_benchmark_that_no_hub_has_asks_for_its_file(name: str) -> None:
    """QuixBugs in this form and one's own benchmark are nowhere to be downloaded."""
    with pytest.raises(BenchmarkError, match=f"{name} is not part of Scoretrace .* --data FILE .*; expected"):
        open_benchmark(name)


def test_pinned_hashes_are_those_of_the_files_at_hand(shared: Path) -> None:
    """What the hub's rows must hash to is what the published originals hash to."""
    for name, file in (("humaneval", "humaneval/HumanEval.jsonl.gz"), ("mbpp-full", "mbpp/mbpp-974.jsonl")):
        facts = open_benchmark(name, str(shared / file)).facts()
        assert facts["rows_sha256"] == hub.PINNED[name].rows
    split = read_objects([shared / "mbpp/mbpp-974.jsonl"], {})[10:510]
    assert (split[0]["task_id"], split[-1]["task_id"]) == (11, 510)
    assert rows_hash(split) == hub.PINNED["mbpp"].rows


def test_hub_whose_name_is_unknown_is_told_at_once(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network the client would retry for half a minute; what is in the cache is read all the same."""
    open_benchmark(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.invalid")
    monkeypatch.setattr("huggingface_hub.hf_hub_download", None)  # is not called
    for proxy in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    assert open_benchmark(NAME).facts()["revision"] == hub.REVISION
    with pytest.raises(BenchmarkError, match=r"\(https://hub.invalid cannot be reached\); connect to the network once"):
        open_benchmark("humaneval")
