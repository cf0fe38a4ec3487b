"""Repeats programs under other hash seeds and random states, and lists those whose outcome depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from engine.protocols import Limits, Outcome, Program, Sandbox
from engine.sandbox import open_sandbox


@dataclass(frozen=True)
class Flaky:
    """A program whose outcome depends on the seed: its place in the input, and its outcome for each seed."""

    index: int
    outcomes: tuple[tuple[int, Outcome], ...]


def flaky(
    programs: Sequence[Program],
    limits: Limits,
    seeds: Sequence[int] = (0, 1, 2),
    opened: Callable[[int], Sandbox] = lambda seed: open_sandbox(seed=seed),
) -> list[Flaky]:
    """The programs whose kind of outcome is not the same under every seed, in input order.

    `opened(seed)` gives a sandbox, which is closed again. Raises SandboxUnavailable as `open_sandbox` does.
    """
    by_seed = []
    for seed in seeds:
        sandbox = opened(seed)
        try:
            with ThreadPoolExecutor() as threads:
                by_seed.append(list(threads.map(lambda program: sandbox.run(program, limits), programs)))  # noqa: B023
        finally:
            sandbox.close()
    rows = [tuple(zip(seeds, outcomes, strict=True)) for outcomes in zip(*by_seed, strict=True)]
    return [Flaky(i, row) for i, row in enumerate(rows) if len({outcome.kind for _, outcome in row}) > 1]
