"""What a machine says of itself: recorded as it is, unknown where it does not say, without loading the engine."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from typing import Any

import pytest

from engine import environment
from engine.environment import Environment, Gpu, describe


def test_a_description_survives_json() -> None:
    """What a worker keeps in the store reads back equal, and keys of a later version are left aside."""
    here = describe({"build": "b9999"}, "namespaces")
    body = json.loads(json.dumps(here.as_dict()))
    assert Environment.from_dict(body) == here
    assert Environment.from_dict({**body, "phase_of_the_moon": "full"}) == here


def test_this_machine_has_a_system_cores_and_packages() -> None:
    """On the machine at hand the plain parts are there, and the build is what the model card said."""
    here = describe({"build": "b9999"})
    assert here.system and here.machine and here.python
    assert 1 <= here.cores <= here.cores_total
    assert here.memory > 1 << 20
    assert "jinja2" in here.packages
    assert here.lines()["engine: build"] == "b9999"


def test_describing_the_machine_does_not_load_the_engine() -> None:
    """Versions come from package metadata: neither llama_cpp nor textual nor numpy is imported for them."""
    code = (
        "import sys; from engine.environment import describe; describe(); "
        "print([m for m in ('llama_cpp', 'textual', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class FakeNvml(types.ModuleType):
    """Enough of pynvml: `gpus` as (name, bytes), or `broken` for a machine without the driver's library."""

    class NVMLError(Exception):
        pass

    def __init__(self, gpus: list[tuple[Any, int]], broken: bool = False) -> None:
        super().__init__("pynvml")
        self.gpus, self.broken, self.closed = gpus, broken, False

    def nvmlInit(self) -> None:
        if self.broken:
            raise self.NVMLError("library not found")

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, handle: int) -> Any:
        return self.gpus[handle][0]

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return types.SimpleNamespace(total=self.gpus[handle][1])

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"570.1"

    def nvmlShutdown(self) -> None:
        self.closed = True


def test_gpus_are_named_with_memory_and_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each GPU's name and memory, bytes or text alike, and the driver; the library is closed again."""
    fake = FakeNvml([(b"H200", 139 << 30), ("A100", 80 << 30)])
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    here = describe()
    assert here.gpus == (Gpu("H200", 139 << 30), Gpu("A100", 80 << 30))
    assert here.lines()["NVIDIA GPU"] == "H200 (139.0 GiB), A100 (80.0 GiB)"
    assert here.driver == "570.1"
    assert fake.closed


def test_no_gpu_is_a_finding_only_when_somebody_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the driver's library there is none; without its Python package nobody looked, and it is unknown."""
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([], broken=True))
    assert describe().lines()["NVIDIA GPU"].startswith("none found")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert describe().lines()["NVIDIA GPU"] == ""
    assert "nvidia-ml-py" in describe().gpu_note


def test_a_machine_that_says_nothing_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc and sysconf the texts are empty and the memory is zero; nothing raises."""
    monkeypatch.setattr(environment, "_proc_value", lambda path, key: "")
    monkeypatch.setattr(environment.os, "sysconf", lambda name: (_ for _ in ()).throw(OSError()))
    monkeypatch.setattr(environment.platform, "processor", lambda: "")
    here = describe()
    assert (here.cpu, here.memory) == ("", 0)
    assert here.lines()["memory"] == ""
