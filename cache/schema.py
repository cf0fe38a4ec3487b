"""The store's tables, as ordered migrations: entry i brings a store from version i to version i + 1."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE generations (
        key TEXT PRIMARY KEY,
        model_sha256 TEXT NOT NULL,
        decoding TEXT NOT NULL,
        n_prompt INTEGER NOT NULL,
        text TEXT NOT NULL,
        tokens BLOB NOT NULL,
        stop TEXT NOT NULL,
        asked INTEGER NOT NULL,
        seconds REAL NOT NULL,
        cuts TEXT NOT NULL,
        created REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE outcomes (
        key TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        detail TEXT NOT NULL,
        mode TEXT NOT NULL,
        level TEXT NOT NULL,
        seconds REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        study TEXT NOT NULL,
        job TEXT NOT NULL,
        state TEXT NOT NULL,
        detail TEXT NOT NULL,
        pid INTEGER,
        heartbeat REAL,
        created REAL NOT NULL
    );
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs(id),
        time REAL NOT NULL,
        body TEXT NOT NULL
    );
    CREATE INDEX events_by_run ON events(run, seq);
    CREATE TABLE wishes (
        seq INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs(id),
        kind TEXT NOT NULL,
        created REAL NOT NULL
    );
    CREATE TABLE facts (
        key TEXT PRIMARY KEY,
        body TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE prefixes (
        key TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (key, tokens)
    ) WITHOUT ROWID;
    """,
)
