"""Runs made by the real engine over a fake model, for bundles: real benchmarks, or one that a fake judge knows."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cache.store import Store
from engine.control import Control
from engine.events import StateChanged
from engine.protocols import Benchmark, Generation, Limits, ModelCard, Outcome, Problem, Program, Request, Sandbox
from engine.recorder import Recorder
from engine.run import Parts, Runner
from engine.settings import Grid, reference_grid
from tui import study as studies
from tui.local import job_of
from tui.study import ModelChoice, Study

PIECE = 6
"""Bytes of a token of a reply: a shorter limit cuts inside words, and inside characters of several bytes."""
PROMPT = 495
"""Tokens of every prompt, so that a limit of 512 cuts most replies and one of 2048 cuts none."""


class FakeModel:
    """Replies are the correct or the buggy body of the problem whose header stands in the prompt, by a hash."""

    chat_template = ""
    special_tokens: Mapping[str, str] = {"eos_token": "</s>"}

    def __init__(self, precision: str, benchmark: Benchmark) -> None:
        self._precision = precision
        self._bodies = [(p.header.strip(), (p.canonical, p.buggy)) for p in benchmark.problems]
        self._about: dict[tuple[int, ...], tuple[str, str]] = {}
        self._pieces: list[bytes] = []

    @property
    def card(self) -> ModelCard:
        """A card that tells one precision from another."""
        file = hashlib.sha256(self._precision.encode()).hexdigest()
        return ModelCard(
            name="Fake", path=f"/models/fake-{self._precision}.gguf", sha256=file, source_sha256="5" * 64,
            recipe=self._precision, architecture="fake", parameters=1, template_sha256="", tensor_types={"F16": 1},
            numerics={"build": "none", "device": "cpu", "width": "4"}, metadata={"model": "Fake"},
        )  # fmt: skip

    def tokenize(self, prompt: str) -> tuple[int, ...]:
        """PROMPT numbers that stand for the prompt; what it is about is remembered."""
        first = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:3], "big")
        tokens = (first,) + (1,) * (PROMPT - 1)
        about = next((bodies for header, bodies in self._bodies if header in prompt), None)
        if about:
            self._about[tokens] = about
        return tokens

    def detokenize(self, tokens: Sequence[int]) -> str:
        """What the pieces say; an unfinished character is a replacement mark."""
        return b"".join(self._pieces[token] for token in tokens).decode("utf-8", "replace")

    def generate(
        self, requests: Iterator[Request] | Sequence[Request], tick: Callable[[], bool] = lambda: True
    ) -> Iterator[Generation]:
        """One reply a request, in order."""
        for request in requests:
            if not tick():
                return
            yield self._reply(request)

    def _reply(self, request: Request) -> Generation:
        draw = int(hashlib.sha256(request.key.encode()).hexdigest(), 16)
        body = self._about[request.prompt][draw % 3 != 0].rstrip()
        data = (body + "\n    # größe " + "é" * (draw % 90) + "\nThat is all.").encode()
        pieces = [data[i : i + PIECE] for i in range(0, len(data), PIECE)][: request.limit]
        tokens = tuple(range(len(self._pieces), len(self._pieces) + len(pieces)))
        self._pieces += pieces
        whole = len(pieces) * PIECE >= len(data)
        return Generation(request.key, self.detokenize(tokens), tokens, "end" if whole else "limit", 0.01)

    def close(self) -> None:
        """Nothing to free."""


@dataclass
class FakeBenchmark:
    """Sixty problems that `FakeSandbox` can judge by looking."""

    size: int = 60
    name: str = "humanevalfixtests-python"
    stop_words: tuple[str, ...] = ("\nclass", "\ndef", "\n#", "\nif")
    limits: Limits = field(default_factory=Limits)
    sha256: str = "ab" * 32

    @property
    def problems(self) -> tuple[Problem, ...]:
        """P/0, P/1, ..."""
        return tuple(
            Problem(
                task_id=f"P/{i}", entry_point=f"f{i}", header=f"def f{i}(x):\n",
                context=f"def f{i}(x):\n    return bad\n",
                instruction=f"Fix bugs in f{i}.", test=f"check(f{i})", canonical=f"    return good + {i}\n",
                buggy=f"    return bad + {i}\n",
            )
            for i in range(self.size)
        )  # fmt: skip

    def program(self, problem: Problem, candidate: str) -> Program:
        """The candidate under the problem's test."""
        return Program("", candidate, problem.test, problem.entry_point)

    def facts(self) -> Mapping[str, Any]:
        """Ships with nothing."""
        return {"source": "part of Scoretrace (made for a test)", "revision": "1", "licence": "MIT"}


@dataclass
class FakeSandbox:
    """Reads the candidate instead of running it; `identity` may be changed to stand for another machine."""

    level: str = "fake"
    identity: str = '{"mode": "fake"}'
    runs: int = 0

    def run(self, program: Program, limits: Limits) -> Outcome:
        """Passed when `good` is in the body."""
        self.runs += 1
        return Outcome("passed" if "good" in program.candidate else "failed", level=self.level, seconds=0.01)

    def close(self) -> None:
        """Nothing to end."""


def make_run(
    store: Store,
    benchmark: Benchmark,
    sandbox: Sandbox,
    grid: Grid | None = None,
    tables: Any = (),
    data: str = "",
    repeats: int = 0,
    seeded: Callable[[int], Sandbox] | None = None,
) -> int:
    """A finished run of the reference study's 60 settings over a benchmark, through the real engine.

    Its programs are executed again in what `seeded` opens, under so many other seeds.
    """
    grid = grid or reference_grid(benchmark.name, ("instruct", "octocoder"))
    choice = ModelChoice("fake", "/models/fake.gguf", ("DeepSeekCoder-Inst (1.3B)",))
    study = Study("Bundle", grid, (choice,), tables=tuple(tables), data=data, note="Can a stranger score it again?",
                  repeats=repeats)  # fmt: skip
    job = job_of(study)
    run = store.create_run(study.name, studies.dumps(study), job.as_dict())
    recorder = Recorder(store, run)
    recorder.event(StateChanged("running"))
    parts = Parts(
        lambda name: benchmark, lambda name, precision, slots: FakeModel(precision, benchmark), lambda: sandbox,
        seeded=seeded,
    )  # fmt: skip
    state = Runner(job, parts, recorder, Control(recorder)).run()
    recorder.event(StateChanged(state))
    recorder.flush()
    store.set_state(run, state, release=True)
    return run


def members(path: Path) -> dict[str, bytes]:
    """A bundle's members."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repack(path: Path, changed: Mapping[str, bytes], *, honest: bool = True) -> None:
    """Write a bundle with changed members; `honest` leaves the manifest alone, else it is made to fit the changes."""
    from tui.bundle_file import MANIFEST, write

    found = {**members(path), **changed}
    manifest = json.loads(found.pop(MANIFEST))
    if not honest:
        about = {name: value for name, value in manifest.items() if name not in ("schema", "version", "files")}
        write(path, found, about)
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {MANIFEST: json.dumps(manifest).encode(), **found}.items():
            archive.writestr(name, content)


def edited(lines: bytes, number: int, change: Callable[[dict[str, Any]], None]) -> bytes:
    """JSON Lines with one row changed."""
    rows = lines.decode().splitlines(keepends=True)
    row = json.loads(rows[number])
    change(row)
    rows[number] = json.dumps(row, separators=(",", ":")) + "\n"
    return "".join(rows).encode()


def outcomes_of(store: Store, run: int) -> dict[tuple[str, str, int], str]:
    """(configuration, task id, sample) -> kind, as recorded."""
    return {(b["configuration"], b["task_id"], b["sample"]): b["kind"] for b in store.events_of(run, "Judged")}
