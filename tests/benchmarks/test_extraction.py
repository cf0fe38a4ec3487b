"""The extraction rules: what each makes of a reply, and when it is done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import SettingsError, TemplateError
from engine.extraction import done, extract, extraction_names
from engine.prompts import stop_words
from engine.protocols import Benchmark
from engine.settings import EXTRACTIONS

CHAT_REPLY = "Sure:\n```python\ndef double(x):\n    return x + x\n```\nAnd tests:\n```\nprint(double(2))\n```\n"


def program(benchmark: Benchmark, name: str, reply: str, prefill: bool = False) -> str:
    """What a rule makes of a reply to the benchmark's first problem, under `instruct`."""
    return extract(name, benchmark, benchmark.problems[0], "instruct", reply, prefill=prefill)


def test_every_rule_of_the_settings_exists() -> None:
    """What a configuration may ask for, extraction can do."""
    assert set(EXTRACTIONS) <= set(extraction_names())


def test_harness_keeps_the_header_whether_pre_filled_or_not(tiny: Benchmark) -> None:
    """The harness always puts the header before what it keeps, so a reply that starts over leaves the header alone."""
    for prefill in (True, False):
        assert program(tiny, "harness", "\n    return x + x\n\nDone.", prefill) == "def double(x):\n    return x + x\n"
        assert program(tiny, "harness", "\ndef double(x):\n    return x + x\n", prefill) == "def double(x):"
        assert program(tiny, "harness", CHAT_REPLY, prefill) == "def double(x):"


def test_harness_counts_the_eos_token_among_the_stop_words(tiny: Benchmark) -> None:
    """The tokenizer's eos token, written out as text, ends the program."""
    problem, reply = tiny.problems[0], "\n    return 2 * x</s>\n    junk"
    assert extract("harness", tiny, problem, "instruct", reply, eos_token="</s>").endswith("return 2 * x")
    assert extract("harness", tiny, problem, "instruct", reply).endswith("junk")


def test_raw_is_the_answer_as_it_stands(tiny: Benchmark) -> None:
    """The reply itself; after a pre-filled header, header and reply."""
    assert program(tiny, "raw", CHAT_REPLY) == CHAT_REPLY
    assert program(tiny, "raw", "\n    return x", prefill=True) == "def double(x):\n    return x"


@pytest.mark.parametrize(
    ("reply", "made"),
    [
        (CHAT_REPLY, "def double(x):\n    return x + x\n"),
        ("```\n    return x + x\n```", "def double(x):\n    return x + x\n"),
        ("```py\nx = 1\n```", "def double(x):\nx = 1\n"),
        ("```python\ndef doubled(x):\n    pass\n```", "def double(x):\ndef doubled(x):\n    pass\n"),
        ("def double(x): return x", "def double(x): return x"),
        ("```python\ndef double(x):\n    return 1", "```python\ndef double(x):\n    return 1"),
        ("````\ndef double(x): 1\n````", "def double(x): 1\n"),
    ],
)
def test_first_fence_is_the_first_closed_one_under_a_header(tiny: Benchmark, reply: str, made: str) -> None:
    """The first closed fence, with the header where it lacks the function; the whole reply where no fence is closed."""
    assert program(tiny, "first_fence", reply) == made


def test_first_fence_without_a_fence_continues_a_pre_filled_header(tiny: Benchmark) -> None:
    """A reply that continues the header without fences is a function together with it."""
    assert program(tiny, "first_fence", "\n    return x + x", prefill=True) == "def double(x):\n    return x + x"


def test_rules_of_the_public_fence_study(tiny: Benchmark) -> None:
    """all_fences joins all closed fences, smart adds the header where no def is, prompt+body always."""
    assert program(tiny, "all_fences", CHAT_REPLY) == "def double(x):\n    return x + x\n\nprint(double(2))\n"
    assert program(tiny, "all_fences", "nothing") == "nothing"
    assert program(tiny, "smart", "```\n    return 1\n```") == "def double(x):\n    return 1\n"
    assert program(tiny, "smart", CHAT_REPLY).startswith("def double")
    assert program(tiny, "prompt+body", "    return 1") == "def double(x):\n    return 1"


def test_fences_of_real_replies_are_found(shared: Path, tiny: Benchmark) -> None:
    """Of the real chat replies, the fence rules change every one that closes a fence and leave the five cut ones."""
    lines = (shared / "replies" / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [json.loads(line)["response"] for line in lines]
    unclosed = [reply for reply in replies if program(tiny, "all_fences", reply) == reply]
    assert (len(replies), len(unclosed)) == (52, 5)
    assert all(reply.count("```") == 1 for reply in unclosed)


def test_done_needs_every_rule_and_at_least_one(tiny: Benchmark) -> None:
    """Generation may end early only when all rules asked for are settled; raw never is, nor an empty list."""
    words = stop_words(tiny, "instruct")
    assert done(["harness"], tiny, words)(CHAT_REPLY[:2])
    assert not done(["first_fence"], tiny, words)(CHAT_REPLY[:40])
    assert done(["first_fence", "harness"], tiny, words)(CHAT_REPLY)
    assert not done(["harness", "first_fence"], tiny, words)(CHAT_REPLY[:40])
    for names in ([], ["raw"], ["raw", "harness"], ["smart"], ["all_fences"], ["prompt+body"]):
        assert not done(names, tiny, words)(CHAT_REPLY)


PIECES = st.lists(
    st.sampled_from(
        ["```", "`", "``", "python", "\n", " ", "    return", "def double", "<|end", "oftext|>", "#", "</s>"]
    ),
    max_size=12,
).map("".join)


@settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(reply=PIECES, rest=PIECES, name=st.sampled_from(extraction_names()), prefill=st.booleans())
def test_done_means_no_continuation_changes_the_program(
    tiny: Benchmark, reply: str, rest: str, name: str, prefill: bool
) -> None:
    """For every rule: if it is done with a reply, the reply and any continuation of it give the same program."""
    problem, template, eos = tiny.problems[0], "issue", "</s>"
    if done([name], tiny, stop_words(tiny, template, eos))(reply):
        made = [
            extract(name, tiny, problem, template, text, prefill=prefill, eos_token=eos)
            for text in (reply, reply + rest)
        ]
        assert made[0] == made[1]


def test_unknown_rule_and_patch_templates_are_errors(tiny: Benchmark) -> None:
    """An unknown rule lists the known ones; templates whose replies are patches say that they are not judged yet."""
    with pytest.raises(SettingsError, match="extraction 'best' is unknown; expected one of harness, raw"):
        program(tiny, "best", "")
    with pytest.raises(SettingsError, match="extraction 'best' is unknown"):
        done(["best"], tiny, ())
    for template in ("diff", "diff-carper"):
        with pytest.raises(TemplateError, match="replies are patches"):
            extract("harness", tiny, tiny.problems[0], template, "")


def test_header_of_another_language_is_kept_by_name(pack: Callable[[str], Benchmark]) -> None:
    """Outside Python, a fence that names the function is taken whole, another one gets the header."""
    benchmark = pack("humanevalfixtests-js")
    problem = benchmark.problems[0]
    whole = f"const {problem.entry_point} = () => 1\n"
    made = extract("first_fence", benchmark, problem, "chat", f"```javascript\n{whole}```", prefill=False)
    assert made == whole
    body = extract("first_fence", benchmark, problem, "chat", "```js\n  return 1\n}\n```", prefill=False)
    assert body == problem.header.rstrip() + "\n  return 1\n}\n"
