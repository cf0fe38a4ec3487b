"""How many threads to compute with: the cores that other processes leave, asked again as a run goes on.

The number of threads changes the speed, never a token, so it may follow the machine's load: llama.cpp's threads wait
for each other at every layer, and one that has no core holds up all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.models.memory import control_groups, read_text

PERIOD = 2.0
"""Seconds between two looks at the load."""


@dataclass(frozen=True)
class Load:
    """A moment's readings, in seconds: the clock, CPU time spent on the usable cores by all, and by this process."""

    now: float
    everyone: float
    own: float


class FreeCores:
    """Counts the cores that others left free since it was last asked; at least 1, at most `cores`."""

    def __init__(self, cores: int, read: Callable[[], Load | None]) -> None:
        self._cores, self._read = cores, read
        self._last = read()

    def due(self) -> bool:
        """True when the last look is long enough ago to look again."""
        return self._last is not None and time.monotonic() - self._last.now >= PERIOD

    def count(self) -> int:
        """Free cores over the time since the last call; all of them where the load cannot be read."""
        before, after = self._last, self._read()
        self._last = after
        if before is None or after is None or after.now <= before.now:
            return self._cores
        others = (after.everyone - before.everyone - (after.own - before.own)) / (after.now - before.now)
        return max(1, min(self._cores, round(self._cores - others)))


def usable_cores() -> int:
    """Physical cores that this process may run on: those of its affinity, or the quota of its control groups."""
    siblings = {
        read_text(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) or str(cpu)
        for cpu in _affinity()
    }
    cores = len(siblings) or 1
    for folder in control_groups("cpu"):
        words = (read_text(folder / "cpu.max") or "").split()
        words = words or [read_text(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            cores = min(cores, max(1, int(words[0]) // int(words[1])))
    return cores


def read_load() -> Load | None:
    """The load on the usable cores; None where the system does not tell."""
    text = read_text(Path("/proc/stat"))
    if text is None:
        return None
    wanted = {f"cpu{cpu}" for cpu in _affinity()}
    rows = [line.split() for line in text.splitlines() if line.split(" ", 1)[0] in wanted]
    # user, nice, system, (idle, iowait), irq, softirq, steal
    ticks = sum(int(row[index]) for row in rows for index in (1, 2, 3, 6, 7, 8) if index < len(row))
    return Load(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), time.process_time())


def watch(seconds: float = 0.1) -> tuple[FreeCores, int]:
    """A counter of free cores, and its first answer, for which it looks at the load for some `seconds`."""
    counter = FreeCores(usable_cores(), read_load)
    time.sleep(seconds)
    return counter, counter.count()


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
