from __future__ import annotations

from pathlib import Path

import pytest

from cache.gguf import Header
from engine.models import memory, threads
from engine.models.memory import available_memory, kv_bytes_per_token, needed
from engine.models.threads import FreeCores, Load, read_load, usable_cores


def _counter(cores: int, *readings: Load | None) -> FreeCores:
    waiting = iter(readings)
    return FreeCores(cores, lambda: next(waiting))


@pytest.mark.parametrize(
    ("others", "free"),
    [(0.0, 8), (0.4, 8), (1.0, 7), (3.2, 5), (7.9, 1), (20.0, 1)],
)
def test_threads_follow_what_others_leave(others: float, free: int) -> None:
    """Of eight cores over two seconds: what other processes took is not counted on; own work is no load."""
    own = 5.0
    counter = _counter(8, Load(10.0, 100.0, 50.0), Load(12.0, 100.0 + 2 * others + own, 50.0 + own))
    assert counter.count() == free


def test_an_unreadable_load_means_all_cores() -> None:
    """Where the system does not tell its load, every usable core is used."""
    assert _counter(4, None, None).count() == 4
    assert not _counter(4, None).due()


def test_this_machine_can_be_asked() -> None:
    """Cores, load and memory of the machine at hand are plausible."""
    assert usable_cores() >= 1
    assert available_memory() > 100_000_000
    first = read_load()
    assert first is None or first.everyone >= first.own >= 0


def test_a_control_group_limits_memory_and_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's limits count, less what it uses, with its file cache seen as free; the smallest limit wins."""
    (tmp_path / "proc").write_text("4:memory:/box\n2:cpu,cpuacct:/box\n0::/\n")
    box = tmp_path / "memory" / "box"
    box.mkdir(parents=True)
    (box / "memory.limit_in_bytes").write_text("3000000000")
    (box / "memory.usage_in_bytes").write_text("2500000000")
    (box / "memory.stat").write_text("cache 9\ninactive_file 100000000\n")
    quota = tmp_path / "cpu" / "box"
    quota.mkdir(parents=True)
    (quota / "cpu.cfs_quota_us").write_text("150000")
    (quota / "cpu.cfs_period_us").write_text("100000")
    monkeypatch.setattr(memory, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "proc")
    monkeypatch.setattr(memory, "_meminfo", lambda name: 8_000_000_000)
    monkeypatch.setattr(threads, "_affinity", lambda: set(range(100, 116)))
    assert available_memory() == 600_000_000
    assert usable_cores() == 1


def test_the_size_of_the_kv_cache_is_counted_per_layer_and_slot() -> None:
    """A 7B llama: 32 layers x 32 heads x 128 x 2 (K and V) x 2 bytes = 0.5 MiB a token, for each slot and prefill."""
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 32,
        "llama.attention.head_count": 32,
        "llama.embedding_length": 4096,
        "llama.feed_forward_length": 11008,
        "llama.vocab_size": 32000,
    }
    header = Header(metadata, 7_000_000_000, {}, 14_000_000_000, 14_000_000_000, frozenset())
    assert kv_bytes_per_token(header) == 1 << 19
    assert needed(header, 16, 2048).kv == (1 << 19) * 2048 * 17
    assert needed(header, 16, 300).kv == needed(header, 16, 509, 4).kv == (1 << 19) * 512 * 17
    grouped = Header({**metadata, "llama.attention.head_count_kv": (8,) * 32}, 0, {}, 0, 0, frozenset())
    assert kv_bytes_per_token(grouped) == 1 << 17
