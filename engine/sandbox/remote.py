"""The judge's stand-ins for what lives in a child: what they do is asked of the child and comes back as plain data.

A stand-in equals nothing but itself and has no order, arithmetic or hash of the child's making, so that no answer can
compare itself right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


class Asker(Protocol):
    """Asks a child to do `op` on a target (a global name, or the number of a handle)."""

    def ask(self, op: str, on: str | int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer, decoded; raises what the child's code raised."""
        ...

    def needs_candidate(self, why: str) -> BaseException:
        """What to raise where the tests need the candidate's own objects."""
        ...


class Remote:
    """Something in the child: a function, a class, an instance; calls, attributes, items and text are asked for."""

    def __init__(self, asker: Asker, on: str | int, type_name: str = "object") -> None:
        object.__setattr__(self, "_remote", (asker, on, type_name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _ask(self, "call", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in _SHOWN:
            raise AttributeError(name)
        return _ask(self, "attribute", (name,))

    def __setattr__(self, name: str, value: Any) -> None:
        _ask(self, "set", (name, value))

    def __len__(self) -> int:
        return _integer(_ask(self, "len"))

    def __getitem__(self, key: Any) -> Any:
        return _ask(self, "item", (key,))

    def __setitem__(self, key: Any, value: Any) -> None:
        _ask(self, "put", (key, value))

    def __contains__(self, key: Any) -> bool:
        return any(item == key for item in self)  # the candidate is not asked: it would be told what is expected

    def __iter__(self) -> Iterator[Any]:
        made = _ask(self, "iterator")
        if isinstance(made, RemoteIterator):
            return made
        raise TypeError("not iterable")

    def __bool__(self) -> bool:
        return _ask(self, "bool") is True

    def __str__(self) -> str:
        return _text(_ask(self, "str"))

    def __repr__(self) -> str:
        return f"<{_parts(self)[2]} of the candidate>"


class RemoteInstance(Remote):
    """An object of the candidate's making where the problem asks for a class: its operators are not asked for here.

    Whatever needs one raises what `asker.needs_candidate` gives, so that the tests run beside the candidate instead.
    """

    def _operator(self, *_: Any) -> Any:
        raise _parts(self)[0].needs_candidate("an operator on an object of the candidate's")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _operator
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _operator
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _operator
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = _operator
    __neg__ = __pos__ = __abs__ = __invert__ = __int__ = __float__ = __round__ = __index__ = _operator
    __enter__ = __exit__ = __delitem__ = __contains__ = _operator


class RemoteIterator:
    """An iterator or generator in the child, advanced one step at a time."""

    def __init__(self, asker: Asker, on: str | int, type_name: str = "iterator") -> None:
        self._remote = (asker, on, type_name)

    def __iter__(self) -> RemoteIterator:
        return self

    def __next__(self) -> Any:
        return _ask(self, "next")

    def send(self, value: Any) -> Any:
        """generator.send."""
        return _ask(self, "send", (value,))

    def close(self) -> None:
        """generator.close."""
        _ask(self, "close")

    def __repr__(self) -> str:
        return f"<{self._remote[2]} of the candidate>"


_SHOWN = ("__name__", "__doc__", "__qualname__")


def handle_of(value: object) -> str | int | None:
    """The handle number or global name behind a stand-in; None for anything else."""
    return _parts(value)[1] if isinstance(value, (Remote, RemoteIterator)) else None


def _parts(value: object) -> tuple[Asker, str | int, str]:
    parts: tuple[Asker, str | int, str] = object.__getattribute__(value, "_remote")
    return parts


def _ask(value: object, op: str, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
    asker, on, _ = _parts(value)
    return asker.ask(op, on, args, kwargs or {})


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("not an integer")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a text")
    return value
