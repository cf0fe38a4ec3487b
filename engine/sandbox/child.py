"""The process that runs one candidate: takes its limits, loads the program, answers calls until it is ended.

Everything here runs beside hostile code and is believed in nothing; the judge at the other end of the channel decides.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import importlib
import io
import os
import resource
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any, NoReturn

from engine.sandbox import kernel, messages, seccomp, wire

SOURCE_NAME = "<string>"
_FILES = 64
_FIXED = (
    (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, _FILES), (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_STACK, 8 << 20),
)  # fmt: skip


class Silence(io.StringIO):
    """Standard output as the harness gives it: writes vanish, reads are refused."""

    def write(self, text: str) -> int:
        """Count and drop."""
        return len(text)

    def read(self, size: int | None = -1, /) -> str:
        """Refuse, as the harness does."""
        raise OSError("not readable")

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """Refuse, as the harness does."""
        raise OSError("not readable")

    def readlines(self, hint: int = -1, /) -> list[str]:  # type: ignore[override]
        """Refuse, as the harness does."""
        raise OSError("not readable")

    def readable(self) -> bool:
        """Never."""
        return False


def serve(conversation: Conversation, names: dict[str, Any], leave: int, filters: Iterable[seccomp.Filter]) -> NoReturn:
    """Run one job in this (just forked) process and end it; never returns.

    The candidate is run in `names`, after letting go of the descriptor `leave` and under the filters.
    """
    code = 1
    try:
        enter(leave, filters)
        conversation.run(names)
        code = 0
    except messages.Closed:
        code = 0
    except BaseException:  # noqa: BLE001 - a child has nobody to raise to; the judge reads the end of the stream
        traceback.print_exc()
    finally:
        os._exit(code)


def enter(leave: int, filters: Iterable[seccomp.Filter]) -> None:
    """Let go of a descriptor and take filters: the first that a child does."""
    os.close(leave)
    for filter_ in filters:
        filter_.install()


def take_fixed_limits() -> None:
    """The limits that are the same for every child: files and their sizes, core dumps, stack."""
    for which, value in _FIXED:
        lower_limit(which, value)


def lower_limit(which: int, value: int) -> None:
    """Set a soft and hard limit, never above the ones that were inherited."""
    value = no_more_than_inherited(which, value)
    resource.setrlimit(which, (value, value))


def no_more_than_inherited(which: int, value: int) -> int:
    """A wanted limit, or what this process has where that is lower."""
    return min([value, *(limit for limit in resource.getrlimit(which) if limit != resource.RLIM_INFINITY)])


class Conversation:
    """The child's end of a judgement: load, then calls or tests, in the order in which the judge asks."""

    def __init__(self, channel: messages.Channel, filters: list[seccomp.Filter] | None) -> None:
        self._channel = channel
        self._filters_to_come = filters
        self._globals: dict[str, Any] = {}
        self._handles: dict[int, object] = {}
        self._ids: dict[int, int] = {}

    def run(self, names: dict[str, Any]) -> None:
        """Answer messages until the judge closes the channel."""
        self._globals = names
        self.step(load=True)
        while True:
            self.step()

    def step(self, load: bool = False) -> None:
        """Answer one message."""
        message = self._channel.receive()
        if load:
            self._load(message)
        elif "test" in message:
            self._test(message)
        else:
            self._answer(message)

    def _load(self, message: dict[str, Any]) -> None:
        try:
            code = compile(message["load"], SOURCE_NAME, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as e:
            self._channel.send({"syntax": f"{type(e).__name__}: {e}"[:300]})
            return
        if self._filters_to_come is not None:
            _import_ahead(code)
            kernel.set_capabilities()  # nothing is left to be read
            for filter_ in self._filters_to_come:
                filter_.install()
        try:
            exec(code, self._globals)
        except BaseException as e:  # noqa: BLE001 - told to the judge
            self._channel.send({"error": describe(e)})
            return
        self._channel.send({"loaded": {name: self._kind(name) for name in message["names"]}})

    def _kind(self, name: str) -> str:
        if name not in self._globals:
            return ""
        value = self._globals[name]
        if type(value) is type(os):
            return f"module {value.__name__}"
        return "class" if isinstance(value, type) else "callable" if callable(value) else "value"

    def _test(self, message: dict[str, Any]) -> None:
        """Run the tests here, in the candidate's namespace, and prove the end with the nonce that came with them."""
        try:
            code = compile(message["test"], "<test>", "exec", dont_inherit=True)
            exec(code, self._globals)
        except BaseException as e:  # noqa: BLE001 - told to the judge
            self._channel.send({"error": describe(e)})
        else:
            self._channel.send({"nonce": message["nonce"], "done": True})

    def _answer(self, message: dict[str, Any]) -> None:
        """Do what one message asks and send the answer under its tag."""
        tag, coded, named = message["n"], message["a"], message["k"]
        args = self._decoded(coded, tag)
        kwargs = dict(zip(named, self._decoded(named.values(), tag), strict=True)) if named else named
        answer: dict[str, Any] = {"n": tag}
        try:
            on = message["on"]
            target = self._globals[on] if isinstance(on, str) else self._handles[on]
            result = OPERATIONS[message["op"]](target, *args, **kwargs)
        except BaseException as e:  # noqa: BLE001 - told to the judge
            answer["x"] = describe(e)
        else:
            same = [i for i, value in enumerate(args) if value is result and not isinstance(value, _PLAIN)]
            answer["r"] = {"=": same[0]} if same else self._outgoing(result, answer)
        before = [*coded, *named.values()]
        if any(isinstance(x, (list, dict)) for x in before):
            after = [self._outgoing(x, answer) for x in [*args, *kwargs.values()]]
            if after != before and any(a != b and not _is_handle(b) for a, b in zip(after, before, strict=True)):
                answer["m"] = after
        self._reply(tag, answer)

    def _decoded(self, coded: Iterable[Any], tag: str) -> list[Any]:
        def incoming(kind: str, body: Any) -> object:
            return self._incoming(tag, kind, body)

        return [wire.decode(x, incoming, trusted=True) for x in coded]

    def _reply(self, tag: str, answer: dict[str, Any]) -> None:
        try:
            self._channel.send(answer)
        except (wire.Malformed, MemoryError) as e:
            self._channel.send({"n": tag, "!": f"the answer is too large: {e}"})

    def _outgoing(self, value: object, answer: dict[str, Any]) -> Any:
        try:
            return wire.encode(value, self._register)
        except (wire.Malformed, RecursionError, MemoryError) as e:
            answer["!"] = f"the answer cannot cross: {e}"
            return None

    def _register(self, value: object) -> Any:
        if isinstance(value, Stub):
            return {"H": [value.number, value.kind]}
        number = self._ids.get(id(value))
        if number is None:
            number = self._ids[id(value)] = len(self._handles) + 1
            self._handles[number] = value
        kind = "iterator" if hasattr(type(value), "__next__") else "object"
        return {"h": [number, kind, type(value).__name__]}

    def _incoming(self, tag: str, kind: str, body: Any) -> object:
        if kind == "H" and isinstance(body[0], str):
            return getattr(importlib.import_module(body[0]), body[1])
        if kind == "H":
            return (StubIterator if body[1] == "iterator" else Stub)(self, tag, *body)
        return self._globals[body] if isinstance(body, str) else self._handles[body]

    def call_back(self, tag: str, number: int, step: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Have the judge run a function of the tests; calls that this leads to are answered meanwhile."""
        coded = {name: wire.encode(x, self._register) for name, x in kwargs.items()}
        coded_args = [wire.encode(x, self._register) for x in args]
        self._channel.send({"n": tag, "cb": number, "step": step, "a": coded_args, "k": coded})
        while True:
            message = self._channel.receive()
            if "op" in message:
                self._answer(message)
            elif "cx" in message:
                error = getattr(builtins, message["cx"]["base"], Exception)
                raise error(message["cx"]["text"])
            else:
                return self._decoded([message["cr"]], tag)[0]


def _is_handle(coded: Any) -> bool:
    return isinstance(coded, dict) and not coded.keys().isdisjoint("hH")


class Stub:
    """A function of the tests, called from the candidate."""

    def __init__(self, conversation: Conversation, tag: str, number: int, kind: str) -> None:
        self._conversation = conversation
        self._tag = tag
        self.number = number
        self.kind = kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._conversation.call_back(self._tag, self.number, "call", args, kwargs)


class StubIterator(Stub):
    """An iterator of the tests, advanced from the candidate."""

    def __iter__(self) -> StubIterator:
        return self

    def __next__(self) -> Any:
        return self._conversation.call_back(self._tag, self.number, "next", (), {})


OPERATIONS: dict[str, Callable[..., Any]] = {
    "call": lambda target, *args, **kwargs: target(*args, **kwargs),
    "attribute": getattr,
    "set": setattr,
    "len": len,
    "item": lambda target, key: target[key],
    "put": lambda target, key, value: target.__setitem__(key, value),
    "iterator": iter,
    "next": next,
    "send": lambda target, value: target.send(value),
    "close": lambda target: target.close(),
    "str": str,
    "bool": bool,
    "value": lambda target: target,
}
_PLAIN = (int, float, str, bytes, tuple, frozenset, type(None))


def _import_ahead(code: CodeType) -> None:
    """Import what a program's import statements name, wherever they stand, while files can still be opened.

    One that fails is left to the program, which then meets the same error itself.
    """
    for name in set(_imported(code)):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _imported(code: CodeType) -> Iterator[str]:
    before: dis.Instruction | None = None
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            yield str(step.argval)
            names = before.argval if before is not None and before.opname == "LOAD_CONST" else None
            yield from [f"{step.argval}.{part}" for part in names or () if part != "*"]
        before = step
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _imported(inner)


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as data: its builtin type, its own type's name, its text and its arguments where they are data."""
    base = next((t for t in type(error).__mro__ if getattr(builtins, t.__name__, None) is t), Exception)
    try:
        text = str(error)[:2000]
    except BaseException as e:  # noqa: BLE001 - a hostile __str__ is reported as itself
        text = f"(its text raised {type(e).__name__})"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<test>"]
    return {
        "base": base.__name__,
        "type": type(error).__name__[:100],
        "text": text,
        "errno": error.errno if isinstance(error, OSError) and isinstance(error.errno, int) else 0,
        "line": lines[-1] if lines else 0,
        **_plain_arguments(error),
    }


def _plain_arguments(error: BaseException) -> dict[str, Any]:
    try:
        return {"args": [wire.encode(x, _not_data) for x in error.args]}
    except Exception:  # noqa: BLE001 - the text tells what the arguments would
        return {}


def _not_data(value: object) -> Any:
    raise wire.Malformed(type(value).__name__)
