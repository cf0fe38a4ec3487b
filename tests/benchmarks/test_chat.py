"""The model's own chat template: rendered as transformers does, at arm's length, with every failure told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from engine import chat_child
from engine.chat import ChatTemplate, chat_template, render_turns
from engine.errors import TemplateError
from engine.prompts import notes, render, user_turn
from engine.protocols import Benchmark, Model

CHATML = (
    "{% for message in messages %}\n    {% set start = '<|im_start|>' + message['role'] %}\n"
    "{{ start + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}\n"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
LLAMA_2 = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content | trim }} [/INST]"
    "{% else %} {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}"
)


@dataclass
class FileModel:
    """As much of a model as a chat template needs."""

    chat_template: str
    special_tokens: Mapping[str, str] = field(default_factory=dict)
    first: Sequence[int] = ()

    def tokenize(self, prompt: str) -> tuple[int, ...]:
        return (*self.first, *prompt.encode())


def test_answer_follows_the_generation_prompt(tiny: Benchmark) -> None:
    """User turn with the instruction first, generation prompt with its newline, then the header without its own."""
    problem = tiny.problems[0]
    text = render("chat", tiny, problem, chat=ChatTemplate(CHATML))
    turn = f"<|im_start|>user\n{user_turn(problem)}<|im_end|>\n"
    assert text == turn + "<|im_start|>assistant\ndef double(x):"
    assert render("chat", tiny, problem, prefill=False, chat=ChatTemplate(CHATML)).endswith("<|im_start|>assistant\n")


def test_bos_is_not_doubled(tiny: Benchmark) -> None:
    """A bos that the template writes is taken away where the tokenizer adds it, kept elsewhere, and that is told."""
    problem = tiny.problems[0]
    plain, adding = ChatTemplate(LLAMA_2, "<s>", "</s>"), ChatTemplate(LLAMA_2, "<s>", "</s>", adds_bos=True)
    kept, taken = (render("chat", tiny, problem, chat=chat) for chat in (plain, adding))
    assert kept == "<s>" + taken
    assert taken.startswith("[INST] Fix bugs in double.")
    assert notes("chat", tiny, plain) == ()
    assert notes("instruct", tiny, adding) == ()
    assert "writes <s> itself" in notes("chat", tiny, adding)[0]


def test_template_is_read_from_a_model() -> None:
    """The tokenizer adds bos when even the empty text has a token; a file without template gives None."""
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    adding = chat_template(cast(Model, FileModel(LLAMA_2, tokens, first=(1,))))
    assert adding == ChatTemplate(LLAMA_2, "<s>", "</s>", adds_bos=True)
    assert chat_template(cast(Model, FileModel(CHATML))) == ChatTemplate(CHATML)
    assert chat_template(cast(Model, FileModel(""))) is None


def test_model_without_template_is_told_to_choose_another(tiny: Benchmark) -> None:
    """Where the file has no template, the error names the problem and another template."""
    with pytest.raises(TemplateError, match=r"problem Python/0: .* holds no chat template; choose another"):
        render("chat", tiny, tiny.problems[0])


def test_helpers_of_transformers_are_there_and_the_clock_stands_still() -> None:
    """tojson escapes no HTML, loop controls and generation marks work, the date never changes, tools are none."""
    text = (
        "{% for m in messages %}{% generation %}{{ {'a': m.content} | tojson }}{% endgeneration %}{% break %}"
        "{% endfor %}"
        "{{ strftime_now('%d %b %Y') }}{{ tools is none }}{{ undefined_name }}{{ eos_token }}"
    )
    (done,) = render_turns(ChatTemplate(text, eos_token="</s>"), ("<é&>",))
    assert done.text == '{"a": "<é&>"}26 Jul 2024True</s>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{% for %}", "line 1 .*TemplateSyntaxError"),
        ("\n\n{{ raise_exception('no user turn') }}", "line 3 of the model's template: TemplateError: no user turn"),
        ("\n{{ messages[0].a.b }}", "line 2 .*UndefinedError"),
        ("{{ ''.__class__.__mro__ }}", "SecurityError"),
        ("{{ messages.append(1) }}", "SecurityError"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
        ("{{ 'a' * 10 ** 10 }}", "needs more than 1024 MB"),
        ("{{ '%2000000000d' % 1 }}", "needs more than 1024 MB"),
        ("{% for i in range(99999) %}{{ 'a' * 99 }}{% endfor %}", "more than 1,048,576 characters"),
        ("{{ '\ud800' }}", "UnicodeEncodeError"),
    ],
)
def test_failing_template_is_one_error_that_names_the_place(tiny: Benchmark, text: str, said: str) -> None:
    """Whatever a template does wrong, the error names template, problem, line where known, and what to do."""
    with pytest.raises(TemplateError, match=said) as raised:
        render("chat", tiny, tiny.problems[0], chat=ChatTemplate(text))
    assert str(raised.value).startswith("template 'chat', problem Python/0")
    assert "choose another template" in str(raised.value)


def test_endless_template_is_ended(tiny: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops within loops that write nothing end at the time limit."""
    loops = "{% for a in range(99999) %}" * 4 + "{% endfor %}" * 4
    monkeypatch.setattr("engine.chat.WALL_S", 1.0)
    with pytest.raises(TemplateError, match="did not finish within 1 s"):
        render("chat", tiny, tiny.problems[0], chat=ChatTemplate(loops))


def test_one_failing_problem_fails_no_other() -> None:
    """A template that refuses one turn still renders the others."""
    text = "{% if 'bad' in messages[0].content %}{{ raise_exception('refused') }}{% endif %}{{ messages[0].content }}"
    good, bad, last = render_turns(ChatTemplate(text), ("one", "bad", "three"))
    assert (good.text, last.text) == ("one", "three")
    assert (bad.problem, bad.line) == ("TemplateError: refused", 1)


def test_problem_outside_the_benchmark_renders_too(tiny: Benchmark) -> None:
    """A problem that was changed or made up is rendered by itself."""
    problem = replace(tiny.problems[0], instruction="Say something.")
    assert "Say something." in render("chat", tiny, problem, chat=ChatTemplate(CHATML))


def test_child_renders_as_it_does_in_process() -> None:
    """The renderer's own functions give what the process gives: the process adds limits, not meaning."""
    template = chat_child.environment().from_string(CHATML)
    (apart,) = render_turns(ChatTemplate(CHATML), ("Hi",))
    assert chat_child.render(template, "Hi", {"bos_token": "", "eos_token": ""}) == apart.text
