"""One judgement's conversation with a child: calls go out as plain data, answers come back as plain data.

Whatever breaks the protocol ends the judgement for good (`ended`), whether or not the tests catch what is raised.
"""

from __future__ import annotations

import builtins
import os
from types import BuiltinFunctionType, ModuleType
from typing import Any

from engine.protocols import Outcome
from engine.sandbox import messages, wire
from engine.sandbox.remote import Remote, RemoteInstance, RemoteIterator, handle_of

_CALLBACKS_MAX = 50
_SHARE_MAX = wire.MESSAGE_MAX // 8
_NOT_DATA = (wire.Malformed, KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError)


class Ended(BaseException):
    """The judgement is over; no `except Exception` of a test holds this up."""


class NeedsCandidate(BaseException):
    """The tests hand over something of their own that cannot cross; the trusted side's doing, never the candidate's."""


class Session:
    """Asks the child and keeps what the verdict needs.

    `calls` made, the `last` one, `ended` (the outcome, once the protocol or an exception settles it), `lost` (the child
    is gone), `changed_arguments`, and `asked_objects`: the tests gave something to an object of the candidate's making
    and took its word, which is weaker than data compared here.
    """

    def __init__(self, channel: messages.Channel, instances: bool = False) -> None:
        """`instances`: the problem, by its own text, asks for a class, whose objects the tests may compare and add."""
        self._channel = channel
        self._maker = RemoteInstance if instances else Remote
        self._received = 0
        self._local: dict[int, object] = {}
        self._local_ids: dict[int, int] = {}
        self._remotes: dict[int, object] = {}
        self._depth = 0
        self.calls = 0
        self.last: tuple[str | int, tuple[Any, ...], dict[str, Any], Any] | None = None
        self.ended: Outcome | None = None
        self.lost = False
        self.changed_arguments = False
        self.asked_objects = False

    def load(self, source: str, names: list[str]) -> dict[str, str]:
        """Have the child load the candidate; what each name is there (`""` where missing). Raises Ended."""
        answer = self.talk({"load": source, "names": names})
        loaded = answer.get("loaded")
        if isinstance(loaded, dict):
            return {name: str(loaded.get(name, ""))[:200] for name in names}
        if isinstance(answer.get("syntax"), str):
            raise self._end("syntax error", answer["syntax"])
        raise self.end_with(outcome_of(self.exception(answer.get("error"))))

    def ask(self, op: str, on: str | int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do `op` on something in the child. Raises what the child's code raised, Ended, or NeedsCandidate."""
        if self.ended is not None or self.lost:
            raise Ended
        if isinstance(on, int) and op != "attribute" and (args or kwargs):
            self.asked_objects = True
        if op == "call":
            self.calls += 1
            self.last = (on, args, kwargs, None)
        tag = os.urandom(8).hex()
        message = {"n": tag, "op": op, "on": on, **self._outgoing(args, kwargs)}
        answer = self._exchange(tag, message, args)
        result = self._result(answer, args, kwargs)
        if op == "call":
            self.last = (on, args, kwargs, result)
        return result

    def needs_candidate(self, why: str) -> BaseException:
        """The tests need the candidate's own objects."""
        return NeedsCandidate(why)

    def _outgoing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            return {
                "a": [wire.encode(x, self._register) for x in args],
                "k": {name: wire.encode(x, self._register) for name, x in kwargs.items()} if kwargs else kwargs,
            }
        except (wire.Malformed, RecursionError) as e:
            raise self._cannot_send(f"arguments: {e}") from e

    def _cannot_send(self, why: str) -> BaseException:
        if self._received < _SHARE_MAX:
            return NeedsCandidate(why)
        return self._end("answer not data", f"grew too large to be handed back ({why})")

    def _register(self, value: object) -> Any:
        handle = handle_of(value)
        if handle is not None:
            return {"h": handle}
        if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType):
            return {"H": [value.__self__.__name__, value.__name__]}  # the child has its own
        kind = "callable" if callable(value) else "iterator" if hasattr(value, "__next__") else ""
        if not kind or isinstance(value, type):
            raise NeedsCandidate(f"an argument of type {type(value).__name__}")
        number = self._local_ids.setdefault(id(value), len(self._local) + 1)
        self._local[number] = value
        return {"H": [number, kind]}

    def _exchange(self, tag: str, message: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
        answer = self.talk(message)
        while True:
            if answer.get("n") != tag:
                raise self._end("answer not data", "an answer to a call that was not made")
            if "!" in answer:
                raise self._end("answer not data", str(answer["!"]))
            if "cb" not in answer:
                return answer
            answer = self.talk({"n": tag, **self._called_back(answer)})

    def talk(self, message: dict[str, Any]) -> dict[str, Any]:
        """One message out, one back. Raises Ended, also where the other end is gone or breaks the protocol."""
        try:
            try:
                self._channel.send(message)
            except wire.Malformed as e:
                raise self._cannot_send(str(e)) from e
            answer = self._channel.receive()
        except messages.Closed as e:
            self.lost = True
            raise Ended from e
        except TimeoutError as e:
            raise self._end("timeout", "wall time") from e
        except wire.Malformed as e:
            raise self._end("answer not data", str(e)) from e
        self._received += self._channel.last_size
        if not isinstance(answer, dict):
            raise self._end("answer not data", "not an answer")
        return answer

    def _called_back(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Run a function of the tests that the candidate calls."""
        try:
            function, step = answer.get("cb"), answer.get("step")
            args = [self._decode(x) for x in list(answer.get("a") or [])]
            kwargs = {str(name): self._decode(x) for name, x in dict(answer.get("k") or {}).items()}
            target: Any = self._local[function] if isinstance(function, int) else None
        except _NOT_DATA as e:
            raise self._not_data(e) from e
        self._depth += 1
        try:
            if self._depth > _CALLBACKS_MAX:
                raise RecursionError("callbacks nested too deep")
            value = next(target) if step == "next" else target(*args, **kwargs)
        except Exception as e:  # noqa: BLE001 - handed to the candidate, as in one interpreter
            return {"cx": {"base": _builtin_base(e).__name__, "text": str(e)[:2000]}}
        finally:
            self._depth -= 1
        return {"cr": self._outgoing((value,), {})["a"][0]}

    def _result(self, answer: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            if "m" in answer:
                changed = [self._decode(x) for x in list(answer["m"])]
                for old, new in zip([*args, *kwargs.values()], changed, strict=True):
                    copy_back(old, new)
                self.changed_arguments = True
            if "x" not in answer:
                body = answer["r"]
                if isinstance(body, dict) and "=" in body:
                    return args[body["="]]
                return self._decode(body)
            error = self.exception(answer["x"])
        except _NOT_DATA as e:
            raise self._not_data(e) from e
        raise error

    def exception(self, described: Any) -> BaseException:
        """The exception that a child describes: a builtin type, never one of the child's making."""
        if not isinstance(described, dict):
            return self._end("answer not data", "not an exception")
        base = getattr(builtins, str(described.get("base")), None)
        if not (isinstance(base, type) and issubclass(base, BaseException)):
            base = Exception
        text, name = str(described.get("text"))[:2000], str(described.get("type"))[:100]
        try:
            args = self._decode(described["args"])
            error: BaseException = base(*args)
            if str(error) != text and text:
                error = base(text)
        except (TypeError, KeyError, ValueError, wire.Malformed):
            error = base.__new__(base)
            error.args = (text,)
        error.remote_type = name  # type: ignore[attr-defined]
        return error

    def _decode(self, data: Any) -> Any:
        return wire.decode(data, self._handle)

    def _handle(self, tag: str, body: Any) -> object:
        if tag == "H":
            return self._local[body[0]]
        if tag != "h" or not isinstance(body, list) or type(body[0]) is not int:
            raise wire.Malformed("not a handle")
        number, kind, type_name = body
        if number not in self._remotes:
            maker = RemoteIterator if kind == "iterator" else self._maker
            self._remotes[number] = maker(self, number, str(type_name)[:100])
        return self._remotes[number]

    def _not_data(self, error: Exception) -> Ended:
        return self._end("answer not data", f"{type(error).__name__}: {error}")

    def _end(self, kind: str, detail: str) -> Ended:
        return self.end_with(Outcome(kind, detail))

    def end_with(self, outcome: Outcome) -> Ended:
        """Settle the verdict, unless it is settled; the exception to raise."""
        self.ended = self.ended or outcome
        return Ended()


def _builtin_base(error: BaseException) -> type:
    made: type = next(t for t in type(error).__mro__ if getattr(builtins, t.__name__, None) is t)
    return made


def copy_back(old: Any, new: Any, depth: int = wire.ENCODE_DEPTH) -> None:
    """Make a mutable argument what the candidate made of its copy, keeping the identity of what did not change."""
    if depth <= 0 or type(old) is not type(new):
        return
    if isinstance(old, list):
        for i in range(min(len(old), len(new))):
            new[i] = _merged(old[i], new[i], depth - 1)
        old[:] = new
    elif isinstance(old, dict):
        merged = {key: _merged(old[key], value, depth - 1) if key in old else value for key, value in new.items()}
        dict.clear(old)
        dict.update(old, merged)
    elif isinstance(old, set):
        old.clear()
        old.update(new)
    elif isinstance(old, bytearray) or hasattr(old, "popleft"):
        old.clear()
        old.extend(new)
    elif type(old).__name__ == "ndarray" and old.shape == new.shape and old.flags.writeable:
        old[...] = new
    elif isinstance(old, tuple):
        for a, b in zip(old, new, strict=False):
            copy_back(a, b, depth - 1)


def _merged(old: Any, new: Any, depth: int) -> Any:
    if isinstance(old, (list, dict, set, bytearray)) and type(old) is type(new):
        copy_back(old, new, depth)
        return old
    return old if type(old) is type(new) and json_equal(old, new) else new


def json_equal(a: Any, b: Any) -> bool:
    """True for immutable data of one type that compare equal (and for two NaNs)."""
    return bool(a == b or (a != a and b != b))


def outcome_of(error: BaseException) -> Outcome:
    """The outcome of a program that an exception ended."""
    name = getattr(error, "remote_type", type(error).__name__)
    text = str(error)
    detail = f"{name}: {text}" if text else str(name)
    if isinstance(error, AssertionError):
        return Outcome("failed", detail)
    if isinstance(error, (SystemExit, KeyboardInterrupt, GeneratorExit)):
        return Outcome("exited early", detail)
    if isinstance(error, MemoryError):
        return Outcome("memory", detail)
    if isinstance(error, PermissionError) or "No usable temporary directory" in text:
        return Outcome("refused", detail)
    return Outcome("exception", detail)
