"""The study file: what is written reads back, and each mistake is named with file, key and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.settings import Decoding, Grid, reference_grid
from tui.errors import StudyError
from tui.study import ModelChoice, Study, dumps, embedded, loads, read_study, write_study

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
DECODINGS = st.sampled_from([Decoding(), Decoding(0.2), Decoding(0.8, 0.9, 40)])
GRIDS = st.builds(
    Grid,
    benchmark=st.lists(TEXT, min_size=1, max_size=2, unique=True).map(tuple),
    template=st.lists(TEXT, min_size=1, max_size=2, unique=True).map(tuple),
    decoding=st.lists(DECODINGS, min_size=1, unique=True).map(tuple),
    samples=st.lists(st.integers(1, 99), min_size=1, max_size=2, unique=True).map(tuple),
    prefill=st.lists(st.booleans(), min_size=1, unique=True).map(tuple),
)
MODELS = st.lists(
    st.builds(
        ModelChoice,
        name=TEXT,
        file=TEXT,
        reported_as=st.lists(TEXT, max_size=2).map(tuple),
        axes=st.sampled_from([{}, {"precision": ("as released",)}, {"decoding": ("greedy", "T=0.2"), "samples": (3,)}]),
        shapes=st.sampled_from([{}, {"f16": "8x4", "q8_0": "16"}]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda model: model.name,
).map(tuple)
STUDIES = st.builds(
    Study, name=TEXT, grid=GRIDS, models=MODELS, tables=st.lists(TEXT, max_size=2).map(tuple), data=st.just("") | TEXT,
    width=st.integers(0, 64), note=st.just("") | TEXT, stated=st.dictionaries(TEXT, TEXT, max_size=2),
    audit=st.integers(0, 9), repeats=st.integers(0, 9), stop=st.sampled_from(["", "bounds", "sequential"]),
)  # fmt: skip


@given(STUDIES)
def test_what_is_written_reads_back(study: Study) -> None:
    """loads(dumps(x)) == x for every study."""
    assert loads(dumps(study)) == study


def test_a_model_may_have_axes_of_its_own() -> None:
    """Its values replace the common ones on that axis, for that model only."""
    models = (ModelChoice("a", "a.gguf"), ModelChoice("b", "b.gguf", axes={"precision": ("as released",)}))
    found = Study("s", reference_grid("bugfix-mini"), models).configurations()
    assert sum(c.model == "a" for c in found) == 60
    assert {c.precision for c in found if c.model == "b"} == {"as released"}


def test_relative_paths_are_beside_the_study(tmp_path: Path) -> None:
    """A study can be moved with its files: what lies beside it is found from any folder."""
    (tmp_path / "m.gguf").touch()
    (tmp_path / "t.csv").touch()
    study = Study("s", Grid(("bugfix-mini",)), (ModelChoice("m", "m.gguf"),), tables=("t.csv", "humanevalfix"))
    write_study(study, tmp_path / "s.toml")
    found = read_study(tmp_path / "s.toml")
    assert found.models[0].file == str(tmp_path / "m.gguf")
    assert found.tables == (str(tmp_path / "t.csv"), "humanevalfix")


def test_the_embedded_study_holds_the_whole_reference_grid() -> None:
    """60 configurations of the small model: 2 templates x 3 decodings x 2 lengths x 5 precisions."""
    study = embedded()
    own = [c for c in study.configurations() if c.model == study.models[0].name]
    assert len(own) == len({c.id for c in own}) == 60


GOOD = 'name = "s"\n[[models]]\nname = "m"\nfile = "m.gguf"\n[grid]\nbenchmark = ["bugfix-mini"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "not a TOML file"),
        ("", "'grid' is missing"),
        (GOOD.replace('name = "s"\n', ""), "'name' is missing"),
        (GOOD + "colour = 1\n", "grid.*'colour' is unknown"),
        ("colour = 1\n" + GOOD, "'colour' is unknown"),
        (GOOD + 'template = "instruct"\n', "'template'.*expected a list"),
        (GOOD + "samples = [1.5]\n", "'samples'.*expected int"),
        (GOOD + "prefill = [1]\n", "'prefill'.*expected bool"),
        (GOOD + 'decoding = ["hot"]\n', "decoding 'hot'"),
        (GOOD + 'precision = ["fp16"]\n', "'fp16' is unknown"),
        (GOOD + "template = []\n", "'template' is empty"),
        (GOOD.replace('file = "m.gguf"', "file = 3"), r"models\[0\].*'file'"),
        (GOOD.replace('file = "m.gguf"', 'file = "m"\naxes = {precision = ["f8"]}'), r"models\[0\].*axes.*'f8'"),
        (GOOD.replace("[[models]]", '[[models]]\nname = "m"\nfile = "x"\n[[models]]'), "name of its own"),
        ("format = 99\n" + GOOD, "format"),
    ],
)
def test_a_mistake_is_named(text: str, words: str) -> None:
    """One error names the place, the key and what was expected."""
    with pytest.raises(StudyError, match=words) as caught:
        loads(text, "x.toml")
    assert "x.toml" in str(caught.value)


def test_a_missing_or_binary_study_file_is_named(tmp_path: Path) -> None:
    """The message names the file; no traceback of the operating system's error."""
    with pytest.raises(StudyError, match=r"none\.toml.*no such file"):
        read_study(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyError, match=r"b\.toml"):
        read_study(tmp_path / "b.toml")


def test_a_shape_that_cannot_be_is_named() -> None:
    """Widths and rows are 1 or multiples of four; anything else is refused with its key."""
    text = dumps(Study("s", reference_grid("bugfix-mini"), (ModelChoice("a", "a.gguf", shapes={"f16": "8x4"}),)))
    assert loads(text).shape("a", "f16") == "8x4"
    with pytest.raises(StudyError, match=r"models\[0\]: shapes: key 'f16': shape '8x3': expected a width"):
        loads(text.replace("8x4", "8x3"))
