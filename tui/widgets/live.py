"""What a slot of the worker is writing, token by token; the newest reply where nothing is being written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from textual.app import ComposeResult
from textual.containers import Vertical

from cache.errors import StoreError
from engine.live import SlotText
from tui.desk import Desk
from tui.session import LIVE
from tui.widgets.bars import TextLine
from tui.widgets.pieces import Piece, cell
from tui.widgets.text import TextView, plain
from tui.widgets.told import newest_reply

LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 2.0
"""How long a worker may take to answer before it counts as writing nothing."""


class LiveView(Vertical):
    """One slot's reply as it grows, whose it is above, all slots below; it asks only while `follow` is called."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.slot = 0
        self._shown: tuple[str, ...] = ()
        self._slots: Sequence[SlotText] = ()
        self._looked = self._began = 0.0

    def compose(self) -> ComposeResult:
        """Whose reply, the reply, the slots."""
        yield TextLine(id="writer", classes="head")
        yield TextView(id="writing")
        yield TextLine(id="slots", classes="head")

    def begin(self, now: float) -> None:
        """A user begins to watch, at monotonic time `now`."""
        self._slots = ()
        self._looked, self._began = 0.0, now
        self.query_one("#slots", TextLine).show()

    def follow(self, desk: Desk, now: float) -> None:
        """Once a tick: ask, and show what is told."""
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        try:
            self._slots = desk.session.live() if desk.run_state in LIVE else ()
        except StoreError as error:
            self._slots = ()
            self._newest(desk, Piece(f" {error}", "against"))
            return
        if self._slots:
            self._show(desk)
            return
        asking = desk.run_state in LIVE and now - self._began < PATIENCE_SECONDS
        why = "Asking the worker what it is writing." if asking else f"Nothing is being written: {_state(desk)}."
        self._newest(desk, Piece(f" {why}", "muted"))

    def step(self, step: int) -> str:
        """Look at the next slot that writes, or the one before; what to say where there is no other."""
        numbers = [one.slot for one in self._slots]
        if len(numbers) < 2:
            return "One slot is writing." if numbers else "Nothing is being written."
        self.slot = numbers[(numbers.index(self._chosen.slot) + step) % len(numbers)]
        self._looked = 0.0
        return ""

    @property
    def _chosen(self) -> SlotText:
        """The chosen slot, or its neighbour when it has nothing to write any more."""
        return min(self._slots, key=lambda one: (abs(one.slot - self.slot), one.slot))

    def _show(self, desk: Desk) -> None:
        one = self._chosen
        self.slot = one.slot
        loaded = desk.state.loaded
        width = loaded[-1].width if loaded else len(self._slots)
        head = f" slot {one.slot + 1} of {width}  {one.task_id}"
        head += f" sample {one.sample + 1}" if any(score.samples > 1 for score in desk.state.scores.values()) else ""
        rest = f"  {one.tokens} tokens of at most {one.limit} · {one.label}"
        self.query_one("#writer", TextLine).show(
            Piece(head, "text bold"), cell(rest, max(0, self.size.width - len(head)))
        )
        shown = (str(one.slot), one.label, one.task_id, str(one.sample))
        lines = plain(("…" if one.start else "") + one.text)
        view = self.query_one("#writing", TextView)
        if lines != view.lines or shown != self._shown:
            view.trail(lines, anew=shown != self._shown)
            self._shown = shown
        self.query_one("#slots", TextLine).show(*self._strip())

    def _strip(self) -> list[Piece]:
        """Every slot with its tokens, the chosen one in view."""
        texts = {one.slot: f" {one.slot + 1}:{one.tokens} " for one in self._slots}
        pieces = [
            Piece(f"[{text.strip()}]" if slot == self.slot else text, "agree bold" if slot == self.slot else "muted")
            for slot, text in texts.items()
        ]
        head = Piece(" tokens so far ", "muted")
        room = self.size.width - len(head.text)
        ends = [0, *accumulate(len(piece.text) for piece in pieces)]
        place, first = list(texts).index(self.slot), 0
        # The chosen one stands in the middle where not all have room.
        while ends[-1] - ends[first] > room and ends[place] - ends[first] > room // 2:
            first += 1
        return [head, *pieces[first:]]

    def _newest(self, desk: Desk, why: Piece) -> None:
        """The reply that was kept last, and why it is not a growing one."""
        self._shown = ()
        head, *lines = newest_reply(desk)
        self.query_one("#writer", TextLine).show(*head)
        view = self.query_one("#writing", TextView)
        if lines != view.lines:
            view.show(lines)
        self.query_one("#slots", TextLine).show(why)


def _state(desk: Desk) -> str:
    state = desk.run_state
    busy = {"created": "the worker is starting", "running": "the worker loads, judges or checks"}
    return busy.get(state, f"the run is {state}")
