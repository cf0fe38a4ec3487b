"""Prompts and stop words: byte for byte those of the harness."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.benchmarks import open_benchmark
from engine.benchmarks.languages import LANGUAGES
from engine.errors import TemplateError
from engine.prompts import CHAT, COMPLETION, prompt_template, render, stop_words, template_names, user_turn
from engine.protocols import Benchmark

HARNESS = [name for name in template_names() if name not in (CHAT, COMPLETION)]

# Characters of the octocoder prompts: fewest, median (the lower of the two middle ones), most.
SIZES = {
    "humanevalfixtests-python": (214, 803, 2025), "humanevalfixdocs-python": (291, 1028, 3377),
    "humanevalfixtests-js": (289, 806, 3201), "humanevalfixdocs-js": (255, 992, 3290),
    "humanevalfixtests-java": (647, 1340, 3488), "humanevalfixdocs-java": (445, 1332, 3989),
    "humanevalfixtests-go": (279, 866, 2352), "humanevalfixdocs-go": (268, 1104, 3663),
    "humanevalfixtests-cpp": (491, 1037, 2568), "humanevalfixdocs-cpp": (344, 1141, 3288),
    "humanevalfixtests-rust": (773, 1366, 4441), "humanevalfixdocs-rust": (590, 1286, 4056),
}  # fmt: skip


@pytest.fixture(scope="session")
def golden(shared: Path) -> dict[str, Any]:
    """Prompt hashes and stop words made by the harness itself, by `task/template`."""
    found: dict[str, Any] = json.loads((shared / "golden" / "prompt_hashes.json").read_text())["golden"]
    return found


@pytest.mark.parametrize("template", HARNESS)
@pytest.mark.parametrize("language", ["python", "js"])
@pytest.mark.parametrize("variant", ["tests", "docs"])
def test_prompts_and_stop_words_are_the_harness_s(
    golden: dict[str, Any], pack: Callable[[str], Benchmark], variant: str, language: str, template: str
) -> None:
    """All 164 prompts of a task and template have the hash that the harness's own code gives, and its stop words."""
    task = f"humanevalfix{variant}-{language}"
    benchmark, expected = pack(task), golden[f"{task}/{template}"]
    prompts = [render(template, benchmark, problem) for problem in benchmark.problems]
    assert sum(map(len, prompts)) == expected["chars"]
    assert hashlib.sha256("\0".join(prompts).encode()).hexdigest() == expected["sha256"]
    assert list(stop_words(benchmark, template)) == expected["stop_words"]


RECORDED: dict[str, str] = json.loads((Path(__file__).parent / "prompt_hashes.json").read_text())["recorded"]
TASKS = [f"humanevalfix{variant}-{language}" for language in LANGUAGES for variant in ("tests", "docs")]
COMPLETION_FILES = {
    "humaneval": "humaneval/HumanEval.jsonl.gz", "humaneval-unstripped": "humaneval/HumanEval.jsonl.gz",
    "mbpp": "mbpp/mbpp-974.jsonl", "mbpp-full": "mbpp/mbpp-974.jsonl",
    "mbpp-sanitized": "mbpp/sanitized-mbpp-427.jsonl", "mbppplus": "mbpp/MbppPlus-399.jsonl",
}  # fmt: skip


@pytest.mark.parametrize("task", [task for task in TASKS if not task.endswith(("-python", "-js"))])
def test_prompts_of_the_other_languages_are_as_recorded(pack: Callable[[str], Benchmark], task: str) -> None:
    """For the languages that the golden file lacks, all 22 prompt sets have the hashes that this project recorded."""
    benchmark = pack(task)
    for template in HARNESS:
        prompts = [render(template, benchmark, problem) for problem in benchmark.problems]
        assert hashlib.sha256("\0".join(prompts).encode()).hexdigest() == RECORDED[f"{task}/{template}"], template


@pytest.mark.parametrize("task", COMPLETION_FILES)
def test_prompts_of_completion_tasks_are_as_recorded(shared: Path, task: str) -> None:
    """The prompts of HumanEval, MBPP and MBPP+ have the hashes that this project recorded."""
    benchmark = open_benchmark(task, str(shared / COMPLETION_FILES[task]))
    prompts = [render(COMPLETION, benchmark, problem) for problem in benchmark.problems]
    assert hashlib.sha256("\0".join(prompts).encode()).hexdigest() == RECORDED[f"{task}/completion"]


def test_every_language_variant_and_template_has_a_hash(golden: dict[str, Any]) -> None:
    """6 languages x 2 variants x 22 templates: a third from the harness itself, the rest recorded, none twice."""
    wanted = {f"{task}/{template}" for task in TASKS for template in HARNESS}
    own = {key for key in RECORDED if key.startswith("humanevalfix")}
    assert (len(wanted), len(golden), len(own)) == (264, 88, 176)
    assert set(golden) | own == wanted


def test_every_golden_prompt_set_is_covered(golden: dict[str, Any]) -> None:
    """No template of the golden file is left out, and no template here is unchecked."""
    assert {key.partition("/")[2] for key in golden} == set(HARNESS)


@pytest.mark.parametrize("task", SIZES)
def test_prompt_sizes_of_all_six_languages(pack: Callable[[str], Benchmark], task: str) -> None:
    """In every language, the shortest, median and longest octocoder prompts are as long as in the harness."""
    benchmark = pack(task)
    sizes = sorted(len(render("octocoder", benchmark, problem)) for problem in benchmark.problems)
    fewest, median, most = SIZES[task]
    assert (sizes[0], sizes[-1]) == (fewest, most)
    assert sizes[81] - 1 <= median <= sizes[82] + 1


def test_rust_answers_start_after_an_empty_main(pack: Callable[[str], Benchmark]) -> None:
    """Rust is the language whose header gets `fn main(){}` before it, in either variant."""
    for variant in ("tests", "docs"):
        benchmark = pack(f"humanevalfix{variant}-rust")
        assert all(problem.header.startswith("fn main(){}\n") for problem in benchmark.problems)


@pytest.mark.parametrize("template", HARNESS)
def test_header_is_pre_filled_or_left_out(tiny: Benchmark, template: str) -> None:
    """With pre-fill a prompt ends with the header (unless the reply is a patch); without, the rest is the same."""
    problem = tiny.problems[0]
    filled, bare = (render(template, tiny, problem, prefill=prefill) for prefill in (True, False))
    assert filled == filled.strip() and bare == bare.strip()
    if prompt_template(template).reply == "patch":
        assert filled == bare
    else:
        assert filled.endswith(problem.header.rstrip())
        assert filled.startswith(bare)
        assert filled.removeprefix(bare).strip() == problem.header.strip()


def test_instruct_puts_the_context_first(tiny: Benchmark) -> None:
    """`instruct` asks after the context, all others before it."""
    problem = tiny.problems[0]
    assert user_turn(problem) == f"{problem.instruction}\n{problem.context}"
    assert render("instruct", tiny, problem).startswith(problem.context)
    assert render("octocoder", tiny, problem).startswith(f"Question: {problem.instruction}\n{problem.context}")


def test_braces_in_a_problem_are_text(tiny: Benchmark) -> None:
    """What looks like a placeholder inside a problem is left as it is."""
    from dataclasses import replace

    problem = replace(tiny.problems[0], context="x = {header} {0} {inp}")
    assert "x = {header} {0} {inp}" in render("wizardcoder", tiny, problem)


def test_stop_words_of_one_template_do_not_leak_into_another(tiny: Benchmark) -> None:
    """Unlike in the harness, asking for starchat's words first changes no other template's."""
    before = stop_words(tiny, "octocoder")
    assert "<|end|>" in stop_words(tiny, "starchat")
    assert stop_words(tiny, "octocoder") == before
    assert len(set(before)) == len(before)


def test_eos_token_is_the_last_stop_word(tiny: Benchmark) -> None:
    """The tokenizer's eos token comes last, once, and an empty one not at all."""
    plain = stop_words(tiny, "instruct")
    assert stop_words(tiny, "instruct", "</s>") == (*plain, "</s>")
    assert stop_words(tiny, "instruct", "<|endoftext|>") == stop_words(tiny, "instruct", "") == plain
    assert stop_words(tiny, CHAT) == plain


def test_unknown_template_lists_the_known_ones(tiny: Benchmark) -> None:
    """The harness's own default 'prompt' is no template, and the error says what is."""
    with pytest.raises(TemplateError, match=r"template 'prompt' is unknown; expected one of instruct, .*chat"):
        render("prompt", tiny, tiny.problems[0])
    with pytest.raises(TemplateError, match="'edit' is unknown"):
        stop_words(tiny, "edit")


def test_every_template_has_the_day_it_was_merged() -> None:
    """A score reported before that day cannot have used the template."""
    since = {name: prompt_template(name).since for name in HARNESS}
    assert all(since.values())
    assert str(since["octocoder"]) == "2023-08-15"
    assert str(since["deepseek"]) == "2024-04-16"
