"""What the slots of a live run are writing, shown while a user watches."""

from __future__ import annotations

from dataclasses import replace

from app_kit import key_of, make_study, running, script, settled, shown, until_shown

from cache.errors import StoreError
from cache.store import StoredGeneration
from engine.live import SlotText
from tui.session import Status


def slot(number: int, tokens: int, text: str = "", **changes) -> SlotText:
    """What a slot is told to be writing."""
    whole = text or "".join(f"line {line} of slot {number}\n" for line in range(tokens))
    found = SlotText(number, "f16 · instruct · greedy", f"Python/{number}", 0, tokens, 512, 0, whole)
    return replace(found, **changes)


async def test_replies_are_shown_as_they_are_written():
    """v shows what a slot is writing, its end in view, following it from reply to reply; v again shows the cell."""
    app, session = running((48,), last=100)
    session.slots = [slot(0, 3), slot(2, 40)]
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        await pilot.press("v")
        await until_shown(pilot, "slot 1 of 8  Python/0  3 tokens of at most 512 · f16 · instruct · greedy")
        await until_shown(pilot, "line 2 of slot 0")
        assert "tokens so far [1:3] 3:40" in shown(app)
        session.slots = [slot(0, 30), slot(2, 41)]
        await until_shown(pilot, "line 29 of slot 0")
        assert "line 2 of slot 0" not in shown(app), "the end is in view"
        session.slots = [slot(0, 2, "def next", task_id="Python/9"), slot(2, 42)]
        await until_shown(pilot, "Python/9  2 tokens")
        assert "def next" in shown(app) and "slot 0" not in shown(app)
        await pilot.press("v")
        await until_shown(pilot, "ruled out 9.1 [16]")
        assert "tokens so far" not in shown(app)


async def test_which_slot_is_looked_at_is_chosen_by_key():
    """n and N go from slot to slot, around the ends; one that has nothing to write any more hands over to another."""
    app, session = running((48,), last=100)
    session.slots = [slot(0, 3), slot(2, 40), slot(3, 7)]
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        await pilot.press("n")
        await until_shown(pilot, "v shows what the slots are writing")
        await pilot.press("v")
        await until_shown(pilot, "slot 1 of 8")
        await pilot.press("n")
        await until_shown(pilot, "line 39 of slot 2")
        await pilot.press("N", "N")
        await until_shown(pilot, "slot 4 of 8")
        session.slots = [slot(0, 4)]
        await until_shown(pilot, "slot 1 of 8  Python/0  4 tokens")
        await pilot.press("n")
        await until_shown(pilot, "One slot is writing.")


async def test_a_text_that_was_scrolled_stays_where_it_is():
    """Who reads the beginning of a reply is not thrown to its end by the next token."""
    app, session = running((48,), last=100)
    session.slots = [slot(0, 60)]
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        await pilot.press("v")
        await until_shown(pilot, "line 59 of slot 0")
        await pilot.press("tab", "home")
        await until_shown(pilot, "line 0 of slot 0")
        session.slots = [slot(0, 70)]
        await until_shown(pilot, "70 tokens")
        assert "line 0 of slot 0" in shown(app)
        await pilot.press("end")
        await until_shown(pilot, "line 69 of slot 0")
        session.slots = [slot(0, 80)]
        await until_shown(pilot, "line 79 of slot 0")


async def test_nobody_is_asked_what_it_writes_unless_a_user_watches():
    """The worker is asked while the run screen shows its replies; not before, not on another screen, not after."""
    app, session = running((48,), last=100)
    session.slots = [slot(0, 3)]
    asked = lambda: session.asked.count("live")  # noqa: E731
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        await pilot.pause(0.3)
        assert asked() == 0
        await pilot.press("v")
        await settled(pilot, lambda: asked() > 2, "questions")
        await pilot.press("1")
        await until_shown(pilot, "DeepSeekCoder-Inst (33B)")
        there = asked()
        await pilot.pause(0.5)
        assert asked() == there
        await pilot.press("3")
        await settled(pilot, lambda: asked() > there, "more questions")
        await pilot.press("v")
        await until_shown(pilot, "ruled out 9.1 [16]")
        there = asked()
        await pilot.pause(0.5)
        assert asked() == there


async def test_the_newest_reply_is_shown_where_nothing_is_being_written():
    """While the worker has yet to answer, and when the run has ended; each reply as it is kept, with the reason."""
    study = make_study()
    app, session = running((48,), last=100, study=study)
    whole = script(study, [48], last=164)
    found = study.configurations()[0]
    for place in (99, 163):
        key = key_of(found, f"Python/{place}")
        session.replies[key] = StoredGeneration(
            key, "0" * 64, "greedy", 90, f"reply {place}\n    return", (1, 2), "end", 512, 0.4
        )
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        await pilot.press("v")
        await until_shown(pilot, "reply 99")
        assert "newest reply  Python/99 159 tokens, ended by end · f16 · instruct · greedy" in shown(app)
        assert "Asking the worker what it is writing." in shown(app)
        session.events += whole[len(session.events) :]
        await until_shown(pilot, "reply 163")
        session.state = Status("finished")
        await until_shown(pilot, "Nothing is being written: the run is finished.")
        there = session.asked.count("live")
        await pilot.pause(0.5)
        assert session.asked.count("live") == there, "a run without a worker is not asked"
        await pilot.press("v")
        await until_shown(pilot, "ruled out 9.1 [16]")


async def test_a_worker_that_cannot_be_asked_is_told_with_the_reason():
    """The app goes on, with the newest reply."""
    app, session = running((48,), last=100)
    session.live = lambda: (_ for _ in ()).throw(StoreError("cannot ask the worker: the folder is not ours"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48..112/164")
        await pilot.press("v")
        await until_shown(pilot, "cannot ask the worker: the folder is not ours")
