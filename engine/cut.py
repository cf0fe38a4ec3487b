"""Where the harness cuts a reply, and from which moment on no further text can move that cut.

After bigcode-evaluation-harness 8fc5bae, `postprocess_generation`: stop words first, then, in Python, the first line
that starts in column 0; in brace languages, the brace that closes the function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.benchmarks.languages import Language

# A line in column 0, from the newline before it: its first character is neither space nor tab, and it is not blank.
# Searched for at every token, so it begins with a fixed character, which is eight times as fast as ^.
COLUMN_0 = re.compile(r"\n(?![ \t\n])[^\S\n]*\S")
BRACE = re.compile(r"[{}]")
JAVA_MAIN = "public static void main"


def harness_cut(reply: str, stop_words: Sequence[str], language: Language) -> str:
    """What the harness keeps of a reply that continues the function header."""
    text = reply.rstrip()
    return _cut_body(text[: _stop(text, stop_words)], language)


def harness_settled(reply: str, stop_words: Sequence[str], language: Language) -> bool:
    """True when `harness_cut` gives the same text for this reply and for every continuation of it."""
    # Blank ends are stripped before the cut, so a continuation's text continues the stripped reply.
    text = reply.rstrip()
    found = [(text.find(word), len(word)) for word in stop_words if word in text]
    first = min((start for start, _ in found), default=len(text))
    pending = _pending(text, stop_words)
    if found and first == _stop(text, stop_words):
        # The cut stands if no later word can begin inside the present ones; one that begins with the cut may.
        end = max(start + length for start, length in found)
        if all(start >= end or start == first for start in pending):
            return True
    # A later word cuts at the earliest of `pending`, a present one at `first`.
    body = _body_end(text[:first], language)
    return body is not None and all(start >= body[1] for start in pending)


def stop_cut(reply: str, stop_words: Sequence[str]) -> str:
    """A reply up to the earliest of the stop words: what the harness keeps in HumanEval and MBPP."""
    return reply[: min((start for word in stop_words if (start := reply.find(word)) != -1), default=len(reply))]


def stop_settled(reply: str, stop_words: Sequence[str], language: Language) -> bool:
    """True when `stop_cut` gives the same text for this reply and for every continuation of it."""
    end = len(stop_cut(reply, stop_words))
    return end < len(reply) and all(start >= end for start in _pending(reply, stop_words))


def _stop(text: str, stop_words: Sequence[str]) -> int:
    # One word after the other, as the harness does: where two overlap, the order of the list decides.
    end = len(text)
    for word in stop_words:
        position = text.find(word, 0, end)
        if position != -1:
            end = position
    return end


def _pending(text: str, stop_words: Sequence[str]) -> set[int]:
    # Where stop words may have begun that are not whole yet: the text ends with a part of them.
    return {len(text) - size for word in stop_words for size in range(1, len(word)) if text.endswith(word[:size])}


def _cut_body(text: str, language: Language) -> str:
    body = _body_end(text, language)
    if body is not None:
        return text[: body[0]]
    return text if not language.depth else _close_body(text, java=language.name == "java")


def _body_end(text: str, language: Language) -> tuple[int, int] | None:
    """Where the body ends, and how much text must stand for it to end there; None when its end is not reached."""
    if not language.depth:
        line = COLUMN_0.search("\n" + text)
        return (max(line.start() - 1, 0), line.end() - 1) if line else None
    depth = language.depth
    for brace in BRACE.finditer(text):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end(), brace.end()
    return None


def _close_body(text: str, *, java: bool) -> str:
    """The harness's guess where braces never balance: up to the last one, closing Java's class as well."""
    if java and JAVA_MAIN in text:
        text = text[: text.find(JAVA_MAIN)] + "}"
    if "}" in text:
        text = text[: text.rfind("}")] + "}"
    if java and text.count("{") - 1 == text.count("}"):
        text += "\n}"
    return text
