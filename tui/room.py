"""Whether a model can be loaded once more beside a run's worker that holds one, asked before it is tried."""

from __future__ import annotations

from pathlib import Path

from cache.errors import FileError
from cache.files import gigabytes
from cache.gguf import read_header
from cache.store import Store
from engine.job import Job
from engine.models.memory import available_memory, needed
from engine.settings import Configuration
from tui.usage import free_on_gpus, memory_of

WAIT = "let the run end first, or stop it (R resumes it where it was); a paused run holds its memory too"


def no_room(store: Store, run: int, configuration: Configuration) -> str:
    """Why the model of a configuration does not fit beside the run's worker; empty when it does or nothing is known.

    In the shape in which the run has loaded it, since another shape is another numerics.
    """
    row = store.run(run)
    if not row.alive:
        return ""
    which = configuration.model, configuration.precision
    cards = [
        body["card"] for body in store.events_of(run, "ModelLoaded") if (body["model"], body["precision"]) == which
    ]
    if not cards:
        return ""
    numerics = cards[-1].get("numerics", {})
    readers = (c for c in Job.from_dict(row.job).configurations if (c.model, c.precision) == which)
    slot_tokens = max((c.max_length for c in readers), default=configuration.max_length)
    try:
        header = read_header(Path(cards[-1]["path"]))
    except FileError as error:
        return str(error)
    need = needed(header, int(numerics.get("width", "1")), slot_tokens, int(numerics.get("block", "1")))
    main, device = memory_of(row.pid)
    if numerics.get("device", "CPU") == "CPU":
        return _said(need.total, available_memory(), main, "memory")
    free = free_on_gpus()
    return "" if free is None else _said(need.weights + need.kv + need.scratch, free, device, "device memory")


def _said(need: int, free: int, held: int, what: str) -> str:
    if need <= free:
        return ""
    holds = f"; the run's worker holds {gigabytes(held)}" if held else ""
    return (
        f"Not enough {what} for the model once more: {gigabytes(need)} needed, {gigabytes(free)} free{holds}: {WAIT}."
    )
