"""The harness's cut in six languages, and the moment from which it is settled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.benchmarks.languages import GO_STOP_WORDS, LANGUAGES, PYTHON_STOP_WORDS
from engine.cut import harness_cut, harness_settled
from engine.extraction import done, extract
from engine.prompts import stop_words
from engine.protocols import Benchmark

PYTHON, JS, JAVA = LANGUAGES["python"], LANGUAGES["js"], LANGUAGES["java"]
PY_WORDS = (*PYTHON_STOP_WORDS, "<|endoftext|>")
PROSE = "\n\nThat is the fix."

# Rows whose own correct body the cut damages: Go's second function and `struct{}`, Rust's helpers, C++'s last lines.
DAMAGED = {
    "python": set(), "js": set(), "java": set(), "go": {"Go/72", "Go/90", "Go/158"},
    "rust": {"Rust/137", "Rust/145"}, "cpp": {"CPP/94"},
}  # fmt: skip


def test_cut_cases_are_the_harness_s(shared: Path, pack: Callable[[str], Benchmark]) -> None:
    """Every golden case gives the harness's program, and is settled exactly where the harness stops generating."""
    benchmark = pack("humanevalfixtests-python")
    cases = json.loads((shared / "golden" / "cut_cases.json").read_text())
    words = stop_words(benchmark, "octocoder")
    assert list(words) == cases.pop("_stop_words")
    settled = done(["harness"], benchmark, words)
    for name, case in cases.items():
        made = extract("harness", benchmark, benchmark.problems[0], "octocoder", case["generation"])
        assert made == case["result"], name
        assert settled(case["generation"]) == case["check_fn"], name


@pytest.mark.parametrize("language", LANGUAGES)
def test_correct_bodies_survive_the_cut_as_in_the_harness(pack: Callable[[str], Benchmark], language: str) -> None:
    """A correct body with a sentence after it is cut back to itself, but for the rows that the harness damages too."""
    benchmark = pack(f"humanevalfixtests-{language}")
    damaged = set()
    for problem in benchmark.problems:
        made = extract("harness", benchmark, problem, "octocoder", problem.canonical + PROSE)
        if made.rstrip() != problem.header.rstrip() + problem.canonical.rstrip():
            damaged.add(problem.task_id)
    assert damaged == DAMAGED[language]


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("\n    return 1\n\n", "\n    return 1"),
        ("\n    return 1\n\nDone.", "\n    return 1\n"),
        ("\n    return 1\n\ndef g():", "\n    return 1\n"),
        (" Here is the fix\n    return False", " Here is the fix\n    return False"),
        ("return 1", ""),
        ("\n\treturn 1\n\r\n \n\x0bx", "\n\treturn 1\n\r\n "),
        ("\n    x = 1\n    ```\n    y", "\n    x = 1\n    ```\n    y"),
        ("\n    a<|endoftext|>b", "\n    a"),
        ("\n    a\n<|endoftext|>", "\n    a\n"),
        ("\n    a\n<|endof", "\n    a"),
        ("", ""),
    ],
)
def test_python_is_cut_at_stop_words_and_column_zero(reply: str, kept: str) -> None:
    """Blank end off, earliest stop word, then the first line that starts in column 0 and is not blank."""
    assert harness_cut(reply, PY_WORDS, PYTHON) == kept


@pytest.mark.parametrize(
    ("language", "reply", "kept"),
    [
        ("js", "\n  return {a: 1};\n}\nmore }", "\n  return {a: 1};\n}"),
        ("js", "\n  if (x) { a } b", "\n  if (x) { a }"),
        ("js", "\n  no brace", "\n  no brace"),
        ("java", "\n  { } }\n}\nmore", "\n  { } }\n}"),
        ("java", "\n  a; }\n  public static void main() { b }", "\n  a; }\n  }"),
        ("java", "\n  { a; } b", "\n  { a; }"),
        ("java", "\n  { { a; } b", "\n  { { a; }\n}"),
    ],
)
def test_brace_languages_are_cut_at_the_closing_brace(language: str, reply: str, kept: str) -> None:
    """At the brace that closes the function (in Java, the class), else at the last one, with Java's class closed."""
    assert harness_cut(reply, ("<|endoftext|>",), LANGUAGES[language]) == kept


def test_overlapping_stop_words_cut_in_the_order_of_the_list() -> None:
    """Where one word begins inside another, the list's first one wins, as one after the other is looked up."""
    assert harness_cut("  abcd", ("bc", "ab"), PYTHON) == "  a"
    assert harness_cut("  abcd", ("ab", "bc"), PYTHON) == "  "


def test_unfinished_stop_word_is_not_settled() -> None:
    """At `\\n<|endof` the cut falls before the newline, but the whole word would move it behind: not settled yet."""
    reply = "\n    return 1\n<|endof"
    assert not harness_settled(reply, PY_WORDS, PYTHON)
    assert harness_cut(reply, PY_WORDS, PYTHON) != harness_cut(reply + "text|>", PY_WORDS, PYTHON)
    assert harness_settled(reply + "text|>", PY_WORDS, PYTHON)
    assert harness_settled(reply + "x", PY_WORDS, PYTHON)


def test_closed_body_is_settled_and_an_open_one_is_not() -> None:
    """An open body may always grow; a line in column 0 or the closing brace ends it."""
    assert not harness_settled("\n    return 1\n", PY_WORDS, PYTHON)
    assert harness_settled("\n    return 1\nx", PY_WORDS, PYTHON)
    assert not harness_settled("\n  { }", (), JS)
    assert harness_settled("\n  { } }", (), JS)
    assert not harness_settled("\n  { } }", (), JAVA)


# Few letters, so that stop words, their beginnings, braces and column 0 meet often.
WORDS = st.lists(st.text("ab\n{", min_size=1, max_size=3), max_size=3)
TEXT = st.text("ab\n {}", max_size=14)


@settings(max_examples=600, deadline=None)
@given(reply=TEXT, rest=TEXT, words=WORDS, language=st.sampled_from(list(LANGUAGES.values())))
def test_settled_cut_stays_whatever_follows(reply: str, rest: str, words: list[str], language: object) -> None:
    """For any stop words, even overlapping ones: once settled, no continuation changes the cut."""
    assert isinstance(language, type(PYTHON))
    if harness_settled(reply, words, language):
        assert harness_cut(reply, words, language) == harness_cut(reply + rest, words, language)


REAL = st.lists(
    st.sampled_from(
        ["\n", " ", "    x", "def", "#", "struct", "func", "<|end", "oftext|>", "|>", "{", "}", "\r", "\nif", "//", "y"]
    ),
    max_size=10,
).map("".join)


@settings(max_examples=600, deadline=None)
@given(reply=REAL, rest=REAL, name=st.sampled_from(list(LANGUAGES)))
def test_settled_cut_stays_with_the_real_stop_words(reply: str, rest: str, name: str) -> None:
    """The same for each language's own stop words, on texts made of their pieces."""
    language = LANGUAGES[name]
    words = (*language.stop_words, "<|end|>", "<|endoftext|>", "</s>")
    if harness_settled(reply, words, language):
        assert harness_cut(reply, words, language) == harness_cut(reply + rest, words, language)


@settings(max_examples=200, deadline=None)
@given(body=st.text("ab \n", max_size=20), word=st.sampled_from(GO_STOP_WORDS[1:]))
def test_whole_stop_word_settles_at_once(body: str, word: str) -> None:
    """The cut is settled as soon as a word is whole, even where a longer word begins with it."""
    assert harness_settled(body + word, ("<|endoftext|>", *GO_STOP_WORDS), LANGUAGES["go"])
