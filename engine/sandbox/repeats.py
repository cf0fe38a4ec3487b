"""Repeats programs under other hash seeds and random states, for those whose outcome depends on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from engine.protocols import Limits, Outcome, Program, Sandbox


def repeated(
    jobs: Sequence[tuple[Program, Limits]], seeds: Sequence[int], opened: Callable[[int], Sandbox], workers: int = 2
) -> list[dict[int, Outcome]]:
    """Each program's outcome under every seed, in input order, `workers` at a time.

    `opened(seed)` gives a sandbox, which is closed again.
    """
    found: list[dict[int, Outcome]] = [{} for _ in jobs]
    for seed in seeds:
        sandbox = opened(seed)
        try:
            with ThreadPoolExecutor(workers) as threads:
                for place, outcome in enumerate(threads.map(sandbox.run, *zip(*jobs, strict=True))):
                    found[place][seed] = outcome
        finally:
            sandbox.close()
    return found


def flaky(kinds: Iterable[str]) -> bool:
    """True for a program whose kind of outcome is not the same under every seed; `unavailable` is no outcome."""
    return len(set(kinds) - {"unavailable"}) > 1
