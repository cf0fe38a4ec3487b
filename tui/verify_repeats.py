"""What a bundle's run says of other seeds, checked: its programs are executed again under each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.environment import free_cores
from engine.events import Event, Place, Repeated
from engine.protocols import Sandbox
from engine.repeating import NOT_KEPT, OTHER_SANDBOX, SEEDED
from engine.rereading import Reread, execute
from engine.sandbox.repeats import flaky
from tui.run_evidence import repeats_of

MOST = 1000
"""Other seeds that are believed to have been tried: a bundle must not keep a machine busy for ever."""


@dataclass(frozen=True)
class Otherwise:
    """A sample whose kinds by seed are not those that the bundle says; `programs` is about how many there are."""

    place: Place | None
    recorded: str
    found: str


@dataclass(frozen=True)
class Again:
    """What came of it: programs, seeds, what is otherwise, and why samples could not be checked."""

    programs: int = 0
    seeds: int = 0
    otherwise: tuple[Otherwise, ...] = ()
    unverified: tuple[str, ...] = ()


def repeated_again(samples: Sequence[Reread], events: Iterable[Event], sandbox: Callable[..., Sandbox]) -> Again:
    """Execute the programs of a run's samples under the seeds that it says, and hold the kinds against what it says.

    `sandbox(seed=...)` opens a sandbox of another seed. Where the run has not repeated all of its samples, for a reason
    that does not follow from the sample, only those that it lists as flaky are held against it.
    """
    event = next((one for one in reversed(list(events)) if isinstance(one, Repeated)), None)
    if event is None:
        return Again()
    try:
        told = repeats_of(event)
        listed = {(one.configuration, one.task_id, one.sample): one.kinds for one in told.samples}
    except (KeyError, TypeError, ValueError, AttributeError):
        return Again(unverified=("outcomes under other seeds: the run's fact cannot be read",))
    if told.seeds > MOST:
        return Again(unverified=(f"outcomes under {told.seeds} other seeds: at most {MOST} are tried",))
    some = bool({OTHER_SANDBOX, NOT_KEPT} & told.skipped.keys())
    mine = [
        one for one in samples
        if one.program and one.program.language in SEEDED and (not some or one.place in listed)
    ]  # fmt: skip
    kinds: dict[Place, list[str]] = {one.place: [one.recorded] for one in mine}
    for seed in range(1, told.seeds + 1):
        judge = sandbox(seed=seed)
        try:
            outcomes = execute(mine, judge, free_cores())
            for one in mine:
                kinds[one.place].append(outcomes[one.key(judge.identity)].kind)
        finally:
            judge.close()
    programs = len({one.key("") for one in mine})
    otherwise = list(_otherwise(kinds, listed))
    if not some and programs != told.programs:
        otherwise.append(Otherwise(None, f"{told.programs} programs", f"{programs} programs"))
    lost = sum("unavailable" in found for found in kinds.values())
    unverified = (f"{lost} samples under other seeds: could not be judged here",) if lost else ()
    return Again(programs, told.seeds, tuple(otherwise), unverified)


def _otherwise(
    kinds: Mapping[Place, Sequence[str]], listed: Mapping[tuple[str, str, int], Mapping[str, str]]
) -> Iterator[Otherwise]:
    for place in listed.keys() - kinds.keys():
        yield Otherwise(place, _told(list(listed[place].values())), "no such sample with a program")
    for place, found in kinds.items():
        if place in listed:
            recorded = [str(listed[place].get(str(seed), "")) for seed in range(len(found))]
        else:
            recorded = [found[0]] * len(found)
        pairs = zip(recorded, found, strict=True)
        if any(one != other and "unavailable" not in (one, other) for one, other in pairs):
            yield Otherwise(place, _told(recorded), _told(found))
        elif place in listed and not flaky(recorded):
            yield Otherwise(place, "an outcome that changes", _told(recorded))


def _told(kinds: Sequence[str]) -> str:
    return "by seed " + ", ".join(f"{seed}: {kind}" for seed, kind in enumerate(kinds))
