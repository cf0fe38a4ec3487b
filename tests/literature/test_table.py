"""Reading and writing tables: what is kept, what is refused and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from literature.errors import TableError
from literature.records import ReportedScore
from literature.shipped import known_causes, study_measured
from literature.table import Table, read_table, shipped_tables, write_table


def read(folder: Path, text: str | bytes, name: str = "t.csv", **more: dict[str, str]) -> Table:
    """Write a file and read it."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, mapping=more.get("mapping"))


def test_shipped_tables_hold_the_facts() -> None:
    """56, 33 and the demo's 6 values ship; what sources state is attached, what they do not is absent."""
    assert {name: len(read_table(name).scores) for name in shipped_tables()} == {
        "bugfix_mini": 6,
        "humanevalfix": 56,
        "mbpp_deepseekcoder": 33,
    }
    scores = {(score.model, score.value): score for score in read_table("humanevalfix").scores}
    greedy = scores["DeepSeekCoder-Inst (6.7B)", "42.1"].stated
    assert greedy["decoding"] == "greedy"
    assert "precision" not in greedy
    assert "temperature" not in greedy
    assert scores["DeepSeekCoder-Inst (1.3B)", "48.9"].stated["samples"] == "20"
    assert scores["OctoCoder (16B)", "30.4"].stated["decoding"] == "sampled"
    assert scores["OctoCoder (16B)", "28"].value == "28"
    assert len(study_measured("humanevalfix")) == 9
    assert len(known_causes()) == 28


def test_cell_style_of_papers(tmp_path: Path) -> None:
    """Several numbers with their sources in one cell become several scores; what has no score is no row."""
    found = read(tmp_path, 'Model,HumanEvalFix\na,"42.1 [21], 44.9 [16,22]"\nb,31.8±1.2\nc,-\nd,n/a\n')
    assert [(s.model, s.value, s.sources, s.uncertainty) for s in found.scores] == [
        ("a", "42.1", ("21",), ""),
        ("a", "44.9", ("16", "22"), ""),
        ("b", "31.8", (), "1.2"),
    ]
    assert {s.benchmark for s in found.scores} == {"HumanEvalFix"}
    assert not found.unread


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["47.5%", "0.475"], ["47.5", "47.5"]),
        (["0.475", "0.4512"], ["47.5", "45.12"]),
        (["47.5", "0.6"], ["47.5", "0.6"]),
        (["0.61", "48.78"], ["0.61", "48.78"]),
        (["0.4746951219512195"], ["47.46951219512195"]),
        (['"42,1"', '"44,9 [3]"'], ["42.1", "44.9"]),
        (["42.1\u2009%", "44.9²"], ["42.1", "44.9"]),
        (["28", "28.0"], ["28", "28.0"]),
        (["**", "42.1†"], ["42.1"]),
    ],
)
def test_one_meaning_is_read(tmp_path: Path, cells: list[str], values: list[str]) -> None:
    """Percent signs, fractions, decimal commas, thin spaces and footnote marks are read where they mean one thing."""
    text = "model,value\n" + "".join(f"m{i},{cell}\n" for i, cell in enumerate(cells))
    assert [score.value for score in read(tmp_path, text).scores] == values


@pytest.mark.parametrize(
    ("cells", "refused"),
    [
        (["47.5", "0.47"], "0.47"),
        (["47.5", '"42,1"'], "42,1"),
        (["47.5", "101"], "101"),
        (["47.5", "\u22123"], "\u22123"),
        (["47.5", "about 40"], "about 40"),
        (["47.5", "x" * 1_000_000], "x"),
        (["47.5", "1" * 1_000_000], "1"),
    ],
)
def test_what_has_no_single_meaning_is_kept_with_place_and_reason(
    tmp_path: Path, cells: list[str], refused: str
) -> None:
    """The rest of the table is read; the refused cell is listed with file, line and column."""
    text = "model,value\n" + "".join(f"m{i},{cell}\n" for i, cell in enumerate(cells))
    found = read(tmp_path, text)
    assert [score.value for score in found.scores] == ["47.5"]
    (unread,) = found.unread
    assert unread.place == f"{tmp_path / 't.csv'}:3:2"
    assert unread.text.startswith(refused)
    assert len(unread.text) <= 200
    assert unread.reason


@pytest.mark.parametrize("minus", ["\u2212", "\u2013", "\ufe63", "\uff0d", "\u2010", "\u2011", "\u2012"])
def test_a_minus_sign_of_any_script_is_one(tmp_path: Path, minus: str) -> None:
    """A negative score is refused as negative, and a lone minus sign is no score, whatever its code point."""
    found = read(tmp_path, f"model,value\na,47.5\nb,{minus}3\nc,{minus}\n")
    assert [score.value for score in found.scores] == ["47.5"]
    assert [(item.place.rpartition(":")[0][-1], item.reason) for item in found.unread] == [("3", "'-3' is below 0")]


@pytest.mark.parametrize("space", ["\u2009", "\u202f", "\u00a0", "\u2007"])
def test_thin_spaces_are_spaces(tmp_path: Path, space: str) -> None:
    """Before a percent sign and around brackets, a narrow space means what a space means."""
    (score,) = read(tmp_path, f"model,value\na,42.1{space}%{space}[21]\n").scores
    assert (score.value, score.sources) == ("42.1", ("21",))


@pytest.mark.parametrize(
    ("text", "kept"), [("20", "20"), ("20.0", "20.0"), ("2.5", ""), ("0", ""), ("-3", ""), ("many", ""), ("-", "")]
)
@pytest.mark.parametrize("axis", ["samples", "problems"])
def test_counts_that_are_no_counts_are_left_unknown(tmp_path: Path, axis: str, text: str, kept: str) -> None:
    """n = 0, n = 2.5 or a word for N leaves the value and its place in the list; the setting stays unknown."""
    found = read(tmp_path, f"model,value,{axis}\na,47.5,{text}\n")
    assert found.scores[0].stated.get(axis, "") == kept
    assert [item.place.rpartition("t.csv")[2] for item in found.unread] == ([] if kept or text == "-" else [":2:3"])
    assert all("whole number" in item.reason for item in found.unread)


def test_a_claim_without_a_value_is_listed(tmp_path: Path) -> None:
    """A row that names a model and a source but no number is in the list with its place; a dash says so itself."""
    found = read(tmp_path, "model,value,sources\na,47.5,1\nb,,2\nc,-,3\n")
    assert [score.model for score in found.scores] == ["a"]
    (item,) = found.unread
    assert item.place.endswith(":3:2")
    assert "no value" in item.reason


def test_ten_thousand_rows_are_read_in_order(tmp_path: Path) -> None:
    """Nothing is lost of a long table, and each score knows its line."""
    text = "model,value\n" + "".join(f"m{i},{i % 1000 / 10:.1f}%\n" for i in range(10_000))
    found = read(tmp_path, text)
    assert [score.model for score in found.scores] == [f"m{i}" for i in range(10_000)]
    assert found.scores[-1].place.endswith(":10001")
    assert not found.unread


def test_duplicates_and_ragged_rows_and_unknown_columns_are_said(tmp_path: Path) -> None:
    """A repeated row counts once, a short and a long row are listed, an unknown column is named."""
    found = read(tmp_path, "model,value,sources,size\na,1.2,3,7B\na,1.2,3,7B\nb\nc,1,2,3,4\n,5.0,1,2\n")
    assert [score.model for score in found.scores] == ["a"]
    assert [item.place.rpartition("t.csv")[2] for item in found.unread] == [":1:4", ":4:1", ":5:1", ":6:1", ":3"]
    assert "unknown column" in found.unread[0].reason
    assert "t.csv:2" in found.unread[-1].reason


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (b"", 0, 0, "empty"),
        (b"  \n\n", 0, 0, "empty"),
        (b"model,value\n", 1, 0, "no row"),
        (b"model,value\na,\xe9\n", 2, 3, "not UTF-8"),
        (b"model,value\na,\x00\n", 2, 0, "NUL"),
        (b'model,value\na,"1.2\n', 2, 1, "malformed"),
        (b"model,model,value\na,b,1\n", 1, 2, "twice"),
        (b"size,value\n7B,12\n", 1, 1, "no column of models"),
        (b"model\na\n", 1, 1, "no column of scores"),
        (b"model,value\na,120\n", 2, 2, "above 100"),
        (b"model,value\na,-\n", 0, 0, "no score"),
    ],
)
def test_bad_files_name_line_and_column(tmp_path: Path, text: bytes, line: int, column: int, words: str) -> None:
    """One error that names file, line and column and what is wrong, never a traceback of a library."""
    with pytest.raises(TableError, match=words) as caught:
        read(tmp_path, text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.file == str(tmp_path / "t.csv")
    assert str(caught.value).startswith(caught.value.file)


def test_a_missing_file_names_the_tables_that_ship() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(TableError, match="humanevalfix"):
        read_table("no-such-table")


def test_mapping_names_columns_and_constants(tmp_path: Path) -> None:
    """A mapping gives roles to foreign headers; `=text` holds for every row; a wrong name is refused."""
    mapping = {"model": "Modell", "value": "Ergebnis", "benchmark": "=humanevalfix-python", "unit": "fraction"}
    found = read(tmp_path, "Modell;Ergebnis\na;0,47\n", mapping=mapping)
    assert [(s.model, s.benchmark, s.value) for s in found.scores] == [("a", "humanevalfix-python", "47")]
    with pytest.raises(TableError, match="no column 'Model'"):
        read(tmp_path, "Modell;Ergebnis\na;0,47\n", mapping={"model": "Model"})
    with pytest.raises(TableError, match="unknown role"):
        read(tmp_path, "Modell;Ergebnis\na;0,47\n", mapping={"size": "Modell"})


words = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp", "Cf"], exclude_characters=";[]"),
    min_size=1,
    max_size=8,
)
names = st.lists(words, min_size=1, max_size=3).map(" ".join)
scores = st.builds(
    ReportedScore,
    model=names,
    benchmark=st.sampled_from(["", "humanevalfix-python", "mbpp"]),
    metric=st.sampled_from(["pass@1", "pass@10"]),
    value=st.integers(0, 1000).map(lambda ticks: f"{ticks / 10:.1f}") | st.integers(0, 100).map(str),
    sources=st.lists(st.integers(1, 99).map(str) | names, max_size=3, unique=True).map(tuple),
    introduced_by=st.sampled_from(["", "3"]),
    place=st.sampled_from(["paper.csv:7", "table 2"]),
    stated=st.dictionaries(st.sampled_from(["decoding", "temperature", "own axis"]), st.sampled_from(["x", "0.2"])),
    uncertainty=st.sampled_from(["", "1.2"]),
    printed=st.sampled_from(["", "0.475", "47,5%"]),
)


WRITTEN = ["a.csv", "a.tsv", "a.md", "a.tex", "a.json", "a.jsonl", "a.eee.json"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200, deadline=None
)
@given(st.lists(scores, min_size=1, max_size=6, unique_by=lambda score: score.id), st.sampled_from(WRITTEN))
def test_import_of_export_gives_the_same_back(tmp_path: Path, found: list[ReportedScore], name: str) -> None:
    """Whatever scores are written, reading the file returns exactly them, in order."""
    write_table(found, tmp_path / name)
    assert list(read_table(tmp_path / name).scores) == found


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("table", ["humanevalfix", "mbpp_deepseekcoder", "bugfix_mini"])
def test_a_shipped_table_comes_back_from_every_format(tmp_path: Path, name: str, table: str) -> None:
    """What ships is the same after a way through any format, to the place, the stated settings and trailing zeros."""
    found = read_table(table).scores
    write_table(found, tmp_path / name)
    assert read_table(tmp_path / name).scores == found


@pytest.mark.parametrize("name", WRITTEN)
def test_hard_names_come_back(tmp_path: Path, name: str) -> None:
    """Markup, escapes, dashes and brackets in a name are text, not markup."""
    hard = [
        r"a\\b", "a|b", "**a**", "[a](b)", "<b>x</b>", "a--b---c", "50% & $x_1^2$", "{a}", "~", "#1", r"\\textbf{x}",
        "`a`", "[1] m", "a_b_c", r"a\|b", "-{}-", "10\u202f%", "é\u2212",
    ]  # fmt: skip
    found = [
        ReportedScore(model, "mbpp", "pass@1", "28.0", ("3",), place="p", stated={"own axis": model}) for model in hard
    ]
    write_table(found, tmp_path / name)
    assert list(read_table(tmp_path / name).scores) == found


def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    """`.docx` is no format here; what is, is named."""
    with pytest.raises(TableError, match=r"\.eee\.json.*\.tex"):
        write_table(read_table("bugfix_mini").scores, tmp_path / "t.docx")
