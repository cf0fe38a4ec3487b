"""The facts that a run states, one frozen dataclass each; every screen, printed line and report is a fold of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Place = tuple[str, str, int]
"""A sample: (configuration id, task id, number of the sample)."""


@dataclass(frozen=True)
class Started:
    """A run began or went on.

    `configurations` are `Configuration.as_dict()` by id; `problems` the task ids by benchmark; `passes` and
    `generations` count after sharing; `stored` counts the samples that an earlier life of this run has judged;
    `stopped` are the ids that an earlier life has stopped and that stay so.
    """

    configurations: dict[str, dict[str, Any]]
    problems: dict[str, list[str]]
    passes: int
    generations: int
    stored: int
    sandbox: str
    stopped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReferenceChecked:
    """The gate before any model runs: correct bodies that passed, buggy bodies that failed, of `total` each.

    Problems by task id and cause: `wrong` without a known one, `excused` by a flaw that the benchmark names, `unjudged`
    for a library that is not here, `cut` where the harness's own cut makes the correct body fail.
    """

    benchmark: str
    correct: int
    buggy: int
    total: int
    wrong: list[str]
    excused: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ModelLoaded:
    """Weights are in memory; `card` is `ModelCard` as plain data, `width` the fixed number of sequences decoded
    together.
    """

    model: str
    precision: str
    card: dict[str, Any]
    width: int
    load_seconds: float
    eos_token: str = ""


@dataclass(frozen=True)
class PassStarted:
    """A pass (one precision, template and decoding over all problems) began; `configurations` are the ids that read
    it.
    """

    index: int
    label: str
    configurations: list[str]
    generations: int


@dataclass(frozen=True)
class Generated:
    """One reply exists in the store under `key`; `reused` when it was there before this run asked."""

    index: int
    task_id: str
    sample: int
    key: str
    tokens: int
    stop: str
    seconds: float
    reused: bool = False


@dataclass(frozen=True)
class Judged:
    """One program of one configuration was judged; `kind` is out of `engine.protocols.OUTCOMES`.

    `reading` is what the extraction found in the reply, out of `engine.failures.READINGS`; empty where there is no
    reply, and in runs of versions that did not state it. `mode` says how tests and program were run
    (`engine.protocols.Outcome.mode`); empty likewise.
    """

    configuration: str
    task_id: str
    sample: int
    key: str
    kind: str
    detail: str = ""
    seconds: float = 0.0
    reading: str = ""
    mode: str = ""


@dataclass(frozen=True)
class ConfigurationFinished:
    """All of a configuration is judged: passes over `asked` = problems x samples, and how many were unavailable."""

    configuration: str
    passed: int
    asked: int
    unavailable: int


@dataclass(frozen=True)
class ConfigurationFailed:
    """A configuration cannot be run here; the others go on."""

    configuration: str
    reason: str


@dataclass(frozen=True)
class ConfigurationStopped:
    """A configuration is asked no further (`engine.stopping`): it has bounds, `passed`..`passed` + what is not `judged`
    of `asked`, and no score. What is in flight for it is not judged.
    """

    configuration: str
    reason: str
    passed: int
    judged: int
    asked: int


@dataclass(frozen=True)
class Repeated:
    """`programs` distinct programs were executed again under the seeds 1..`seeds`, at the level of the run's outcomes.

    `flaky` has an entry for each whose kind of outcome is not the same under all seeds that gave one: `kinds` by seed,
    "0" being the run's own, and its `samples` as [configuration id, task id, sample]. `unavailable` counts executions
    that gave none, `skipped` samples by why they were not repeated. A later one holds for the whole run.
    """

    seeds: int
    programs: int
    flaky: list[dict[str, Any]] = field(default_factory=list)
    unavailable: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Noted:
    """Something a user should know that is no failure (`level` is `info` or `warning`)."""

    level: str
    text: str


@dataclass(frozen=True)
class StateChanged:
    """The run is now `running`, `paused`, `stopped` (by wish), `finished` or `failed`, with the reason."""

    state: str
    detail: str = ""


Event = (
    Started
    | ReferenceChecked
    | ModelLoaded
    | PassStarted
    | Generated
    | Judged
    | ConfigurationFinished
    | ConfigurationFailed
    | ConfigurationStopped
    | Repeated
    | Noted
    | StateChanged
)

_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Started, ReferenceChecked, ModelLoaded, PassStarted, Generated, Judged, ConfigurationFinished,
        ConfigurationFailed, ConfigurationStopped, Repeated, Noted, StateChanged,
    )
}  # fmt: skip


def to_dict(event: Event) -> dict[str, Any]:
    """Plain data for the store: the fields, and the class name under `fact`."""
    return {"fact": type(event).__name__, **asdict(event)}


def from_dict(data: Mapping[str, Any]) -> Event:
    """Rebuild what `to_dict` wrote; `KeyError` for a fact that this version does not know."""
    body = dict(data)
    event: Event = _KINDS[body.pop("fact")](**body)
    return event
