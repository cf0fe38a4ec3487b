"""The process that runs one candidate: takes its limits, loads the program, answers calls until it is ended.

Everything here runs beside hostile code and is believed in nothing; the judge at the other end of the channel decides.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import io
import os
import resource
import traceback
from typing import Any, NoReturn

from engine.sandbox import kernel, seccomp, wire

SOURCE_NAME = "<string>"
_FILES, _THREADS = 64, 64


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


def serve(sock: Any, job: dict[str, Any], filters: list[bytes], seal: bytes | None) -> NoReturn:
    """Run one job in this (just forked) process and end it; never returns.

    `job` holds `cpu` (seconds), `memory` (bytes above what is mapped already: `base`), `filters` the child's
    filters, `seal` the one that ends opening; with a seal, all are installed when the imports are done.
    """
    code = 1
    try:
        _take_limits(job)
        if seal is None:
            _install(filters)
            Conversation(wire.Channel(sock), None).run()
        else:
            Conversation(wire.Channel(sock), [seal, *filters]).run()
        code = 0
    except wire.Closed:
        code = 0
    except BaseException:  # noqa: BLE001 - a child has nobody to raise to; the judge reads the end of the stream
        traceback.print_exc()
    finally:
        os._exit(code)


def _take_limits(job: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    wanted = {
        resource.RLIMIT_AS: job["base"] + job["memory"],
        resource.RLIMIT_CPU: int(job["cpu"]) + 2,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _FILES,
        resource.RLIMIT_NPROC: _THREADS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_STACK: 8 << 20,
    }
    for which, value in wanted.items():
        lower_limit(which, value)


def lower_limit(which: int, value: int) -> None:
    """Set a soft and hard limit, never above the one that was inherited."""
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


class Conversation:
    """The child's end of a judgement: load, then calls or tests, in the order in which the judge asks."""

    def __init__(self, channel: wire.Channel, filters: list[bytes] | None) -> None:
        self._channel = channel
        self._filters_to_come = filters
        self._globals: dict[str, Any] = {}
        self._handles: dict[int, object] = {}
        self._ids: dict[int, int] = {}

    def run(self) -> None:
        """Answer messages until the judge closes the channel."""
        self._load(self._channel.receive())
        while True:
            message = self._channel.receive()
            if "test" in message:
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
            _import_ahead(message["imports"])
            _install(self._filters_to_come)
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
        raise NotImplementedError


def _install(filters: list[bytes]) -> None:
    for code in filters:
        seccomp.install(code)


def _import_ahead(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


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
    }
