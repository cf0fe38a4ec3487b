"""Import, score again and export from the command line, one after the other, on the real sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.sandbox import probe_levels
from tui.cli import run_cli

HEAD = 'def twice(x):\n    """Twice x."""\n'
ROW = {
    "task_id": "Own/0", "entry_point": "twice", "prompt": HEAD, "canonical_solution": "    return x + x\n",
    "test": "def check(candidate):\n    assert candidate(3) == 6\n",
}  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder of its own."""
    if not any(p.available for p in probe_levels().values() if p.level != "limits"):
        pytest.skip("no level of confinement works on this machine")
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "home"))


@pytest.fixture
def go(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command; its status, the objects on stdout or its lines, and stderr."""

    def run(*arguments: str) -> tuple[int, list[Any], str]:
        status = run_cli(arguments)
        out, err = capsys.readouterr()
        return status, [json.loads(t) if t.startswith("{") else t for t in out.splitlines()], err

    return run


def write(path: Path, *rows: dict[str, Any]) -> str:
    """Write JSON Lines; the path as text."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_generations_go_in_are_scored_again_and_come_out(tmp_path: Path, go: Any) -> None:
    """A published file becomes a run; other rules need no model; the export scores the same as what came in."""
    data = write(tmp_path / "own.jsonl", ROW, {**ROW, "task_id": "Own/1"})
    samples = write(
        tmp_path / "s.jsonl", {"task_id": "Own/0", "completion": "    return 2 * x\n\nprint(twice(1))\nx ="}
    )
    status, (found,), _ = go(
        "import-generations", samples, "--benchmark", "custom", "--data", data, "--format", "jsonl"
    )
    assert (status, found["asked"], found["answered"], found["not_generated"]) == (0, 2, 1, 1)
    assert found["failures"] == {"SyntaxError": 1}
    status, rows, said = go("rescore", "--run", "1", "--extraction", "humaneval-stop,sanitize,raw", "--format", "jsonl")
    assert status == 0
    assert {row["extraction"]: row["passed"] for row in rows} == {"humaneval-stop": 1, "sanitize": 1, "raw": 0}
    assert "3 programs" in said
    status, paths, said = go("export", "--run", "2", "--kind", "evalplus", "--out", str(tmp_path / "out"))
    assert (status, len(paths)) == (0, 3)
    assert "1 of 2 samples are not in it" in said
    kept = [json.loads(Path(path).read_text(encoding="utf-8"))["solution"] for path in paths]
    assert HEAD + "    return 2 * x\n" in kept


def test_wrong_input_is_one_line_and_status_two(tmp_path: Path, go: Any) -> None:
    """A file of another benchmark, an unknown extraction, an unknown kind, an empty store."""
    data = write(tmp_path / "own.jsonl", ROW)
    other = write(tmp_path / "s.jsonl", {"task_id": "HumanEval/7", "completion": ""})
    status, _, said = go("export", "--kind", "evalplus")
    assert (status, "the store holds no run yet" in said) == (2, True)
    status, _, said = go("import-generations", other, "--benchmark", "custom", "--data", data)
    assert (status, "is no problem of this benchmark" in said, said.count("\n")) == (2, True, 1)
    mine = write(tmp_path / "s.jsonl", {"task_id": "Own/0", "completion": "    return x\n"})
    go("import-generations", mine, "--benchmark", "custom", "--data", data)
    status, _, said = go("rescore", "--extraction", "best")
    assert (status, "extraction 'best' is unknown" in said) == (2, True)
    status, _, said = go("export", "--kind", "csv", "--out", str(tmp_path / "out"))
    assert (status, "kind 'csv' is unknown" in said) == (2, True)
