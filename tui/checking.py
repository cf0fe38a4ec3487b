"""Check a benchmark against itself, without any model: what `scoretrace run` does before it starts one."""

from __future__ import annotations

import argparse

from engine.events import ReferenceChecked
from tui import cli
from tui.lines import print_objects


def check(options: argparse.Namespace) -> int:
    """Judge every correct and every faulty reference program; 1 when a problem is wrong without a known cause."""
    from engine.benchmarks import open_benchmark
    from engine.benchmarks.reference import reference_check
    from engine.environment import free_cores
    from engine.gate import stated, told
    from engine.sandbox import open_sandbox

    benchmark = open_benchmark(options.benchmark, options.data or None)
    sandbox = open_sandbox(options.level, languages=(str(benchmark.facts()["language"]),))
    try:
        found = reference_check(benchmark, sandbox, free_cores())
    finally:
        sandbox.close()
    facts = stated(benchmark.name, found)
    if options.format == "plain":
        for line in told(ReferenceChecked(**facts)):  # type: ignore[arg-type]
            print(line)
    else:
        print_objects([{**facts, "holds": found.holds, "sandbox": sandbox.identity}], options.format)
    return cli.DONE if found.holds else cli.UNMET
