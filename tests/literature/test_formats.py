"""Every format that people have results in: the same scores, the same places, or a clear refusal."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from literature.errors import TableError
from literature.table import Table, read_table
from literature.values import printed

PAPER = [("CodeLlama (7B)", "42.1", ("21",)), ("CodeLlama (7B)", "44.9", ("16", "22")), ("StarCoder", "8.7", ())]


def read(folder: Path, name: str, text: str | bytes) -> Table:
    """Write a file and read it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path)


def triples(table: Table) -> list[tuple[str, str, tuple[str, ...]]]:
    """What the tests compare."""
    return [(score.model, score.value, score.sources) for score in table.scores]


MARKDOWN = """# Results

| Model | HumanEvalFix |
|:------|-------------:|
| **CodeLlama (7B)** | 42.1 [21], `44.9` [16,22] |
| [StarCoder](https://example.org/a_(b)) | **8.7**<sup>1</sup> |
"""

LATEX = r"""
\begin{table} % a comment & with \\ rows
\begin{tabular}{l@{\hskip 2pt}rr} \toprule
\multirow{2}{*}{Model} & \multicolumn{2}{c}{HumanEvalFix} \\ \cmidrule(lr){2-3}
 & Python & Java \\ \midrule
\multirow{2}{*}{\textbf{CodeLlama} (7B)} & 42.1~\cite{21} & -- \\
 & \textbf{44.9} \cite{16,22} & $-$ \\[2pt]
StarCoder$^{\dagger}$ & \underline{8.7}\textsuperscript{a} & 3.1\,\% \\ \bottomrule
\end{tabular}
\end{table}
"""

HTML = """<html><table><thead><tr><th>Model</th><th>HumanEvalFix</th></tr></thead>
<tr><td rowspan="2">CodeLlama&nbsp;(7B)</td><td>42.1 [21]</td></tr>
<tr><td><b>44.9</b> [16,22]</td></tr>
<tr><td>StarCoder<td>8.7<sup>2</sup></tr></table></html>"""


def test_markdown(tmp_path: Path) -> None:
    """Emphasis, links and footnotes go, reference marks stay."""
    found = read(tmp_path, "paper.md", MARKDOWN)
    assert triples(found) == PAPER
    assert found.scores[0].place.endswith("paper.md:5")
    assert found.scores[0].benchmark == "HumanEvalFix"


def test_latex(tmp_path: Path) -> None:
    """booktabs, multirow, multicolumn headers, citations, bold, dashes and thin spaces are read."""
    found = read(tmp_path, "paper.tex", LATEX)
    python = [score for score in found.scores if score.benchmark == "HumanEvalFix Python"]
    assert [(score.model, score.value, score.sources) for score in python] == PAPER
    (java,) = [score for score in found.scores if score.benchmark == "HumanEvalFix Java"]
    assert (java.model, java.value) == ("StarCoder", "3.1")
    assert python[0].place.endswith(":6")
    assert not found.unread


def test_html(tmp_path: Path) -> None:
    """Row spans are filled, raised marks dropped, unclosed cells tolerated."""
    assert triples(read(tmp_path, "paper.html", HTML)) == PAPER


def test_json_rows_keep_trailing_zeros(tmp_path: Path) -> None:
    """A list of objects, and JSON Lines; 28.0 is not 28."""
    rows = [{"model": "a", "value": 28.0, "sources": ["1", "2"]}, {"model": "b", "value": "28"}]
    for name, text in (("t.json", json.dumps(rows)), ("t.jsonl", "\n".join(map(json.dumps, rows)))):
        assert triples(read(tmp_path, name, text)) == [("a", "28.0", ("1", "2")), ("b", "28", ())]


def test_bigcode_results_are_full_precision_with_stated_settings(tmp_path: Path) -> None:
    """The harness's own file: fractions of one, model and settings from its config."""
    data = {
        "humanevalfixtests-python": {"pass@1": 0.4746951219512195, "pass@10": 0.6},
        "config": {"model": "octocoder", "temperature": 0.2, "n_samples": 20, "precision": "bf16", "do_sample": True,
                   "max_length_generation": 2048, "prompt": "octocoder", "top_p": 0.95},
    }  # fmt: skip
    first, second = read(tmp_path, "evaluation_results.json", json.dumps(data)).scores
    assert (first.model, first.benchmark, first.metric) == ("octocoder", "humanevalfixtests-python", "pass@1")
    assert first.value == "47.46951219512195"
    assert first.printed == "0.4746951219512195"
    assert first.stated["samples"] == "20"
    assert first.stated["decoding"] == "sampled"
    assert second.value == "60"


def test_lm_eval_and_evalplus_and_leaderboards(tmp_path: Path) -> None:
    """Other harnesses' result files."""
    lm_eval = {"results": {"humaneval": {"alias": "x", "pass@1,create_test": 0.5121951219512195,
               "pass@1_stderr,create_test": 0.039}}, "config": {"model": "hf", "model_dtype": "bf16"},
               "model_name": "qwen"}  # fmt: skip
    (score,) = read(tmp_path, "results_x.json", json.dumps(lm_eval)).scores
    assert (score.model, score.value, score.uncertainty) == ("qwen", "51.21951219512195", "3.9")
    assert score.stated == {"harness": "lm-evaluation-harness", "precision": "bf16", "filter": "create_test"}
    evalplus = {"eval": {}, "pass_at_k": {"base": {"pass@1": 0.5}, "plus": {"pass@1": 0.25}}}
    found = read(tmp_path, "llama_temp_0.0.eval_results.json", json.dumps(evalplus))
    assert [(s.model, s.benchmark, s.value) for s in found.scores] == [
        ("llama_temp_0.0", "humaneval", "50"),
        ("llama_temp_0.0", "humanevalplus", "25"),
    ]
    board = {"results": [{"task": "humaneval", "pass@1": 0.335}], "meta": {"model": "m"}}
    assert triples(read(tmp_path, "board.json", json.dumps(board))) == [("m", "33.5", ())]
    big = {"pass@1": 0.424, "model": "m", "split": "complete", "subset": "full"}
    assert read(tmp_path, "pass_at_k.json", json.dumps(big)).scores[0].benchmark == "complete-full"


def test_papers_with_code_dump_gzipped(tmp_path: Path) -> None:
    """Only code benchmarks are taken, subtasks included, with the paper as source."""
    rows = [{"model_name": "m", "metrics": {"Pass@1": "33.5"}, "paper_title": "A; paper"}]
    data = [
        {"task": "t", "datasets": [{"dataset": "ImageNet", "sota": {"rows": rows}}],
         "subtasks": [{"datasets": [{"dataset": "HumanEval", "sota": {"rows": rows}}], "subtasks": []}]},
    ]  # fmt: skip
    found = read(tmp_path, "evaluation-tables.json.gz", gzip.compress(json.dumps(data).encode()))
    assert triples(found) == [("m", "33.5", ("A, paper",))]
    assert found.scores[0].benchmark == "HumanEval"


def test_every_eval_ever(tmp_path: Path) -> None:
    """The aggregate file: scale from the metric's maximum, settings from the generation arguments."""
    data = {
        "schema_version": "0.3.0",
        "source_metadata": {"source_organization_name": "lab"},
        "model_info": {"name": "m"},
        "eval_library": {"name": "evalplus"},
        "evaluation_results": [
            {"evaluation_name": "humaneval", "metric_config": {"metric_id": "pass@k", "metric_parameters": {"k": 1},
             "max_score": 1}, "score_details": {"score": 0.61},
             "generation_config": {"generation_args": {"temperature": 0.2}}}
        ],
    }  # fmt: skip
    (score,) = read(tmp_path, "eee.json", json.dumps(data)).scores
    assert (score.model, score.metric, score.value, score.sources) == ("m", "pass@1", "61", ("lab",))
    assert score.stated == {"temperature": "0.2", "harness": "evalplus"}


def test_model_cards_and_eval_results(tmp_path: Path) -> None:
    """model-index front matter, and the newer YAML list; YAML numbers stay text."""
    pytest.importorskip("yaml")
    card = """---
license: mit
model-index:
- name: m
  results:
  - task: {type: text-generation}
    dataset: {type: humanevalfix-python, name: HumanEvalFix, revision: abc}
    metrics:
    - {type: pass@1, name: pass@1, value: 28.0}
    source: {url: "https://example.org"}
---
# Card
"""
    (score,) = read(tmp_path, "README.md", card).scores
    assert (score.model, score.benchmark, score.metric, score.value) == ("m", "HumanEvalFix", "pass@1", "28.0")
    assert score.sources == ("https://example.org",)
    listed = "- dataset: {id: org/bench, task_id: humaneval}\n  value: 33.50\n  notes: greedy, 1 repeat\n"
    (score,) = read(tmp_path, "model-x/.eval_results/a.yaml", listed).scores
    assert (score.model, score.benchmark, score.value) == ("model-x", "humaneval", "33.50")
    assert score.stated["note"] == "greedy, 1 repeat"


def test_sieval_alignment_cards(tmp_path: Path) -> None:
    """reference_scores are the claims, the reference's source their source; a task without a number is listed."""
    card = """---
reference:
  kind: tr
  source: "arXiv:2401.00001"
  title: A report
tolerance: 1.0
reference_scores:
  model-7b: {humaneval: 42.10, mbpp: soon}
  model-1b: {humaneval: 28.0}
---
Prose with | bars |
"""
    found = read(tmp_path, "stage.md", card)
    assert [(s.model, s.benchmark, s.value, s.sources) for s in found.scores] == [
        ("model-7b", "humaneval", "42.10", ("arXiv:2401.00001",)),
        ("model-1b", "humaneval", "28.0", ("arXiv:2401.00001",)),
    ]
    assert [item.text for item in found.unread] == ["soon"]


def test_spreadsheets_show_what_the_sheet_shows(tmp_path: Path) -> None:
    """Trailing zeros and percent signs come from the cell's number format."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["model", "value", "sources"])
    for row in (["a", 28, "1"], ["b", 0.475, "2"], ["c", 47.56, 3]):
        sheet.append(row)
    sheet["B2"].number_format = "0.0"
    sheet["B3"].number_format = "0.0%"
    book.save(tmp_path / "t.xlsx")
    found = triples(read_table(tmp_path / "t.xlsx"))
    assert found == [("a", "28.0", ("1",)), ("b", "47.5", ("2",)), ("c", "47.56", ("3",))]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "malformed JSON"),
        ("a.json", "[" * 100_000, "JSON"),
        ("a.json", '{"a": 1}', "no known shape"),
        ("a.json", "[1, 2]", "without objects"),
        ("a.jsonl", '{"model": "a", "value": 1}\n{"model"', "malformed JSON"),
        ("a.tex", r"\begin{tabular}{ll} a & b \\ c & 1", "never closed"),
        ("a.html", "<table><tr><th>model</table>", "no table with rows"),
        ("a.md", "| a | b |\n|---|---|\n", "no pipe table"),
        ("a.csv.gz", b"\x1f\x8bnot gzip", "gzip"),
        ("a.xlsx", b"PK\x03\x04 not a workbook", "workbook|openpyxl"),
        ("a.yaml", "a: [b", "YAML"),
        ("a.csv", b"\xff\xfe\x00", "UTF-16"),
    ],
)
def test_broken_files_are_refused_in_one_sentence(tmp_path: Path, name: str, text: str | bytes, words: str) -> None:
    """Whatever is broken, a TableError names the file and what was expected."""
    with pytest.raises(TableError, match=words) as caught:
        read(tmp_path, name, text)
    assert caught.value.file.endswith(name)


def test_one_bad_table_of_a_document_does_not_hide_the_others(tmp_path: Path) -> None:
    """A document with two tables, one without scores: the scores are read, the other is listed."""
    text = MARKDOWN + "\n| Model | License |\n|---|---|\n| a | MIT |\n"
    found = read(tmp_path, "paper.md", text)
    assert triples(found) == PAPER
    assert any("License" in item.text and "MIT" in item.reason for item in found.unread)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "model,value\na," + "1 " * 500_000),
        ("a.md", "| model | v |\n|---|---|\n| a | " + "[" * 1_000_000 + " |"),
        ("a.md", "-" * 1_000_000 + "\n" + " " * 1_000_000),
        ("a.tex", "\\begin{tabular}{l}" + "{" * 1_000_000),
        ("a.html", "<table>" + "<!--" * 250_000),
        ("a.json", "[" * 1_000_000),
    ],
)
def test_a_megabyte_without_meaning_is_refused_at_once(tmp_path: Path, name: str, text: str) -> None:
    """Huge cells, nesting and unclosed constructs are a TableError; `bench/tables.py` times them."""
    with pytest.raises(TableError):
        read(tmp_path, name, text)


PIECES = st.sampled_from(
    [
        *"|&,;%{}[]<>\\\"'$~-:.0129ab\n\t é½²\u0661",
        *(
            "\\\\",
            "\\midrule",
            "\\begin{tabular}{ll}",
            "\\end{tabular}",
            "\\multirow{3}{*}{x}",
            "\\multicolumn{2}{c}{y}",
        ),
        *("|---|---|", "<table>", "<tr><td rowspan=3>", "<th>", "</table>", "model", "value", "model,value\n"),
        *("0.475", "47.5%", "42,1", "[21]", "±1.2", "1e5", "nan", "---\nmodel-index:\n", '{"model": 1, "value": 2}'),
    ]
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.sampled_from(["a.csv", "a.tsv", "a.md", "a.tex", "a.html", "a.json", "a.yaml", "README.md"]),
    st.lists(PIECES, max_size=40).map("".join) | st.binary(max_size=60),
)
def test_any_file_gives_a_table_or_a_table_error(tmp_path: Path, name: str, content: str | bytes) -> None:
    """Whatever a file holds, reading it ends in scores between 0 and 100 or in a TableError."""
    try:
        found = read(tmp_path, name, content)
    except TableError as error:
        assert error.file.endswith(name)
        return
    assert found.scores
    assert all(0 <= printed(score.value).percent <= 100 for score in found.scores)
