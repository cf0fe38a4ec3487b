"""The command line: names and fields of each step, exit status, and one clear error for wrong input."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tui.cli import run_cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every command works on a data folder of its own."""
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command with text on standard input; its status, the objects on stdout, and stderr."""

    def go(*arguments: str, stdin: str = "") -> tuple[int, list[dict[str, Any]], str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        status = run_cli(arguments)
        out, err = capsys.readouterr()
        objects = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return status, objects, err

    return go


def test_read_says_what_each_value_can_be(run: Any) -> None:
    """The 56 values of the shipped table; 48.9 is no count of 164, 31.1 is 51 of 164."""
    status, objects, _ = run("read", "humanevalfix", "--problems", "164")
    assert (status, len(objects)) == (0, 56)
    assert list(objects[0]) == ["model", "benchmark", "metric", "value", "sources", "counts", "nearest"]
    assert list(objects[0]["counts"]) == ["half_up", "half_even", "truncate", "ceiling"]
    (odd,) = [o for o in objects if o["value"] == "48.9"]
    assert (
        odd["counts"] == {"half_up": [], "half_even": [], "truncate": [], "ceiling": []}
        or odd["counts"]["half_up"] == []
    )
    assert odd["nearest"]["count"] == 80
    status, objects, _ = run("read", "humanevalfix", "--problems", "164", "--samples", "20")
    (odd,) = [o for o in objects if o["value"] == "48.9"]
    assert odd["counts"]["half_up"] == [1603, 1604, 1605]


def test_read_knows_the_size_of_a_benchmark_by_its_name(run: Any) -> None:
    """Without --problems the benchmark's own size is taken."""
    _, objects, _ = run("read", "humanevalfix")
    assert all(o["nearest"] is not None for o in objects)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"model,benchmark,metric,value,sources\n", "no"),
        (b"\xff\xfe\x00\x01", "t.csv"),
        (b"colour,shape\nred,round\n", "column"),
        (b"model,benchmark,metric,value,sources\nm,b,pass@1,101.5,1\n", "101.5"),
        (b"model,benchmark,metric,value,sources\nm,b,pass@1,-3,1\n", "-3"),
    ],
)
def test_a_bad_table_is_one_clear_error(run: Any, tmp_path: Path, content: bytes, words: str) -> None:
    """Exit 2 and one line that names the file; a bad value is named with its line."""
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    status, objects, err = run("read", str(path))
    assert "t.csv" in err and words in err and "Traceback" not in err
    assert (status, objects) == (2, [])


@pytest.mark.parametrize("option", ["--problems", "--samples"])
@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", ""])
def test_a_count_is_a_whole_number_from_1_up(option: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """N = 1.5 or n = 0 is refused by the name of the option, exit 2."""
    with pytest.raises(SystemExit) as caught:
        run_cli(["read", "humanevalfix", f"{option}={text}"])
    assert caught.value.code == 2
    assert option in capsys.readouterr().err


def test_a_missing_table_is_exit_2(run: Any) -> None:
    """The message names the file and what ships."""
    status, _, err = run("read", "nowhere.csv")
    assert status == 2 and "nowhere.csv" in err and "humanevalfix" in err


def test_prompts_of_the_embedded_benchmark(run: Any) -> None:
    """One object a problem: task_id, the exact prompt, the stop words."""
    status, objects, _ = run("prompts", "bugfix-mini", "--template", "octocoder")
    assert (status, len(objects)) == (0, 64)
    assert list(objects[0]) == ["task_id", "prompt", "stop_words"]
    assert objects[0]["prompt"].startswith("Question: Fix bugs in ")
    assert objects[0]["stop_words"][-1] == "<|endoftext|>"
    _, bare, _ = run("prompts", "bugfix-mini", "--template", "octocoder", "--no-prefill")
    assert bare[0]["prompt"].endswith("Answer:")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prompts", "bugfix-mini", "--template", "nonesuch"), "instruct"),
        (("prompts", "nonesuch", "--template", "instruct"), "bugfix-mini"),
        (("prompts", "bugfix-mini", "--template", "chat"), "--model"),
        (("prompts", "humanevalfixtests-python", "--template", "instruct", "--data", "/no/file"), "/no/file"),
        (("extract", "--strategy", "nonesuch"), "harness"),
        (("run",), "--model"),
        (("run", "nowhere.toml"), "nowhere.toml"),
        (("run", "--model", "a.gguf", "--benchmark", "bugfix-mini", "--decoding", "hot"), "hot"),
        (("run", "--model", "a.gguf", "--benchmark", "bugfix-mini", "--samples", "x"), "--samples"),
        (("run", "--model", "a.gguf", "--benchmark", "bugfix-mini", "--expect", "x"), "--expect"),
        (("run", "--model", "a.gguf", "--benchmark", "bugfix-mini", "--only", "x"), "--only|not in this study"),
        (("match",), "no run yet"),
        (("report", "--run", "7"), "no run 7"),
        (("compare", "a", "b"), "cannot be read"),
        (("plan", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_wrong_input_is_named(run: Any, arguments: tuple[str, ...], words: str) -> None:
    """Exit 2 or 3, one line on stderr that names what was wrong and what is expected; nothing on stdout."""
    import re

    status, objects, err = run(*arguments, stdin='{"task_id": "BugfixMini/0", "response": "x"}\n')
    assert status in (2, 3) and objects == []
    assert re.search(words, err) and "Traceback" not in err


def test_programs_are_judged_both_ways_and_under_other_seeds(run: Any) -> None:
    """A program that differs between the two ways, or between seeds, is said to, and the exit status is 1."""
    forges = "class A(int):\n    def __eq__(self, other): return True\ndef f(): return A(0)"
    unsteady = "def f(): return list({'a', 'b', 'c', 'd', 'e'})"
    lines = [
        {"id": 1, "program": forges, "test": "assert f() == 4"},
        {"id": 2, "program": unsteady, "test": "assert f()[0] < f()[-1]"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    status, rows, _ = run("judge", "--both-ways", stdin=text)
    assert (status, [row["differs"] for row in rows]) == (1, [True, False])
    assert (rows[0]["outcome"], rows[0]["beside"]["outcome"]) == ("failed", "passed")
    status, rows, _ = run("judge", "--repeats", "6", stdin=text)
    assert (status, [row["differs"] for row in rows]) == (1, [False, True])
    assert list(rows[1]["by_seed"]) == [str(seed) for seed in range(7)]


def test_extract_and_judge_work_on_lines(run: Any) -> None:
    """A correct body passes and the reply's chatter is cut; a wrong one fails; order is kept."""
    from engine.benchmarks import open_benchmark

    problems = open_benchmark("bugfix-mini").problems[:2]
    replies = [
        {"task_id": problems[0].task_id, "response": "\n" + problems[0].canonical.rstrip() + "\n\nThat is the fix."},
        {"task_id": problems[1].task_id, "response": "\n" + problems[1].buggy},
    ]
    status, programs, _ = run("extract", "--strategy", "harness", stdin="".join(json.dumps(r) + "\n" for r in replies))
    assert status == 0 and [list(p) for p in programs] == [["task_id", "program"]] * 2
    assert "That is" not in programs[0]["program"]
    text = "".join(json.dumps(p) + "\n" for p in programs)
    text += json.dumps({"id": 7, "program": "def f():\n    return 1", "test": "assert f() == 1", "timeout": 5}) + "\n"
    status, outcomes, _ = run("judge", "--benchmark", "bugfix-mini", stdin=text)
    assert status == 0
    assert list(outcomes[0]) == ["task_id", "outcome", "detail", "mode", "level", "seconds"]
    assert [o["outcome"] for o in outcomes] == ["passed", "failed", "passed"]
    assert outcomes[2]["id"] == 7


def test_a_chat_reply_stands_for_itself(run: Any) -> None:
    """`raw` of a reply that was not started with the header is that reply; else the header comes before it."""
    from engine.benchmarks import open_benchmark

    problem = open_benchmark("bugfix-mini").problems[0]
    line = json.dumps({"task_id": problem.task_id, "response": "Sure."}) + "\n"
    _, (own,), _ = run("extract", "--strategy", "raw", "--no-prefill", stdin=line)
    _, (filled,), _ = run("extract", "--strategy", "raw", stdin=line)
    assert own["program"] == "Sure."
    assert filled["program"] == problem.header.rstrip() + "Sure."


def test_a_reply_that_is_no_text_is_named(run: Any) -> None:
    """null in place of a reply is an error with its line, not an empty reply."""
    status, objects, err = run("extract", "--strategy", "raw", stdin='{"task_id": "x", "response": null}\n')
    assert (status, objects) == (2, []) and "line 1, response: expected text, found null" in err


@pytest.mark.parametrize("line", ["{", "[]", '{"task_id": "x"}', '{"id": 1, "program": "x"}'])
def test_a_bad_line_is_named(run: Any, line: str) -> None:
    """The message gives the line's number and the keys expected."""
    status, objects, err = run("judge", stdin=line + "\n")
    assert (status, objects) == (2, []) and "line 1" in err


def test_compare_pairs_two_results(run: Any, tmp_path: Path) -> None:
    """Lost 8, gained 1 of 164: exact McNemar p = 0.0390625; ids on one side only are listed and left out."""
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    left = {f"t/{i}": i < 80 for i in range(164)}
    right = {**left, **{f"t/{i}": False for i in range(8)}, "t/100": True}
    a.write_text("".join(json.dumps({"task_id": k, "passed": v}) + "\n" for k, v in {**left, "only/a": True}.items()))
    b.write_text("".join(json.dumps({"task_id": k, "passed": v}) + "\n" for k, v in right.items()))
    status, (found,), _ = run("compare", str(a), str(b), "--format", "jsonl")
    assert status == 0
    assert list(found) == ["n", "b", "c", "delta", "p_exact", "p_mid", "standard_error", "resolution", "unmatched"]
    assert (found["n"], found["b"], found["c"], found["p_exact"]) == (164, 8, 1, 0.0390625)
    assert round(found["p_mid"], 4) == 0.0215
    assert round(found["resolution"], 2) == 3.53
    assert found["unmatched"] == ["only/a"]


def test_compare_takes_stored_configurations(run: Any, home: Path, tmp_path: Path) -> None:
    """Two configurations of the store by the first digits of their ids; an unknown one is said to be unknown."""
    from cache.store import Store
    from engine.events import Judged, Started, to_dict
    from engine.job import Job
    from engine.settings import Configuration, Decoding

    both = [Configuration("m", "b", template, Decoding(), 512, "f16") for template in ("instruct", "octocoder")]
    home.mkdir()
    store = Store(home / "store.sqlite")
    number = store.create_run("r", "", Job(tuple(both), {"m": "f"}).as_dict())
    ids = [f"t/{index}" for index in range(6)]
    started = Started({one.id: one.as_dict() for one in both}, {"b": ids}, 1, 12, 0, "limits")
    outcomes = {both[0].id: [1, 1, 1, 1, 1, 0], both[1].id: [0, 0, 0, 0, 0, 1]}
    judged = [
        Judged(one, task_id, 0, "k", "passed" if passed else "failed")
        for one, row in outcomes.items()
        for task_id, passed in zip(ids, row, strict=True)
    ]
    store.append(number, [to_dict(event) for event in (started, *judged)])
    store.close()
    status, (found,), _ = run("compare", both[0].id, both[1].id[:8], "--format", "jsonl")
    assert (status, found["n"], found["b"], found["c"]) == (0, 6, 5, 1)
    assert round(found["p_exact"], 3) == 0.219
    status, _, err = run("compare", both[0].id, "0000")
    assert status == 2 and "0000" in err


def test_compare_asks_whether_an_effect_is_outside_seed_noise(run: Any, tmp_path: Path) -> None:
    """Lost 8, gained 1 is outside two seeds that flip 7 problems, and inside two that flip 36; one seed is refused."""

    def write(name: str, failed: set[int]) -> str:
        rows = ({"task_id": f"t/{i}", "passed": i not in failed} for i in range(164))
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(tmp_path / name)

    a, b = write("a", {100}), write("b", set(range(8)))
    calm = write("c", {1, 2, 3}), write("d", {11, 12, 13, 14})
    wild = write("e", set(range(18))), write("f", set(range(40, 58)))
    _, (found,), _ = run("compare", a, b, "--seeds", *calm, "--format", "jsonl")
    assert found["outside_seed_noise"] is True and found["seed_bound"] == 5
    _, (found,), _ = run("compare", a, b, "--seeds", *wild, "--format", "jsonl")
    assert found["outside_seed_noise"] is False
    assert run("compare", a, b, "--seeds", a)[0] == 2


def test_no_difference_shown_is_not_equal(run: Any, tmp_path: Path) -> None:
    """Eight against eight flips show no difference and no equality within 2 points; one against one does."""

    def write(name: str, failed: set[int]) -> str:
        rows = ({"task_id": f"t/{i}", "passed": i not in failed} for i in range(164))
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(tmp_path / name)

    far = write("a", set(range(8))), write("b", set(range(10, 18)))
    near = write("c", {1}), write("d", {2})
    _, (found,), _ = run("compare", *far, "--margin", "2", "--format", "jsonl")
    assert found["p_exact"] == 1 and found["equivalent"] is False
    assert "minimal detectable difference" in found["equivalence"]
    _, (found,), _ = run("compare", *near, "--margin", "2", "--format", "jsonl")
    assert found["equivalent"] is True


def test_compare_takes_no_word_for_a_result(run: Any, tmp_path: Path) -> None:
    """`"false"` in quotes is not a result: it is refused with the file and the problem."""
    (tmp_path / "a").write_text('{"task_id": "t/0", "passed": "false"}\n')
    status, _, err = run("compare", str(tmp_path / "a"), str(tmp_path / "a"))
    assert status == 2 and "t/0" in err and "true, false or null" in err


def test_plan_counts_after_sharing(run: Any, tmp_path: Path) -> None:
    """The embedded study's plan says configurations, passes, generations, tokens, seconds and bytes."""
    from tui.study import embedded, write_study

    write_study(embedded(), tmp_path / "s.toml")
    status, (found,), _ = run("plan", str(tmp_path / "s.toml"), "--format", "jsonl")
    assert status == 0
    assert {"configurations", "passes", "generations", "tokens", "seconds", "bytes"} <= set(found)
    assert found["generations"] < found["naive"]


def test_import_keeps_a_table(run: Any, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An imported table lies in the studies folder and reads back; what was not read is said on stderr."""
    path = tmp_path / "t.csv"
    path.write_text("model,benchmark,metric,value,sources\nm,humanevalfix-python,pass@1,31.1,21\nm,b,pass@1,x7,3\n")
    status, _, err = run("import", str(path))
    assert status == 0 and "x7" in err
    _, objects, _ = run("read", str(home / "studies" / "t.csv"), "--problems", "164")
    assert [o["value"] for o in objects] == ["31.1"]
    assert run("import", str(path))[0] == 2, "an existing table is not overwritten"


@pytest.mark.parametrize("name", ["t.md", "t.tex", "t.json", "t.eee.json"])
def test_import_writes_the_format_of_the_name(run: Any, tmp_path: Path, name: str) -> None:
    """`import T --out t.md` writes a pipe table, and reading it gives the 56 values back; `.docx` is refused."""
    assert run("import", "humanevalfix", "--out", str(tmp_path / name))[0] == 0
    _, objects, _ = run("read", str(tmp_path / name))
    assert [o["value"] for o in objects] == [o["value"] for o in run("read", "humanevalfix")[1]]
    assert run("import", "humanevalfix", "--out", str(tmp_path / "t.docx"))[0] == 2


def test_read_adds_settings_when_asked(run: Any) -> None:
    """--settings adds what sources state and, apart from it, what their harness defaults to."""
    _, objects, _ = run("read", "humanevalfix", "--settings")
    (found,) = [o for o in objects if o["value"] == "48.9"]
    assert found["stated"]["temperature"] == "0.2"
    assert found["by_harness_defaults"][0]["assumed"]["length"] == "512"


def test_the_app_needs_a_terminal(run: Any) -> None:
    """Without one, the message names the commands that work."""
    status, _, err = run("open")
    assert status == 2 and "scoretrace run" in err
