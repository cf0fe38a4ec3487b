"""How a verdict is reached: the tests run here against stand-ins (apart), or in the child behind a nonce (beside)."""

from __future__ import annotations

import contextlib
import functools
import importlib
import random
import re
import reprlib
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from engine.protocols import SPLIT, Outcome
from engine.sandbox import messages
from engine.sandbox.plan import GOT, TEST_NAME, WANTED, Assertion, TestPlan
from engine.sandbox.remote import Remote, RemoteIterator, handle_of
from engine.sandbox.session import Ended, NeedsCandidate, Session, outcome_of

SAME = "same interpreter"
REPLY_HELPERS, OBJECTS = "split, helpers from the reply", "split, with objects of the reply"
"""How tests were run; `split` alone means that plain data was compared here and nothing else counted."""

_AGAIN_S = 0.2
_OTHER = 0x5EED  # the tests' random numbers are not the candidate's
_SIDE = 80


def judge_apart(
    channel: messages.Channel, job: dict[str, Any], tests: TestPlan, prelude: dict[str, Any], helpers: dict[str, Any]
) -> Outcome:
    """The outcome of tests run in this process against a candidate at the other end of the channel.

    `prelude` is the namespace that the tests start from, `helpers` what they may take from the problem besides.

    Kind `""` means that the child ended first and only its end tells. Raises NeedsCandidate when the tests hand over
    what cannot cross.
    """
    declared = re.search(rf"^class {re.escape(job['entry_point'])}\b", f"{job['prelude']}\n{job['helpers']}", re.M)
    session = Session(channel, instances=bool(job["entry_point"] and declared))
    mode, finished = SPLIT, False
    with _limited(session, job):
        try:
            names = dict(prelude)
            mode = _bind(session, job, tests, names, helpers)
            _seed(job["seed"] ^ _OTHER)
            exec(tests.code, names)
            finished = True
            if job["entry_point"] and not session.calls:
                session.end_with(Outcome("failed", f"the tests never called {job['entry_point']}"))
        except NeedsCandidate:
            if session.ended is None:
                raise
        except Ended:
            pass
        except BaseException as e:  # noqa: BLE001 - an exception of the tests or the candidate is the outcome
            session.end_with(_explained(e, session, tests))
    return _settled(session, OBJECTS if session.asked_objects and mode == SPLIT else mode, finished)


def _settled(session: Session, mode: str, finished: bool) -> Outcome:
    """A pass only where the tests came to their end and nothing was held against the candidate."""
    if session.ended is not None:
        return Outcome(session.ended.kind, session.ended.detail, mode)
    if session.lost or not finished:
        return Outcome("", "", mode)
    return Outcome("passed", "changed its arguments" if session.changed_arguments else "", mode)


def _bind(
    session: Session, job: dict[str, Any], tests: TestPlan, names: dict[str, Any], helpers: dict[str, Any]
) -> str:
    """Load the candidate and put what the tests name into `names`; the mode that this comes to."""
    entry = job["entry_point"]
    wanted = [name for name in tests.names if name not in names or name == entry]
    kinds = session.load(job["source"], wanted)
    mode = SPLIT
    for name, kind in kinds.items():
        if not kind:
            continue
        if name == entry:
            names[name] = Remote(session, name, "function")
        elif name in helpers:
            names[name] = helpers[name]
        elif kind.startswith("module ") and _trusted_module(kind[7:]):
            names[name] = importlib.import_module(kind[7:])
        else:
            mode = REPLY_HELPERS
            value = Remote(session, name, kind)
            names[name] = session.ask("value", name, (), {}) if kind == "value" else value
    return mode


def _trusted_module(name: str) -> bool:
    top = name.partition(".")[0]
    return (top in sys.stdlib_module_names or top == "numpy") and name in sys.modules


def _seed(seed: int) -> None:
    random.seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed)


@contextlib.contextmanager
def _limited(session: Session, job: dict[str, Any]) -> Iterator[None]:
    """Stop the tests themselves at the program's CPU and wall time, again and again should they catch it."""
    until = time.monotonic() + job["wall"]
    cpu_until = time.process_time() + job["cpu"]

    def stop() -> None:
        wall = time.monotonic() >= until
        if wall or time.process_time() >= cpu_until:
            what = f"{job['wall']:g} s of wall time" if wall else f"{job['cpu']:g} s of CPU time"
            raise session.end_with(Outcome("timeout", f"{what}, in the tests"))

    alarm = _alarm()
    alarm.stop = stop
    signal.setitimer(signal.ITIMER_REAL, job["wall"], _AGAIN_S)
    signal.setitimer(signal.ITIMER_PROF, job["cpu"], _AGAIN_S)
    try:
        yield
    except Ended:
        pass  # a stop that came while an outcome was being written down
    finally:
        alarm.stop = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


class _Alarm:
    """Calls `stop`, where there is one, when a timer rings; setting its handlers takes longer than a round trip."""

    def __init__(self) -> None:
        self.stop: Callable[[], None] | None = None
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, self._ring)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self.stop is not None:
            self.stop()


@functools.cache
def _alarm() -> _Alarm:
    """The alarm of this process, from its first use on."""
    return _Alarm()


def _explained(error: BaseException, session: Session, tests: TestPlan) -> Outcome:
    """The outcome of an exception; for an assertion of the tests what was expected and what was got."""
    outcome = outcome_of(error)
    step, found = error.__traceback__, None
    while step is not None:
        if step.tb_frame.f_code.co_filename == TEST_NAME:
            found = step
        step = step.tb_next
    assertion = tests.assertion_at(found.tb_lineno) if found is not None else None
    if outcome.kind != "failed" or assertion is None or found is None or hasattr(error, "remote_type"):
        return outcome
    got, wanted = (found.tb_frame.f_locals.get(name) for name in (GOT, WANTED))
    told = _comparison(assertion, got, wanted, session)
    message = f" ({error})" if str(error) else ""
    answer = session.last[3] if session.last else None
    opaque = any(isinstance(x, (Remote, RemoteIterator)) and handle_of(x) is not None for x in (got, answer))
    return Outcome("answer not data" if opaque else "failed", f"{told}{message}")


def _comparison(assertion: Assertion, got: Any, wanted: Any, session: Session) -> str:
    call, answer = _last_call(session)
    if not assertion.compares:
        return f"{assertion.text}; {call} gave {answer}" if call else assertion.text
    if assertion.swapped:
        got, wanted = wanted, got
    told = f"{assertion.text}; got {shown(got)}, expected {shown(wanted)}"
    return told if not call or call in assertion.text else f"{told}; last call {call} gave {answer}"


def _last_call(session: Session) -> tuple[str, str]:
    if session.last is None:
        return "", ""
    on, args, kwargs, answer = session.last
    inner = [shown(x) for x in args] + [f"{name}={shown(x)}" for name, x in kwargs.items()]
    return f"{on if isinstance(on, str) else 'candidate'}({', '.join(inner)})", shown(answer)


def shown(value: Any) -> str:
    """A value's text, cut."""
    try:
        return _SHORT.repr(value)
    except Exception as e:  # noqa: BLE001 - a value whose text cannot be had is told by its type
        return f"<{type(value).__name__}: {type(e).__name__}>"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SIDE
_SHORT.maxlong = 40
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxdict = 12


def judge_beside(channel: messages.Channel, job: dict[str, Any]) -> Outcome:
    """The outcome of tests run in the candidate's own interpreter; the proof of their end comes after it has loaded."""
    session = Session(channel)
    nonce, finished = secrets.token_hex(16), False
    with contextlib.suppress(Ended):
        session.load(job["source"], [])
        answer = session.talk({"test": job["test"], "nonce": nonce})
        finished = answer.get("nonce") == nonce and answer.get("done") is True
        if not finished:
            _told_by_child(session, answer.get("error"), job["test"])
    return _settled(session, SAME, finished)


def _told_by_child(session: Session, error: Any, test: str) -> None:
    if not isinstance(error, dict):
        session.end_with(Outcome("answer not data", "not an answer"))
        return
    outcome = outcome_of(session.exception(error))
    lines, number = test.splitlines(), error.get("line")
    if outcome.kind == "failed" and type(number) is int and 0 < number <= len(lines):
        outcome = Outcome("failed", f"{lines[number - 1].strip()} {str(error.get('text'))[:200]}".strip())
    session.end_with(outcome)
