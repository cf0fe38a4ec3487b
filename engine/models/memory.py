"""Whether a model fits, asked before it is loaded: what file and slots take, and what this machine has left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cache.gguf import Header

_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_RESERVE = 256 << 20
"""Bytes left to the rest of the process and the system."""


@dataclass(frozen=True)
class Need:
    """Bytes of memory: the weights, the KV cache of all slots, and llama.cpp's buffers for one step."""

    weights: int
    kv: int
    scratch: int

    @property
    def total(self) -> int:
        """All of it, with the reserve."""
        return self.weights + self.kv + self.scratch + _RESERVE


def kv_bytes_per_token(header: Header) -> int:
    """Bytes of KV at f16 that one token of one sequence takes, over all layers."""
    arch = header.architecture
    heads = header.number(f"{arch}.attention.head_count", 1)
    kv_heads = header.number(f"{arch}.attention.head_count_kv", heads)
    per_head = header.number(f"{arch}.embedding_length") // max(heads, 1)
    key = header.number(f"{arch}.attention.key_length", per_head)
    value = header.number(f"{arch}.attention.value_length", per_head)
    return header.number(f"{arch}.block_count") * kv_heads * (key + value) * 2


def padded(slot_tokens: int) -> int:
    """The length that a slot really has: llama.cpp's KV cache grows by 256 tokens."""
    return -(-slot_tokens // 256) * 256


def needed(header: Header, width: int, slot_tokens: int, block: int = 1, micro_batch: int = 512) -> Need:
    """What `width` slots (and the prefill sequence) of `slot_tokens` tokens, fed `block` rows each, take beside the
    weights.
    """
    arch = header.architecture
    vocabulary = header.number(f"{arch}.vocab_size", 50_000)
    widest = 4 * header.number(f"{arch}.embedding_length") + 3 * header.number(f"{arch}.feed_forward_length")
    scratch = 4 * (micro_batch * widest + 2 * (width * block + 1) * vocabulary)
    return Need(
        header.weight_bytes, kv_bytes_per_token(header) * padded(slot_tokens + block - 1) * (width + 1), scratch
    )


def available_memory() -> int:
    """Bytes that can still be taken on this machine: free and reclaimable memory, or what the control group leaves."""
    left = [_meminfo("MemAvailable"), *_left_by_control_groups()]
    return min((value for value in left if value is not None), default=1 << 62)


def _meminfo(name: str) -> int | None:
    for line in (read_text(Path("/proc/meminfo")) or "").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return None


def _left_by_control_groups() -> list[int]:
    """What each memory limit leaves, reclaimable file cache counted as free (control groups of version 2, then 1)."""
    found = []
    for folder in control_groups("memory"):
        for limit_name, used_name in (("max", "current"), ("limit_in_bytes", "usage_in_bytes")):
            limit, used = read_text(folder / f"memory.{limit_name}"), read_text(folder / f"memory.{used_name}")
            if limit and used and limit.isdigit() and int(limit) < 1 << 60:
                statistics = dict(line.split() for line in (read_text(folder / "memory.stat") or "").splitlines())
                found.append(max(0, int(limit) - int(used) + int(statistics.get("inactive_file", 0))))
    return found


def control_groups(controller: str) -> list[Path]:
    """Folders of the control groups that this process is in, for one controller; some may not exist."""
    found = []
    for line in (read_text(_OWN_GROUPS) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            found += [_CONTROL_GROUPS, _CONTROL_GROUPS / path.strip("/")]
        elif controller in controllers.split(","):
            found += [_CONTROL_GROUPS / controller, _CONTROL_GROUPS / controller / path.strip("/")]
    return found


def read_text(path: Path) -> str | None:
    """A small system file, stripped; None where it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None
