"""Open a benchmark by the harness's task name."""

from __future__ import annotations

import difflib
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

from engine.benchmarks import hub
from engine.benchmarks.families import FAMILIES, open_family
from engine.benchmarks.humanevalfix import HARNESS_PRELUDE, PLAIN_PRELUDE, FixBenchmark, check_language
from engine.benchmarks.languages import LANGUAGES, Language
from engine.benchmarks.rows import parse_rows, read_rows, rows_hash
from engine.environment import package_versions
from engine.errors import BenchmarkError
from engine.protocols import Benchmark, Limits

__all__ = ["known_benchmarks", "open_benchmark"]

MINI = {"bugfix-mini": False, "bugfix-mini-docs": True}
FIX = {
    f"humanevalfix{variant}-{language}": (language, variant == "docs")
    for variant in ("tests", "docs")
    for language in LANGUAGES
}
LAYOUTS = ("{}.jsonl", "{}/data/humanevalpack.jsonl", "data/{}/data/humanevalpack.jsonl")
"""Where a folder keeps a language's file: plain, as in the octopack repository, as on the hub."""


def known_benchmarks() -> tuple[str, ...]:
    """Every name that `open_benchmark` takes; the embedded ones, which need no file and no network, come first."""
    return (*MINI, *FIX, *FAMILIES)


def open_benchmark(name: str, data: str | None = None) -> Benchmark:
    """The benchmark of that name.

    `data` is the benchmark's JSON Lines or Parquet file (for HumanEvalPack JSON Lines, or a folder that holds
    python.jsonl and its like); without it the pinned files come from the hub, once, and from its cache later;
    `quixbugs` and `custom` need a file. `BenchmarkError` when there is no such benchmark, file or network, or when the
    file has another shape.
    """
    if name in MINI:
        return _open_mini(name, data)
    if name in FAMILIES:
        return open_family(name, data)
    if name not in FIX:
        near = difflib.get_close_matches(name, known_benchmarks(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known_benchmarks())}"
        raise BenchmarkError(f"benchmark {name!r} is unknown; {hint}")
    language, docs = LANGUAGES[FIX[name][0]], FIX[name][1]
    path = _locate(Path(data).expanduser(), language) if data else hub.fetch(language.name)
    rows = read_rows(path)
    check_language(rows, language, str(path))
    if not data:
        hub.check(language.name, rows, path)
    known = rows_hash(rows) == hub.ROW_HASHES[language.name]
    source: dict[str, Any] = {
        "source": f"{hub.REPOSITORY} (HumanEvalPack)" if known else str(path),
        "revision": hub.REVISION if known else "unknown: not the rows of HumanEvalPack at its pinned revision",
        "file_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "licence": "MIT (HumanEvalPack; from HumanEval, MIT, and HumanEval-X, Apache-2.0)" if known else "unknown",
    }
    return FixBenchmark(name, language, docs, rows, HARNESS_PRELUDE, language.limits, source)


def _open_mini(name: str, data: str | None) -> Benchmark:
    if data:
        raise BenchmarkError(f"{name} is part of Scoretrace and takes no data file: leave out --data")
    content = resources.files("engine.benchmarks").joinpath("data/bugfix_mini.jsonl").read_bytes()
    source = {
        "source": "part of Scoretrace (bugfix-mini)",
        "revision": f"scoretrace {package_versions(('scoretrace',)).get('scoretrace', 'unknown')}",
        "file_sha256": hashlib.sha256(content).hexdigest(),
        "licence": "MIT",
        "note": "the import lines before a candidate are the harness's without numpy, which no problem needs",
    }
    rows = parse_rows(content, "bugfix_mini.jsonl")
    return FixBenchmark(name, LANGUAGES["python"], MINI[name], rows, PLAIN_PRELUDE, Limits(cpu_s=3, wall_s=15), source)


def _locate(path: Path, language: Language) -> Path:
    if not path.is_dir():
        return path
    names = [layout.format(language.name) for layout in LAYOUTS]
    for name in names:
        if (path / name).is_file():
            return path / name
    raise BenchmarkError(
        f"{path}: no {language.name} file in this folder; expected {' or '.join(names)}: name the file itself"
    )
