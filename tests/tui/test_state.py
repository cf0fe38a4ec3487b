"""The fold of a run's events, the pace, and the words for time."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc

from app_kit import BENCHMARK, judged, key_of, make_study, script, started, tasks

from engine.events import (
    ConfigurationFailed,
    ConfigurationStopped,
    Generated,
    Judged,
    ModelLoaded,
    PassStarted,
    StateChanged,
    from_dict,
    to_dict,
)
from engine.settings import Decoding, Grid
from tui.state import Countdown, Pace, RunState, duration, flips


def fold(events, seconds=0.5):
    """A state after these events, each `seconds` after the one before."""
    state = RunState()
    state.apply((1000.0 + seconds * index, event) for index, event in enumerate(events))
    return state


def test_scores_follow_the_outcomes():
    """A finished configuration shows its count, a running one the span that is still possible."""
    study = make_study()
    state = fold(script(study, [48, 20], last=100))
    first, second = state.order[:2]
    assert state.scores[first].text == "48/164"
    assert state.scores[second].text == "20..84/164"
    assert state.row_state(first) == "finished"
    assert state.row_state(second) == "running"
    assert state.row_state(state.order[2]) == "waiting"
    assert state.finished_count == 1


def test_a_resumed_run_repeats_itself_without_counting_twice():
    """Events of a second life replace those of the first."""
    study = make_study()
    events = script(study, [48], last=164)
    state = fold([*events, *events])
    assert state.done == 164
    assert state.scores[state.order[0]].text == "48/164"


def test_only_changed_configurations_are_dirty():
    """What widgets must repaint is exactly what events touched."""
    study = make_study()
    configurations = study.configurations()
    state = fold([started(study)])
    state.take_dirty()
    state.apply([(1.0, event) for event in judged(configurations[3], 1, 2)])
    assert state.take_dirty() == {configurations[3].id}
    assert state.take_dirty() == set()


def test_a_failed_configuration_is_told_apart_and_counts_as_settled():
    """Its reason is kept, and the others go on."""
    study = make_study()
    found = study.configurations()[0].id
    state = fold([started(study), ConfigurationFailed(found, "the file is no GGUF")])
    assert state.row_state(found) == "failed"
    assert state.scores[found].failure == "the file is no GGUF"
    assert state.finished_count == 1


def test_a_stopped_configuration_has_bounds_and_counts_as_settled():
    """It is neither finished nor running; a run that goes on and no longer stops it takes it up as any other."""
    study = make_study()
    found = study.configurations()[0].id
    state = fold([started(study), ConfigurationStopped(found, "exact bound", 0, 0, 64)])
    assert state.row_state(found) == "stopped"
    assert state.scores[found].text.startswith("0..")
    assert state.finished_count == 1
    assert found not in state.finished
    state.apply([(1.0, started(study))])
    assert state.row_state(found) == "waiting"


def test_unavailable_is_no_failure():
    """An outcome that could not be had leaves the sample unjudged, until it is judged after all."""
    study = make_study()
    found = study.configurations()[0]
    state = fold([started(study), Judged(found.id, "Python/0", 0, "k", "unavailable", "sandbox gone")])
    assert state.scores[found.id].judged_total == 0
    assert state.unavailable[found.id] == 1
    state.apply([(2.0, Judged(found.id, "Python/0", 0, "k", "passed"))])
    assert state.scores[found.id].text == "1..164/164"
    assert state.unavailable[found.id] == 0


def test_the_reply_of_a_problem_is_found_by_its_key():
    """Outcomes name the generation they were cut from, whichever pass made it."""
    study = make_study()
    found = study.configurations()[0]
    state = fold([started(study), *judged(found, 1, 3)])
    reply = state.reply(found.id, "Python/2", 0)
    assert reply is not None and reply.key == key_of(found, "Python/2")
    assert state.reply(found.id, "Python/9", 0) is None


def test_problems_show_the_first_outcome_that_is_no_pass():
    """With several samples, a problem's row explains its failure."""
    grid = Grid(benchmark=(BENCHMARK,), decoding=(Decoding(0.2),), samples=(3,))
    study = make_study(grid)
    found = study.configurations()[0]
    state = fold(
        [
            started(study),
            Judged(found.id, "Python/0", 0, "a", "passed"),
            Judged(found.id, "Python/0", 1, "b", "timeout", "10 s"),
        ]
    )
    problem = next(iter(state.problems(found.id)))
    assert (problem.passed, problem.judged, problem.asked, problem.kind, problem.detail) == (1, 2, 3, "timeout", "10 s")


def test_facts_are_kept_small():
    """A grid with samples states a million facts: none may cost more than 200 bytes once it is folded."""
    grid = Grid(benchmark=(BENCHMARK,), decoding=(Decoding(0.2),), samples=(60,), max_length=(512, 2048))
    study = make_study(grid)

    def stream():
        yield 0.0, started(study)
        for configuration in study.configurations():
            for sample in range(60):
                for event in judged(configuration, 40):
                    if isinstance(event, Generated | Judged):
                        yield 1.0, from_dict(json.loads(json.dumps({**to_dict(event), "sample": sample})))

    state = RunState()
    tracemalloc.start()
    try:
        state.apply(stream())
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert state.events == 2 * 2 * 60 * 164 + 1
    assert size / state.events < 200


def test_outcomes_of_unforeseen_samples_are_kept():
    """Imported generations may have more samples than the study asks for; nothing moves the ones before."""
    study = make_study()
    found = study.configurations()[0]
    score = fold([started(study)]).scores[found.id]
    score.add("Python/3", 0, "passed")
    score.add("Python/3", 2, "timeout")
    assert dict(score.kinds) == {("Python/3", 0): "passed", ("Python/3", 2): "timeout"}
    assert len(score.kinds) == 2 and score.kinds.get(("Python/3", 1)) is None


def test_flips_name_the_direction():
    """Gained is what the first passes and the second does not."""
    study = make_study()
    state = fold(script(study, [3, 5]))
    first, second = (state.scores[key] for key in state.order[:2])
    assert flips(first, second) == {"Python/3": "lost", "Python/4": "lost"}
    assert flips(second, first) == {"Python/3": "gained", "Python/4": "gained"}


def test_flips_need_both_sides_judged():
    """A problem that one side has not reached is no flip."""
    study = make_study()
    state = fold(script(study, [164, 2], last=3))
    first, second = (state.scores[key] for key in state.order[:2])
    assert flips(first, second) == {"Python/2": "gained"}


def test_time_left_rests_on_new_generations_only():
    """Replies from an earlier run say nothing about speed; a prompt counts as much as a reply, and is shared.

    Two seconds for a reply with a prompt of its own: 24 + 164 of those, and 3 x 328 that share each with another.
    """
    study = make_study()
    found = study.configurations()[0]
    state = fold([started(study), StateChanged("running"), PassStarted(0, "p", [found.id], 164)], seconds=0.0)
    state.apply(
        (1000.0 + index * 0.001, Generated(0, task, 0, task, 100, "end", 0.1, reused=True))
        for index, task in enumerate(tasks(100))
    )
    assert state.seconds_left() is None
    state.apply(
        (1001.0 + index * 2.0, Generated(0, task, 0, task, 100, "end", 0.1))
        for index, task in enumerate(tasks()[100:140])
    )
    left = state.seconds_left()
    assert left is not None
    assert abs(left - (2.0 * (24 + 164) + 1.5 * 3 * 328)) < 0.05 * left


def test_a_pause_does_not_slow_the_estimate():
    """Time in which nothing was asked of the model does not count."""
    pace = Pace()
    pace.start(0.0)
    for index in range(1, 21):
        pace.add(float(index), 1, 50)
    before = pace.seconds_per_generation
    pace.stop()
    pace.start(10_000.0)
    pace.add(10_001.0, 1, 50)
    assert abs(pace.seconds_per_generation - before) < 0.05
    assert abs(pace.tokens_per_second - 50) < 5


def test_a_fast_model_has_a_pace_too():
    """However many generations a second, three seconds are enough for an estimate."""
    pace = Pace()
    pace.start(0.0)
    for step in range(1, 1001):
        pace.add(step / 250, 1, 10)
    assert pace.known
    assert abs(pace.seconds_per_generation - 1 / 250) < 0.001


def test_batches_at_one_moment_do_not_make_the_pace_infinite():
    """Replies that were committed together share one time stamp."""
    pace = Pace()
    pace.start(0.0)
    for step in range(1, 11):
        for _ in range(8):
            pace.add(float(step), 1, 10)
    assert 0.1 < pace.seconds_per_generation < 0.16


def test_the_countdown_never_jumps():
    """A tenfold change of the estimate moves the display by no more than the drift allows."""
    countdown = Countdown(settle=20.0)
    assert countdown.show(0.0, 3600.0) == "1 h left"
    text = countdown.show(1.0, 360.0)
    assert text in ("57 min left", "58 min left")
    assert countdown.show(2.0, None) == ""


def test_durations_are_coarse():
    """No digit that flickers."""
    assert [duration(value) for value in (0, 44, 89, 600, 3599, 3600, 7800, 200_000)] == [
        "10 s", "40 s", "90 s", "10 min", "60 min", "1 h", "2 h 10 min", "2 d 7 h",
    ]  # fmt: skip


def test_states_follow_the_worker():
    """The last state and its reason stand."""
    study = make_study()
    state = fold([started(study), ModelLoaded("m", "f16", {}, 8, 1.0), StateChanged("failed", "disk full")])
    assert (state.state, state.detail, state.ended) == ("failed", "disk full", True)
    assert state.seconds_left() is None


def test_pure_parts_load_no_screen_library():
    """State, desk and matches work without textual, and nothing heavy is imported with them."""
    code = (
        "import sys, tui.state, tui.desk, tui.matches, tui.axes, tui.reading\n"
        "print([m for m in ('textual', 'pandas', 'scipy', 'llama_cpp', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_app_loads_nothing_heavy_before_its_first_screen():
    """pandas, scipy and llama_cpp are not on the way to the first paint."""
    code = (
        "import sys, tui.app, tui.screens.run, tui.screens.grid, tui.screens.literature\n"
        "print([m for m in ('pandas', 'scipy', 'llama_cpp', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_first_screen_waits_for_no_other():
    """Other places are loaded when they are gone to, readers of other formats when such a table comes."""
    code = (
        "import sys, tui.app, tui.screens.literature\n"
        "from literature.table import read_table\n"
        "read_table('humanevalfix')\n"
        "names = [f'tui.screens.{n}' for n in ('grid', 'run', 'report', 'runs')]\n"
        "readers = ('latex', 'html', 'results', 'spreadsheet', 'cards', 'markdown')\n"
        "names += [f'literature.formats.{n}' for n in readers]\n"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
