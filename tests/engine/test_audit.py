"""The audit: what it makes again is made alone, a good run passes, and whatever was altered in the store is found."""

from __future__ import annotations

import array
import dataclasses
import json
from typing import Any

import pytest

from cache.store import Store
from engine.audit import DIFFERENT, NOT_MADE, SAME, Checked, audit_key, checked, choose
from engine.cells import read_run
from engine.events import Noted
from engine.settings import Decoding, Grid
from tui.run_evidence import audit as evidence
from tui.run_evidence import fold

GRID = Grid(
    benchmark=("fake-python",),
    decoding=(Decoding(), Decoding(0.8)),
    max_length=(105, 200),
    samples=(2,),
    extraction=("harness", "raw"),
)
"""Limits of which the shorter is a prefix, and two cuts that share their replies."""
ALL = 6 * 2 * 2 * (1 + 2)
"""Every judged sample of GRID: problems, limits, cuts, greedy once and two draws."""


def audited(life: Any, count: int) -> list[Checked]:
    """Take the run up again, to audit that many samples in all."""
    life.job = dataclasses.replace(life.job, audit=count)
    assert life.go() == "finished"
    return checked(life.store, life.run)


def test_a_good_run_passes_in_full(store: Store, fakes: Any) -> None:
    """Every sample made again alone equals what the run kept, prefixes and shared cuts included; a fact says so."""
    life = fakes.Life(store, GRID)
    found = audited(life, 10_000)
    assert len(found) == ALL
    assert {one.result for one in found} == {SAME}
    (first, *_) = evidence(store, life.run, fold(store, life.run))
    assert first.value == (
        f"{ALL} of {ALL} samples recomputed alone are the same in tokens, text and outcome "
        f"(drawn from {ALL} with seed 0)"
    )
    assert [event.level for event in life.events if isinstance(event, Noted)] == ["info", "info"]


def test_samples_are_made_alone_under_their_own_limit(store: Store, fakes: Any) -> None:
    """Each audited sample is one request of its own, with the configuration's limit and cut, found in no store."""
    life = fakes.Life(store, GRID)
    life.go()
    alone: list[tuple[int, int]] = []

    class Watching(fakes.Model):  # type: ignore[misc]
        def generate(self, requests: Any, tick: Any = lambda: True) -> Any:
            alone.extend((len(list(requests)), one.limit + len(one.prompt)) for one in requests)
            return super().generate(requests, tick)

    life.kind = Watching
    found = audited(life, 20)
    limits = {c.id: c.max_length for c in life.job.configurations}
    with_room = [one for one in found if one.key]
    assert sorted(alone) == sorted((1, limits[one.configuration]) for one in with_room)
    assert {limit for _, limit in alone} == {105, 200}


def test_what_is_drawn_is_seeded_and_goes_on(store: Store, fakes: Any) -> None:
    """The same samples are drawn from the same run anywhere; a further audit draws the next ones, none twice."""
    life = fakes.Life(store, GRID)
    life.go()
    drawn = choose(life.scores, 9)
    assert drawn[:4] == choose(dict(reversed(life.scores.items())), 4), "whatever the order"
    assert {one.place for one in audited(life, 4)} == set(drawn[:4])
    assert audited(life, 4) == audited(life, 4), "what was asked for is done"
    assert {one.place for one in audited(life, 9)} == set(drawn)
    body = store.fact(audit_key(life.run))
    assert body is not None
    assert body["seed"] == 0


def test_a_stopped_audit_goes_on_where_it_was(store: Store, fakes: Any) -> None:
    """What was found before a stop is kept."""
    life = fakes.Life(store, GRID)
    life.go()
    life.job = dataclasses.replace(life.job, audit=12)
    assert life.go(stop_after=5) == "stopped"
    before = checked(store, life.run)
    assert 0 < len(before) < 12
    assert audited(life, 12)[: len(before)] == before


def change(store: Store, statement: str, *values: Any) -> None:
    """Alter the store behind its back."""
    done = store._db.execute(statement, values)
    assert done.rowcount == 1, statement


def altered_token(life: Any, cell: Any) -> None:
    """The last token of a kept reply becomes another."""
    tokens = list(life.store.generation(cell.key).tokens)
    blob = array.array("i", [*tokens[:-1], tokens[-1] ^ 1]).tobytes()
    change(life.store, "UPDATE generations SET tokens=? WHERE key=?", blob, cell.key)


def altered_text(life: Any, cell: Any) -> None:
    """A kept reply's text becomes that of a good program."""
    change(life.store, "UPDATE generations SET text='good' WHERE key=?", cell.key)


def cut_short(life: Any, cell: Any) -> None:
    """A reply that ended by itself loses its end."""
    kept = life.store.generation(cell.key)
    blob = array.array("i", kept.tokens[:-2]).tobytes()
    values = blob, kept.text[:-2], cell.key
    change(life.store, "UPDATE generations SET tokens=?, text=? WHERE key=?", *values)


def forged_outcome(life: Any, cell: Any) -> None:
    """A failure is stated as a pass, in the run's own events and nowhere else."""
    stated = ((seq, body) for seq, _, body in life.store.every_event(life.run) if body["fact"] == "Judged")
    place = cell.configuration.id, cell.task_id
    rows = [(seq, body) for seq, body in stated if (body["configuration"], body["task_id"]) == place]
    kind = "failed" if cell.kind == "passed" else "passed"
    change(life.store, "UPDATE events SET body=? WHERE seq=?", json.dumps({**rows[0][1], "kind": kind}), rows[0][0])


def lost(life: Any, cell: Any) -> None:
    """A reply that an outcome names is gone."""
    change(life.store, "DELETE FROM generations WHERE key=?", cell.key)


@pytest.mark.parametrize(
    ("alter", "words"),
    [
        (altered_token, "tokens differ from position"),
        (altered_text, "the kept text is not that of the kept tokens"),
        (cut_short, "tokens differ from position"),
        (forged_outcome, "recorded as"),
        (lost, "its reply is not kept"),
    ],
)
def test_an_altered_store_is_found(store: Store, fakes: Any, alter: Any, words: str) -> None:
    """Tokens, text, length, outcome or the whole reply changed after the run: the audit of that sample differs."""
    life = fakes.Life(store, dataclasses.replace(GRID, decoding=(Decoding(),), max_length=(200,), extraction=("raw",)))
    life.go()
    ((id_, *place),) = choose(life.scores, 1)
    cell = read_run(store, life.run).cells[id_][tuple(place)]
    alter(life, cell)
    (one,) = audited(life, 1)
    assert (one.result, one.place) == (DIFFERENT, (cell.configuration.id, cell.task_id, cell.sample))
    assert words in one.detail
    last = [event for event in life.events if isinstance(event, Noted)][-1]
    assert (last.level, one.detail in last.text) == ("warning", True)


def test_a_wrong_prefix_text_is_found(store: Store, fakes: Any) -> None:
    """The text that a shorter limit reads of a longer reply is checked against the tokens."""
    life = fakes.Life(store, dataclasses.replace(GRID, decoding=(Decoding(),), extraction=("raw",)))
    life.go()
    store._db.execute("UPDATE prefixes SET text='good'")
    wrong = [one for one in audited(life, 1000) if one.result == DIFFERENT]
    short = {c.id for c in life.job.configurations if c.max_length == 105}
    assert wrong
    assert {one.configuration for one in wrong} <= short
    assert all("is not theirs" in one.detail for one in wrong)


def test_other_numerics_are_not_called_a_difference(store: Store, fakes: Any) -> None:
    """Where the engine is another one now, the sample was not recomputed, and the summary says why."""
    life = fakes.Life(store, GRID)
    life.go()

    class Wider(fakes.Model):  # type: ignore[misc]
        @property
        def card(self) -> Any:
            return dataclasses.replace(super().card, numerics={"width": "8"})

    life.kind = Wider
    found = audited(life, 3)
    assert {one.result for one in found} == {NOT_MADE}
    text = str((store.fact(audit_key(life.run)) or {})["text"])
    assert text.startswith("0 of 0 samples")
    assert "3 not recomputed" in text
    assert "numerics" in text


def test_a_model_that_cannot_be_loaded_again_is_said(store: Store, fakes: Any) -> None:
    """The reason stands with each of its samples; the run is finished all the same."""
    life = fakes.Life(store, GRID)
    life.go()
    life.refuse = {"f16"}
    assert {(one.result, one.detail) for one in audited(life, 3)} == {(NOT_MADE, "f16: too large for this machine")}
