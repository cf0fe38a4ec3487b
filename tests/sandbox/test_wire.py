"""The wire format: data survives it, and nothing that a child sends can crash, delay or mislead the judge."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.protocols import Outcome
from engine.sandbox import messages, wire
from engine.sandbox.plan import plan
from engine.sandbox.verdict import judge_apart, judge_beside

ROUNDS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=20)
    | st.complex_numbers(allow_nan=False) | st.decimals(allow_nan=False) | st.fractions() | st.dates() 
    | st.datetimes().map(lambda t: t.replace(fold=0))
    | st.times().map(lambda t: t.replace(fold=0)) | st.timedeltas() | st.integers(1 << 70, 1 << 900)
)  # fmt: skip
HASHABLE = SCALARS | st.tuples(SCALARS, SCALARS) | st.frozensets(SCALARS, max_size=3)
DATA = st.recursive(
    HASHABLE | st.sets(HASHABLE, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.lists(inner, max_size=3).map(collections.deque)
    ),
    max_leaves=12,
)  # fmt: skip
TAGS = st.sampled_from(
    ["t", "s", "z", "q", "k", "v", "m", "d", "o", "r", "Q", "i", "b", "B", "c", "D", "y", "T", "N", "h", "H"]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["<f8", "AAAA", "0x7"])
)
HOSTILE = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TAGS, inner, min_size=1, max_size=1)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=15,
)  # fmt: skip
KEYS = st.sampled_from(["n", "r", "x", "m", "cb", "a", "k", "step", "!", "loaded", "error", "syntax", "nonce", "done"])
EXCEPTIONS = st.fixed_dictionaries(
    {"base": st.sampled_from(["ValueError", "SystemExit", "OSError", "print", "object", "UnicodeDecodeError"])},
    optional={"type": HOSTILE, "text": HOSTILE, "args": HOSTILE, "line": HOSTILE},
)
MESSAGES = st.dictionaries(KEYS, HOSTILE | EXCEPTIONS, max_size=5) | HOSTILE


def refuse(value: object) -> Any:
    """There is nothing but data here."""
    raise wire.Malformed(type(value).__name__)


def crossed(value: object) -> Any:
    """A value after it has crossed."""
    return wire.Decoder(lambda tag, body: None, trusted=True).decode(json.loads(json.dumps(wire.encode(value, refuse))))


@ROUNDS
@given(DATA)
def test_data_survives(value: Any) -> None:
    """What is data arrives equal and of the same type."""
    arrived = crossed(value)
    assert arrived == value and type(arrived) is type(value)


@pytest.mark.parametrize("dtype", ["<f8", "<i8", "|b1", "<c16", "<u2", "<U3"])
def test_arrays_survive(dtype: str) -> None:
    """Arrays and array scalars of numbers, truth values and text arrive with type, shape and values, empty ones too."""
    array = numpy.array([[0, 1], [2, 3]]).astype(dtype)
    for value in (array, array[0, 1], array[:0], array.T):
        arrived = crossed(value)
        assert type(arrived) is type(value) and arrived.dtype == value.dtype
        assert numpy.array_equal(arrived, value) and arrived.shape == value.shape


def test_subclasses_arrive_as_their_base() -> None:
    """An answer cannot bring its own comparison along."""

    class Any3(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    class Sly(str):
        def __str__(self) -> str:
            return "other"

    arrived = crossed([Any3(41), Sly("x"), collections.namedtuple("P", "a")(1)])
    assert arrived == [41, "x", (1,)] and [type(x) for x in arrived] == [int, str, tuple]


@ROUNDS
@given(HOSTILE)
def test_decoding_ends_in_data_or_malformed(data: Any) -> None:
    """No JSON makes the decoder do anything but build data or say Malformed."""
    handle = object()
    try:
        value = wire.Decoder(lambda tag, body: handle).decode(data)
    except wire.Malformed:
        return
    assert only_data(value, handle)


def only_data(value: Any, handle: object) -> bool:
    """True when a value is made of plain types all the way down."""
    if value is handle or isinstance(value, (type, numpy.generic, numpy.ndarray)):
        return True
    if isinstance(
        value, (list, tuple, set, frozenset, collections.deque, type({}.values()), type({}.keys()), type({}.items()))
    ):
        return all(only_data(x, handle) for x in value)
    if isinstance(value, dict):
        return all(only_data(x, handle) for pair in value.items() for x in pair)
    plain = (int, float, str, bytes, bytearray, complex, range, decimal.Decimal, fractions.Fraction)
    moments = (datetime.date, datetime.time, datetime.timedelta)
    return value is None or isinstance(value, plain + moments)


@pytest.mark.parametrize("data", [{"r": [0, 1 << 60, 1]}, {"D": "1E+9999999"}, {"N": ["<f8", "", [1 << 40, 0]]}])
def test_what_is_short_to_say_and_long_to_go_through_is_refused(data: Any) -> None:
    """A child cannot hold up the tests with a range, a number or an empty array of endless length; the tests may."""
    with pytest.raises(wire.Malformed, match="too long"):
        wire.Decoder(lambda tag, body: None).decode(data)
    assert wire.Decoder(lambda tag, body: None, trusted=True).decode(data) is not None


def test_colliding_keys_do_not_hold_up_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set whose members share one hash is given up after its time, long before its end."""
    monkeypatch.setattr(wire, "REBUILD_S", 0.5)
    data = {"s": [{"i": hex(i * ((1 << 61) - 1))} for i in range(1, 100_000)]}
    decoder = wire.Decoder(lambda tag, body: None)
    with pytest.raises(wire.Malformed, match="slow"):
        decoder.decode(data)
    assert decoder._steps < 100_000, "each member takes two steps"


@ROUNDS
@given(st.binary(max_size=64), st.booleans())
def test_any_bytes_end_in_a_message_or_a_known_error(data: bytes, framed: bool) -> None:
    """Whatever is on the socket, receiving ends: a message, Malformed, Closed, or the deadline."""
    ours, theirs = socket.socketpair()
    channel = messages.Channel(ours)
    channel.deadline = time.monotonic() + 0.05
    theirs.sendall(struct.pack(">I", len(data)) + data if framed else data)
    theirs.close()
    try:
        channel.receive()
    except (wire.Malformed, messages.Closed, TimeoutError):
        pass
    finally:
        channel.close()


def test_a_silent_child_meets_the_deadline() -> None:
    """A half message does not hold the reader past its deadline."""
    ours, theirs = socket.socketpair()
    channel = messages.Channel(ours)
    channel.deadline = time.monotonic() + 0.1
    theirs.sendall(b"\0\0\0\x08abc")
    with pytest.raises(TimeoutError):
        channel.receive()
    channel.close()
    theirs.close()


@contextmanager
def a_child_that_says(answers: list[Any], echo: bool) -> Iterator[messages.Channel]:
    """A channel whose other end loads anything, then gives these answers, with the call's own tag where `echo`."""
    ours, theirs = socket.socketpair()
    child = messages.Channel(theirs)
    child.deadline = time.monotonic() + 300

    def speak() -> None:
        try:
            child.receive()
            child.send({"loaded": {"f": "callable"}})
            for answer in answers:
                asked = child.receive()
                if echo and isinstance(answer, dict):
                    answer = {**answer, "n": asked.get("n")}
                child.send(answer)
        except (messages.Closed, wire.Malformed, TimeoutError):
            pass
        finally:
            child.close()

    thread = threading.Thread(target=speak)
    thread.start()
    channel = messages.Channel(ours)
    channel.deadline = time.monotonic() + 300
    yield channel
    channel.close()
    thread.join()


def judged(answers: list[Any], echo: bool, test: str) -> Outcome | None:
    """What the judge makes of these answers."""
    job = {
        "prelude": "",
        "source": "",
        "test": test,
        "entry_point": "f",
        "helpers": "",
        "seed": 0,
        "cpu": 60.0,
        "wall": 300.0,
    }
    with a_child_that_says(answers, echo) as channel:
        return judge_apart(channel, job, plan(test, "f"), {}, {})


TESTS = [
    "x = [1, {2: 3}, {4}]\nassert f(x) == 918273645546372819",
    "try:\n    assert f(lambda v: v) == 918273645546372819\nexcept Exception:\n    assert f(1) == 918273645546372819",
    "assert sum(f(1)) == 918273645546372819",
]


@ROUNDS
@example([{"x": None}], True, TESTS[0])
@given(st.lists(MESSAGES, max_size=3), st.booleans(), st.sampled_from(TESTS))
def test_no_answer_misleads_the_judge(answers: list[Any], echo: bool, test: str) -> None:
    """Answers of any shape end in an outcome, never in an error of the judge, and never in a pass."""
    outcome = judged(answers, echo, test)
    assert outcome is not None and outcome.kind != "passed"


def test_the_right_answer_passes_and_late_trouble_does_not() -> None:
    """The harness of the test above can tell a pass; a message too many takes it back."""
    assert judged([{"r": 7}], True, "assert f(1) == 7") == Outcome("passed", "", "split")
    assert judged([{"r": 7}], False, "assert f(1) == 7").kind == "answer not data"  # type: ignore[union-attr]
    swallowed = "assert f(1) == 7\ntry:\n    f(2)\nexcept BaseException:\n    pass"
    assert judged([{"r": 7}, {"r": {"zz": 1}}], True, swallowed).kind == "answer not data"  # type: ignore[union-attr]
    assert judged([{"r": 7}], True, swallowed).kind == ""  # type: ignore[union-attr]


@ROUNDS
@given(MESSAGES)
def test_no_claim_of_an_end_is_believed_without_the_nonce(answer: Any) -> None:
    """Beside the candidate, too, only the nonce proves that the tests ended."""
    with a_child_that_says([answer], echo=False) as channel:
        outcome = judge_beside(channel, {"source": "", "test": "", "wall": 300.0})
    assert outcome is not None and outcome.kind != "passed"


def test_encoding_refuses_what_is_no_data() -> None:
    """What is no data goes to the caller, whatever it is nested in; cycles end."""
    seen: list[object] = []

    def note(value: object) -> Any:
        seen.append(value)
        return {"h": [1, "object", "x"]}

    thing = object()
    assert wire.encode([1, {"a": (thing,)}], note) == [1, {"d": [["a", {"t": [{"h": [1, "object", "x"]}]}]]}]
    assert seen == [thing]
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(wire.Malformed):
        wire.encode(circle, note)
