"""A worker process with fake parts that meets a fault: python doomed_worker.py HOW RUN --store PATH (not a test)."""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine import judging, worker
from engine.run import Parts

AFTER = 5
"""Replies, or repeated programs, before the fault."""
REPEATED = "repeated.jsonl"
"""Where the data folder says what was executed under other seeds."""


def fakes() -> Any:
    """The fakes of the tests beside this file."""
    spec = importlib.util.spec_from_file_location("engine_fakes", Path(__file__).with_name("conftest.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["engine_fakes"] = module
    spec.loader.exec_module(module)
    return module


def strike(how: str) -> None:
    """The fault itself, as native code or the system would bring it about."""
    if how == "abort":
        os.abort()
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "memory":
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
        bytearray(1 << 34)


def parts(how: str) -> Any:
    """Real parts in the worker's eyes."""
    found = fakes()

    class Doomed(found.FakeModel):  # type: ignore[misc]
        def generate(self, *arguments: Any) -> Iterator[Any]:
            for count, generation in enumerate(super().generate(*arguments)):
                if count == AFTER and self.precision == "f16":
                    strike(how)
                yield generation

    return lambda job, store: Parts(
        lambda name: found.FakeBenchmark(size=40), lambda name, precision, slots: Doomed(name, precision),
        found.FakeSandbox, seeded=lambda seed: seeded(found.FakeSandbox, how, seed),
    )  # fmt: skip


def seeded(fake: Any, how: str, seed: int) -> Any:
    """A sandbox of another seed, under the second of which passes of P/1 fail; it notes each program it is given."""

    class Seeded(fake):  # type: ignore[misc]
        def run(self, program: Any, limits: Any) -> Any:
            outcome = super().run(program, limits)
            with (Path(os.environ["SCORETRACE_HOME"]) / REPEATED).open("a") as log:
                log.write(json.dumps([seed, program.candidate]) + "\n")
            # Two threads may have run one each since the last look.
            if how == "killed repeating" and seed == 2 and len(self.runs) >= AFTER:
                strike("killed")
            turned = seed == 2 and "def f1(" in program.candidate and outcome.passed
            return replace(outcome, kind="failed") if turned else outcome

    return Seeded(identity=f"fake {seed}")


if __name__ == "__main__":
    # Each program is judged before the model goes on, as with a model that takes its time.
    judging.BACKLOG = 0
    worker.real_parts = parts(sys.argv[1])
    sys.exit(worker.main(sys.argv[2:]))
