"""The seams of the engine: what a model, a benchmark and a sandbox promise, and the values that cross them.

Every Protocol here has a fake in tests/conftest.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.settings import Decoding

STOPS = ("end", "limit", "cut", "no room")
"""Why a generation ended: the model's end token, the token limit, every asked-for cut reached, or no room after the
prompt.
"""

SPLIT = "split"
"""The mode (`Outcome.mode`) in which plain data is compared outside of the program's process, and nothing else counts.
"""

OUTCOMES = (
    "passed", "failed", "exception", "syntax error", "timeout", "memory", "crash", "exited early",
    "answer not data", "refused", "no room", "unavailable",
)  # fmt: skip
"""What a program showed. Only `passed` counts as a pass; `unavailable` is no answer at all and never counts as a
failure.
"""


@dataclass(frozen=True)
class Problem:
    """One benchmark item, in HumanEvalPack's fields; `context` holds what a template shows of it.

    `context` is the text with the bug (and the tests, in the tests variant), `instruction` the sentence asking for the
    fix, `header` the function header that the answer may be pre-filled with, `test` the program part that decides.
    `prompt` is set for completion tasks only: the exact text that the model continues. `flaw` says why the problem's
    own reference programs do not behave as they should, where that is known.
    """

    task_id: str
    entry_point: str
    header: str
    context: str
    instruction: str
    test: str
    canonical: str
    buggy: str
    bug_type: str = "unknown"
    extra: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""
    flaw: str = ""


@dataclass(frozen=True)
class Program:
    """A candidate with the tests that judge it.

    `prelude` is trusted import text run before the candidate; `candidate` is the hostile part; `test` the trusted part.
    `helpers` is trusted text of the problem (its header will do) that defines what the tests call besides
    `entry_point`; such a name is taken from there when the candidate defines it too, and is missing when it does not.
    `same_interpreter` asks that the tests run beside the candidate, for tests that need the candidate's own objects.
    `language` is the short name that HumanEvalPack's tasks end in; other languages than Python are compiled and run as
    one text.
    """

    prelude: str
    candidate: str
    test: str
    entry_point: str = ""
    helpers: str = ""
    same_interpreter: bool = False
    language: str = "python"


@dataclass(frozen=True)
class Limits:
    """What a program may use: `cpu_s` and `wall_s` in seconds, memory in bytes."""

    cpu_s: float = 10.0
    wall_s: float = 30.0
    memory: int = 1 << 30


@dataclass(frozen=True)
class Outcome:
    """What running a program showed: a kind out of OUTCOMES, one line of detail, how it was run, CPU seconds."""

    kind: str
    detail: str = ""
    mode: str = ""
    level: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True for a pass, and for nothing else."""
        return self.kind == "passed"


class Sandbox(Protocol):
    """Runs untrusted programs; the verdict is data that the program cannot write."""

    @property
    def level(self) -> str:
        """Name of the confinement in force, stored with each outcome."""
        ...

    @property
    def identity(self) -> str:
        """Everything about this sandbox that may change an outcome (Python version, level, mode), for the outcome's
        key.
        """
        ...

    def run(self, program: Program, limits: Limits) -> Outcome:
        """Judge one program; never raises for what the program does. Safe to call from several threads."""
        ...

    def close(self) -> None:
        """End all helper processes."""
        ...


@dataclass(frozen=True)
class Request:
    """One generation asked of a model.

    `key` identifies it in the store; `prompt` is the exact token ids (bos included); `limit` is the most new tokens;
    `stream` seeds this generation's own random stream; `done` says, given the text so far, that every cut asked for
    is reached, so that generating further cannot change any program.
    """

    key: str
    prompt: tuple[int, ...]
    decoding: Decoding
    limit: int
    stream: int
    done: Callable[[str], bool] = lambda text: False


@dataclass(frozen=True)
class Generation:
    """One raw reply: text and token ids without the end token, why it ended (of STOPS), wall seconds in its slot."""

    key: str
    text: str
    tokens: tuple[int, ...]
    stop: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Writing:
    """A reply that a slot is writing: the request's key, and the tokens and text so far (whole characters only)."""

    slot: int
    key: str
    tokens: int
    text: str


@dataclass(frozen=True)
class ModelCard:
    """Who a model is: what goes into a generation's key, and what the report says of it.

    `sha256` is of the file that is loaded; `source_sha256` of the file it was derived from (equal when not derived);
    `recipe` says how (`as released`, `f16 from f16`, ...). `numerics` holds everything that may change a token without
    being a setting: engine build, device, threads are not in it, batch width and KV layout are.
    """

    name: str
    path: str
    sha256: str
    source_sha256: str
    recipe: str
    architecture: str
    parameters: int
    template_sha256: str
    tensor_types: Mapping[str, int]
    numerics: Mapping[str, str]
    metadata: Mapping[str, str] = field(default_factory=dict)


class Model(Protocol):
    """A loaded model."""

    @property
    def card(self) -> ModelCard:
        """Identity and numerics of what is loaded."""
        ...

    @property
    def chat_template(self) -> str:
        """The Jinja text stored in the file; empty when there is none."""
        ...

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """`bos_token`, `eos_token`, ... as text, for the chat template; empty string where the model has none."""
        ...

    def tokenize(self, prompt: str) -> tuple[int, ...]:
        """Exact token ids of a prompt, with the beginning-of-sequence token where the model's file asks for one."""
        ...

    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of some reply's first tokens: how a shorter limit is read as a prefix of a longer generation."""
        ...

    def generate(
        self, requests: Iterator[Request] | Sequence[Request], tick: Callable[[], bool] = lambda: True
    ) -> Iterator[Generation]:
        """Generations in the order in which they finish; each depends on its request and the card only.

        `tick` is called before each decoding step: it may block (pause), and False ends the iteration there.
        """
        ...

    def writing(self) -> Sequence[Writing]:
        """The unfinished replies, where `tick` asks; empty outside of `generate`."""
        ...

    def close(self) -> None:
        """Free the weights and the KV cache."""
        ...


class Benchmark(Protocol):
    """Problems, and how a program for one is put together and judged."""

    @property
    def name(self) -> str:
        """The harness's task name."""
        ...

    @property
    def sha256(self) -> str:
        """Hash over the problems as read."""
        ...

    @property
    def problems(self) -> Sequence[Problem]:
        """All problems, in the benchmark's order; its length is the denominator."""
        ...

    @property
    def stop_words(self) -> tuple[str, ...]:
        """The harness's stop words for this task, without those that a template adds."""
        ...

    @property
    def limits(self) -> Limits:
        """The limits under which a program of this benchmark is judged."""
        ...

    def program(self, problem: Problem, candidate: str) -> Program:
        """The program that judges a candidate for a problem (prelude, candidate, tests)."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Source, revision, licence and size, for the report."""
        ...
