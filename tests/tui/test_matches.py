"""The match matrix behind the run screen."""

from __future__ import annotations

import threading
import time

from app_kit import BENCHMARK, MODEL, make_study, script, started

import tui.matches
from engine.events import Judged
from engine.settings import Decoding, Grid
from tui.matches import Matches
from tui.reading import Literature
from tui.state import RunState


def matched(study, events, seconds=300.0):
    """State and matches after these events, with everything worked out."""
    literature = Literature()
    literature.add("humanevalfix")
    matches = Matches()
    matches.bind(literature, study)
    state = RunState()
    state.apply((float(index), event) for index, event in enumerate(events))
    matches.mark(state.take_dirty())
    end = time.monotonic() + seconds
    while matches.busy and time.monotonic() < end:
        matches.work(state.scores, time.monotonic() + 1.0)
        time.sleep(0.01)
    matches.close()
    assert not matches.busy
    return state, matches


def test_reported_scores_are_found_under_the_table_s_name():
    """A study ties its model to a name of the table, and any variant of the benchmark counts."""
    _, matches = matched(make_study(), [])
    assert [score.label for score in matches.reported(MODEL)] == ["9.1 [16]", "29.3 [21]", "48.9 [27]"]


def test_cells_carry_class_and_signed_difference():
    """48 of 164 prints as 29.3 and nothing else does."""
    study = make_study()
    state, matches = matched(study, script(study, [48]))
    low, middle, high = matches.reported(MODEL)
    key = state.order[0]
    assert matches.cell(key, middle.id).kind == "exact"
    assert matches.cell(key, low.id).kind == "ruled out"
    assert round(matches.cell(key, low.id).difference_points, 1) == 20.2
    assert round(matches.cell(key, high.id).difference_points, 1) == -19.6
    assert matches.cell(state.order[1], low.id) is None


def test_what_waits_keeps_a_claim_open():
    """Nothing is called not reproduced while configurations are still to come."""
    study = make_study()
    _, matches = matched(study, script(study, [60]))
    verdict = matches.verdict(matches.reported(MODEL)[1].id)
    assert verdict is not None and verdict.kind == "open"


def test_verdicts_name_the_chance_of_a_match():
    """A match comes with how likely an unrelated number would have matched."""
    study = make_study()
    _, matches = matched(study, script(study, [48] * 16))
    verdict = matches.verdict(matches.reported(MODEL)[1].id)
    assert verdict is not None and verdict.matching >= 1
    assert verdict.chance is not None and 0 <= verdict.chance.everywhere <= 1


def test_sampled_scores_are_matched_off_the_main_thread(monkeypatch):
    """The call that hands out a finished sampled configuration does not wait for its cells."""
    matching, seen, go_on = tui.matches._match, [], threading.Event()

    def watched(score, reported):
        seen.append(threading.current_thread())
        assert go_on.wait(300)
        return matching(score, reported)

    monkeypatch.setattr("tui.matches._match", watched)
    grid = Grid(benchmark=(BENCHMARK,), decoding=(Decoding(0.2),), samples=(20,))
    study = make_study(grid)
    found = study.configurations()[0]
    events = [started(study)]
    for index in range(164):
        events += [
            Judged(found.id, f"Python/{index}", sample, "k", "passed" if (index + sample) % 3 == 0 else "failed")
            for sample in range(20)
        ]
    literature = Literature()
    literature.add("humanevalfix")
    matches = Matches()
    matches.bind(literature, study)
    state = RunState()
    state.apply((0.0, event) for event in events)
    matches.mark([found.id])
    assert matches.work(state.scores, time.monotonic() + 300) == set()
    assert matches.work(state.scores, time.monotonic() + 300) == set() and matches.busy
    go_on.set()
    end = time.monotonic() + 300
    while matches.busy and time.monotonic() < end:
        matches.work(state.scores, time.monotonic() + 0.01)
        time.sleep(0.02)
    matches.close()
    assert seen and threading.main_thread() not in seen
    assert matches.cell(found.id, matches.reported(MODEL)[0].id).kind == "ruled out"


def test_work_stops_at_its_deadline_and_takes_visible_rows_first():
    """With no time at all nothing is matched; the rows in view come first when there is."""
    study = make_study()
    literature = Literature()
    literature.add("humanevalfix")
    ticks = iter([0.0, 0.0, 5.0, 5.0, 5.0])
    matches = Matches(clock=lambda: next(ticks, 5.0))
    matches.bind(literature, study)
    state = RunState()
    state.apply((0.0, event) for event in script(study, [48, 20, 30]))
    matches.mark(state.order)
    visible = state.order[2]
    assert matches.work(state.scores, 1.0, [visible]) >= {visible}
    assert matches.busy
    matches.close()


def test_rank_puts_the_better_class_first():
    """Sorting by nearest match means class, then distance."""
    study = make_study()
    state, matches = matched(study, script(study, [20, 48, 47, 60]))
    ranked = sorted(state.order[:4], key=lambda key: matches.rank(key, MODEL))
    assert ranked[:2] == [state.order[1], state.order[2]]


def test_float_precisions_measure_each_other_s_jitter():
    """Once f32, f16 and bf16 of one greedy configuration are done, their cells rest on measured jitter, not assumed."""
    grid = Grid(benchmark=(BENCHMARK,), precision=("f32", "f16", "bf16"))
    study = make_study(grid)
    state, matches = matched(study, script(study, [48, 50, 46]))
    low = matches.reported(MODEL)[0]
    assert [matches.cell(key, low.id).basis for key in state.order] == ["MEASURED"] * 3
