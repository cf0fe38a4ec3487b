"""The real functions behind the app's screens: problems, prompts, programs and reports of the attached run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cache.store import StoredGeneration
from engine import prompts
from engine.again import Again
from engine.benchmarks import open_benchmark
from engine.cells import Reading
from engine.chat import ChatTemplate, template_key
from engine.errors import EngineError, ImportedError
from engine.extraction import extraction_names
from engine.imports.records import AS_STORED
from engine.job import Job
from engine.protocols import Benchmark, Problem
from engine.settings import UNKNOWN, Configuration
from tui.local import LocalSession
from tui.parts import Extracted, Intake, Parts, Prompt, Read

if TYPE_CHECKING:
    from tui.doctor import Finding


def app_parts(session: LocalSession) -> Parts:
    """Parts that read the attached run's benchmark files and write its report into `reports/` of the data folder."""
    from cache.paths import home
    from tui import reporting, stated

    facts = RunFacts(session)

    def write(run: int) -> tuple[Path, ...]:
        return reporting.write_report(session.store, run, home() / "reports" / f"run-{run}")

    return Parts(
        problem=facts.problem,
        prompt=facts.prompt,
        read=facts.read,
        candidate=facts.candidate,
        program=facts.program,
        extractions=facts.extractions,
        again=facts.again,
        no_room=facts.no_room,
        take_generations=take_generations,
        preview_report=lambda run: reporting.preview(session.store, run),
        write_report=write,
        open_items=lambda run: reporting.open_items(session.store, run),
        asks=lambda run: stated.asks(session.store, run),
        look=look,
        state=lambda run, key, value: stated.state(session.store, run, key, value),
    )


class RunFacts:
    """What screens ask about problems and programs of the attached run; benchmark files are read once."""

    def __init__(self, session: LocalSession) -> None:
        self._session = session
        self._benchmark = lru_cache(maxsize=8)(open_benchmark)
        self._loaded: dict[tuple[int, str, str], tuple[str, str]] = {}

    def _of(self, name: str) -> Benchmark:
        run = self._session.run
        job = Job.from_dict(self._session.store.run(run).job) if run is not None else None
        return self._benchmark(name, job.data.get(name) if job else None)

    def problem(self, benchmark: str, task_id: str) -> Problem | None:
        """A benchmark item, None when the benchmark has none of that id."""
        return next((problem for problem in self._of(benchmark).problems if problem.task_id == task_id), None)

    def prompt(self, configuration: Configuration, task_id: str) -> Prompt | None:
        """What was tokenised, in pieces; `TemplateError` when it cannot be rendered without the model's file."""
        problem = self.problem(configuration.benchmark, task_id)
        if problem is None or configuration.template == UNKNOWN:
            return None
        benchmark, chat = self._of(configuration.benchmark), self._chat(configuration)
        text = prompts.render(
            configuration.template, benchmark, problem, prefill=configuration.prefill, chat=chat
        )  # fmt: skip
        notes = list(prompts.notes(configuration.template, benchmark, chat))
        if chat is not None and chat.adds_bos:
            notes.append(f"the tokenizer puts {chat.bos_token or 'its bos token'} before it")
        return Prompt(pieces(text, problem, prefill=configuration.prefill), tuple(notes))

    def read(self, configuration: Configuration, stored: StoredGeneration) -> Read:
        """The reply as the configuration's limit leaves it."""
        room = configuration.max_length - stored.n_prompt
        if configuration.max_length == 0 or len(stored.tokens) <= room:
            return Read(stored.text)
        text = self._session.store.prefix(stored.key, room)
        note = f"this configuration reads its first {room} tokens; the whole of it serves longer limits"
        if text is None:
            return Read(stored.text, note + ", and stands below, for their text is not kept", partly=True)
        return Read(text, note)

    def candidate(self, configuration: Configuration, task_id: str, reply: str) -> str:
        """The candidate program that the configuration's extraction makes of a reply; empty for an unknown problem."""
        read = self._reading(configuration)
        return read.program(task_id, reply) if task_id in read.problems else ""

    def program(self, configuration: Configuration, task_id: str, reply: str) -> str:
        """The candidate with prelude and tests, as it was judged."""
        problem = self.problem(configuration.benchmark, task_id)
        if problem is None:
            return ""
        candidate = self.candidate(configuration, task_id, reply)
        program = self._of(configuration.benchmark).program(problem, candidate)
        return "\n".join((program.prelude, program.candidate, program.test))

    def extractions(self, configuration: Configuration, task_id: str, reply: str) -> Sequence[Extracted]:
        """What each extraction makes of a reply, the configuration's own first."""
        own = configuration.extraction
        if own.startswith(AS_STORED):
            return (Extracted(own, reply),)
        found = []
        for name in (own, *(name for name in extraction_names() if name != own)):
            try:
                read = self._reading(replace(configuration, extraction=name))
                program = read.program(task_id, reply)
                found.append(Extracted(name, program, code=read.code_found(task_id, reply)))
            except EngineError as error:
                found.append(Extracted(name, "", problem=str(error)))
        return found

    def again(self, configuration: str, task_id: str, sample: int) -> Again:
        """Go through one sample once more, in a process of its own; `EngineError` with its last words when it fails."""
        store = self._session.store.path
        command = ["engine.again", str(self._session.run), configuration, task_id, str(sample), "--store", str(store)]
        done = subprocess.run(
            [sys.executable, "-P", "-m", *command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
        if done.returncode:
            words = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise EngineError(f"{task_id} cannot be run again: {words}")
        return Again(**json.loads(done.stdout.strip().splitlines()[-1]))

    def no_room(self, configuration: Configuration) -> str:
        """Why its model cannot be loaded once more beside the run's worker; empty when it can."""
        from tui.room import no_room

        run = self._session.run
        return "" if run is None else no_room(self._session.store, run, configuration)

    def _reading(self, configuration: Configuration) -> Reading:
        benchmark = self._of(configuration.benchmark)
        problems = {problem.task_id: problem for problem in benchmark.problems}
        return Reading(configuration, benchmark, problems, self._load(configuration)[0])

    def _chat(self, configuration: Configuration) -> ChatTemplate | None:
        sha = self._load(configuration)[1]
        body = self._session.store.fact(template_key(sha)) if sha else None
        return ChatTemplate(**body) if body is not None else None

    def _load(self, configuration: Configuration) -> tuple[str, str]:
        """The eos token and the hash of the chat template of what was loaded for a configuration; empty if unknown."""
        run = self._session.run
        if run is None:
            return "", ""
        place = (run, configuration.model, configuration.precision)
        if place not in self._loaded:
            for body in self._session.store.events_of(run, "ModelLoaded"):
                found = (str(body.get("eos_token", "")), str(body["card"].get("template_sha256", "")))
                self._loaded[run, body["model"], body["precision"]] = found
        return self._loaded.get(place, ("", ""))


def look() -> Sequence[Finding]:
    """What this machine can do, by `scoretrace doctor`, whose looking must not change this process."""
    from tui.doctor import Finding

    done = subprocess.run(
        [sys.executable, "-P", "-m", "tui", "doctor", "--format", "jsonl"], capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    try:
        return [Finding(**json.loads(line)) for line in done.stdout.splitlines() if line.strip()]
    except (ValueError, TypeError):
        raise EngineError(f"the machine could not be looked at: {done.stdout[:200]}; run `scoretrace doctor`") from None


def take_generations(intake: Intake) -> int:
    """Keep a file of other people's generations as a run, judged here, by the command of that name; the run's id.

    `ImportedError` with the command's last words when it fails.
    """
    command = ["tui", "import-generations", intake.file, "--benchmark", intake.benchmark, "--format", "jsonl"]
    options = {"--data": intake.data, "--kind": intake.kind, "--results": intake.results}
    said = [word for name, text in options.items() if text for word in (name, text)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", *command, *said], capture_output=True, text=True, stdin=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    if done.returncode:
        words = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise ImportedError(words.removeprefix("scoretrace: "))
    return int(json.loads(done.stdout.strip().splitlines()[-1])["run"])


def pieces(text: str, problem: Problem, *, prefill: bool) -> tuple[tuple[str, str], ...]:
    """A prompt cut into (origin, text): what the problem brings, the header that the answer begins with, the template.

    Where a part of the problem is not found as it stands, it counts as the template's.
    """
    head = problem.header.rstrip()
    end = len(text) - len(head) if prefill and head and text.endswith(head) else len(text)
    parts = [part.strip() for part in (problem.prompt, problem.instruction, problem.context) if part.strip()]
    found: list[tuple[str, str]] = []
    start = 0
    pattern = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True))
    for match in re.finditer(pattern, text[:end]) if pattern else ():
        found += [("template", text[start : match.start()]), ("problem", match[0])]
        start = match.end()
    found += [("template", text[start:end]), ("header", text[end:])]
    return tuple(piece for piece in found if piece[1])
