"""Import, score again and export from the command line, one after the other, on the real sandbox."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from engine.sandbox import probe_levels
from tui.cli import make_parser, run_cli
from tui.options import study_from_options

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


def test_report_and_bundle_of_imported_replies_stand_on_their_own(tmp_path: Path, go: Any) -> None:
    """The report says where the replies are from and gives commands that work here; bundles verify without a model."""
    data = write(tmp_path / "own.jsonl", ROW, {**ROW, "task_id": "Own/1"})
    right, wrong = "    return 2 * x\n", "    return 3 * x\n"
    rows = [{"task_id": "Own/0", "completion": right}, {"task_id": "Own/1", "completion": wrong}]
    samples = write(tmp_path / "s.jsonl", *rows)
    go("import-generations", samples, "--benchmark", "custom", "--data", data)
    go("rescore", "--run", "1", "--extraction", "humaneval-stop,raw")
    for run, way in ((1, "imported from s.jsonl (sha256 "), (2, "The replies are those of run 1")):
        out = tmp_path / f"report-{run}"
        assert go("report", "--run", str(run), "--out", str(out), "--formats", "md,json,html,tex")[0] == 0
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        assert way in " ".join(one["sentence"] for one in report["again"])
        assert way.split("(")[0] in (out / "report.md").read_text(encoding="utf-8").replace("\\", "")
        assert report["scores"][0]["answered"] == 2 and report["scores"][0]["failures"]
        assert not any(" run study.toml" in one["command"] for one in report["again"])
        before = go("run", "--list", "--format", "jsonl")[1]
        for command in {one["command"] for one in (*report["again"], *report["scores"])}:
            words = [str(tmp_path / word) if word.endswith(".jsonl") else word for word in shlex.split(command)[1:]]
            assert go(*words)[0] == 0, command
        assert len(go("run", "--list", "--format", "jsonl")[1]) > len(before)
        bundle = str(tmp_path / f"{run}.zip")
        assert go("bundle", "--run", str(run), "--out", bundle)[0] == 0
        status, told, _ = go("verify", bundle, "--data", data)
        assert (status, "0 differ, 0 kinds" in told[-1]) == (0, True), told


def test_exported_records_are_read_back_as_reported_scores(tmp_path: Path, go: Any) -> None:
    """Every-eval-ever, the hub's draft and lm-eval's results come back as the count that they were made of."""
    data = write(tmp_path / "own.jsonl", *({**ROW, "task_id": f"Own/{i}"} for i in range(3)))
    rows = [{"task_id": f"Own/{i}", "completion": f"    return {2 if i else 3} * x\n"} for i in range(3)]
    go("import-generations", write(tmp_path / "s.jsonl", *rows), "--benchmark", "custom", "--data", data)
    for kind, ending in (("every-eval-ever", ".eee.json"), ("eval-results", ".yaml"), ("lm-eval", "results.json")):
        _, paths, _ = go("export", "--run", "1", "--kind", kind, "--out", str(tmp_path / kind))
        (path,) = [path for path in paths if path.endswith(ending)]
        status, (found,), _ = go("read", path, "--problems", "3")
        assert (status, found["benchmark"], found["counts"]["half_up"]) == (0, "custom", [2]), kind


def test_a_benchmark_is_checked_without_a_model(tmp_path: Path, go: Any) -> None:
    """A sound one ends with 0; a correct program that fails is named with its cause, and the status is 1."""
    data = write(tmp_path / "own.jsonl", ROW, {**ROW, "task_id": "Own/1", "canonical_solution": "    return 3 * x\n"})
    status, lines, _ = go("check", "custom", "--data", data)
    assert (status, lines[0]) == (1, "reference check of custom: 1/2 correct bodies pass, 2/2 buggy ones fail")
    assert lines[1].startswith("  wrong: Own/1 (correct body: failed")
    status, (found,), _ = go("check", "custom", "--data", write(tmp_path / "own.jsonl", ROW), "--format", "jsonl")
    assert (status, found["holds"], found["total"]) == (0, True, 1)


def test_one_s_own_completion_tasks_are_asked_as_such(tmp_path: Path) -> None:
    """Without --template the rows decide: completion tasks get their own prompts, fixing tasks the instruction."""
    parse = make_parser().parse_args
    for rows, template in (((ROW,), "completion"), (({**ROW, "declaration": "d", "buggy_solution": "b"},), "instruct")):
        data = write(tmp_path / "own.jsonl", *rows)
        options = parse(["run", "--model", "m.gguf", "--benchmark", "custom", "--data", data])
        assert study_from_options(options).grid.template == (template,)


def test_a_table_of_an_import_is_read_at_once_and_found_again(
    tmp_path: Path, go: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that is not there is refused before anything is judged; a relative path holds in another folder."""
    data = write(tmp_path / "own.jsonl", ROW)
    samples = write(tmp_path / "s.jsonl", {"task_id": "Own/0", "completion": "    return 2 * x\n"})
    (tmp_path / "t.csv").write_text("model,value,sources\nunknown,100,a\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    rest = (samples, "--benchmark", "custom", "--data", data, "--no-reference-check", "--table")
    status, _, said = go("import-generations", *rest, "missing.csv")
    assert status == 2 and "missing.csv: no such file" in said
    assert go("import-generations", *rest, "t.csv")[0] == 0
    monkeypatch.chdir("/")
    status, (claim, *_), _ = go("match", "--format", "jsonl")
    assert (status, claim["value"], claim["matching"]) == (0, "100", 1)
