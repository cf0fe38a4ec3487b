"""Render a chat template in a process of its own: job on stdin, answers on stdout, both JSON.

Run as a file with `python -I`, so it imports nothing of this package. The names offered to a template are those that
the transformers library offers; the clock is fixed, so that a prompt is the same every day.
"""

from __future__ import annotations

import json
import resource
import sys
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox

CPU_S = 10
MEMORY = 1 << 30
LARGEST = 1 << 20
"""Characters of one prompt; HumanEvalFix's are under 5 000."""

TODAY = datetime(2024, 7, 26)
"""The day that Llama 3's templates fall back to where they are given no clock."""


class Generation(jinja2.ext.Extension):
    """`{% generation %}`, with which transformers marks the assistant's text: only its body matters here."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        """The block's body, unchanged."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def raise_exception(message: str) -> None:
    """What templates call to refuse a conversation."""
    raise jinja2.TemplateError(message)


def strftime_now(form: str) -> str:
    """A fixed date in place of today's."""
    return TODAY.strftime(form)


def to_json(value: Any, indent: int | None = None, ensure_ascii: bool = False, **options: Any) -> str:
    """Plain JSON; Jinja's own filter escapes HTML characters."""
    return json.dumps(value, indent=indent, ensure_ascii=ensure_ascii, **options)


def environment() -> jinja2.sandbox.ImmutableSandboxedEnvironment:
    """Jinja as transformers sets it up for chat templates."""
    found = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    found.filters["tojson"] = to_json
    found.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return found


def render(template: jinja2.Template, turn: str, tokens: dict[str, str]) -> str:
    """One user turn and the generation prompt."""
    pieces, size = [], 0
    messages = [{"role": "user", "content": turn}]
    for piece in template.generate(messages=messages, add_generation_prompt=True, tools=None, documents=None, **tokens):
        size += len(piece)
        if size > LARGEST:
            raise jinja2.TemplateError(f"more than {LARGEST:,} characters for one prompt")
        pieces.append(piece)
    text = "".join(pieces)
    # Half a surrogate pair is no text that can be tokenized; better told here than there.
    text.encode()
    return text


def template_line(error: BaseException) -> int | None:
    """The template's line in which an error arose, from Jinja's rewritten traceback."""
    line = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def answer(template: jinja2.Template, turn: str, tokens: dict[str, str]) -> dict[str, Any]:
    """The rendered text, or what went wrong and where."""
    try:
        return {"text": render(template, turn, tokens)}
    except MemoryError as error:
        return {"problem": f"needs more than {MEMORY >> 20} MB of memory", "line": template_line(error)}
    # A template can raise anything that Python code can; each is the template's failure and is reported as such.
    except Exception as error:  # noqa: BLE001
        return {"problem": f"{type(error).__name__}: {error}"[:500], "line": template_line(error)}


def main() -> None:
    """Read the job, set the limits, answer for every turn."""
    job = json.load(sys.stdin.buffer)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    turns = job["turns"]
    try:
        template = environment().from_string(job["template"])
    # Compiling may fail as freely as rendering.
    except Exception as error:  # noqa: BLE001
        answers = [{"problem": f"{type(error).__name__}: {error}"[:500], "line": template_line(error)}] * len(turns)
    else:
        answers = [answer(template, turn, job["tokens"]) for turn in turns]
    sys.stdout.buffer.write(json.dumps(answers).encode())


if __name__ == "__main__":
    main()
