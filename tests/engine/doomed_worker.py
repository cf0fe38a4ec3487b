"""A worker process with fake parts that meets a fault: python doomed_worker.py HOW RUN --store PATH (not a test)."""

from __future__ import annotations

import importlib.util
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine import judging, worker
from engine.run import Parts

AFTER = 5
"""Replies before the fault."""


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
        found.FakeSandbox,
    )  # fmt: skip


if __name__ == "__main__":
    # Each program is judged before the model goes on, as with a model that takes its time.
    judging.BACKLOG = 0
    worker.real_parts = parts(sys.argv[1])
    sys.exit(worker.main(sys.argv[2:]))
