"""What a report is made of: plain values, each of which says how it is known and where it was found.

Whoever has a run builds a `ReportInput`; nothing in this package looks anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from literature.records import Measurement, ReportedScore

MEASURED = "measured"
SOURCE = "stated by a source"
ARITHMETIC = "inferred by arithmetic"
USER = "stated by the user"
UNKNOWN = "unknown"
HOW_KNOWN = (MEASURED, SOURCE, ARITHMETIC, USER, UNKNOWN)
"""The five ways in which a report may know something; there is no sixth, and no silence."""


@dataclass(frozen=True)
class Fact:
    """A named value with how it is known and where it stands; a value without both is `unknown` and says so.

    `pointer` is a hash, a file, or an event of the run; for an unknown value it may say why it is unknown.
    """

    name: str
    value: str
    known: str
    pointer: str = ""

    def __post_init__(self) -> None:
        if self.known not in HOW_KNOWN:
            raise ValueError(f"{self.name}: known as {self.known!r}; expected one of {', '.join(HOW_KNOWN)}")
        if self.known != UNKNOWN and not (self.value and self.pointer):
            raise ValueError(f"{self.name}: {self.known} needs a value and a pointer to where it was found")


def fact(name: str, value: str, known: str, pointer: str, reason: str = "") -> Fact:
    """A fact; with no value or no pointer it is unknown, for `reason`."""
    if value and pointer and known != UNKNOWN:
        return Fact(name, value, known, pointer)
    return Fact(name, "", UNKNOWN, reason)


@dataclass(frozen=True)
class RunEvidence:
    """The run: its id and last state, how many facts it stated, first and last of them as Unix time (0: none)."""

    id: int
    name: str
    state: str
    detail: str = ""
    events: int = 0
    created: float = 0.0
    first: float = 0.0
    last: float = 0.0
    started: str = ""
    unread: int = 0


@dataclass(frozen=True)
class CardEvidence:
    """What was loaded as one precision of one model, as its loading stated it; empty where it did not say.

    `sha256` is of the loaded file, `source_sha256` of the file it was derived from (equal when loaded unchanged);
    `tensor_types` counts tensors by type; `pointer` names the event. `template_kept` is true when the text of the chat
    template lies in the store, so that prompts made with it can be shown.
    """

    model: str
    precision: str
    pointer: str
    sha256: str = ""
    source_sha256: str = ""
    recipe: str = ""
    architecture: str = ""
    parameters: int = 0
    template_sha256: str = ""
    tensor_types: Mapping[str, int] = field(default_factory=dict)
    numerics: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    width: int = 0
    template_kept: bool = False


@dataclass(frozen=True)
class ModelEvidence:
    """One model of the study: its name there, the file asked for, its names in the literature, and what was loaded."""

    name: str
    file: str = ""
    reported_as: tuple[str, ...] = ()
    cards: tuple[CardEvidence, ...] = ()

    def cards_of(self, precision: str) -> tuple[CardEvidence, ...]:
        """What was loaded for a precision: several when the run was taken up with another file or build."""
        return tuple(card for card in self.cards if card.precision == precision)


@dataclass(frozen=True)
class ReferenceCheck:
    """The gate before any model ran: of `total` problems, correct bodies that passed and buggy bodies that failed.

    `wrong` are problems that are not as they should be, without a known cause; `explained` those with one.
    """

    correct: int
    buggy: int
    total: int
    wrong: tuple[str, ...]
    pointer: str
    explained: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchmarkEvidence:
    """One benchmark of the run: `problems` by its list of task ids; what is known of its file; the reference check."""

    name: str
    problems: int
    pointer: str
    facts: tuple[Fact, ...] = ()
    check: ReferenceCheck | None = None


@dataclass(frozen=True)
class Tally:
    """A configuration's samples: asked for, answered, judged, passed, unavailable, and by kind of outcome.

    `replies` is for how many of them it is known how they ended; of those, `at_limit` were still going at the
    configuration's length limit and `no_room` had none left after the prompt. `no_code` replies held nothing for the
    extraction to take, `cut_short` ended at their limit, as the run stated it at judging (None: it did not); `failures`
    counts why programs did not pass.
    """

    asked: int
    judged: int
    passed: int
    unavailable: int
    replies: int
    at_limit: int
    no_room: int
    kinds: Mapping[str, int] = field(default_factory=dict)
    answered: int = 0
    no_code: int | None = None
    cut_short: int | None = None
    failures: Mapping[str, int] = field(default_factory=dict)

    @property
    def not_generated(self) -> int:
        """Samples for which there is no reply: still to come, failed to be made, or missing from an imported file."""
        return self.asked - self.answered - self.kinds.get("no room", 0)

    @property
    def state(self) -> str:
        """`finished`, `partial` or `not started`: by what was judged, not by what the run said of itself."""
        if self.asked and self.judged == self.asked:
            return "finished"
        return "partial" if self.judged or self.unavailable else "not started"

    @property
    def lowest(self) -> int:
        """Passes if every sample still open failed."""
        return self.passed

    @property
    def highest(self) -> int:
        """Passes if every sample still open passed."""
        return self.passed + self.asked - self.judged


@dataclass(frozen=True)
class ConfigurationEvidence:
    """One configuration of the run: its measurement, label, tally, and why it failed or was stopped (empty: not).

    `own_template` is true when the prompt was rendered by the chat template stored in the model's file.
    """

    measurement: Measurement
    label: str
    tally: Tally
    pointer: str
    own_template: bool = False
    failure: str = ""
    stopped: str = ""

    @property
    def state(self) -> str:
        """`finished`, `partial`, `not started`, `failed` or `stopped`."""
        if self.stopped and self.tally.state != "finished":
            return "stopped"
        return "failed" if self.failure and self.tally.state != "finished" else self.tally.state


@dataclass(frozen=True)
class CostEvidence:
    """What the run cost: distinct replies, of them made by this run and kept in the store; tokens of those it made.

    `generation_s` are seconds in the model's slots (slots run side by side), `program_s` the CPU seconds of the judged
    programs, a shared outcome counted for each sample, `load_s` the loading of weights. `energy` is as measured.
    """

    replies: int = 0
    made: int = 0
    kept: int = 0
    tokens: int = 0
    generation_s: float = 0.0
    program_s: float = 0.0
    load_s: float = 0.0
    pointer: str = ""
    energy: str = ""


@dataclass(frozen=True)
class FlakySample:
    """A sample whose program's outcome is another one under another seed: kinds by seed, "0" being the run's own."""

    configuration: str
    task_id: str
    sample: int
    kinds: Mapping[str, str]


@dataclass(frozen=True)
class RepeatsEvidence:
    """`programs` distinct programs executed again under the seeds 1..`seeds` (0: none was), `flaky` of them flaky.

    `samples` are those that the flaky ones belong to; `unavailable` counts executions without an outcome, `skipped`
    samples by why their programs were not repeated.
    """

    seeds: int = 0
    programs: int = 0
    flaky: int = 0
    unavailable: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[FlakySample, ...] = ()


@dataclass(frozen=True)
class AxisEvidence:
    """One axis of the grid: the values searched, and those that this version knows of beyond them."""

    name: str
    searched: tuple[str, ...]
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportInput:
    """All that a report says, before it is put into words.

    `study` is the study file's text, written beside the report; `stated` what the user knows and no file shows;
    `environment` what the run recorded of its machine, `here` what the machine says on which the report is made;
    `problems` what could not be read, one sentence each. `origin` is empty for a run of models; of an imported run it
    tells `file`, `sha256`, `kind`, `results` and the benchmark's `data`, of a re-scored one the `run` that it read.
    """

    title: str
    question: str
    study: str
    version: str
    run: RunEvidence
    models: tuple[ModelEvidence, ...] = ()
    benchmarks: tuple[BenchmarkEvidence, ...] = ()
    configurations: tuple[ConfigurationEvidence, ...] = ()
    reported: tuple[ReportedScore, ...] = ()
    stated: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[Fact, ...] = ()
    here: tuple[Fact, ...] = ()
    sandbox: tuple[Fact, ...] = ()
    axes: tuple[AxisEvidence, ...] = ()
    notes: tuple[Fact, ...] = ()
    audit: tuple[Fact, ...] = ()
    repeats: RepeatsEvidence = RepeatsEvidence()
    cost: CostEvidence = CostEvidence()
    problems: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)

    def model(self, name: str) -> ModelEvidence:
        """A model by the study's name; an empty one when the study does not list it."""
        return next((model for model in self.models if model.name == name), ModelEvidence(name))
