"""Commands on kept replies: import other people's, score them again under other extractions, export them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cache.paths import store_path
from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.cells import opened, read_run, reading
from engine.denominator import count, of_score
from engine.environment import free_cores
from engine.exports import sheets, write
from engine.job import Job
from engine.protocols import Benchmark, Sandbox
from engine.recorder import Recorder
from engine.rescoring import Spread
from engine.scoring import Score
from engine.settings import Grid
from tui import cli
from tui import study as studies
from tui.errors import OptionError
from tui.lines import print_objects
from tui.study import ModelChoice, Study


def import_generations(options: argparse.Namespace) -> int:
    """Read a file of generations, keep it as a run, judge it here, and say how its verdicts compare with ours."""
    from engine.gate import gate, told
    from engine.importing import STATE, Importer, job_of, origin_of
    from engine.imports import read_generations

    benchmark = open_benchmark(options.benchmark, options.data or None)
    path = Path(options.file).expanduser()
    results = Path(options.results).expanduser() if options.results else None
    found = read_generations(path, benchmark.problems, options.kind or "", results)
    data = str(Path(options.data).expanduser().absolute()) if options.data else ""
    job = job_of(found, benchmark, data, origin_of(path, options.kind or "", results))
    table = _table(options.table)
    with _store() as store, _sandbox([benchmark]) as sandbox:
        run = _create(store, f"imported: {path.name}", job, f"from {path.name}", table=table)
        recorder = Recorder(store, run)
        if not options.no_reference_check:
            check = gate(recorder, benchmark, sandbox, free_cores())
            print("\n".join(told(check)), file=sys.stderr)
        _, agreements = Importer(recorder, sandbox, benchmark, free_cores()).run(found)
        store.set_state(run, STATE, f"from {path.name}", release=True)
        rows = _rows(store, run)
        for row, imported, agreement in zip(rows, found, agreements, strict=True):
            row["verdicts_in_file"] = agreement.told
            row["verdicts_that_differ"] = len(agreement.differing)
            for task_id, said in agreement.differing[:10]:
                print(f"{imported.model}, {imported.extraction}, {task_id}: {said}", file=sys.stderr)
            for note in imported.notes:
                print(f"{path.name}: {note}", file=sys.stderr)
    print_objects(rows, options.format)
    return cli.DONE


def rescore(options: argparse.Namespace) -> int:
    """Score a run's stored replies under other extractions, and say how far the best and the worst are apart."""
    from engine.rescoring import job_of, spreads
    from engine.rescoring import rescore as judge_again

    with _store() as store:
        source = read_run(store, _chosen(store, options.run))
        job = job_of(source, [name.strip() for name in options.extraction.split(",") if name.strip()])
    with _store() as store, _sandbox(opened(source, open_benchmark).values()) as sandbox:
        run = _create(store, f"re-scored: {source.name}", job, f"re-scored from run {source.id}", of=source.id)
        done = judge_again(Recorder(store, run), source.id, job, sandbox, open_benchmark, free_cores())
        store.set_state(run, "finished", f"re-scored from run {source.id}", release=True)
        rows = _rows(store, run)
        scores = list(_scores(store, run).values())
    print_objects(rows, options.format)
    if options.format == "plain":
        for spread in spreads(scores):
            print(f"\n{spread_line(spread)}")
    else:
        for spread in spreads(scores):
            print(f"spread: {asdict(spread)}", file=sys.stderr)
    print(f"run {run}: {done.programs} programs, {done.executed} executed", file=sys.stderr)
    return cli.DONE


def export(options: argparse.Namespace) -> int:
    """Write a run's configurations in another tool's shape."""
    with _store() as store:
        run = read_run(store, _chosen(store, options.run))
        found = sheets(store, run, opened(run, open_benchmark))
    if not found:
        raise OptionError(f"run {run.id} has no judged sample yet: nothing to export")
    for path in write(found, options.kind, Path(options.out)):
        print(path)
    for sheet in found:
        if sheet.left_out:
            print(f"{sheet.stem}: {sheet.left_out} of {sheet.denominator.asked} samples are not in it", file=sys.stderr)
    return cli.DONE


def denominator_lines(scores: Collection[Score]) -> Iterator[str]:
    """For each configuration of a run, what stands under its score; then how far apart its extraction rules are."""
    from engine.rescoring import spreads

    for score in scores:
        if score.kinds:
            yield f"{score.model} · {score.configuration.label}: {of_score(score).text}"
    yield from map(spread_line, spreads(scores))


def spread_line(spread: Spread) -> str:
    """One model's best and worst extraction."""
    rest = f"; not compared, fewer judged: {', '.join(spread.left_out)}" if spread.left_out else ""
    if spread.best[1] == spread.worst[1]:
        every = "the others" if rest else "all extractions"
        return f"{spread.model} · {spread.label}: {every} come to {spread.best[1]} of {spread.judged}{rest}"
    return (
        f"{spread.model} · {spread.label}: extraction alone moves {spread.worst[1]} ({spread.worst[0]}) to "
        f"{spread.best[1]} ({spread.best[0]}) of {spread.judged}, {spread.points:.2f} points{rest}"
    )


def _table(named: str) -> str:
    """A table that can be read, by a path that holds wherever `match` is called; "" for none."""
    from literature.table import read_table

    if not named:
        return ""
    read_table(named)
    path = Path(named).expanduser()
    return str(path.absolute()) if path.is_file() else named


@contextmanager
def _store() -> Iterator[Store]:
    store = Store(store_path())
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _sandbox(benchmarks: Iterable[Benchmark]) -> Iterator[Sandbox]:
    """A sandbox for the languages of these benchmarks."""
    from engine.sandbox import open_sandbox

    sandbox = open_sandbox(languages=tuple(dict.fromkeys(str(b.facts()["language"]) for b in benchmarks)))
    try:
        yield sandbox
    finally:
        sandbox.close()


def _chosen(store: Store, wanted: int | None) -> int:
    if wanted is not None:
        return store.run(wanted).id
    runs = store.runs()
    if not runs:
        raise OptionError("the store holds no run yet; start one with `scoretrace run` or import generations")
    return runs[0].id


def _create(store: Store, name: str, job: Job, note: str, *, table: str = "", of: int | None = None) -> int:
    """A run of a study that names what is in it; a re-scoring keeps its source's models and tables."""
    if of is not None:
        text = store.run(of).study
    else:
        benchmarks = tuple(dict.fromkeys(c.benchmark for c in job.configurations))
        models = tuple(ModelChoice(model, file, (model,)) for model, file in job.models.items())
        tables = (table,) if table else ()
        study = Study(name, Grid(benchmarks), models, tables, next(iter(job.data.values()), ""), note=note)
        text = studies.dumps(study)
    return store.create_run(name, text, job.as_dict())


def _scores(store: Store, run: int) -> Mapping[str, Score]:
    from engine.events import from_dict
    from engine.scoring import fold_scores

    return fold_scores(from_dict(body) for _, _, body in store.events(run, limit=10_000_000))


def _rows(store: Store, run: int) -> list[dict[str, Any]]:
    """One object for each configuration: its settings, its score, and what stands under it."""
    found = read_run(store, run)
    benchmarks = opened(found, open_benchmark)
    rows = []
    for configuration in found.configurations.values():
        cells = found.cells.get(configuration.id)
        if not cells:
            continue
        benchmark = benchmarks[configuration.benchmark]
        read = reading(found, configuration, benchmark)
        under = count(configuration, len(benchmark.problems), cells.values(), read, store)
        rows.append(
            {
                "run": run, "id": configuration.id, "model": configuration.model, **configuration.axes(),
                "score": under.text, **under.as_dict(),
            }
        )  # fmt: skip
    return rows
