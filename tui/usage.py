"""How much memory a process holds, in main memory and on NVIDIA GPUs, as far as the system tells."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any


def memory_of(pid: int | None) -> tuple[int, int]:
    """(bytes of main memory, bytes on GPUs) that a process holds; 0 for what is not told."""
    if pid is None:
        return 0, 0
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0, 0
    return pages * os.sysconf("SC_PAGE_SIZE"), _on_gpus(pid)


def _on_gpus(pid: int) -> int:
    library = _nvml()
    if library is None:
        return 0
    try:
        return sum(
            int(process.usedGpuMemory or 0)
            for index in range(library.nvmlDeviceGetCount())
            for process in library.nvmlDeviceGetComputeRunningProcesses(library.nvmlDeviceGetHandleByIndex(index))
            if process.pid == pid
        )
    except library.NVMLError:
        return 0


def free_on_gpus() -> int | None:
    """Free bytes on all GPUs together; None where that is not told."""
    library = _nvml()
    if library is None:
        return None
    try:
        count = library.nvmlDeviceGetCount()
        handles = [library.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        return sum(int(library.nvmlDeviceGetMemoryInfo(handle).free) for handle in handles)
    except library.NVMLError:
        return None


@lru_cache(maxsize=1)
def _nvml() -> Any:
    """NVIDIA's library, ready; None where there is none."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
