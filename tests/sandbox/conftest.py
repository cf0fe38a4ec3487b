"""Sandboxes for the tests of this folder, one for each level, and the reference data where it is at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import open_sandbox, probe_levels
from engine.sandbox.levels import probe

PRELUDE = """import math
import re
import sys
import copy
import datetime
import itertools
import collections
import heapq
import statistics
import functools
import hashlib
import numpy
import numpy as np
import string
from typing import *
from collections import *"""
AMPLE = Limits(cpu_s=60.0, wall_s=300.0, memory=1 << 29)
"""Far above what a program that ends needs on a slow, busy machine; only a test of a timeout sets less."""


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder of the session's own, for what toolchains build beforehand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCORETRACE_HOME", str(tmp_path_factory.mktemp("home")))
        yield Path(os.environ["SCORETRACE_HOME"])


@pytest.fixture(scope="session")
def prelude() -> str:
    """The import lines of HumanEvalPack's Python harness."""
    return PRELUDE


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The best sandbox of this machine, with two judges."""
    if not any(p.available for p in probe_levels().values() if p.level != "limits"):
        pytest.skip("no level of confinement works on this machine")
    made = open_sandbox(jobs=2)
    yield made
    made.close()


@pytest.fixture(scope="session")
def at_level() -> Iterator[Callable[[str], Sandbox]]:
    """Opens a sandbox at a level, once for the whole session; skips where the level does not work."""
    made: dict[str, Sandbox] = {}

    def opened(level: str) -> Sandbox:
        if not probe(level).available:
            pytest.skip(f"{level}: {probe(level).reason}")
        if level not in made:
            made[level] = open_sandbox(level, jobs=1)
        return made[level]

    yield opened
    for one in made.values():
        one.close()


@pytest.fixture(scope="session")
def judged(sandbox: Sandbox) -> Callable[..., Outcome]:
    """Judges a candidate against a test text."""

    def run(candidate: str, test: str, entry_point: str = "f", limits: Limits = AMPLE, **rest: Any) -> Outcome:
        return sandbox.run(Program(rest.pop("prelude", ""), candidate, test, entry_point, **rest), limits)

    return run


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data; the tests that need it are skipped where it is not given."""
    place = os.environ.get("SCORETRACE_SHARED")
    if not place:
        pytest.skip("SCORETRACE_SHARED is not set: no attacks, problems and replies at hand")
    return Path(place)


@pytest.fixture(scope="session")
def rows(shared: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Reads a JSON-lines file below the data folder."""
    return lambda name: [json.loads(line) for line in (shared / "data" / name).read_text().splitlines()]
