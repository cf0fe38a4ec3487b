"""A bundle is scored again without a model: nothing differs in an honest one, and every change in another is named."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from bundle_kit import FakeBenchmark, FakeSandbox, edited, make_run, members, outcomes_of, repack

from cache.store import Store
from engine.protocols import Limits, Outcome, Program
from engine.settings import Grid
from tui import bundle_file
from tui.bundle import Made, write_bundle
from tui.errors import BundleError
from tui.verify import Verification, verify_bundle

BENCHMARK = FakeBenchmark()


def opener(name: str, data: str | None = None) -> FakeBenchmark:
    assert name == BENCHMARK.name
    return BENCHMARK


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Made, dict[tuple[str, str, int], str]]:
    """A bundle of 60 configurations over 60 problems, and the outcomes that were recorded."""
    folder = tmp_path_factory.mktemp("bundle")
    store = Store(folder / "store.sqlite")
    run = make_run(store, BENCHMARK, FakeSandbox(), tables=("humanevalfix",))
    made = write_bundle(store, run, folder / "kept.zip", opener)
    recorded = outcomes_of(store, run)
    store.close()
    return folder / "kept.zip", made, recorded


@pytest.fixture
def path(kept: Any, tmp_path: Path) -> Path:
    """A copy of the bundle to change."""
    return Path(shutil.copy(kept[0], tmp_path / "bundle.zip"))


def verified(path: Path, sandbox: Callable[[], Any] = FakeSandbox, **options: Any) -> Verification:
    return verify_bundle(path, sandbox, **{"opener": opener, **options})


def places(found: Verification) -> str:
    return "\n".join(f"{d.place}: {d.recorded} / {d.found}" for d in found.differences)


def test_an_honest_bundle_of_60_by_60_holds(kept: Any, path: Path) -> None:
    """3600 samples are read again, half of them at a limit that cuts their replies; no number differs."""
    _, made, recorded = kept
    assert made.remarks == ()
    found = verified(path)
    assert found.holds, list(found.lines())
    assert (found.samples, len(recorded)) == (3600, 3600)
    assert found.programs > 1000 and found.numbers > 2000
    assert found.manifest_sha256 == made.manifest_sha256
    assert members(path)["prefixes.jsonl"].count(b"\n") > 1000


def test_a_bundle_names_no_folder_of_the_machine(kept: Any, path: Path) -> None:
    """The model's folder, the store's and the temporary one are in no member; the study reads its own tables."""
    folder = str(kept[0].parent).encode()
    for name, content in members(path).items():
        assert folder not in content and b"/models/" not in content and b"/tmp/" not in content, name
    assert b'tables = [\n    "literature/humanevalfix.csv",\n]' in members(path)["study.toml"]


def test_prompts_are_in_the_bundle_as_text(path: Path) -> None:
    """Each template's prompt of each problem is there once, as it was tokenised."""
    rows = [json.loads(line) for line in members(path)["prompts.jsonl"].decode().splitlines()]
    assert len(rows) == 2 * 60
    assert {row["template"] for row in rows} == {"instruct", "octocoder"}
    assert all("def f" in row["prompt"] for row in rows)


def flip(row: dict[str, Any]) -> None:
    row["kind"] = "failed" if row["kind"] == "passed" else "passed"


def change_report(content: bytes) -> bytes:
    found = json.loads(content)
    found["scores"][3]["passed"] += 1
    return (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode()


def change_judged(content: bytes) -> bytes:
    rows = content.decode().splitlines()
    number = next(i for i, line in enumerate(rows) if '"fact":"Judged"' in line)
    return edited(content, number, lambda row: flip(row["body"]))


def change_reply(content: bytes) -> bytes:
    rows = content.decode().splitlines()
    number = next(i for i, line in enumerate(rows) if "return bad" in line)
    return edited(content, number, lambda row: row.update(text=row["text"].replace("bad", "good")))


def change_last(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        head, found, tail = content.rpartition(old)
        assert found
        return head + new + tail

    return change


TAMPERED: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "generation": ("generations.jsonl", change_reply, "its reply"),
    "prefix": ("prefixes.jsonl", change_last(b"return ", b"return  1 + "), "its reply"),
    "recorded outcome": ("events.jsonl", change_judged, "P/"),
    "stored outcome": ("outcomes.jsonl", lambda c: edited(c, 5, flip), "outcomes.jsonl against events.jsonl"),
    "count": ("report.json", change_report, "report.json, $.scores[3].passed"),
    "count, to read": ("report.md", change_last(b"/60 | ", b"/61 | "), "report.md, line"),
    "count, in HTML": ("report.html", change_last(b"/60</td>", b"/61</td>"), "report.html, line"),
    "table of scores": ("tables/scores.csv", change_last(b",60,60,", b",60,59,"), "tables/scores.csv, line 61"),
    "reported score": ("literature/humanevalfix.csv", change_last(b"29.3", b"29.4"), "report.json, $.reported"),
    "study": ("study.toml", change_last(b"octocoder", b"codellama"), "study.toml"),
}


@pytest.mark.parametrize(("member", "change", "place"), TAMPERED.values(), ids=TAMPERED)
def test_a_changed_file_is_named_with_its_line(path: Path, member: str, change: Any, place: str) -> None:
    """Under the old manifest the changed file is named, with the line that was changed."""
    repack(path, {member: change(members(path)[member])})
    (changed,) = bundle_file.read(path).changed
    assert changed.startswith(f"{member}, line ")


@pytest.mark.parametrize(("member", "change", "place"), TAMPERED.values(), ids=TAMPERED)
def test_a_change_with_a_forged_manifest_is_found_by_scoring_again(
    path: Path, member: str, change: Any, place: str
) -> None:
    """Whoever changes a file and its sha256 too is found out by what the rest of the bundle says."""
    repack(path, {member: change(members(path)[member])}, honest=False)
    found = verified(path)
    assert not found.holds
    assert place in places(found), places(found)


def test_a_changed_outcome_changes_its_configurations_count(path: Path) -> None:
    """The sample and the configuration's count of passes are both named, with both numbers."""
    repack(path, {"events.jsonl": change_judged(members(path)["events.jsonl"])}, honest=False)
    found = [d for d in verified(path).differences if d.place.endswith(", passed")]
    assert len(found) == 1
    assert abs(int(found[0].recorded) - int(found[0].found)) == 1


def test_every_flipped_byte_is_named(path: Path) -> None:
    """Any one byte of the file changed: the file is refused, or the member that it lies in is named."""
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        starts = sorted((info.header_offset, info.filename) for info in archive.infolist())
    for position in range(40, starts[-1][0], len(whole) // 60):
        inside = [name for start, name in starts if start <= position][-1]
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :])
        try:
            changed = bundle_file.read(path).changed
        except BundleError as error:
            assert path.name in str(error)
        else:
            assert any(inside in line for line in changed), (position, inside, changed)


def test_missing_and_added_files_are_named(path: Path) -> None:
    """A member that the manifest lists and one that it does not."""
    found = members(path)
    del found["tables/matches.csv"]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**found, "extra.txt": b"x"}.items():
            archive.writestr(name, content)
    told = places(verified(path))
    assert "tables/matches.csv: the sha256 of another content / is missing" in told
    assert "extra.txt: the sha256 of another content / is not in the manifest" in told


def test_what_cannot_be_checked_is_no_success(path: Path) -> None:
    """Without the text that a shorter limit read, the samples are counted as not verified, and nothing else is."""
    gone = members(path)["prefixes.jsonl"].count(b"\n")
    repack(path, {"prefixes.jsonl": b""}, honest=False)
    found = verified(path)
    assert not found.holds
    samples = [int(text.split()[0]) for text in found.unverified]
    assert sum(samples) >= gone and all("is not kept" in text for text in found.unverified)
    assert not [d for d in found.differences if "passed" in d.place]


def test_programs_that_cannot_be_judged_here_are_no_failures(path: Path) -> None:
    """A sandbox that refuses leaves everything unverified; no outcome is said to differ."""

    class Refusing(FakeSandbox):
        def run(self, program: Program, limits: Limits) -> Outcome:
            return Outcome("unavailable", "no namespaces here")

    found = verified(path, Refusing)
    assert found.differences == ()
    assert found.unverified == ("3600 samples: could not be judged here: no namespaces here",)


def test_another_sandbox_is_said_and_judges_all_the_same(path: Path) -> None:
    """On another machine the programs are executed under its own identity, which is noted."""
    found = verified(path, lambda: FakeSandbox(identity='{"mode": "other"}'))
    assert found.holds
    assert "other" in found.remarks[0]


def test_other_problems_than_the_runs_are_refused(path: Path) -> None:
    """A benchmark with another hash is not judged with; the remedy is named."""
    found = verified(path, opener=lambda name, data: replace(BENCHMARK, sha256="cd" * 32))
    assert not found.holds and "--data" in found.unverified[0]


@pytest.mark.parametrize(
    "facts", [{"licence": "unknown"}, {"licence": "MIT", "revision": "unknown: not the rows of a published file"}]
)
def test_a_strangers_problems_are_not_run(path: Path, facts: dict[str, str]) -> None:
    """Tests are trusted code: problems out of a bundle that are of no known benchmark are not executed.

    A licence that they claim for themselves makes no difference.
    """
    manifest = json.loads(members(path)["manifest.json"])
    manifest["benchmarks"][BENCHMARK.name]["file"] = "benchmarks/x.jsonl"
    repack(path, {"manifest.json": json.dumps(manifest).encode(), "benchmarks/x.jsonl": b"{}\n"}, honest=False)

    class Unknown(FakeBenchmark):
        def facts(self) -> dict[str, Any]:
            return facts

    sandbox = FakeSandbox()
    found = verified(path, lambda: sandbox, opener=lambda name, data: Unknown())
    assert sandbox.runs == 0
    assert "not those of a known benchmark" in found.unverified[0]


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/x", "a/../../b", "a/b/c/d"])
def test_names_that_leave_the_bundle_are_refused(path: Path, name: str) -> None:
    """No member may lie anywhere but in the bundle."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "x")
    with pytest.raises(BundleError, match="has a name that no bundle uses"):
        verified(path)


def test_what_is_no_bundle_is_one_clear_error(tmp_path: Path) -> None:
    """A missing file, another file and a zip of something else are each named."""
    with pytest.raises(BundleError, match=r"gone\.zip: cannot be read"):
        verified(tmp_path / "gone.zip")
    (tmp_path / "text.zip").write_text("hello", encoding="utf-8")
    with pytest.raises(BundleError, match=r"text\.zip: cannot be read"):
        verified(tmp_path / "text.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(BundleError, match=r"manifest\.json is no JSON"):
        verified(tmp_path / "other.zip")


def test_equal_runs_make_equal_facts(kept: Any, tmp_path: Path) -> None:
    """The same run bundled twice differs in nothing but the moment of its making."""
    folder = kept[0].parent
    store = Store(folder / "store.sqlite")
    write_bundle(store, store.runs()[0].id, tmp_path / "again.zip", opener)
    store.close()
    one, other = members(kept[0]), members(tmp_path / "again.zip")
    differing = {name for name in one if one[name] != other[name]}
    assert differing <= {"manifest.json", "ro-crate-metadata.json", *(n for n in one if n.startswith("report."))}


def test_the_command_line_bundles_and_verifies_for_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`scoretrace bundle` and `verify` on a user's own problems, really judged: 0; with a flipped outcome: 1."""
    from cache.paths import store_path
    from engine.benchmarks import open_benchmark
    from engine.errors import SandboxUnavailable
    from engine.sandbox import open_sandbox
    from tui.cli import run_cli

    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "home"))
    try:
        sandbox = open_sandbox()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    rows = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8").splitlines()
    data = tmp_path / "eight.jsonl"
    data.write_text("\n".join(rows[:8]) + "\n", encoding="utf-8")
    benchmark = open_benchmark(BENCHMARK.name, str(data))
    store = Store(store_path())
    grid = Grid((BENCHMARK.name,), max_length=(512, 2048))
    make_run(store, benchmark, sandbox, grid, data=str(data))
    store.close()
    file = tmp_path / "mini.zip"
    assert run_cli(["bundle", "--out", str(file)]) == 0
    assert not [name for name in members(file) if name.startswith("benchmarks/")], (
        "nobody says that it may be passed on"
    )
    capsys.readouterr()
    assert run_cli(["verify", str(file), "--data", str(data)]) == 0
    assert "16 samples read again" in capsys.readouterr().out
    repack(file, {"events.jsonl": change_judged(members(file)["events.jsonl"])}, honest=False)
    assert run_cli(["verify", str(file), "--data", str(data), "--format", "jsonl"]) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False


def older(content: bytes) -> bytes:
    """Outcomes under keys of another form, as an earlier version kept them."""
    rows = [json.loads(line) for line in content.splitlines()]
    return b"".join(json.dumps({**row, "key": f"older-{row['key']}"}).encode() + b"\n" for row in rows)


def test_a_run_of_an_earlier_judge_is_not_called_changed(path: Path) -> None:
    """Outcomes under another version's keys: judged again here, nothing differs, and it is said what could not be."""
    repack(path, {"outcomes.jsonl": older(members(path)["outcomes.jsonl"])}, honest=False)
    found = verified(path)
    assert (found.differences, found.otherwise, found.holds) == ((), (), False)
    (told,) = found.unverified
    assert "the judge's versions differ" in told and "scoretrace rescore --run RUN --extraction" in told
    assert not any(line.startswith("DIFFERS") for line in found.lines())


def test_another_protocol_s_verdicts_are_listed_as_the_judge_s(path: Path) -> None:
    """Where the judges' protocols differ, what is judged otherwise here stands apart from what was changed."""
    facts = members(path)["facts.json"].replace(rb"{\"mode\": \"fake\"}", rb"{\"protocol\": \"1\"}")
    events = members(path)["events.jsonl"].splitlines(keepends=True)
    place = next(i for i, line in enumerate(events) if b'"passed"' in line and b'"Judged"' in line)
    events[place] = events[place].replace(b'"passed"', b'"failed"')
    repack(path, {"facts.json": facts, "events.jsonl": b"".join(events)}, honest=False)
    found = verified(path, lambda: FakeSandbox(identity='{"protocol": "2"}'))
    assert "judged by protocol 1 of the judge, this version's is 2" in found.unverified[0]
    assert any("/" in one.place and (one.recorded, one.found) == ("failed", "passed") for one in found.otherwise)
    assert not any("sample" in one.place for one in found.differences)
    assert any(line.startswith("OTHER JUDGE") for line in found.lines())
