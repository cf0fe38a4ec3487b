"""From a raw reply to a candidate program: the rules, and when generating further cannot change what a rule gives.

A rule looks at text only, so every rule can be applied to one stored reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.benchmarks.completion import HUMANEVAL_STOP_WORDS
from engine.benchmarks.languages import Language, language_of
from engine.cut import harness_cut, harness_settled, stop_cut, stop_settled
from engine.errors import SettingsError, TemplateError
from engine.prompts import COMPLETION, is_completion, prompt_template, stop_words
from engine.protocols import Benchmark, Problem
from engine.sanitizing import sanitized

FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
"""A closed fence; its first line may name a language."""

CODE = re.compile(r"\A\s*(?:def |class |import |from |@|async def )")


@dataclass(frozen=True)
class Answer:
    """A reply with what a rule may look at; `prefill` says that the reply continues `header`.

    `prompt` is the exact text that the reply continues in a completion task, empty elsewhere.
    """

    reply: str
    header: str
    entry_point: str
    prefill: bool
    language: Language
    stop_words: tuple[str, ...]
    prompt: str = ""
    completion: bool = False

    @property
    def start(self) -> str:
        """What the reply continues: a completion's prompt to the last character, else the header without blank end."""
        return self.prompt or self.header.rstrip()

    @property
    def whole(self) -> str:
        """The answer as it stands: the pre-filled header and what the model wrote after it."""
        return self.start + self.reply if self.prefill else self.reply

    @property
    def fences(self) -> list[str]:
        """The texts of all closed fences."""
        return FENCE.findall(self.reply)


@dataclass(frozen=True)
class Rule:
    """One extraction: the program it makes, and whether no continuation of a reply can change that program.

    `found` says whether there was any code in the reply for the rule to take; where not, the program is what the rule
    falls back on, which is judged all the same.
    """

    program: Callable[[Answer], str]
    settled: Callable[[str, Sequence[str], Language], bool] = lambda reply, words, language: False
    found: Callable[[Answer], bool] = lambda answer: bool(answer.reply.strip())


def _harness(answer: Answer) -> str:
    if answer.completion:
        return answer.start + stop_cut(answer.reply, answer.stop_words)
    return answer.header.rstrip() + harness_cut(answer.reply, answer.stop_words, answer.language)


def _harness_found(answer: Answer) -> bool:
    return len(_harness(answer).rstrip()) > len(answer.start.rstrip())


def _humaneval_stop(answer: Answer) -> str:
    return answer.start + stop_cut(answer.reply, HUMANEVAL_STOP_WORDS)


def _sanitize(answer: Answer) -> str:
    return sanitized(answer.whole, answer.entry_point)


def _first_fence(answer: Answer) -> str:
    fence = FENCE.search(answer.reply)
    if fence is None:
        return answer.whole
    name = re.escape(answer.entry_point)
    definition = rf"\bdef\s+{name}\b" if answer.language.name == "python" else rf"\b{name}\b"
    return fence[1] if re.search(definition, fence[1]) else _under_header(answer, fence[1])


def _all_fences(answer: Answer) -> str:
    return "\n".join(answer.fences) or answer.whole


def _smart(answer: Answer) -> str:
    code = _all_fences(answer)
    return code if "def " in code else _under_header(answer, code)


def _prompt_body(answer: Answer) -> str:
    return answer.whole if answer.prefill else (answer.header or answer.prompt) + answer.reply


def _under_header(answer: Answer, code: str) -> str:
    return answer.header.rstrip() + "\n" + code


def _fenced(answer: Answer) -> bool:
    # A reply without a fence that continues the header, or is code from its first word on, is code as it stands.
    return bool(answer.fences) or answer.prefill or bool(CODE.search(answer.reply))


RULES = {
    "harness": Rule(_harness, harness_settled, _harness_found),
    "raw": Rule(lambda answer: answer.whole),
    # The first closed fence stays the first one, whatever follows.
    "first_fence": Rule(_first_fence, lambda reply, words, language: FENCE.search(reply) is not None, _fenced),
    "prompt+body": Rule(_prompt_body),
    "all_fences": Rule(_all_fences, found=_fenced),
    "smart": Rule(_smart, found=_fenced),
    "humaneval-stop": Rule(
        _humaneval_stop,
        lambda reply, words, language: stop_settled(reply, HUMANEVAL_STOP_WORDS, language),
        lambda answer: bool(stop_cut(answer.reply, HUMANEVAL_STOP_WORDS).strip()),
    ),
    "sanitize": Rule(_sanitize, found=lambda answer: bool(_sanitize(answer).strip())),
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
    return _rule(name).program(_answer(benchmark, problem, template, reply, prefill, eos_token))


def code_found(
    name: str,
    benchmark: Benchmark,
    problem: Problem,
    template: str,
    reply: str,
    *,
    prefill: bool = True,
    eos_token: str = "",
) -> bool:
    """False where a rule found no code in a reply and fell back on something else; the arguments are `extract`'s."""
    return _rule(name).found(_answer(benchmark, problem, template, reply, prefill, eos_token))


def _answer(benchmark: Benchmark, problem: Problem, template: str, reply: str, prefill: bool, eos_token: str) -> Answer:
    check_template(template)
    return Answer(
        reply,
        problem.header,
        problem.entry_point,
        prefill,
        language_of(benchmark.name),
        stop_words(benchmark, template, eos_token),
        prompt=problem.prompt if template == COMPLETION or not problem.header else "",
        completion=bool(problem.prompt),
    )


def done(names: Sequence[str], benchmark: Benchmark, words: Sequence[str]) -> Callable[[str], bool]:
    """Says of a reply so far that none of the named rules can give another program, whatever follows.

    `words` are those of `engine.prompts.stop_words`, the same as `extract` uses. Always False where one of the rules
    reads the whole reply, and where no rule is named.
    """
    rules = [_rule(name) for name in names]
    language, fixed = language_of(benchmark.name), tuple(words)
    if is_completion(benchmark):
        # The harness cuts completions at stop words alone.
        rules = [replace(rule, settled=stop_settled) if rule is RULES["harness"] else rule for rule in rules]
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
