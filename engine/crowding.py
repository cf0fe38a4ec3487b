"""Says when other processes hold the cores: times are longer then, and no reply is another."""

from __future__ import annotations

import time
from collections.abc import Callable

from engine.models.threads import FreeCores, Load, read_load, usable_cores

WINDOW = 0.2
"""Seconds of looking; two windows, so that a process that just starts up does not count."""


def crowding(
    cores: int | None = None,
    read: Callable[[], Load | None] = read_load,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """A sentence with the number of cores that others hold, or an empty text when they leave them all."""
    cores = usable_cores() if cores is None else cores
    counter = FreeCores(cores, read)
    free = 0
    for _ in range(2):
        sleep(WINDOW)
        free = max(free, counter.count())
    if free >= cores:
        return ""
    return (
        f"other processes hold about {cores - free} of the {cores} cores that this one may use: the model computes on "
        f"{free}, and times are longer than on an idle machine; no reply depends on it"
    )
