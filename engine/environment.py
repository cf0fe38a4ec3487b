"""Where a run happens: system, processor, memory, GPUs, Python, package versions, engine build, sandbox level.

Nothing here loads `llama_cpp`: its version comes from the installed package's metadata, its build from a model card.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from cache.store import Store
from engine.protocols import Benchmark, Sandbox

PACKAGES = (
    "scoretrace", "llama-cpp-python", "jinja2", "numpy", "scipy", "pandas", "huggingface-hub", "textual", "tomli-w",
    "nvidia-ml-py",
)  # fmt: skip
"""The distributions whose versions are recorded: all that may touch a prompt, a program, a score or the report."""


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU as its driver names it; memory in bytes."""

    name: str
    memory: int


@dataclass(frozen=True)
class Environment:
    """One machine and its software at one moment; an empty text or a zero means that the machine does not say.

    `cores` are those this process may run on, `cores_total` those of the machine; `memory` is in bytes; `build` is the
    model card's numerics (engine build, device, batch width, KV layout). `gpu_note` says why `gpus` is empty, and
    `gpu_looked` whether anybody looked: "none" is a finding only then.
    """

    system: str
    machine: str
    cpu: str
    cores: int
    cores_total: int
    memory: int
    python: str
    packages: Mapping[str, str]
    gpus: tuple[Gpu, ...] = ()
    driver: str = ""
    gpu_note: str = ""
    gpu_looked: bool = False
    build: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` reads it back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Environment:
        """Rebuild what `as_dict` wrote; keys of a later version are left aside."""
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**{**known, "gpus": tuple(Gpu(**gpu) for gpu in data.get("gpus", ()))})

    def lines(self) -> dict[str, str]:
        """Name -> text for people, in reading order; what the machine does not say is an empty text."""
        gpus = ", ".join(f"{gpu.name} ({_gib(gpu.memory)})" for gpu in self.gpus)
        return {
            "operating system": self.system,
            "architecture": self.machine,
            "processor": self.cpu,
            "cores": f"{self.cores} of {self.cores_total}" if self.cores_total else "",
            "memory": _gib(self.memory) if self.memory else "",
            "NVIDIA GPU": gpus or (self.gpu_note if self.gpu_looked else ""),
            "GPU driver": self.driver,
            "Python": self.python,
            **{f"{name} version": version for name, version in self.packages.items()},
            **{f"engine: {name}": value for name, value in self.build.items()},
            "sandbox": self.sandbox,
        }


def describe(numerics: Mapping[str, str] | None = None, sandbox: str = "") -> Environment:
    """This machine now; `numerics` come from a loaded model's card, `sandbox` is the level in force. Never raises."""
    gpus, driver, note, looked = _gpus()
    return Environment(
        system=_system(),
        machine=platform.machine(),
        cpu=_cpu(),
        cores=_cores(),
        cores_total=os.cpu_count() or 0,
        memory=_memory(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages=package_versions(),
        gpus=gpus,
        driver=driver,
        gpu_note=note,
        gpu_looked=looked,
        build=dict(numerics or {}),
        sandbox=sandbox,
    )


def package_versions(names: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Versions of the installed distributions among `names`, read from their metadata; nothing is imported."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def provenance_key(run: int) -> str:
    """Under which fact of the store a run's provenance stands."""
    return f"provenance:{run}"


def with_life(
    stored: Mapping[str, Any] | None, benchmarks: Iterable[Benchmark], sandbox: Sandbox, here: Environment
) -> dict[str, Any]:
    """A run's provenance with one more life of its worker: `lives` lists each circumstance that differs from the last.

    A life is `environment` (`Environment.as_dict`), `benchmarks` (name -> `Benchmark.facts` with its `sha256`) and
    `sandbox` (`level`, `identity`).
    """
    life = {
        "environment": here.as_dict(),
        "benchmarks": {b.name: {**b.facts(), "sha256": b.sha256} for b in benchmarks},
        "sandbox": {"level": sandbox.level, "identity": sandbox.identity},
    }
    lives = list((stored or {}).get("lives", ()))
    # What was stored went through JSON, so tuples in the new life would never compare equal.
    plain = json.loads(json.dumps(life, default=str))
    return {"lives": lives if lives and lives[-1] == plain else [*lives, plain]}


def record_life(store: Store, run: int, benchmarks: Iterable[Benchmark], sandbox: Sandbox) -> None:
    """Keep under what circumstances a run is judged: this machine, its benchmarks' files, its sandbox."""
    key = provenance_key(run)
    store.put_fact(key, with_life(store.fact(key), benchmarks, sandbox, describe()))


def _system() -> str:
    name = f"{platform.system()} {platform.release()}".strip()
    try:
        release = platform.freedesktop_os_release()
    except (OSError, AttributeError):
        return name
    pretty = release.get("PRETTY_NAME", "")
    return f"{pretty}, {name}" if pretty else name


def _cpu() -> str:
    for key in ("model name", "Hardware", "Model"):
        found = _proc_value(Path("/proc/cpuinfo"), key)
        if found:
            return found
    return platform.processor()


def _memory() -> int:
    total = _proc_value(Path("/proc/meminfo"), "MemTotal")
    if total.endswith(" kB") and total[:-3].isdigit():
        return int(total[:-3]) * 1024
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def free_cores() -> int:
    """Cores that this process may use, at least 1."""
    return _cores() or 1


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 0


def _proc_value(path: Path, key: str) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() == key:
            return value.strip()
    return ""


def _gpus() -> tuple[tuple[Gpu, ...], str, str, bool]:
    """GPUs and driver through NVML, the reason where there are none, and whether NVML could be asked at all."""
    try:
        import pynvml
    except ImportError:
        return (), "", "not looked for: nvidia-ml-py is not installed", False
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return (), "", f"none found by the NVIDIA driver library ({error})", True
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        gpus = tuple(
            Gpu(_text(pynvml.nvmlDeviceGetName(handle)), int(pynvml.nvmlDeviceGetMemoryInfo(handle).total))
            for handle in handles
        )
        return gpus, _text(pynvml.nvmlSystemGetDriverVersion()), "" if gpus else "none", True
    except pynvml.NVMLError as error:
        return (), "", f"the NVIDIA driver library does not say ({error})", False
    finally:
        pynvml.nvmlShutdown()


def _text(value: str | bytes) -> str:
    """Old NVML bindings give bytes, new ones text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"
