"""From a raw reply to a candidate program: the rules, and when generating further cannot change what a rule gives.

A rule looks at text only, so every rule can be applied to one stored reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.benchmarks.languages import Language, language_of
from engine.cut import harness_cut, harness_settled
from engine.errors import SettingsError, TemplateError
from engine.prompts import prompt_template, stop_words
from engine.protocols import Benchmark, Problem

FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
"""A closed fence; its first line may name a language."""


@dataclass(frozen=True)
class Answer:
    """A reply with what a rule may look at; `prefill` says that the reply continues `header`."""

    reply: str
    header: str
    entry_point: str
    prefill: bool
    language: Language
    stop_words: tuple[str, ...]

    @property
    def whole(self) -> str:
        """The answer as it stands: the pre-filled header and what the model wrote after it."""
        return self.header.rstrip() + self.reply if self.prefill else self.reply


@dataclass(frozen=True)
class Rule:
    """One extraction: the program it makes, and whether no continuation of a reply can change that program."""

    program: Callable[[Answer], str]
    settled: Callable[[str, Sequence[str], Language], bool] = lambda reply, words, language: False


def _harness(answer: Answer) -> str:
    return answer.header.rstrip() + harness_cut(answer.reply, answer.stop_words, answer.language)


def _first_fence(answer: Answer) -> str:
    fence = FENCE.search(answer.reply)
    if fence is None:
        return answer.whole
    name = re.escape(answer.entry_point)
    definition = rf"\bdef\s+{name}\b" if answer.language.name == "python" else rf"\b{name}\b"
    return fence[1] if re.search(definition, fence[1]) else _under_header(answer, fence[1])


def _all_fences(answer: Answer) -> str:
    return "\n".join(FENCE.findall(answer.reply)) or answer.whole


def _smart(answer: Answer) -> str:
    code = _all_fences(answer)
    return code if "def " in code else _under_header(answer, code)


def _prompt_body(answer: Answer) -> str:
    return answer.whole if answer.prefill else answer.header + answer.reply


def _under_header(answer: Answer, code: str) -> str:
    return answer.header.rstrip() + "\n" + code


RULES = {
    "harness": Rule(_harness, harness_settled),
    "raw": Rule(lambda answer: answer.whole),
    # The first closed fence stays the first one, whatever follows.
    "first_fence": Rule(_first_fence, lambda reply, words, language: FENCE.search(reply) is not None),
    "prompt+body": Rule(_prompt_body),
    "all_fences": Rule(_all_fences),
    "smart": Rule(_smart),
}


def extraction_names() -> tuple[str, ...]:
    """Every name that `extract` takes."""
    return tuple(RULES)


def extract(
    name: str,
    benchmark: Benchmark,
    problem: Problem,
    template: str,
    reply: str,
    *,
    prefill: bool = True,
    eos_token: str = "",
) -> str:
    """The candidate program that a rule makes of a reply.

    `prefill` says whether the prompt ended with the function header; `eos_token` is the tokenizer's, which the harness
    counts among the stop words. `SettingsError` for an unknown rule, `TemplateError` where replies are patches.
    """
    rule = _rule(name)
    check_template(template)
    words = stop_words(benchmark, template, eos_token)
    answer = Answer(reply, problem.header, problem.entry_point, prefill, language_of(benchmark.name), words)
    return rule.program(answer)


def done(names: Sequence[str], benchmark: Benchmark, words: Sequence[str]) -> Callable[[str], bool]:
    """Says of a reply so far that none of the named rules can give another program, whatever follows.

    `words` are those of `engine.prompts.stop_words`, the same as `extract` uses. Always False where one of the rules
    reads the whole reply, and where no rule is named.
    """
    rules = [_rule(name) for name in names]
    language, fixed = language_of(benchmark.name), tuple(words)
    return lambda reply: bool(rules) and all(rule.settled(reply, fixed, language) for rule in rules)


def check_template(template: str) -> None:
    """Raise `TemplateError` for a template whose replies are patches, which no rule applies yet."""
    if prompt_template(template).reply == "patch":
        raise TemplateError(
            f"template {template!r}: its replies are patches, and applying them is not supported yet; "
            "its prompts can be rendered: to get scores, choose another template"
        )


def _rule(name: str) -> Rule:
    if name not in RULES:
        raise SettingsError(f"extraction {name!r} is unknown; expected one of {', '.join(RULES)}")
    return RULES[name]
