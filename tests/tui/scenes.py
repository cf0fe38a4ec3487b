"""Pictures of every screen, of a finished run of the embedded study: compared by tests, and shown in the documents.

    python tests/tui/scenes.py      renews tests/tui/snapshots/*.svg and docs/screens/*.svg

What depends on the day or the machine (the report's text, how long ago a run was) is fixed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from app_kit import settled, shown
from recorded import facts, replies
from textual.pilot import Pilot

from cache.paths import store_path
from cache.store import Run, Store
from engine.events import to_dict
from engine.live import SlotText
from tui.app import ScoretraceApp
from tui.late import late_parts
from tui.local import LocalSession, job_of
from tui.preferences import Preferences
from tui.session import Status
from tui.study import dumps, embedded

HERE = Path(__file__).parent
SNAPSHOTS = HERE / "snapshots"
PICTURES = HERE.parent.parent / "docs" / "screens"
SIZES = ((80, 24), (120, 40))
PATIENCE = 30.0
"""Seconds in which a screen may become what it was before: parts of some come later, on a slow machine much later."""
REPORT = (
    "# bugfix-mini demo\n\n| item | evidence |\n|---|---|\n"
    "| 4 Greedy decoding, or n = 20 samples per problem | in part: 20 of 60 configurations are greedy |\n"
    "| 10 Hardware | unknown |\n"
)


TABLE = "wer,value,woher,n,was\nM1,30.5,21,20,4\nM2,28,22,1,5\nM2,viel,22,1,5\n"
WRITTEN = (
    "\n    for index, number in enumerate(numbers):\n        for other in numbers[index + 1 :]:\n"
    "            if abs(number - other) < limit:\n                return True\n    return Fal"
)


@dataclass(frozen=True)
class Scene:
    """A screen: its name, the keys that lead there from the run, a text that shows when it is there.

    `before` brings the session into the state that the scene is of.
    """

    name: str
    keys: tuple[str, ...]
    text: str
    before: Callable[[Fixed], None] = lambda session: None


def queued(session: Fixed) -> None:
    """Two runs wait."""
    session.waiting = [2, 3]


def written(session: Fixed) -> None:
    """A worker is at the run, and its slots are writing."""
    session.slots = [
        SlotText(slot, "f16 · instruct · greedy", f"mini/{slot}", 0, 21 + 9 * slot, 300, 0, WRITTEN)
        for slot in range(6)
    ]


SCENES = (
    Scene("literature", ("1",), "1 measured"),
    Scene("grid", ("2",), "61 configurations, 31 generations per problem"),
    Scene("run", ("3", "home"), "6 of 60 consistent"),
    Scene("report", ("4",), "10 Hardware"),
    Scene("runs", ("5",), "run 1"),
    Scene("configuration", ("3", "home", "j", "enter"), "64 of 64 problems judged"),
    Scene("problem", ("3", "home", "j", "enter", "j", "enter"), "ended by"),
    Scene("problem-programs", ("3", "home", "j", "enter", "j", "enter", "l", "l", "l"), "[programs]"),
    Scene("compare", ("3", "home", "j", "enter", "c", *["down"] * 5, "enter", "v"), "lost 2, gained 0 of 64"),
    Scene("findings", ("3", "home", "f"), "Effects of settings"),
    Scene("palette", ("3", "colon"), "Run: stop"),
    Scene("help", ("escape", "3", "question_mark"), "Keys: Run"),
    Scene("run-grouped", ("escape", "3", "home", "b", "b", "l"), "▾ decoding greedy"),
    Scene("form", ("1", "home", "e"), "Correct a reported score"),
    Scene("file", ("escape", "i"), "odd.csv"),
    Scene("import", (*"odd", "full_stop", *"csv", "enter", "enter", "m"), "2 scores from odd.csv, 4 places not read"),
    Scene("queue", ("escape", "5"), "queued 2", queued),
    Scene("live", ("3", "b", "b", "b", "v"), "slot 1 of", written),
)
"""In one app after the other, so that it starts once; the later ones leave marks on the run screen."""
DOCUMENTS = ("literature", "run", "compare")
"""Scenes that the documents show."""


@contextmanager
def home() -> Iterator[None]:
    """A data folder of its own that holds the finished run, and a folder to be in that holds a table."""
    old = os.environ.get("SCORETRACE_HOME")
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["SCORETRACE_HOME"] = name
        Path("odd.csv").write_text(TABLE, encoding="utf-8")
        study = embedded()
        store = Store(store_path())
        run = store.create_run(study.name, dumps(study), job_of(study).as_dict())
        store.put_generations(replies())
        store.append(run, (to_dict(event) for _, event in facts(study)))
        store.set_state(run, "finished", release=True)
        store.close()
        try:
            yield
        finally:
            os.environ.pop("SCORETRACE_HOME")
            if old is not None:
                os.environ["SCORETRACE_HOME"] = old


class Fixed(LocalSession):
    """The session of this machine, whose runs are an hour old; a worker may seem to be at work, and runs to wait."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self.waiting: list[int] = []
        self.slots: list[SlotText] = []

    def runs(self) -> Sequence[Run]:
        """The store's runs, before them those that wait."""
        found = [replace(run, created=time.time() - 3600) for run in super().runs()]
        return [*(replace(found[0], id=run, state="queued", detail="") for run in self.waiting), *found]

    def queue(self) -> Sequence[int]:
        """Those that wait."""
        return self.waiting

    def status(self) -> Status:
        """At work while slots are writing."""
        return Status("running", "", 1_240_000_000) if self.slots else super().status()

    def live(self) -> Sequence[SlotText]:
        """What the slots are writing."""
        return self.slots


async def pictures(
    size: tuple[int, int], scenes: Sequence[Scene] = SCENES, kept: Callable[[str], str] = lambda name: ""
) -> dict[str, str]:
    """The SVG of each scene at a size, by its name; a home must be open. `kept` gives what is expected, if anything."""
    session = Fixed(store_path())
    parts = replace(
        late_parts(session), preview_report=lambda run: REPORT, open_items=lambda run: ["10 Hardware: unknown"],
        asks=lambda run: (), look=None,
    )  # fmt: skip
    app = ScoretraceApp(
        session, None, parts=parts, studies=(embedded(),), view_of=session.store.run(1),
        preferences=Preferences(animation=False),
    )  # fmt: skip
    found = {}
    try:
        async with app.run_test(size=size) as pilot:
            await settled(pilot, lambda: "6 of 60 consistent" in shown(app), "the run", 300)
            await settled(pilot, lambda: not app.desk.matches.busy, "all matches", 300)
            for scene in scenes:
                scene.before(session)
                found[scene.name] = await one(pilot, app, scene, kept(scene.name))
    finally:
        session.close()
    return found


async def one(pilot: Pilot[int], app: ScoretraceApp, scene: Scene, kept: str) -> str:
    """The SVG of one scene: once it is the `kept` one, or when nothing moves any more and that one is long due."""
    for key in scene.keys:
        await pilot.press(key)
    await settled(pilot, lambda: scene.text in shown(app), f"{scene.text!r} in {scene.name}", 300)
    screen = app.base_screen
    if screen is not None:
        screen.say("")
    last, same, due = "", 0, time.monotonic() + (PATIENCE if kept else 0)
    while same < 3 or time.monotonic() < due:
        await pilot.pause(0.1)
        now = tidy(app.export_screenshot(title="Scoretrace", simplify=True))
        if now == kept:
            return now
        last, same = now, same + 1 if now == last else 0
    return last


def tidy(svg: str) -> str:
    """Without fonts from elsewhere, and with a line for each element, so that differences can be read."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    return re.sub(r"><(?=text|rect|g|/g)", ">\n<", svg)


def path_of(name: str, size: tuple[int, int]) -> Path:
    """Where a snapshot lies."""
    return SNAPSHOTS / f"{name}-{size[0]}x{size[1]}.svg"


PLAIN = SNAPSHOTS / "run-no-color-80x24.svg"


def text_of(path: Path) -> str:
    """A picture as it is kept; empty where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def nothing(path: Path) -> str:
    """Nothing is expected: all pictures are made anew."""
    return ""


def snapshots(kept: Callable[[Path], str] = nothing) -> dict[Path, str]:
    """Every snapshot by its file; `kept` gives what is expected there, to be waited for."""
    os.environ.pop("NO_COLOR", None)
    found: dict[Path, str] = {}
    for size in SIZES:
        made = asyncio.run(pictures(size, kept=lambda name, size=size: kept(path_of(name, size))))
        found.update({path_of(name, size): svg for name, svg in made.items()})
    os.environ["NO_COLOR"] = "1"
    try:
        only = [scene for scene in SCENES if scene.name == "run"]
        plain = asyncio.run(pictures((80, 24), only, lambda name: kept(PLAIN)))
    finally:
        os.environ.pop("NO_COLOR")
    return {**found, PLAIN: plain["run"]}


def documents(kept: Callable[[Path], str] = nothing) -> dict[Path, str]:
    """The pictures in the documents."""
    wanted = [scene for scene in SCENES if scene.name in DOCUMENTS]
    made = asyncio.run(pictures((100, 30), wanted, lambda name: kept(PICTURES / f"{name}.svg")))
    return {PICTURES / f"{name}.svg": svg for name, svg in made.items()}


def main() -> None:
    """Renew everything."""
    os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
    with home():
        for path, svg in {**snapshots(), **documents()}.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(svg, encoding="utf-8")
            print(path.name)


if __name__ == "__main__":
    main()
