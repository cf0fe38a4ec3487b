"""Keeps a judge, its fork servers and their children on one core: they take turns, and waking a process on another core
costs more than many a turn.

Where something else keeps that core busy while another one idles, they go there.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

_LOOK_S, _STAY_S = 1.0, 5.0
_CROWDED = 2.0
"""Wall time over CPU time from which on it is looked who uses the core."""


def cores(wanted: int) -> list[int | None]:
    """A core for each of so many judges, no two on one; None for all where there are not as many.

    Cores of their own come before those that share their circuits with one taken before.
    """
    if not hasattr(os, "sched_getaffinity"):
        return [None] * wanted
    free = sorted(os.sched_getaffinity(0))
    if not 1 < len(free) >= wanted:
        return [None] * wanted
    random.shuffle(free)  # several sandboxes on one machine should not all begin with the same
    first = {_siblings(core): core for core in free}
    found: list[int | None] = [*first.values(), *(core for core in free if core not in first.values())]
    return found[:wanted]


def _siblings(core: int) -> str:
    try:
        return Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(core)


def idle(cores: set[int]) -> dict[int, float]:
    """Seconds that each core has idled since the machine started; those that are told."""
    seconds = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name[3:].isdigit() and int(name[3:]) in cores:
            seconds[int(name[3:])] = int(fields[3]) / os.sysconf("SC_CLK_TCK")
    return seconds


class Core:
    """One judge's hold on its core; none when `core` is None. What this process starts is held there, too."""

    def __init__(self, core: int | None) -> None:
        self._all = os.sched_getaffinity(0) if core is not None else set()
        self._core = core if core is not None and _hold((0,), core) else None
        self._looked = self._look = 0.0
        self._wall = self._cpu = 0.0
        self._idle: dict[int, float] = {}

    def took(self, wall: float, cpu: float, started: Sequence[int]) -> None:
        """After a program: its seconds by the clock and of CPU time, and what this process has started.

        All go to another core where others used most of this one's time, and that one idled most of it.
        """
        self._wall += wall
        self._cpu += cpu
        now = time.monotonic()
        if self._core is None or now < self._look:
            return
        crowded, used, before, span = self._wall > _CROWDED * self._cpu, self._cpu, self._idle, now - self._looked
        self._looked, self._look, self._wall, self._cpu = now, now + _LOOK_S, 0.0, 0.0
        self._idle = idle(self._all) if crowded else {}
        gained = {core: self._idle[core] - before[core] for core in self._idle.keys() & before.keys()}
        if self._core not in gained or span - gained[self._core] - used < span / 2:
            return
        best = max(gained, key=lambda core: gained[core])
        if gained[best] > span / 2:
            self._core = best if _hold((*started, 0), best) else None
            self._idle, self._look = {}, now + _STAY_S


def _hold(pids: Iterable[int], core: int) -> bool:
    """Put processes on a core (0 is this one); False where the kernel refuses, as root's in some containers."""
    try:
        for pid in pids:
            os.sched_setaffinity(pid, {core})
    except OSError:
        return False
    return True
