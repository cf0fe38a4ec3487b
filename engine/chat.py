"""A model's own chat template, rendered in another process: it comes with a downloaded file and is not trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from cache.gguf import read_header, token_texts
from cache.store import Store
from engine.errors import TemplateError
from engine.protocols import Model

CHILD = Path(__file__).with_name("chat_child.py")
WALL_S = 60.0
"""Seconds a whole benchmark's prompts may take to render; they take about a third of one."""

NO_TEMPLATE = "the model's file holds no chat template; choose another template, such as 'instruct'"


@dataclass(frozen=True)
class ChatTemplate:
    """The Jinja text of a model's file, with the tokens it may write and whether the tokenizer puts bos first."""

    text: str
    bos_token: str = ""
    eos_token: str = ""
    adds_bos: bool = False


@dataclass(frozen=True)
class Rendered:
    """One rendered prompt, or why there is none: `problem` empty when it worked, `line` of the template where known.

    `bos_removed` says that the template began with the bos token, which the tokenizer adds and so was taken away.
    """

    text: str = ""
    problem: str = ""
    line: int | None = None
    bos_removed: bool = False


def chat_template(model: Model) -> ChatTemplate | None:
    """The chat template of a loaded model; None when its file has none."""
    if not model.chat_template:
        return None
    tokens = model.special_tokens
    # The empty text tokenizes to the bos token alone where the file asks for it, and to nothing elsewhere.
    adds_bos = len(model.tokenize("")) > 0
    return ChatTemplate(model.chat_template, tokens.get("bos_token", ""), tokens.get("eos_token", ""), adds_bos)


def chat_of_file(path: Path) -> ChatTemplate:
    """The chat template in a GGUF file's head, without loading the model; `TemplateError` when the file has none."""
    head = read_header(path)
    text = head.text("tokenizer.chat_template")
    if not text:
        raise TemplateError(f"template 'chat', {path}: {NO_TEMPLATE}")
    ids = {name: head.number(f"tokenizer.ggml.{name}_token_id", -1) for name in ("bos", "eos")}
    texts = token_texts(path, ids.values())
    # llama.cpp's default where the file is silent: SentencePiece vocabularies begin with bos, byte-level ones do not.
    silent = head.text("tokenizer.ggml.model") == "llama"
    adds_bos = head.metadata.get("tokenizer.ggml.add_bos_token", silent)
    return ChatTemplate(text, texts.get(ids["bos"], ""), texts.get(ids["eos"], ""), bool(adds_bos))


def template_key(sha256: str) -> str:
    """Under which fact of the store a chat template's text stands, by its hash."""
    return f"chat-template:{sha256}"


def keep_template(store: Store, model: Model) -> None:
    """Keep a loaded model's chat template as a fact, so that its prompts can be shown without the model's file."""
    chat = chat_template(model)
    if chat is not None:
        store.put_fact(template_key(model.card.template_sha256), asdict(chat))


@lru_cache(maxsize=32)
def render_turns(chat: ChatTemplate, turns: tuple[str, ...]) -> tuple[Rendered, ...]:
    """Each user turn with the generation prompt after it, all in one limited child process; failures are values."""
    job = {"template": chat.text, "turns": turns, "tokens": {"bos_token": chat.bos_token, "eos_token": chat.eos_token}}
    environment = {name: value for name, value in os.environ.items() if name in ("LD_LIBRARY_PATH", "LANG")}
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(CHILD)],
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=WALL_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (Rendered(problem=f"did not finish within {WALL_S:g} s"),) * len(turns)
    except OSError as error:
        raise TemplateError(
            f"template 'chat': its renderer does not start ({error}); check the Python installation"
        ) from error
    if done.returncode != 0:
        return (Rendered(problem=_death(done.returncode, done.stderr)),) * len(turns)
    return tuple(_rendered(chat, **answer) for answer in json.loads(done.stdout))


def _rendered(chat: ChatTemplate, text: str = "", problem: str = "", line: int | None = None) -> Rendered:
    twice = chat.adds_bos and bool(chat.bos_token) and text.startswith(chat.bos_token)
    return Rendered(text[len(chat.bos_token) :] if twice else text, problem, line, bos_removed=twice)


def _death(code: int, stderr: bytes) -> str:
    if code < 0:
        return f"ended by signal {-code}: it exceeds the limits of CPU time or memory"
    last = stderr.decode(errors="replace").strip().splitlines()
    return f"its renderer failed: {last[-1] if last else f'exit status {code}'}"
