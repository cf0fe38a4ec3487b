"""Energy and memory of the devices while a model is loaded: NVML for NVIDIA GPUs, RAPL for the CPU, where they answer.

A device that does not answer is left out, and where none does nothing is claimed. What is counted is the whole device,
whoever used it: the run's share is not to be had.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

PERIOD = 0.5
"""Seconds between two readings."""

USED = 64 << 20
"""Bytes that a GPU's used memory grows by, at least, when a model is on it; others are not counted."""

_RAPL = Path("/sys/class/powercap")


@dataclass(frozen=True)
class Reading:
    """One device now; `joules` since some fixed moment, None where it has no counter and only `watts` are told.

    `memory` is bytes in use by all; None on a device without memory of its own.
    """

    device: str
    how: str
    joules: float | None
    watts: float = 0.0
    memory: int | None = None


class Meter(Protocol):
    """Reads some devices; never raises for what a device does not tell."""

    def read(self) -> Sequence[Reading]:
        """All devices that answer now."""
        ...


@dataclass(frozen=True)
class Taken:
    """What one device took: joules, over so many seconds, and the most bytes of its memory in use (0: none of its own).

    `how` says by which counter, or that power readings were added up.
    """

    device: str
    how: str
    joules: float
    seconds: float
    memory: int


class Nvml:
    """NVIDIA GPUs through nvidia-ml-py; `library` is the module `pynvml`, initialised here."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.nvmlInit()
        self._driver = _text(library.nvmlSystemGetDriverVersion())
        self._handles = [library.nvmlDeviceGetHandleByIndex(i) for i in range(library.nvmlDeviceGetCount())]

    def read(self) -> Sequence[Reading]:
        """One reading for each GPU."""
        found = []
        for index, handle in enumerate(self._handles):
            try:
                found.append(self._one(index, handle))
            except self._library.NVMLError:
                continue
        return found

    def _one(self, index: int, handle: Any) -> Reading:
        library = self._library
        name = f"GPU {index} {_text(library.nvmlDeviceGetName(handle))}, driver {self._driver}"
        memory = int(library.nvmlDeviceGetMemoryInfo(handle).used)
        try:
            return Reading(name, "NVML counter", library.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3, 0.0, memory)
        except library.NVMLError:
            # GPUs before Volta count no energy.
            return Reading(name, "NVML power", None, library.nvmlDeviceGetPowerUsage(handle) / 1e3, memory)


class Rapl:
    """CPU packages through the kernel's energy counters, which many systems let only the administrator read."""

    def __init__(self, folder: Path = _RAPL) -> None:
        self._packages = sorted(path for path in folder.glob("intel-rapl:*") if path.name.count(":") == 1)
        self._last: dict[Path, int] = {}
        self._sum: dict[Path, int] = {}

    def read(self) -> Sequence[Reading]:
        """One reading for each package whose counter can be read."""
        found = []
        for package in self._packages:
            try:
                now = int((package / "energy_uj").read_text())
                around = int((package / "max_energy_range_uj").read_text())
                name = (package / "name").read_text().strip()
            except (OSError, ValueError):
                continue
            last = self._last.get(package, now)
            # The counter starts again at zero when it is full.
            self._sum[package] = self._sum.get(package, 0) + (now - last if now >= last else now + around - last)
            self._last[package] = now
            found.append(Reading(f"CPU {name}", "RAPL counter", self._sum[package] / 1e6))
        return found


def meters() -> Sequence[Meter]:
    """What this machine offers."""
    found: list[Meter] = []
    try:
        import pynvml

        found.append(Nvml(pynvml))
    except ImportError:
        pass
    except pynvml.NVMLError:
        pass
    rapl = Rapl()
    return [*found, rapl] if rapl.read() else found


class Watch:
    """Adds up what devices take from its making to `stop`."""

    def __init__(self, meters: Sequence[Meter], clock: Callable[[], float] = time.monotonic) -> None:
        self._meters = meters
        self._clock = clock
        self._began = self._time = clock()
        self._first = self._read()
        self._last = dict(self._first)
        self._added = dict.fromkeys(self._first, 0.0)
        self._memory = {name: one.memory or 0 for name, one in self._first.items()}

    def _read(self) -> dict[str, Reading]:
        return {one.device: one for meter in self._meters for one in meter.read()}

    def tick(self) -> None:
        """Look again when the last look is PERIOD ago; cheap otherwise."""
        if self._meters and self._clock() - self._time >= PERIOD:
            self._look()

    def _look(self) -> None:
        now, found = self._clock(), self._read()
        for name, one in found.items():
            last = self._last.get(name)
            if last is None:
                continue
            step = (one.watts + last.watts) / 2 * (now - self._time)
            self._added[name] += step if one.joules is None or last.joules is None else one.joules - last.joules
            self._memory[name] = max(self._memory[name], one.memory or 0)
        self._time = now
        self._last.update((name, one) for name, one in found.items() if name in self._first)

    def stop(self) -> list[Taken]:
        """What each device took that the model was on; CPU packages always, GPUs whose used memory grew."""
        self._look()
        return [
            Taken(name, first.how, self._added[name], self._time - self._began, self._memory[name])
            for name, first in self._first.items()
            if first.memory is None or self._memory[name] - first.memory >= USED
        ]


def energy_key(run: int) -> str:
    """Under which fact of the store a run's energy stands."""
    return f"energy:{run}"


def with_load(stored: Mapping[str, Any] | None, model: str, precision: str, taken: Sequence[Taken]) -> dict[str, Any]:
    """A run's energy with one more loading: `loads` (model, precision, devices as `Taken`) and the `text` over all."""
    loads = [*(stored or {}).get("loads", ())]
    loads.append({"model": model, "precision": precision, "devices": [asdict(one) for one in taken]})
    return {"text": _sentence(loads), "loads": loads}


def _sentence(loads: Iterable[Mapping[str, Any]]) -> str:
    """`36.5 kJ by GPU 0 NVIDIA H200, driver 570 (NVML counter, 220 s, at most 3.1 GiB in use)`, device by device."""
    devices: dict[str, list[Mapping[str, Any]]] = {}
    for load in loads:
        for one in load["devices"]:
            devices.setdefault(one["device"], []).append(one)
    parts = []
    for name, some in devices.items():
        memory = max(one["memory"] for one in some)
        held = f", at most {memory / (1 << 30):.1f} GiB in use" if memory else ""
        seconds = sum(one["seconds"] for one in some)
        parts.append(
            f"{_joules(sum(one['joules'] for one in some))} by {name} "
            f"({some[0]['how']}, whole device, {seconds:.0f} s with a model loaded{held})"
        )
    return "; ".join(parts)


def _joules(joules: float) -> str:
    for unit, size in (("MJ", 1e6), ("kJ", 1e3)):
        if joules >= size:
            return f"{joules / size:.1f} {unit}"
    return f"{joules:.0f} J"


def _text(value: str | bytes) -> str:
    """Old NVML bindings give bytes, new ones text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
