"""One run out of a store as plain rows, and into another store with the same numbers."""

from __future__ import annotations

import array
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cache.errors import StoreError
from cache.store import Store, StoredGeneration, StoredOutcome

Row = dict[str, Any]


@dataclass(frozen=True)
class Carried:
    """A run and all that its events name: `run` the row of `runs`, `events` with `seq` and `time`, `generations`,
    `prefixes` (key, tokens, text), `outcomes` with their keys, and `facts` by key; all of it plain data.
    """

    run: Row
    events: tuple[Row, ...] = ()
    generations: tuple[Row, ...] = ()
    prefixes: tuple[Row, ...] = ()
    outcomes: tuple[Row, ...] = ()
    facts: Mapping[str, Row] = field(default_factory=dict)


def export_run(store: Store, run: int, facts: Iterable[str]) -> Carried:
    """A run's rows without outcomes, whose keys no event names (see `outcome_row`); `facts` are looked up by key."""
    row = store.run(run)
    events = tuple(_events(store, run))
    keys = dict.fromkeys(
        key
        for event in events
        if event["body"].get("fact") in ("Generated", "Judged") and (key := event["body"]["key"])
    )
    kept = [found for key in keys if (found := store.generation(key)) is not None]
    with sqlite3.connect(store.path) as db:
        prefixes = [
            {"key": key, "tokens": tokens, "text": text}
            for key in keys
            for tokens, text in db.execute("SELECT tokens, text FROM prefixes WHERE key=? ORDER BY tokens", (key,))
        ]
    db.close()
    return Carried(
        run={"id": row.id, "name": row.name, "study": row.study, "job": dict(row.job), "state": row.state,
             "detail": row.detail, "created": row.created},
        events=events,
        generations=tuple(_generation_row(one) for one in kept),
        prefixes=tuple(prefixes),
        facts={key: body for key in facts if (body := store.fact(key)) is not None},
    )  # fmt: skip


def _events(store: Store, run: int) -> Iterator[Row]:
    after = 0
    while rows := store.events(run, after):
        for seq, moment, body in rows:
            yield {"seq": seq, "time": moment, "body": body}
        after = rows[-1][0]


def _generation_row(one: StoredGeneration) -> Row:
    return {
        "key": one.key, "model_sha256": one.model_sha256, "decoding": one.decoding, "n_prompt": one.n_prompt,
        "text": one.text, "tokens": list(one.tokens), "stop": one.stop, "asked": one.asked, "seconds": one.seconds,
        "cuts": list(one.cuts),
    }  # fmt: skip


def outcome_row(one: StoredOutcome) -> Row:
    """An outcome as plain data."""
    return {
        "key": one.key, "kind": one.kind, "detail": one.detail, "mode": one.mode, "level": one.level,
        "seconds": one.seconds,
    }  # fmt: skip


def import_run(store: Store, carried: Carried) -> int:
    """Put a run into an empty store under its own id, its events under their own numbers; the id.

    `StoreError` when a value has not the type that the store needs, or a number is there already.
    """
    run = carried.run
    try:
        with sqlite3.connect(store.path) as db:
            db.execute(
                "INSERT INTO runs (id, name, study, job, state, detail, created) VALUES (?,?,?,?,?,?,?)",
                (int(run["id"]), str(run["name"]), str(run["study"]), json.dumps(run["job"]), str(run["state"]),
                 str(run["detail"]), float(run["created"])),
            )  # fmt: skip
            db.executemany(
                "INSERT INTO events (seq, run, time, body) VALUES (?,?,?,?)",
                [(int(e["seq"]), int(run["id"]), float(e["time"]), _body(e["body"])) for e in carried.events],
            )
            db.executemany(
                "INSERT INTO prefixes VALUES (?,?,?)",
                [(str(p["key"]), int(p["tokens"]), str(p["text"])) for p in carried.prefixes],
            )
        db.close()
        store.put_generations(_generation(row) for row in carried.generations)
        store.put_outcomes(StoredOutcome(**row) for row in carried.outcomes)
        for key, body in carried.facts.items():
            store.put_fact(str(key), body)
    except (sqlite3.Error, KeyError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"a run cannot be taken in: {type(error).__name__}: {error}") from error
    return int(run["id"])


def _body(body: object) -> str:
    if not isinstance(body, dict):
        raise TypeError(f"an event is {type(body).__name__}, expected an object")
    return json.dumps(body, separators=(",", ":"))


def _generation(row: Row) -> StoredGeneration:
    values = {**row, "tokens": tuple(array.array("i", row["tokens"])), "cuts": tuple(row["cuts"])}
    return StoredGeneration(**values)
