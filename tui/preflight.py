"""What a study would cost, before anything starts: counts are exact, times and sizes are estimates that say their
basis.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cache.errors import FileError, StoreError
from cache.files import AS_RELEASED, at_hand, gigabytes
from cache.paths import models_folder
from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.environment import package_versions
from engine.kept import kept_key, usable
from engine.plan import PromptGroup, make_plan
from engine.protocols import Benchmark
from engine.repeating import has_seed
from engine.run import pace_key
from tui.session import Preflight
from tui.study import Study

ASSUMED_REPLY_TOKENS = 120
ASSUMED_TOKENS_PER_SECOND = 250.0
CHARACTERS_PER_TOKEN = 3.2
BYTES_PER_REPLY = 700
"""A reply's row with its token ids, its outcome and its events, as measured on the embedded study."""
BYTES_PER_OUTCOME = 150
"""An outcome's row under another seed: 96 to 143 bytes as measured on the embedded benchmark."""
SPARE = 64 << 20
"""Bytes of disk that a run leaves free."""

ENGINE = "llama-cpp-python"


@dataclass
class _Sum:
    """Estimates added up over prompt groups; `measured` of them rest on a pace measured here."""

    tokens: float = 0.0
    seconds: float = 0.0
    stored: int = 0
    measured: int = 0


def estimate(study: Study, store: Store, only: Sequence[str] = ()) -> Preflight:
    """Counts after sharing, and estimates from the last measured pace of these files here, else from stated
    assumptions; `only` keeps the configurations of those ids.
    """
    configurations = [c for c in study.configurations() if not only or c.id in only]
    files = {model.name: model.file for model in study.models}
    benchmarks = {name: open_benchmark(name, study.data or None) for name in study.grid.benchmark}
    sizes = {name: len(benchmark.problems) for name, benchmark in benchmarks.items()}
    plan = make_plan(configurations)
    found = _Sum()
    for group in plan.groups:
        shape = study.shape(group.model, group.precision)
        _add(found, group, files[group.model], benchmarks[group.benchmark], shape, store)
    generations = plan.generations(sizes)
    repeats = study.repeats * sum(sizes[c.benchmark] * c.samples for c in configurations if has_seed(c.benchmark))
    derived = sum(_derived_bytes(files[load.model], load.precision, store) for load in plan.loads)
    return Preflight(
        configurations=len(configurations),
        passes=plan.passes,
        loads=len(plan.loads),
        problems=sum(sizes.values()),
        generations=generations,
        stored=found.stored,
        naive=plan.naive(sizes),
        tokens=round(found.tokens),
        seconds=found.seconds,
        bytes=(generations - found.stored) * BYTES_PER_REPLY + repeats * BYTES_PER_OUTCOME + derived,
        free=shutil.disk_usage(store.path.parent).free,
        basis=_basis(found.measured, len(plan.groups)),
        repeats=repeats,
    )


def with_room(found: Preflight, folder: Path) -> Preflight:
    """The same preflight; `StoreError` where the disk has no room for what it would write."""
    if found.bytes + SPARE > found.free:
        raise StoreError(
            f"the disk of {folder} has {gigabytes(found.free)} free, and this study would write about "
            f"{gigabytes(found.bytes)} of replies and model files; free disk space, choose fewer samples or "
            "precisions, or move the data folder with SCORETRACE_HOME"
        )
    return found


def _add(found: _Sum, group: PromptGroup, file: str, benchmark: Benchmark, shape: str, store: Store) -> None:
    problems = benchmark.problems
    replies = sum(p.samples for p in group.passes) * len(problems)
    kept = _kept(group, file, benchmark, shape, store)
    found.stored += kept
    replies -= kept
    pace = store.fact(pace_key(file, group.precision, group.benchmark))
    if pace is not None or not replies:
        found.measured += 1
    if pace is not None:
        found.tokens += replies * pace["tokens"] / pace["replies"]
        found.seconds += replies * pace["seconds"] / pace["replies"]
    elif replies:
        prompt = sum(len(p.context) + len(p.header) for p in problems) / CHARACTERS_PER_TOKEN
        found.tokens += replies * ASSUMED_REPLY_TOKENS
        found.seconds += (replies * ASSUMED_REPLY_TOKENS + prompt / 4) / ASSUMED_TOKENS_PER_SECOND


def _kept(group: PromptGroup, file: str, benchmark: Benchmark, shape: str, store: Store) -> int:
    there = at_hand(file, store)
    if there is None:
        return 0
    version = package_versions((ENGINE,)).get(ENGINE, "")
    return sum(
        usable(store.fact(kept_key(benchmark.sha256, group, one)), one, there[1], version, shape)
        for one in group.passes
    )


def _derived_bytes(file: str, precision: str, store: Store) -> int:
    """What a derived model file would take that is not there yet; 0 where the source's size is not known."""
    there = at_hand(file, store)
    if there is None or precision == AS_RELEASED:
        return 0
    path, sha256 = there
    from engine.models.precision import derived_bytes, derived_name

    version = package_versions((ENGINE,)).get(ENGINE, "")
    if (models_folder() / derived_name(path, sha256, precision, version)).exists():
        return 0
    parameters, own = _head(path, path.stat().st_mtime_ns)
    return 0 if precision == own else derived_bytes(parameters, precision)


@lru_cache(maxsize=16)
def _head(path: Path, changed: int) -> tuple[int, str]:
    """Parameters and precision of a model file, read once for as long as it is unchanged."""
    from cache.gguf import read_header

    try:
        head = read_header(path)
    except FileError:
        return 0, AS_RELEASED
    return head.parameters, head.precision


def _basis(measured: int, groups: int) -> str:
    assumed = f"assumed: {ASSUMED_REPLY_TOKENS} tokens a reply, {ASSUMED_TOKENS_PER_SECOND:g} tokens/s"
    if measured == groups:
        return "measured here before"
    return assumed if not measured else f"measured here for {measured} of {groups} prompt groups, else {assumed}"
