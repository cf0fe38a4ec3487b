"""Files of generations that are cut, doubled, packed, of another benchmark or of another shape."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ImportedError
from engine.importing import configuration_of
from engine.imports import read_generations
from engine.protocols import Benchmark, Problem


def lines(path: Path, *rows: object) -> Path:
    """Rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def whole(path: Path, value: object) -> Path:
    """One JSON value."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def log(path: Path, *samples: object, header: object = None) -> Path:
    """An inspect log of these samples."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header if header is not None else {"eval": {"model": "m"}}))
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}.json", json.dumps(sample))
    return path


SAMPLE: dict[str, Any] = {"id": "HumanEval/0", "epoch": 1, "output": {"choices": [{"message": {"content": "a"}}]}}


def test_another_benchmarks_names_are_refused(tmp_path: Path, benchmark: Benchmark) -> None:
    """`Mbpp/1` is no problem of HumanEval, though HumanEval has a problem 1; the bare number and other case are."""
    with pytest.raises(ImportedError, match=r"task 'Mbpp/1' is no problem of this benchmark"):
        read_generations(lines(tmp_path / "a.jsonl", {"task_id": "Mbpp/1", "completion": ""}), benchmark.problems)
    rows = [{"task_id": name, "completion": ""} for name in (0, "humaneval/1")]
    (found,) = read_generations(lines(tmp_path / "b.jsonl", *rows), benchmark.problems)
    assert [sample.task_id for sample in found.samples] == ["HumanEval/0", "HumanEval/1"]


def test_the_pack_goes_by_humanevals_names_too(tmp_path: Path) -> None:
    """HumanEval/3 is Python/3 of HumanEvalPack; Java/3 is not."""
    problems = [Problem(f"Python/{n}", "f", "def f():\n", "", "", "", "", "") for n in range(4)]
    (found,) = read_generations(lines(tmp_path / "a.jsonl", {"task_id": "HumanEval/3", "completion": ""}), problems)
    assert found.samples[0].task_id == "Python/3"
    with pytest.raises(ImportedError, match="task 'Java/3'"):
        read_generations(lines(tmp_path / "b.jsonl", {"task_id": "Java/3", "completion": ""}), problems)


def test_a_packed_file_is_read_as_the_plain_one(tmp_path: Path, benchmark: Benchmark) -> None:
    """`samples.jsonl.gz` reads as `samples.jsonl`, byte-order mark and CRLF included; half of it is refused."""
    plain = lines(tmp_path / "s.jsonl", *({"task_id": f"HumanEval/{n}", "completion": "x" * 5000} for n in range(3)))
    data = b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\n", b"\r\n")
    packed = tmp_path / "p.jsonl.gz"
    packed.write_bytes(gzip.compress(data))
    assert read_generations(packed, benchmark.problems) == read_generations(plain, benchmark.problems)
    packed.write_bytes(gzip.compress(data)[:-20])
    with pytest.raises(ImportedError, match="cannot be read"):
        read_generations(packed, benchmark.problems)


def test_a_line_ends_at_a_newline_only(tmp_path: Path, benchmark: Benchmark) -> None:
    """What Unicode takes for the end of a line, inside a reply, ends none."""
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"task_id": 0, "completion": "a\u2028b\x85c\rd"}, ensure_ascii=False) + "\n", "utf-8")
    (found,) = read_generations(path, benchmark.problems)
    assert found.samples[0].text == "a\u2028b\x85c\rd"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"\n \n", "the file is empty"),
        ("a.json", b"", "the file is empty"),
        ("a.jsonl", '{"task_id": 0, "completion": "x"}'.encode("utf-16"), "save it as UTF-8"),
        ("a.json", b'["def f(): pass"]', "a list of texts alone holds references"),
        ("a.json", b"[5]", "expected a list of programs, found int"),
        ("a.eval", b"PK\x03\x04 half", "not a whole .eval log"),
    ],
)  # fmt: skip
def test_what_cannot_be_generations_is_named(
    tmp_path: Path, benchmark: Benchmark, name: str, content: bytes, said: str
) -> None:
    """Each wrong file is one sentence with its cause."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportedError, match=said):
        read_generations(path, benchmark.problems)


@pytest.mark.parametrize(
    "sample",
    [None, {**SAMPLE, "epoch": "two"}, {**SAMPLE, "epoch": 0}, {**SAMPLE, "id": None}],
)
def test_odd_samples_of_a_log_are_named(tmp_path: Path, benchmark: Benchmark, sample: object) -> None:
    """A sample without an id, or of no epoch, is refused with its place."""
    with pytest.raises(ImportedError, match=r"l\.eval, sample"):
        read_generations(log(tmp_path / "l.eval", sample), benchmark.problems)


def test_a_log_without_a_reply_has_none_there(tmp_path: Path, benchmark: Benchmark) -> None:
    """Choices, scores and settings of another shape are unknown; a choice that is none is no empty reply."""
    odd = {**SAMPLE, "id": "HumanEval/1", "output": {"choices": [None]}, "scores": {"v": 5}}
    path = log(
        tmp_path / "l.eval",
        SAMPLE,
        odd,
        {**odd, "id": 2, "output": "x"},
        header={"eval": {"model": "m", "model_generate_config": "x"}},
    )
    (found,) = read_generations(path, benchmark.problems)
    assert [(sample.task_id, sample.text) for sample in found.samples] == [("HumanEval/0", "a")]
    assert not found.settings


def test_a_sample_that_stands_twice_is_refused(tmp_path: Path, benchmark: Benchmark) -> None:
    """Two runs in one file of lm-eval's: neither is taken for the other."""
    row = {"doc": {"task_id": 0}, "resps": [["x"]], "filtered_resps": ["x"], "filter": "none"}
    with pytest.raises(ImportedError, match="sample 0 of HumanEval/0 stands there 2 times"):
        read_generations(lines(tmp_path / "s.jsonl", row, row), benchmark.problems)


def test_uneven_samples_are_said(tmp_path: Path, benchmark: Benchmark) -> None:
    """Where problems have one to three samples, the note says what is taken as asked."""
    (found,) = read_generations(whole(tmp_path / "g.json", [["a"], ["a", "b", "c"]]), benchmark.problems)
    assert found.notes[0].startswith("problems have 1 to 3 samples: 3 are taken as asked of each")
    assert configuration_of(found, benchmark).samples == 3


def test_half_a_character_is_replaced_and_said(tmp_path: Path, benchmark: Benchmark) -> None:
    """A lone surrogate, which no UTF-8 holds, becomes the replacement character; the other text stays as it is."""
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"task_id": 0, "completion": "a\\ud83d\\n"}\n{"task_id": 1, "completion": "\\ud83d\\ude00\\u0000"}\n'
    )
    (found,) = read_generations(path, benchmark.problems)
    assert [sample.text for sample in found.samples] == ["a\ufffd\n", "\U0001f600\0"]
    assert found.notes == ("1 texts hold half a character, which UTF-8 cannot: it is replaced there",)


def test_settings_that_are_no_numbers_are_named(tmp_path: Path, benchmark: Benchmark) -> None:
    """A temperature that is a word, or a first problem that is none, is an error with its place, not a guess."""
    path = whole(tmp_path / "g.json", [["a"]])
    for config, said in (
        ({"temperature": "hot"}, "setting temperature: expected a number, found 'hot'"),
        ({"seed": float("inf")}, "setting seed"),
        ({"limit_start": "5"}, "config.limit_start"),
        ({"limit_start": -3}, "config.limit_start"),
    ):
        with pytest.raises(ImportedError, match=said):
            read_generations(path, benchmark.problems, "bigcode", whole(tmp_path / "r.json", {"config": config}))


def test_what_a_file_does_not_tell_of_drawing_is_unknown(tmp_path: Path, benchmark: Benchmark) -> None:
    """A temperature alone says nothing of top_p and top_k; what is told stays."""
    path = lines(tmp_path / "m_vllm_temp_0.8.jsonl", {"task_id": 0, "solution": "x"})
    decoding = configuration_of(read_generations(path, benchmark.problems)[0], benchmark).decoding
    assert (decoding.label, decoding.told) == ("T=0.8 (top_p and top_k unknown)", {"temperature": 0.8})
    config = {"config": {"temperature": 0.2, "top_p": 0.95, "top_k": 0, "do_sample": True}}
    results = whole(tmp_path / "r.json", config)
    (found,) = read_generations(whole(tmp_path / "g.json", [["a"]]), benchmark.problems, "bigcode", results)
    assert configuration_of(found, benchmark).decoding.label == "T=0.2"
