"""A run in plain lines: the same facts as the screens, for scripts, pipes and screen readers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice

from engine.denominator import of_score
from engine.events import (
    ConfigurationFailed,
    ConfigurationFinished,
    ConfigurationStopped,
    Event,
    Generated,
    ModelLoaded,
    Noted,
    PassStarted,
    ReferenceChecked,
    Repeated,
    Started,
    StateChanged,
    to_dict,
)
from engine.gate import told
from engine.repeating import lines
from engine.scoring import Score, fold_scores
from tui.local import LocalSession
from tui.session import LIVE, Status
from tui.state import RunState, duration

POLL_SECONDS = 0.2
PROGRESS_SECONDS = 10.0
FLAKY_LINES = 20
"""So many programs whose outcome changes under another seed are named in lines."""


class Follower:
    """Prints a run's facts as they come; `line` makes the text for a finished configuration's matches."""

    def __init__(self, form: str, matches: Callable[[Score], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._form = form
        self._matches = matches
        self._clock = clock
        self._began = clock()
        self._said = clock()
        self._generated = 0
        self._tokens = 0
        self._expected = 0
        self._state = RunState()
        self.scores: dict[str, Score] = {}

    def take(self, moment: float, event: Event) -> None:
        """Fold one event and print what it says."""
        fold_scores([event], self.scores)
        self._state.apply([(moment, event)])
        if self._form == "jsonl":
            print(json.dumps({"time": moment, **to_dict(event)}), flush=True)
            return
        text = self._text(event)
        if text and self._form == "plain":
            self._print(text)

    def idle(self) -> None:
        """Say once in a while how far generating is."""
        if self._form == "plain" and self._generated and self._clock() - self._said >= PROGRESS_SECONDS:
            left = self._state.seconds_left()
            about = f", about {duration(left)} left" if left else ""
            self._print(f"... {self._generated}/{self._expected} generations, {self._tokens} tokens{about}")

    def _print(self, text: str) -> None:
        self._said = self._clock()
        minutes, seconds = divmod(int(self._clock() - self._began), 60)
        print(f"[{minutes:02}:{seconds:02}] {text}", flush=True)

    def _text(self, event: Event) -> str:
        match event:
            case Started():
                self._expected = event.generations
                return (
                    f"{len(event.configurations)} configurations from {event.passes} passes, "
                    f"{event.generations} generations; sandbox level {event.sandbox}"
                )
            case ReferenceChecked():
                return "\n".join(told(event))
            case ModelLoaded():
                return f"{event.model} {event.precision} loaded in {event.load_seconds:.1f} s, width {event.width}"
            case PassStarted():
                return f"pass: {event.label}, {event.generations} generations"
            case Generated():
                self._generated += 1
                self._tokens += 0 if event.reused else event.tokens
                return ""
            case ConfigurationFinished():
                score = self.scores[event.configuration]
                tail = f", {event.unavailable} unavailable" if event.unavailable else ""
                return f"{score.text:>9}{tail}  {score.configuration.label}{self._matches(score)}"
            case ConfigurationFailed():
                return f"   failed  {self.scores[event.configuration].configuration.label}: {event.reason}"
            case ConfigurationStopped():
                score = self.scores[event.configuration]
                return f"{score.text:>9} stopped  {score.configuration.label}: {event.reason}"
            case Repeated():
                return "\n".join(self._flaky(event))
            case Noted():
                return f"{event.level}: {event.text}"
            case StateChanged():
                return f"run {event.state}" + (f": {event.detail}" if event.detail else "")
        return ""

    def _flaky(self, event: Repeated) -> Iterator[str]:
        def label(id_: str) -> str:
            return f"{self.scores[id_].model} · {self.scores[id_].configuration.label}"

        yield from islice(lines(event, label), FLAKY_LINES)
        if len(event.flaky) > FLAKY_LINES:
            yield f"flaky: and {len(event.flaky) - FLAKY_LINES} more programs; the report lists all"


def follow(session: LocalSession, follower: Follower, *, sleep: Callable[[float], None] = time.sleep) -> Status:
    """Print the attached run until it ends; the first ctrl-C asks the worker to stop, a second lets go of it."""
    asked = False
    while True:
        try:
            status = session.status()
            while events := session.poll():
                for moment, event in events:
                    follower.take(moment, event)
            if status.state not in LIVE:
                return status
            follower.idle()
            sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            if asked:
                raise
            asked = True
            session.wish("stop")
            print(
                "stopping at the next step; everything found so far is kept (ctrl-C again leaves it running)",
                file=sys.stderr,
            )


def summary(scores: dict[str, Score]) -> list[dict[str, object]]:
    """One object per configuration, for `--format json`."""
    return [
        {
            "id": id_, "model": score.model, **score.axes, "passed": score.passed, "judged": score.judged_total,
            "asked": score.asked, "unavailable": score.unavailable, "score": score.text, "failure": score.failure,
            "stopped": score.stopped,
            "denominator": of_score(score).as_dict(),
            "configuration": asdict(score.configuration),
        }
        for id_, score in scores.items()
    ]  # fmt: skip
