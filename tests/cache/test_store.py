"""The store: what is put in comes out, later processes see it, and faults say what to do."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.errors import StoreError
from cache.keys import generation_key, outcome_key, stream_seed
from cache.schema import MIGRATIONS
from cache.store import Store, StoredGeneration, StoredOutcome, process_exists

REPLY = StoredGeneration("k", "m", "greedy", 3, "text \u00e9\n", (1, 70000, 3), "cut", 40, 0.5, ("harness:python:1",))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A real, empty store."""
    found = Store(tmp_path / "folder" / "store.sqlite")
    yield found
    found.close()


def test_a_reply_comes_back_as_it_was(store: Store) -> None:
    """Text, token ids, stop reason and cuts survive the store, and another connection sees them."""
    store.put_generations([REPLY])
    assert Store(store.path).generation("k") == REPLY
    assert store.generation("other") is None


def test_a_longer_reply_replaces_a_shorter_one_and_not_the_reverse(store: Store) -> None:
    """Under one key only the length can differ, and the longer reply holds the shorter."""
    longer = replace(REPLY, text="longer", tokens=(1, 70000, 3, 4), stop="end")
    store.put_generations([longer, REPLY])
    assert store.generation("k") == longer
    store.put_generations([REPLY])
    assert store.generation("k") == longer


def test_a_replaced_reply_stays_readable_as_a_prefix(store: Store) -> None:
    """A run with a shorter limit has read the shorter reply: its text is still there when a longer one came."""
    store.put_generations([REPLY])
    assert store.prefix("k", 3) is None
    store.put_generations([replace(REPLY, text="longer", tokens=(1, 70000, 3, 4), stop="end")])
    assert store.prefix("k", 3) == REPLY.text


def test_prefixes_are_kept_with_the_events_that_read_them(store: Store) -> None:
    """What a shorter limit reads of a reply comes back under its key and length; `kept` says which keys are there."""
    run = store.create_run("r", "", {})
    store.record(run, [REPLY], [], [{"fact": "x"}], {("k", 2): "te"})
    assert (store.prefix("k", 2), store.prefix("k", 1), store.prefix("j", 2)) == ("te", None, None)
    assert store.kept(["k", "other", *(str(i) for i in range(1200))]) == {"k"}


@settings(max_examples=50)
@given(length=st.integers(0, 30), stop=st.sampled_from(["end", "cut", "limit"]), limit=st.integers(1, 40))
def test_the_prefix_rule(length: int, stop: str, limit: int) -> None:
    """A kept reply serves a limit iff it ended by itself or is that long; a cut serves its rules only."""
    reply = replace(REPLY, tokens=tuple(range(length)), stop=stop)
    whole = stop == "end" or length >= limit
    assert reply.covers(limit, ("raw:python:1",)) == whole
    assert reply.covers(limit, ("harness:python:1",)) == (whole or stop == "cut")


def test_unavailable_outcomes_are_not_kept(store: Store) -> None:
    """A sandbox that failed says nothing about a program, so it is asked again."""
    store.put_outcomes(
        [StoredOutcome("a", "unavailable", "", "", "", 0.0), StoredOutcome("b", "passed", "", "", "", 0.1)]
    )
    assert store.outcome("a") is None
    assert store.outcome("b") == StoredOutcome("b", "passed", "", "", "", 0.1)


def test_a_batch_is_kept_whole_or_not_at_all(store: Store) -> None:
    """When one row of a batch cannot be written, nothing of it is there: no event names a reply that is missing."""
    run = store.create_run("n", "s", {})
    bad = replace(REPLY, key=None)  # type: ignore[arg-type]
    with pytest.raises(sqlite3.IntegrityError):
        store.record(run, [REPLY, bad], [], [{"fact": "x"}])
    assert store.generation("k") is None
    assert store.events(run) == []


def test_events_are_tailed_in_order(store: Store) -> None:
    """A reader gets each event once, by the sequence number it has seen."""
    one, two = store.create_run("a", "", {}), store.create_run("b", "", {})
    store.append(one, [{"fact": "A", "n": 1}, {"fact": "B", "n": 2}])
    store.append(two, [{"fact": "A", "n": 9}])
    store.append(one, [{"fact": "A", "n": 3}])
    first = store.events(one, limit=2)
    assert [body["n"] for _, _, body in first] == [1, 2]
    assert [body["n"] for _, _, body in store.events(one, after=first[-1][0])] == [3]
    assert [body["n"] for body in store.events_of(one, "A")] == [1, 3]


def test_a_run_has_one_worker_at_a_time(store: Store) -> None:
    """A live worker keeps a run; a dead one's run can be claimed."""
    run = store.create_run("a", "", {})
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        store.claim_run(run, other.pid)
        with pytest.raises(StoreError, match="already worked on"):
            store.claim_run(run, os.getpid())
        other.communicate(b"\n")
    store.claim_run(run, os.getpid())
    assert store.run(run).alive
    store.set_state(run, "finished", release=True)
    assert (store.run(run).state, store.run(run).alive) == ("finished", False)


def test_a_zombie_is_no_live_process() -> None:
    """A worker that has ended but was not reaped does not count as working."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not process_exists(child.pid)


def test_a_newer_store_is_refused(store: Store) -> None:
    """A store of a later version is left alone, and the message says to upgrade."""
    db = sqlite3.connect(store.path)
    db.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(StoreError, match="newer"):
        Store(store.path)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """A file that is no database gives one error that names it and the remedy."""
    path = tmp_path / "store.sqlite"
    path.write_text("not a database, but long enough to be read as one" * 10)
    with pytest.raises(StoreError, match=r"store\.sqlite.*SCORETRACE_HOME"):
        Store(path)


def test_a_full_disk_is_one_clear_error(store: Store) -> None:
    """When SQLite can write no more, what was kept stays, and the message says to free space."""
    store.put_generations([REPLY])
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreError, match=r"full: free disk space.*then resume"):
        store.put_generations([replace(REPLY, key=f"k{i}", text="x" * 5000) for i in range(50)])
    assert store.generation("k") == REPLY


BASE = {
    "model_sha256": "m", "prompt": (1, 2), "decoding": {"temperature": 0.8, "top_p": 0.95, "top_k": 0}, "stream": 7,
    "numerics": {"width": "8"},
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"model_sha256": "n"},
        {"prompt": (1, 3)},
        {"decoding": {"temperature": 0.2, "top_p": 0.95, "top_k": 0}},
        {"decoding": {"temperature": 0.8, "top_p": 0.9, "top_k": 0}},
        {"stream": 8},
        {"numerics": {"width": "4"}},
    ],
)
def test_whatever_may_change_a_token_changes_the_key(change: dict[str, object]) -> None:
    """File, prompt, decoding, stream and numerics each give another key."""
    assert generation_key(**{**BASE, **change}) != generation_key(**BASE)  # type: ignore[arg-type]


def test_greedy_draws_nothing() -> None:
    """Seed, sample, top_p and top_k do not reach a greedy reply, so they are not in its key."""
    greedy = {**BASE, "decoding": {"temperature": 0.0, "top_p": 0.95, "top_k": 0}}
    other = {**greedy, "stream": 9, "decoding": {"temperature": 0.0, "top_p": 0.5, "top_k": 3}}
    assert generation_key(**greedy) == generation_key(**other)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3), st.integers(0, 3)), unique=True, max_size=20))
def test_streams_differ(samples: list[tuple[int, str, int]]) -> None:
    """Every (seed, problem, sample) has a stream of its own within 63 bits."""
    seeds = [stream_seed(*sample) for sample in samples]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_an_outcome_key_names_parts_limits_and_sandbox() -> None:
    """Moving text between the parts of a program, another limit or another sandbox is another outcome."""
    base = outcome_key(("a", "b"), {"cpu_s": 1}, "s")
    assert len({base, outcome_key(("ab", ""), {"cpu_s": 1}, "s"), outcome_key(("a", "b"), {"cpu_s": 2}, "s"),
                outcome_key(("a", "b"), {"cpu_s": 1}, "t")}) == 4  # fmt: skip
