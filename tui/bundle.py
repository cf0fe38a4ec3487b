"""A run in one file: study, tables, problems, replies, outcomes, facts and report, so that others can re-score it."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cache.store import Store
from cache.transfer import Carried, export_run, import_run, outcome_row
from engine.benchmarks import open_benchmark
from engine.benchmarks.rows import rows_hash
from engine.chat import template_key
from engine.environment import provenance_key
from engine.errors import BenchmarkError
from engine.events import Event, from_dict
from engine.job import Job
from engine.protocols import Benchmark
from engine.rereading import Rereader
from literature.report import document, output
from literature.report.crate import CRATE_FILE, metadata
from literature.shipped import data_folder, shipped_tables
from tui import bundle_file, run_evidence
from tui import study as studies
from tui.bundle_prompts import prompt_rows
from tui.errors import BundleError
from tui.reporting import collect, pinned
from tui.study import Study

BENCHMARKS, TABLES = "benchmarks", "literature"
FORMATS = output.DEFAULT_FORMATS
NOTICE = f"{BENCHMARKS}/NOTICE.txt"
README = """This file holds a Scoretrace run, so that it can be scored again without a model:

    scoretrace verify THIS_FILE.zip

report.html or report.md   what the run found, to read
study.toml                 the study; `scoretrace run study.toml` runs it again
literature/                the tables of reported scores
benchmarks/                the problems, where their licence lets them be passed on
prompts.jsonl              the prompts as text
generations.jsonl          the raw replies; prefixes.jsonl what shorter limits read of them
outcomes.jsonl             what executing the programs showed
events.jsonl, facts.json   the run's facts, in order
manifest.json              the sha256 of each file and a digest of each line
"""


@dataclass(frozen=True)
class Made:
    """A bundle that was written; `remarks` say what a reader will not be able to check, one sentence each."""

    path: Path
    files: int
    size: int
    manifest_sha256: str
    remarks: tuple[str, ...]


def write_bundle(store: Store, run: int, path: Path, opener: Callable[..., Benchmark] = open_benchmark) -> Made:
    """Write a run's bundle; `BundleError` or `StoreError` say what to do. `opener` opens benchmarks."""
    remarks: list[str] = []
    row = store.run(run)
    study = pinned(studies.loads(row.study, f"run {run}, its study"), run_evidence.fold(store, run))
    job = Job.from_dict(row.job)
    benchmarks = dict(_benchmarks(job, opener, remarks))
    members = dict(_tables(study, remarks))
    tables = tuple(name for name in members if not name.endswith("_sources.csv"))
    rows, about = _rows(benchmarks)
    members |= rows
    carried = _portable_run(_export(store, run), study, tables, about)
    outcomes, gaps = _outcomes(store, carried, benchmarks)
    remarks += gaps
    carried = replace(carried, outcomes=tuple(outcomes))
    members |= facts_members(carried)
    members["prompts.jsonl"] = bundle_file.jsonl(prompt_rows(carried, benchmarks, remarks))
    members["README.txt"] = README.encode()
    content, report = report_members(carried, members, time.time(), FORMATS)
    members |= report
    members[CRATE_FILE] = metadata(content, members).encode()
    written = bundle_file.write(
        path, members, {"scoretrace": content["scoretrace"], "made": content["made"], "run": run, "benchmarks": about}
    )
    size = path.stat().st_size
    return Made(path, len(members) + 1, size, hashlib.sha256(written).hexdigest(), tuple(remarks))


def facts_members(carried: Carried) -> dict[str, bytes]:
    """The run's rows as files."""
    return {
        "study.toml": str(carried.run["study"]).encode(),
        "run.json": _json(carried.run),
        "events.jsonl": bundle_file.jsonl(list(carried.events)),
        "generations.jsonl": bundle_file.jsonl(list(carried.generations)),
        "prefixes.jsonl": bundle_file.jsonl(list(carried.prefixes)),
        "outcomes.jsonl": bundle_file.jsonl(list(carried.outcomes)),
        "facts.json": _json(dict(carried.facts)),
    }


def report_members(
    carried: Carried, members: Mapping[str, bytes], made: float, formats: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The report of a bundle's own facts and tables: its document, and its files."""
    with tempfile.TemporaryDirectory(prefix="scoretrace-bundle-") as name:
        base = Path(name)
        (base / TABLES).mkdir()
        for member, data in members.items():
            if member.startswith(f"{TABLES}/"):
                (base / member).write_bytes(data)
        store = Store(base / "store.sqlite")
        try:
            run = import_run(store, carried)
            content = document.build(collect(store, run, base), made)
        finally:
            store.close()
    return content, {key: text.encode("utf-8", "replace") for key, text in output.texts(content, formats).items()}


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def _benchmarks(job: Job, opener: Callable[..., Benchmark], remarks: list[str]) -> Iterator[tuple[str, Benchmark]]:
    for name in dict.fromkeys(c.benchmark for c in job.configurations):
        try:
            yield name, opener(name, job.data.get(name))
        except BenchmarkError as error:
            remarks.append(f"{name}: its problems are not in the bundle, verifying needs --data: {error}")


def _rows(benchmarks: Mapping[str, Benchmark]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The problems that may be passed on, as files with their notice; and what the manifest says of each benchmark."""
    members: dict[str, bytes] = {}
    about: dict[str, Any] = {}
    notice: list[str] = []
    for name, benchmark in benchmarks.items():
        facts = benchmark.facts()
        licence, source = str(facts.get("licence", "unknown")), str(facts.get("source", "unknown"))
        rows = list(getattr(benchmark, "rows", ()))
        file = ""
        if rows and not licence.startswith("unknown") and not source.startswith("part of Scoretrace"):
            file = f"{BENCHMARKS}/{name}.jsonl"
            members[file] = bundle_file.jsonl([dict(row) for row in rows])
            notice.append(f"{file}: {source}, revision {facts.get('revision', 'unknown')}. Licence: {licence}.")
        about[name] = {
            "sha256": benchmark.sha256, "rows_sha256": rows_hash(rows) if rows else "", "file": file,
            "source": portable(source), "licence": licence,
        }  # fmt: skip
    if notice:
        members[NOTICE] = ("\n".join(notice) + "\n").encode()
    return members, about


def _tables(study: Study, remarks: list[str]) -> Iterator[tuple[str, bytes]]:
    """Each table of reported scores with what its sources state, under a name of its own."""
    for index, table in enumerate(study.tables):
        path, shipped = Path(table), shipped_tables().get(table)
        try:
            if not path.exists() and shipped is not None:
                found, beside = shipped, data_folder() / f"{table}_sources.csv"
                name = f"{table}.csv"
            else:
                found, beside, name = path, path.with_name(f"{path.stem}_sources.csv"), path.name
            name = name if index == 0 or len(study.tables) == 1 else f"{index}-{name}"
            name = "".join(c if c.isalnum() or c in "._+-" else "_" for c in name)
            yield f"{TABLES}/{name}", found.read_bytes()
            if beside.is_file():
                yield f"{TABLES}/{Path(name).stem}_sources.csv", beside.read_bytes()
        except OSError as error:
            remarks.append(f"{table}: the table of reported scores cannot be read and is left out: {error}")


def _export(store: Store, run: int) -> Carried:
    loaded = store.events_of(run, "ModelLoaded")
    hashes = dict.fromkeys(str(body.get("card", {}).get("template_sha256", "")) for body in loaded)
    keys = [provenance_key(run), f"audit:{run}", f"energy:{run}", *map(template_key, hashes)]
    carried = export_run(store, run, keys)
    if not carried.events:
        raise BundleError(f"run {run} has stated nothing: there is nothing to bundle; run it first")
    return carried


def portable(value: Any) -> Any:
    """A value without the folders of this machine: a whole path becomes its last part."""
    if isinstance(value, str):
        return Path(value).name if value.startswith("/") and "\n" not in value else value
    if isinstance(value, dict):
        return {key: portable(one) for key, one in value.items()}
    return [portable(one) for one in value] if isinstance(value, list) else value


def _portable_run(carried: Carried, study: Study, tables: tuple[str, ...], about: Mapping[str, Any]) -> Carried:
    """The run as it reads in any folder: its tables and problems lie beside the study."""
    files = {name: entry["file"] for name, entry in about.items() if entry["file"]}
    data = next(iter(files.values()), "") if len(study.grid.benchmark) == 1 else ""
    moved = replace(
        study,
        tables=tables,
        data=data or portable(study.data),
        models=tuple(replace(model, file=portable(model.file)) for model in study.models),
    )
    job = portable(dict(carried.run["job"]))
    job["data"] = {name: files.get(name, path) for name, path in job["data"].items()}
    events = [
        {**event, "body": portable(event["body"])} if event["body"].get("fact") == "ModelLoaded" else event
        for event in carried.events
    ]
    facts = {key: portable(body) if key.startswith("provenance:") else body for key, body in carried.facts.items()}
    run = {**carried.run, "study": studies.dumps(moved), "job": job}
    return replace(carried, run=run, events=tuple(events), facts=facts)


def parsed(carried: Carried) -> list[Event]:
    """The events that this version knows."""
    found = []
    for row in carried.events:
        try:
            found.append(from_dict(row["body"]))
        except (KeyError, TypeError):
            continue
    return found


def identities(carried: Carried) -> list[str]:
    """The sandbox identities under which the run judged."""
    lives = [life for key, body in carried.facts.items() if key.startswith("provenance:") for life in body["lives"]]
    return list(dict.fromkeys(str(life.get("sandbox", {}).get("identity", "")) for life in lives))


def _outcomes(
    store: Store, carried: Carried, benchmarks: Mapping[str, Benchmark]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The outcomes of the run's programs, found by reading its replies again; and what cannot be read again."""

    def opened(name: str) -> Benchmark:
        if name not in benchmarks:
            raise BenchmarkError(f"{name}: its problems are not here")
        return benchmarks[name]

    found: dict[str, dict[str, Any]] = {}
    gaps: dict[str, int] = {}
    under = identities(carried)
    for sample in Rereader(store, parsed(carried), opened).samples():
        if sample.problem:
            reason = "the text that a shorter limit read is not kept" if "first" in sample.problem else sample.problem
            gaps[reason] = gaps.get(reason, 0) + 1
        for identity in under:
            key = sample.key(identity)
            kept = store.outcome(key) if key and key not in found else None
            if kept is not None:
                found[key] = outcome_row(kept)
    return list(found.values()), [f"{count} samples cannot be verified: {reason}" for reason, count in gaps.items()]
