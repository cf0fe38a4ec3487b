"""Re-scoring stored replies, what stands under a score, and exports that come back as they went."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cache.store import Store, StoredGeneration
from engine.benchmarks import open_benchmark
from engine.cells import opened, read_run, reply_of, serves
from engine.errors import SettingsError
from engine.exports import KINDS, sheets, write
from engine.failures import failure_kind
from engine.imports import read_generations
from engine.protocols import Benchmark
from engine.recorder import Recorder
from engine.rescoring import job_of, rescore, spreads
from engine.scoring import Score, fold_scores
from engine.settings import Configuration, Decoding

HEAD = 'def f{0}(x):\n    """Problem {0}."""\n'


@pytest.fixture
def replies(tmp_path: Path, kept: Callable[..., Any]) -> int:
    """A run of chat replies: one in a fence, one cut short before its fence closes, one without any code."""
    texts = [
        f"Sure:\n```python\n{HEAD.format(0)}    return right\n```\nDone.",
        f"```python\n{HEAD.format(1)}    return right",
        "I cannot do that.",
    ]
    for i, text in enumerate(texts):
        row = {"model": "m", "task_id": f"HumanEval/{i}", "response": text}
        path = tmp_path / f"run/generations/{i}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row), encoding="utf-8")
    run: int = kept(tmp_path / "run")[0]
    return run


def again(store: Store, source: int, sandbox: Any, *names: str) -> tuple[int, dict[str, Score], Any]:
    """Re-score a run under these extractions."""
    job = job_of(read_run(store, source), names)
    run = store.create_run("again", "", job.as_dict())
    done = rescore(Recorder(store, run), source, job, sandbox, open_benchmark, 1)
    from engine.events import from_dict

    return run, fold_scores(from_dict(body) for _, _, body in store.events(run)), done


def test_replies_are_judged_again_without_a_model(store: Store, replies: int, sandbox: Any) -> None:
    """New configurations differ in the extraction alone, and their counts are what the rules make of the replies."""
    run, scores, _ = again(store, replies, sandbox, "sanitize", "first_fence", "raw")
    found = {score.configuration.extraction: (score.passed, score.text) for score in scores.values()}
    assert found == {"sanitize": (2, "2/3"), "first_fence": (1, "1/3"), "raw": (0, "0/3")}
    (spread,) = spreads(scores.values())
    assert (spread.best, spread.worst, spread.judged) == (("sanitize", 2), ("raw", 0), 3)
    assert round(spread.points, 2) == 66.67
    assert run != replies


def test_a_rule_that_judged_fewer_is_named_and_not_compared(store: Store, replies: int, sandbox: Any) -> None:
    """Where a sample cannot be judged under one rule, that rule stands beside the spread, not in it."""
    _, scores, _ = again(store, replies, sandbox, "sanitize", "first_fence", "raw")
    (short,) = [score for score in scores.values() if score.configuration.extraction == "raw"]
    short.judged[2] = 0
    (spread,) = spreads(scores.values())
    assert (spread.best[0], spread.worst[0], spread.left_out) == ("sanitize", "first_fence", ("raw",))


def test_identical_programs_are_executed_once(store: Store, replies: int, sandbox: Any) -> None:
    """What an earlier scoring executed is not executed again, nor what two rules make alike."""
    before = len(sandbox.runs)
    _, _, done = again(store, replies, sandbox, "first_fence", "all_fences", "smart", "raw")
    assert (done.programs, done.executed, len(sandbox.runs)) == (12, 0, before)
    assert len(set(sandbox.runs)) == len(sandbox.runs)


def test_programs_without_replies_cannot_be_cut_otherwise(
    tmp_path: Path, store: Store, kept: Callable[..., Any]
) -> None:
    """A file of programs holds nothing to extract from; an unknown rule names the known ones."""
    path = tmp_path / "s.jsonl"
    path.write_text('{"task_id": "HumanEval/0", "solution": "right"}\n', encoding="utf-8")
    run = read_run(store, kept(path)[0])
    with pytest.raises(SettingsError, match="holds programs and no replies"):
        job_of(run, ["raw"])
    with pytest.raises(SettingsError, match="extraction 'best' is unknown; expected one of harness"):
        job_of(run, ["best"])


def stored(stop: str, cuts: tuple[str, ...] = (), tokens: int = 4) -> StoredGeneration:
    """A reply of a model that ended in one way."""
    return StoredGeneration("k", "m", "greedy", 10, "text", tuple(range(tokens)), stop, 100, 0.0, cuts)


def test_replies_that_do_not_serve_a_rule_are_not_judged_by_it(store: Store) -> None:
    """A reply ended at one rule's cut says nothing under another; a part of a longer one is read where it was kept."""
    assert serves(stored("end"), "sanitize")
    assert serves(stored("cut", ("harness:python:0",)), "harness")
    assert not serves(stored("cut", ("harness:python:0",)), "sanitize")
    c = Configuration("m", "humaneval", "completion", Decoding(), 14, "f16")
    assert reply_of(c, stored("end"), store) == "text"
    assert reply_of(c, stored("end", tokens=5), store) is None
    store.record(store.create_run("r", "", {}), [stored("end", tokens=5)], prefixes={("k", 4): "tex"})
    assert reply_of(c, stored("end", tokens=5), store) == "tex"


def test_denominator_is_the_benchmark_whatever_was_answered(store: Store, replies: int) -> None:
    """Asked, answered, without code and why programs failed stand beside the count."""
    run = read_run(store, replies)
    found = {s.configuration.extraction: s.denominator for s in sheets(store, run, opened(run, open_benchmark))}
    first = found["first_fence"]
    assert (first.asked, first.answered, first.missing, first.passed, first.no_code) == (3, 3, 0, 1, 2)
    assert first.kinds == {"no code found": 2}
    assert first.text == "1/3 passed · 3 answered, 0 not generated, 0 cut short, 2 without code"
    assert found["raw"].kinds == {"SyntaxError": 3}


@pytest.mark.parametrize(
    ("kind", "detail", "flags", "said"),
    [
        ("failed", "assert f(1) == 2", {}, "assertion"),
        ("exception", "NameError: name 'x' is not defined", {}, "NameError"),
        ("syntax error", "SyntaxError: invalid syntax", {}, "SyntaxError"),
        ("syntax error", "IndentationError: x", {"truncated": True}, "truncated"),
        ("syntax error", "x", {"no_code": True, "truncated": True}, "no code found"),
        ("timeout", "3 s of CPU time", {}, "timeout"),
    ],
)
def test_failures_have_one_kind(kind: str, detail: str, flags: dict[str, bool], said: str) -> None:
    """What the extraction knows comes first, then the exception's own name, then the outcome."""
    assert failure_kind(kind, detail, **flags) == said


PROGRAMS = [HEAD.format(i) + f"    return {'right' if i != 1 else 'wrong'}\n" for i in range(3)]


@pytest.fixture
def programs(tmp_path: Path, kept: Callable[..., Any]) -> int:
    """A whole run of programs, two of three right."""
    rows = [{"task_id": f"HumanEval/{i}", "solution": text} for i, text in enumerate(PROGRAMS)]
    path = tmp_path / "m_hf_temp_0.2.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run: int = kept(path)[0]
    return run


@pytest.mark.parametrize(
    ("kind", "file"),
    [("evalplus", "evalplus.jsonl"), ("human-eval", "human-eval.jsonl"), ("bigcode", "generations_humaneval.json"),
     ("lm-eval", "samples_humaneval.jsonl")],
)  # fmt: skip
def test_what_is_exported_is_imported_as_it_was(
    tmp_path: Path, store: Store, programs: int, benchmark: Benchmark, kept: Callable[..., Any], kind: str, file: str
) -> None:
    """Programs, their order and their verdicts come back, and writing the import again gives the same file."""
    run = read_run(store, programs)
    paths = write(sheets(store, run, opened(run, open_benchmark)), kind, tmp_path / "out")
    (path,) = [path for path in paths if path.name.endswith(file)]
    found = read_generations(path, benchmark.problems, kind)[0]
    texts = [s.text if kind != "human-eval" else HEAD.format(i) + s.text for i, s in enumerate(found.samples)]
    assert texts == PROGRAMS
    back, scores, _ = kept(path, kind)
    score = next(iter(scores.values()))
    assert (score.passes, score.finished) == ([1, 0, 1], True)
    second = read_run(store, back)
    chosen = [s for s in sheets(store, second, opened(second, open_benchmark)) if s.configuration.id == score.id]
    rewritten = write(chosen, kind, tmp_path / "again")
    (same,) = [path for path in rewritten if path.name.endswith(file)]
    if kind != "lm-eval":
        assert same.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_bigcode_results_come_back_as_settings(
    tmp_path: Path, store: Store, programs: int, benchmark: Benchmark
) -> None:
    """The configuration file beside the programs restores what is known, and adds nothing."""
    run = read_run(store, programs)
    paths = write(sheets(store, run, opened(run, open_benchmark)), "bigcode", tmp_path)
    (found,) = read_generations(paths[0], benchmark.problems, "bigcode", paths[1])
    assert (found.model, found.settings["temperature"]) == ("m", 0.2)
    assert "max_length" not in found.settings
    assert json.loads(paths[1].read_text(encoding="utf-8"))["humaneval"] == {"pass@1": 2 / 3}


def test_records_carry_our_axes_and_the_denominator(tmp_path: Path, store: Store, programs: int) -> None:
    """Every-eval-ever's details are text to text; the draft for the hub says what the score stands on."""
    run = read_run(store, programs)
    found = sheets(store, run, opened(run, open_benchmark))
    record_path, instances = write(found, "every-eval-ever", tmp_path)
    record = json.loads(record_path.read_text(encoding="utf-8"))
    (result,) = record["evaluation_results"]
    details = result["generation_config"]["additional_details"]
    assert (details["extraction"], details["asked"], details["length"]) == ("as stored", "3", "unknown")
    assert all(isinstance(value, str) for value in details.values())
    assert result["score_details"]["score"] == 2 / 3
    assert len(instances.read_text(encoding="utf-8").splitlines()) == 3
    (draft,) = write(found, "eval-results", tmp_path)
    assert "value: 66.6667" in draft.read_text(encoding="utf-8")
    assert "0 not generated" in draft.read_text(encoding="utf-8")
    with pytest.raises(SettingsError, match="kind 'csv' is unknown; expected one of evalplus"):
        write(found, "csv", tmp_path)
    assert len(KINDS) == 6


def test_what_could_not_be_judged_is_exported_without_a_verdict(tmp_path: Path, store: Store, programs: int) -> None:
    """An unavailable outcome is no failure in records and samples, and the draft calls its value a lower bound."""
    run = read_run(store, programs)
    (sheet,) = sheets(store, run, opened(run, open_benchmark))
    first = replace(sheet.judgements[0], kind="unavailable")
    odd = replace(
        sheet,
        judgements=(first, *sheet.judgements[1:]),
        denominator=replace(sheet.denominator, passed=1, unavailable=1),
    )
    _, instances = write([odd], "every-eval-ever", tmp_path)
    told = [json.loads(line)["evaluation"] for line in instances.read_text(encoding="utf-8").splitlines()]
    assert told[0] == {"score": None, "is_correct": None} and told[1] == {"score": 0.0, "is_correct": False}
    samples = next(path for path in write([odd], "lm-eval", tmp_path) if "samples" in path.name)
    assert [json.loads(line)["pass@1"] for line in samples.read_text(encoding="utf-8").splitlines()] == [None, 0, 1]
    (draft,) = write([odd], "eval-results", tmp_path)
    assert "# The value is a lower bound: 1 of 3 samples have no outcome." in draft.read_text(encoding="utf-8")
    (whole_draft,) = write([sheet], "eval-results", tmp_path)
    assert "lower bound" not in whole_draft.read_text(encoding="utf-8")
