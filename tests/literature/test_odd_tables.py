"""Tables as people really have them: merged cells, broken archives, counts in place of percentages."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import openpyxl
import pytest

from literature.arithmetic import misfit, stated_problems
from literature.errors import TableError
from literature.records import ReportedScore
from literature.table import Table, read_table, write_table


def read(folder: Path, name: str, text: str | bytes) -> Table:
    """Write a file and read it."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path)


def rows(table: Table) -> list[tuple[str, str, str]]:
    """Model, benchmark and value of each score."""
    return [(score.model, score.benchmark, score.value) for score in table.scores]


@pytest.mark.parametrize("text", ["78/164", "30/40", "78 / 164", "~42", "≈42", ">50", "≤50", r"$\sim$42"])
def test_a_count_or_an_approximation_is_no_percentage(tmp_path: Path, text: str) -> None:
    """78/164 is not 78 %, and about 42 is not 42: refused with the place."""
    found = read(tmp_path, "t.csv", f"model,value\nA,{text}\nB,42.1\n")
    assert rows(found) == [("B", "", "42.1")]
    assert [item.place.rpartition("t.csv")[2] for item in found.unread] == [":2:2"]


@pytest.mark.parametrize(
    ("cell", "value", "count", "sources"),
    [
        ("47.6 (78/164)", "47.6", "78/164", ()),
        ("47.6% (78 of 164)", "47.6", "78/164", ()),
        ("78/164 (47.6%)", "47.6", "78/164", ()),
        ("47.5 (78/164)", "47.5", "78/164", ()),
        ("0.476 (78/164) [16,22]", "47.6", "78/164", ("16", "22")),
        ("48.9±1.2 [27] (1603/3280)†", "48.9", "1603/3280", ("27",)),
    ],
)
def test_a_count_beside_its_score_is_kept(
    tmp_path: Path, cell: str, value: str, count: str, sources: tuple[str, ...]
) -> None:
    """A score with its count in brackets, or the other way round, is the score; the count is what the source states."""
    (score,) = read(tmp_path, "t.csv", f'model,value\nA,"{cell}"\n').scores
    assert (score.value, score.stated, score.sources) == (value, {"count": count}, sources)
    write_table([score], tmp_path / "again.json")
    (again,) = read_table(tmp_path / "again.json").scores
    assert (again.value, again.stated) == (value, {"count": count})


def test_a_small_count_below_a_score_in_latex(tmp_path: Path) -> None:
    r"""A count in a smaller size or on a second line is the count; `\\footnotesize` is no footnote."""
    cells = (r"47.6\% {\footnotesize (78/164)}", r"\makecell{47.6\\(78/164)}", r"78/164 (\textbf{47.6})")
    lines = "".join(rf"{name} & {cell} \\" for name, cell in zip("ABC", cells, strict=True))
    found = read(tmp_path, "t.tex", rf"\begin{{tabular}}{{lc}} Model & MBPP \\ {lines} \end{{tabular}}")
    assert [(score.value, score.stated) for score in found.scores] == [("47.6", {"count": "78/164"})] * 3


def test_a_count_beside_a_score_in_a_json_table(tmp_path: Path) -> None:
    """A structured file is read as a table is: the count is kept, and none of it is taken for the source's own form."""
    (score,) = read(tmp_path, "t.json", json.dumps([{"model": "A", "value": "78/164 (47.6%)"}])).scores
    assert (score.value, score.stated, score.printed) == ("47.6", {"count": "78/164"}, "")


def test_several_scores_with_counts_stand_in_one_cell(tmp_path: Path) -> None:
    """Only the number that a count stands behind has it; a decimal comma and a slash between scores stay readable."""
    found = read(tmp_path, "t.csv", 'model;value\nA;"78/164 (47,6) [21]; 44,9 [16] / 50,0 (82/164)"\n').scores
    assert [(score.value, score.stated.get("count", "")) for score in found] == [
        ("47.6", "78/164"), ("44.9", ""), ("50.0", "82/164"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("47.6 (79/164)", "79/164 is 48.17 %, which does not print as 47.6"),
        ("79/164 (47.6%)", "79/164 is 48.17 %, which does not print as 47.6"),
        ("47.6 (165/164)", "165 of 164 cannot be"),
        ("47.6 (0/0)", "0 of 0 cannot be"),
    ],
)
def test_a_count_that_contradicts_its_score_is_named(tmp_path: Path, cell: str, reason: str) -> None:
    """Which of the two is right cannot be told: the cell is refused with its place, the other rows are read."""
    found = read(tmp_path, "t.csv", f"model,value\nA,{cell}\nB,42.1\n")
    assert rows(found) == [("B", "", "42.1")]
    ((place, _, said),) = found.unread
    assert place.endswith("t.csv:2:2") and reason in said


def test_a_count_says_the_number_of_problems_where_the_samples_are_stated(tmp_path: Path) -> None:
    """77.3 is no count of 164 but 126 of 163, which the cell says; without stated samples N stays unknown."""
    stated, unstated = read(tmp_path, "t.csv", "model,value,samples\nA,77.3 (126/163),1\nB,77.3 (126/163),\n").scores
    assert stated_problems(stated) == 163 and misfit(stated, 164) == ""
    assert stated_problems(unstated) is None
    (bare,) = read(tmp_path, "u.csv", "model,value,samples\nA,77.3,1\n").scores
    assert "no count of 164 prints as 77.3" in misfit(bare, 164)


def test_two_scores_may_stand_beside_a_slash(tmp_path: Path) -> None:
    """`42.1 / 44.9` are two scores, and `.475` is 47.5 %."""
    found = read(tmp_path, "t.csv", "model,value\nA,42.1 / 44.9\nB,.475\n")
    assert [(score.value, score.printed) for score in found.scores] == [("42.1", ""), ("44.9", ""), ("47.5", ".475")]


def test_numbers_beside_scores_are_no_scores(tmp_path: Path) -> None:
    """A column of sizes is listed, not read; so is what stands under no header."""
    found = read(tmp_path, "t.csv", "Model,Params (B),HumanEvalFix,\nA,13,42.1,9.9\n")
    assert rows(found) == [("A", "HumanEvalFix", "42.1")]
    assert {(item.text, item.reason.partition(",")[0]) for item in found.unread} == {
        ("Params (B)", "unknown column"),
        ("9.9", "a column without a header"),
    }


LATEX = r"""
{\small \begin{tabular}{lcc}
\toprule
Model & \makecell{HumanEvalFix\\pass@1} & MBPP \\
\midrule
 & 1.5 & 2.5 \\
\multirow{-2}{*}{A} & 3.5 & 4.5 \\
 & $5.5_{\pm 1.2}$ & 6.5\textsuperscript{\cite{x}} \\
\multirow{-2}{*}{\begin{tabular}[c]{@{}l@{}}B\\long\end{tabular}} & 7.5\footnote{of {their} card} & 8.5 \\
\bottomrule
\end{tabular}}
"""


def test_latex_cells_of_several_lines(tmp_path: Path) -> None:
    """A line break inside a cell ends no row, and \\multirow with a negative number names the rows above it."""
    found = read(tmp_path, "t.tex", LATEX)
    assert rows(found) == [
        ("A", "HumanEvalFix", "1.5"), ("A", "MBPP", "2.5"), ("A", "HumanEvalFix", "3.5"), ("A", "MBPP", "4.5"),
        ("B long", "HumanEvalFix", "5.5"), ("B long", "MBPP", "6.5"),
        ("B long", "HumanEvalFix", "7.5"), ("B long", "MBPP", "8.5"),
    ]  # fmt: skip
    assert not found.unread
    assert [(score.uncertainty, score.sources) for score in found.scores[4:6]] == [("1.2", ()), ("", ("x",))]
    assert [int(score.place.rpartition(":")[2]) for score in found.scores[::2]] == [6, 7, 8, 9]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.html", "<table><tr><th>Model<th>MBPP</tr><tr><td>A<td>{}</tr></table>"),
        ("t.md", "| Model | MBPP |\n|---|---|\n| A | {} |\n"),
    ],
)
def test_raised_and_lowered_texts(tmp_path: Path, name: str, text: str) -> None:
    """A deviation below and a citation above a number belong to it; a footnote mark does not."""
    (score,) = read(tmp_path, name, text.format("47.5<sub>±1.2</sub><sup>[21]</sup>")).scores
    assert (score.value, score.uncertainty, score.sources) == ("47.5", "1.2", ("21",))
    (score,) = read(tmp_path, name, text.format("47.5<sup>2</sup>")).scores
    assert (score.value, score.uncertainty, score.sources) == ("47.5", "", ())


def workbook(path: Path) -> Path:
    """A workbook with merged cells, a formula that nothing has calculated, and two sheets."""
    book = openpyxl.Workbook()
    first = book.active
    assert first is not None
    for row in (["Model", "HumanEvalFix", None], [None, "tests", "docs"], ["A", 1.5, 2.5], [None, 3.5, "=B3+1"]):
        first.append(row)
    for area in ("B1:C1", "A3:A4"):
        first.merge_cells(area)
    second = book.create_sheet("more")
    for row in (["Model", "MBPP"], ["B", 4.5]):
        second.append(row)
    book.save(path)
    return path


def test_merged_cells_and_formulas_of_a_workbook(tmp_path: Path) -> None:
    """A merged cell holds for all its rows and columns; a formula without a value is listed; places name the sheet."""
    found = read_table(workbook(tmp_path / "t.xlsx"))
    assert rows(found) == [
        ("A", "HumanEvalFix tests", "1.5"), ("A", "HumanEvalFix docs", "2.5"), ("A", "HumanEvalFix tests", "3.5"),
        ("B", "MBPP", "4.5"),
    ]  # fmt: skip
    assert [item.text for item in found.unread] == ["=B3+1"]
    assert found.unread[0].place.endswith("t.xlsx[Sheet]:4:3")


def test_a_broken_workbook_is_one_sentence(tmp_path: Path) -> None:
    """A sheet that ends in the middle is refused by name."""
    whole = workbook(tmp_path / "t.xlsx")
    broken = tmp_path / "broken.xlsx"
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(broken, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data[:200] if name.endswith("sheet1.xml") else data)
    with pytest.raises(TableError, match=r"broken\.xlsx: no readable workbook"):
        read_table(broken)


def test_a_gzip_that_is_cut_is_refused_and_all_its_members_are_read(tmp_path: Path) -> None:
    """Half a file is no shorter table, and two files packed one behind the other are both there."""
    packed = gzip.compress(b"model,value\n" + b"".join(b"m%d,%d.5\n" % (i, i % 90) for i in range(3000)))
    with pytest.raises(TableError, match="ends in the middle"):
        read(tmp_path, "t.csv.gz", packed[: len(packed) // 2])
    both = gzip.compress(b"model,value\nA,42.1\n") + gzip.compress(b"B,43.1\n")
    assert [score.model for score in read(tmp_path, "u.csv.gz", both).scores] == ["A", "B"]


def test_what_json_holds_besides_scores_is_listed(tmp_path: Path) -> None:
    """Items that are no objects, metrics that are no pass@k and models without a score stand in the list, in place."""
    found = read(
        tmp_path, "t.json", json.dumps([{"model": "A", "value": "42.1"}, ["B", 44], {"model": "C", "value": 43}])
    )
    assert [score.place.rpartition(":")[2] for score in found.scores] == ["1", "3"]
    assert [item.text for item in found.unread] == ["['B', '44']"]
    results = {
        "results": {
            "mbpp": {"alias": "mbpp", "pass_at_1,none": 0.42, "pass_at_1_stderr,none": 0.022},
            "gsm8k": {"exact_match,strict-match": 0.3},
        },
        "config": {"model": "hf", "model_args": "pretrained=a/b,dtype=float16"},
    }
    found = read(tmp_path, "lm.json", json.dumps(results))
    (score,) = found.scores
    assert (score.model, score.metric, score.value, score.uncertainty) == ("a/b", "pass@1", "42", "2.2")
    assert [item.text for item in found.unread] == ["exact_match,strict-match: 0.3"]
    card = "---\nreference: {source: http://x}\nreference_scores:\n  M: {humaneval: 33.5}\n  N: 5\n---\n"
    assert [item.text for item in read(tmp_path, "card.md", card).unread] == ["N: 5"]


@pytest.mark.parametrize(
    "data",
    [
        {"model_info": {"name": "m"}, "evaluation_results": None},
        {"model_info": {"name": "m"}, "evaluation_results": [None, 5]},
        {"model_info": None, "evaluation_results": [{"evaluation_name": "x", "score_details": {"score": 0.47}}]},
        [{"task": "t", "datasets": [None, {"dataset": "HumanEval", "sota": {"rows": [None]}}]}],
    ],
)
def test_structured_files_of_another_shape_are_one_sentence(tmp_path: Path, data: object) -> None:
    """A record whose parts are missing or of another type gives a place and a reason, never a score without a model."""
    with pytest.raises(TableError, match=r"t\.json"):
        read(tmp_path, "t.json", json.dumps(data))


@pytest.mark.parametrize("name", ["t.md", "t.tex"])
def test_private_characters_of_a_name_stay(tmp_path: Path, name: str) -> None:
    """Icon fonts use the private use area: a model or source named so comes back as it was."""
    score = ReportedScore("\ue021 model_1", "b|c", "pass@1", "42.1", ("\ue05c", "\uf8ff"))
    write_table([score], tmp_path / name)
    (back,) = read_table(tmp_path / name).scores
    assert (back.model, back.benchmark, back.sources) == (score.model, score.benchmark, score.sources)
