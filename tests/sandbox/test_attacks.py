"""Hostile programs: none passes, none touches or leaves anything, and the next right program is judged rightly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.sandbox.levels import probe

SCRIPT = Path(__file__).with_name("hostile.py")
AN_ORDINARY_USER = 61183


@pytest.fixture(scope="module")
def home_of_all() -> Iterator[str]:
    """A data folder that every user of this machine can reach and write, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield folder


@pytest.mark.parametrize("level", ["namespaces", "landlock", "sealed", "wasm"])
@pytest.mark.parametrize("user", ["as it is", "ordinary"])
def test_no_attack_gets_through(level: str, user: str, shared: Path, home_of_all: str) -> None:
    """At each level of this machine, as root and as an ordinary user, all attacks fail and do no harm."""
    if not probe(level).available:
        pytest.skip(probe(level).reason)
    if user == "ordinary" and os.getuid() != 0:
        pytest.skip("already an ordinary user")
    command = [sys.executable, str(SCRIPT), level, str(shared / "data" / "attacks" / "attacks.jsonl")]
    command += [str(AN_ORDINARY_USER)] if user == "ordinary" else []
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
        env={**os.environ, "SCORETRACE_HOME": home_of_all},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    assert len(results) == 50
    wrong = [
        r
        for r in results
        if r["kind"] in ("passed", "unavailable") or r["harm"] or r["left"] or r["control"] != "passed"
    ]
    assert wrong == []


def test_the_planted_traps_spring(shared: Path, tmp_path: Path) -> None:
    """Where files are not hidden, the attack that reads the answers passes: the test above can fail."""
    attacks = (shared / "data" / "attacks" / "attacks.jsonl").read_text().splitlines()
    reading = tmp_path / "reading.jsonl"
    reading.write_text("\n".join(line for line in attacks if json.loads(line)["id"] == "f28_lookup_file"))
    command = [sys.executable, str(SCRIPT), "limits", str(reading)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert json.loads(done.stdout)[0]["kind"] == "passed"
