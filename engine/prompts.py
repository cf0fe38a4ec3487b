"""Prompts exactly as the harness builds them, from templates kept as data, and the model's own chat template."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources

from engine.benchmarks.languages import language_of
from engine.chat import NO_TEMPLATE, ChatTemplate, Rendered, render_turns
from engine.errors import TemplateError
from engine.protocols import Benchmark, Problem

CHAT = "chat"
"""Name of the template that stands for the model's own."""

COMPLETION = "completion"
"""Name of the template that is a completion task's own prompt: HumanEval's, MBPP's."""

HARNESS_END = "<|endoftext|>"
"""The stop word that the harness appends for every HumanEvalPack task and model."""


@dataclass(frozen=True)
class PromptTemplate:
    """One value of the harness's --prompt; the fields are described at the top of engine/data/templates.toml."""

    name: str
    text: str
    context_first: bool = False
    stop_words: tuple[str, ...] = ()
    replace_stop_words: bool = False
    reply: str = "body"
    since: date | None = None


def template_names() -> tuple[str, ...]:
    """Every template's name: the harness's in its own order, then `chat` and `completion`."""
    return (*_templates(), CHAT, COMPLETION)


def prompt_template(name: str) -> PromptTemplate:
    """The template of that name; `TemplateError` lists the known ones."""
    found = _templates().get(name)
    if found is None and name in (CHAT, COMPLETION):
        return PromptTemplate(name, "")
    if found is None:
        raise TemplateError(f"template {name!r} is unknown; expected one of {', '.join(template_names())}")
    return found


def render(
    template_name: str,
    benchmark: Benchmark,
    problem: Problem,
    *,
    prefill: bool = True,
    chat: ChatTemplate | None = None,
) -> str:
    """The text that is tokenized, without the bos token where the tokenizer adds it.

    `prefill` puts the function header at the start of the answer, as the harness does; `chat` is needed by the template
    `chat` only. `TemplateError` when the template is unknown or does not render.
    """
    template = prompt_template(template_name)
    check_task(template.name, benchmark, problem)
    if template.name == CHAT:
        return _render_chat(benchmark, problem, prefill, chat)
    if template.name == COMPLETION:
        return problem.prompt
    inp = user_turn(problem, context_first=template.context_first)
    text = template.text if prefill else template.text.partition("{header}")[0]
    return text.format(
        inp=inp,
        inp_stripped=inp.strip(),
        context=problem.context,
        instruction=problem.instruction,
        header=problem.header,
        entry_point=problem.entry_point,
        extension=language_of(benchmark.name).extension,
    ).strip()


def check_task(template: str, benchmark: Benchmark, problem: Problem) -> None:
    """Raise `TemplateError` where a template and a benchmark's kind of task do not go together."""
    if problem.prompt and template not in (CHAT, COMPLETION):
        raise TemplateError(
            f"template {template!r}: {benchmark.name} is a completion task, whose prompt is the problem's own text and "
            "no instruction; choose 'completion' (the harness's prompt) or 'chat' (the model's own template)"
        )
    if template == COMPLETION and not problem.prompt:
        raise TemplateError(
            f"template 'completion': {benchmark.name} asks for a fix, and has no text to continue; choose 'instruct'"
        )


def is_completion(benchmark: Benchmark) -> bool:
    """True for a task whose problems bring their own prompts."""
    return bool(benchmark.problems) and bool(benchmark.problems[0].prompt)


def user_turn(problem: Problem, *, context_first: bool = False) -> str:
    """Instruction and context joined by a newline."""
    parts = (problem.context, problem.instruction) if context_first else (problem.instruction, problem.context)
    return "\n".join(parts)


def stop_words(benchmark: Benchmark, template: str, eos_token: str = "") -> tuple[str, ...]:
    """The harness's stop words in its order: language, template, `<|endoftext|>`, then the tokenizer's eos token.

    Completion tasks have theirs and the eos token only, whatever the template.

    Each task has its own list: in the harness, words of one task leak into later tasks of the same process.
    """
    found = prompt_template(template)
    if is_completion(benchmark):
        return (*benchmark.stop_words, *((eos_token,) if eos_token else ()))
    own = () if found.replace_stop_words else benchmark.stop_words
    last = () if eos_token in ("", HARNESS_END) else (eos_token,)
    return (*own, *found.stop_words, HARNESS_END, *last)


def notes(template: str, benchmark: Benchmark, chat: ChatTemplate | None = None) -> tuple[str, ...]:
    """What a reader should know of a template's prompts beside their text, one sentence each; often nothing."""
    if template != CHAT or chat is None:
        return ()
    rendered = render_turns(chat, _turns(benchmark.problems))
    if any(one.bos_removed for one in rendered):
        return (f"the chat template writes {chat.bos_token} itself; taken away, because the tokenizer adds it",)
    return ()


def _render_chat(benchmark: Benchmark, problem: Problem, prefill: bool, chat: ChatTemplate | None) -> str:
    if chat is None or not chat.text.strip():
        raise TemplateError(f"template 'chat', problem {problem.task_id}: {NO_TEMPLATE}")
    rendered = _chat_of(chat, benchmark, problem)
    if rendered.problem:
        where = f", line {rendered.line} of the model's template" if rendered.line else ""
        raise TemplateError(
            f"template 'chat', problem {problem.task_id}{where}: {rendered.problem}; "
            "choose another template or a model file with a working one"
        )
    # Not stripped at the end: the newline after the assistant's mark belongs to the model's format.
    return rendered.text + (problem.header.rstrip() if prefill else "")


def _chat_of(chat: ChatTemplate, benchmark: Benchmark, problem: Problem) -> Rendered:
    # All problems at once: one child process for a whole benchmark, kept by render_turns.
    turns, turn = _turns(benchmark.problems), user_turn(problem)
    if turn not in turns:
        turns = (turn,)
    return render_turns(chat, turns)[turns.index(turn)]


def _turns(problems: Sequence[Problem]) -> tuple[str, ...]:
    return tuple(user_turn(problem) for problem in problems)


@lru_cache(maxsize=1)
def _templates() -> dict[str, PromptTemplate]:
    data = tomllib.loads(resources.files("engine").joinpath("data/templates.toml").read_text(encoding="utf-8"))
    return {
        name: PromptTemplate(name, **{**fields, "stop_words": tuple(fields.get("stop_words", ()))})
        for name, fields in data.items()
    }
