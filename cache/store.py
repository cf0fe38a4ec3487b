"""The store: one SQLite file in WAL mode that holds everything a run has stated, and the bus between app and worker.

Writers commit in batches; readers never block them. Any process may read; only the worker of a run writes its events.
"""

from __future__ import annotations

import array
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cache.errors import StoreError
from cache.schema import MIGRATIONS


@dataclass(frozen=True)
class StoredGeneration:
    """One raw reply as kept: text, token ids, why it ended, and what it was allowed.

    `asked` is the most new tokens; `cuts` names the extraction rules whose cut may have ended it (stop `cut`).
    """

    key: str
    model_sha256: str
    decoding: str
    n_prompt: int
    text: str
    tokens: tuple[int, ...]
    stop: str
    asked: int
    seconds: float
    cuts: tuple[str, ...] = ()

    def covers(self, limit: int, cuts: tuple[str, ...]) -> bool:
        """True when asking again for `limit` new tokens, to be read by the rules `cuts`, could show nothing new.

        A reply that ended by itself is whole; one as long as the limit is its prefix; one that ended because every
        rule had reached its cut serves those rules only.
        """
        if self.stop == "end" or len(self.tokens) >= limit:
            return True
        return self.stop == "cut" and set(cuts) <= set(self.cuts)


@dataclass(frozen=True)
class StoredOutcome:
    """What running one program showed, under the key over program, tests, limits and sandbox identity."""

    key: str
    kind: str
    detail: str
    mode: str
    level: str
    seconds: float


@dataclass(frozen=True)
class Run:
    """One row of `runs`: the study as TOML text, the job as data, and the state that its worker last wrote."""

    id: int
    name: str
    study: str
    job: Mapping[str, Any]
    state: str
    detail: str
    pid: int | None
    heartbeat: float | None
    created: float

    @property
    def alive(self) -> bool:
        """True while the worker's process exists on this machine."""
        return self.pid is not None and process_exists(self.pid)


def process_exists(pid: int) -> bool:
    """True when a process of that id is there and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] != "Z"


class Store:
    """Get, put and tail; every method is one transaction. Raises `StoreError` with what to do."""

    def __init__(self, path: Path, *, read_only: bool = False, patience: float = 30.0) -> None:
        """Open or create the file; `read_only` opens one that exists, and SQLite itself then refuses every write.

        `patience` is how many seconds to wait for another process that is writing.
        """
        self.path = path
        self._patience = patience
        try:
            if read_only:
                place = f"{path.absolute().as_uri()}?mode=ro"
                self._db = sqlite3.connect(
                    place, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
                )
                self._check_version(self._db.execute("PRAGMA user_version").fetchone()[0])
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            self._migrate()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"cannot open the store {path}: {self._reason(error)}") from error

    def _migrate(self) -> None:
        with self._write() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            self._check_version(version, oldest=0)
            for step, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version={step}")

    def _check_version(self, version: int, oldest: int = len(MIGRATIONS)) -> None:
        if version > len(MIGRATIONS):
            raise StoreError(f"{self.path} was written by a newer Scoretrace (store version {version}); upgrade")
        if version < oldest:
            raise StoreError(f"{self.path} is of an older Scoretrace: `scoretrace run --list` brings it up to date")

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                # SQLite may have rolled back by itself: when the disk is full, it has.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            reason = self._reason(error)
            raise StoreError(
                f"cannot write to {self.path}: {reason}, then resume; what was kept before is safe"
            ) from error

    def _reason(self, error: Exception) -> str:
        """What went wrong and what to do."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return f"another process has held it for {self._patience:g} s ({error}): end that process"
        if code == sqlite3.SQLITE_FULL:
            return f"{error}: free disk space, or move the data folder with SCORETRACE_HOME"
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return f"{error}: move the file aside, or name another folder with SCORETRACE_HOME"
        return f"{error}: see that the folder can be written and has space, or move it with SCORETRACE_HOME"

    def close(self) -> None:
        """Close the connection; the file stays."""
        self._db.close()

    def record(
        self,
        run: int,
        generations: Sequence[StoredGeneration] = (),
        outcomes: Sequence[StoredOutcome] = (),
        events: Sequence[Mapping[str, Any]] = (),
        prefixes: Mapping[tuple[str, int], str] | None = None,
    ) -> None:
        """Keep what a worker has found since its last call, all of it or nothing, so that no event names what is not
        there. `prefixes` maps (key, number of tokens) to the text of a reply's first tokens, as a shorter limit reads
        it: without the model nobody can tell it from the tokens.
        """
        with self._write() as db:
            _put_generations(db, generations)
            _put_outcomes(db, outcomes)
            rows = [(key, tokens, text) for (key, tokens), text in (prefixes or {}).items()]
            db.executemany("INSERT OR REPLACE INTO prefixes VALUES (?,?,?)", rows)
            _append(db, run, events)

    # generations

    def put_generations(self, rows: Iterable[StoredGeneration]) -> None:
        """Keep replies; one that is there already is replaced only by a longer one of the same key."""
        with self._write() as db:
            _put_generations(db, rows)

    def generation(self, key: str) -> StoredGeneration | None:
        """The reply kept under a key, or None."""
        row = self._db.execute(
            "SELECT key, model_sha256, decoding, n_prompt, text, tokens, stop, asked, seconds, cuts "
            "FROM generations WHERE key=?",
            (key,),
        ).fetchone()
        if row is None:
            return None
        tokens = array.array("i")
        tokens.frombytes(row[5])
        key, model, decoding, n_prompt, text, _, stop, asked, seconds, cuts = row
        return StoredGeneration(
            key, model, decoding, n_prompt, text, tuple(tokens), stop, asked, seconds, tuple(cuts.split())
        )

    def kept(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys under which a reply is kept."""
        wanted = list(dict.fromkeys(keys))
        found: set[str] = set()
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ",".join("?" * len(part))
            found.update(
                key for (key,) in self._db.execute(f"SELECT key FROM generations WHERE key IN ({marks})", part)
            )
        return found

    def prefix(self, key: str, tokens: int) -> str | None:
        """The text of a reply's first tokens where a shorter limit has read it, or None."""
        row = self._db.execute("SELECT text FROM prefixes WHERE key=? AND tokens=?", (key, tokens)).fetchone()
        return None if row is None else str(row[0])

    # outcomes

    def put_outcomes(self, rows: Iterable[StoredOutcome]) -> None:
        """Keep outcomes; `unavailable` is no finding about a program and is never kept."""
        with self._write() as db:
            _put_outcomes(db, rows)

    def outcome(self, key: str) -> StoredOutcome | None:
        """The outcome kept under a key, or None."""
        row = self._db.execute(
            "SELECT key, kind, detail, mode, level, seconds FROM outcomes WHERE key=?", (key,)
        ).fetchone()
        return StoredOutcome(*row) if row else None

    # runs

    def create_run(self, name: str, study: str, job: Mapping[str, Any]) -> int:
        """A new run in state `created`; its id."""
        with self._write() as db:
            found = db.execute(
                "INSERT INTO runs (name, study, job, state, detail, created) VALUES (?,?,?,'created','',?)",
                (name, study, json.dumps(job), time.time()),
            ).lastrowid
        assert found is not None
        return found

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        return [self._run(row) for row in self._db.execute(f"{_SELECT_RUN} ORDER BY id DESC")]

    def run(self, run: int) -> Run:
        """One run; `StoreError` when there is none of that id."""
        row = self._db.execute(f"{_SELECT_RUN} WHERE id=?", (run,)).fetchone()
        if row is None:
            raise StoreError(f"{self.path} holds no run {run}; `scoretrace run --list` shows which there are")
        return self._run(row)

    @staticmethod
    def _run(row: Sequence[Any]) -> Run:
        return Run(row[0], row[1], row[2], json.loads(row[3]), *row[4:])

    def set_job(self, run: int, job: Mapping[str, Any]) -> None:
        """Change what a run's next worker is told to do."""
        with self._write() as db:
            db.execute("UPDATE runs SET job=? WHERE id=?", (json.dumps(job), run))

    def set_study(self, run: int, study: str) -> None:
        """Change a run's study text: what surrounds its settings (tables, what a person states), never these."""
        with self._write() as db:
            db.execute("UPDATE runs SET study=? WHERE id=?", (study, run))

    def claim_run(self, run: int, pid: int) -> None:
        """Make `pid` the run's worker; `StoreError` while another live process is."""
        with self._write() as db:
            row = db.execute("SELECT pid FROM runs WHERE id=?", (run,)).fetchone()
            if row and row[0] not in (None, pid) and process_exists(row[0]):
                raise StoreError(f"run {run} is already worked on by process {row[0]}; attach to it or stop it first")
            db.execute(
                "UPDATE runs SET pid=?, heartbeat=?, state='running', detail='' WHERE id=?", (pid, time.time(), run)
            )

    def set_state(self, run: int, state: str, detail: str = "", *, release: bool = False) -> None:
        """Write a run's state; `release` says that no process works on it any more."""
        with self._write() as db:
            db.execute(
                "UPDATE runs SET state=?, detail=?, heartbeat=?, pid=CASE WHEN ? THEN NULL ELSE pid END WHERE id=?",
                (state, detail, time.time(), release, run),
            )

    # events and wishes

    def append(self, run: int, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Add events to a run, in order, in one transaction."""
        with self._write() as db:
            _append(db, run, bodies)

    def events(self, run: int, after: int = 0, limit: int = 100_000) -> list[tuple[int, float, dict[str, Any]]]:
        """Events of a run with sequence number > `after`: (sequence number, Unix time, body)."""
        rows = self._db.execute(
            "SELECT seq, time, body FROM events WHERE run=? AND seq>? ORDER BY seq LIMIT ?", (run, after, limit)
        )
        return [(seq, moment, json.loads(body)) for seq, moment, body in rows]

    def every_event(self, run: int) -> Iterator[tuple[int, float, dict[str, Any]]]:
        """All events of a run, as `events` gives them, however many there are."""
        after = 0
        while rows := self.events(run, after):
            yield from rows
            after = rows[-1][0]

    def events_of(self, run: int, fact: str) -> list[dict[str, Any]]:
        """Bodies of a run's events of one kind, oldest first; for the kinds that are few."""
        rows = self._db.execute(
            "SELECT body FROM events WHERE run=? AND body LIKE ? ORDER BY seq", (run, f'{{"fact":"{fact}"%')
        )
        return [json.loads(body) for (body,) in rows]

    def wish(self, run: int, kind: str) -> None:
        """Ask a run's worker for `pause`, `resume` or `stop`."""
        with self._write() as db:
            db.execute("INSERT INTO wishes (run, kind, created) VALUES (?,?,?)", (run, kind, time.time()))

    def wishes(self, run: int, after: int = 0) -> list[tuple[int, str]]:
        """Wishes of a run with sequence number > `after`, oldest first."""
        return list(self._db.execute("SELECT seq, kind FROM wishes WHERE run=? AND seq>? ORDER BY seq", (run, after)))

    # facts

    def put_fact(self, key: str, body: Mapping[str, Any]) -> None:
        """Keep a measured fact (a calibration, a file's hash) under a key; a newer one replaces it."""
        with self._write() as db:
            db.execute("INSERT OR REPLACE INTO facts VALUES (?,?)", (key, json.dumps(body)))

    def fact(self, key: str) -> dict[str, Any] | None:
        """The fact kept under a key, or None."""
        row = self._db.execute("SELECT body FROM facts WHERE key=?", (key,)).fetchone()
        if row is None:
            return None
        body: dict[str, Any] = json.loads(row[0])
        return body


_SELECT_RUN = "SELECT id, name, study, job, state, detail, pid, heartbeat, created FROM runs"


def _put_generations(db: sqlite3.Connection, rows: Iterable[StoredGeneration]) -> None:
    now = time.time()
    rows = list(rows)
    # What a longer reply replaces is what an earlier run with a shorter limit has read.
    db.executemany(
        "INSERT OR IGNORE INTO prefixes SELECT key, length(tokens) / 4, text FROM generations "
        "WHERE key=? AND length(tokens) < ?",
        [(r.key, 4 * len(r.tokens)) for r in rows],
    )
    values = [
        (r.key, r.model_sha256, r.decoding, r.n_prompt, r.text, array.array("i", r.tokens).tobytes(), r.stop, r.asked,
         r.seconds, " ".join(r.cuts), now)
        for r in rows
    ]  # fmt: skip
    db.executemany(
        "INSERT INTO generations VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(key) DO UPDATE SET "
        "text=excluded.text, tokens=excluded.tokens, stop=excluded.stop, asked=excluded.asked, "
        "seconds=excluded.seconds, cuts=excluded.cuts, created=excluded.created "
        "WHERE length(excluded.tokens) > length(generations.tokens)",
        values,
    )


def _put_outcomes(db: sqlite3.Connection, rows: Iterable[StoredOutcome]) -> None:
    values = [(r.key, r.kind, r.detail, r.mode, r.level, r.seconds) for r in rows if r.kind != "unavailable"]
    db.executemany("INSERT OR REPLACE INTO outcomes VALUES (?,?,?,?,?,?)", values)


def _append(db: sqlite3.Connection, run: int, bodies: Iterable[Mapping[str, Any]]) -> None:
    now = time.time()
    db.executemany(
        "INSERT INTO events (run, time, body) VALUES (?,?,?)",
        [(run, now, json.dumps(body, separators=(",", ":"))) for body in bodies],
    )
