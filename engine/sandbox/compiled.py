"""Judges programs of other languages: one helper process, a jail for each program, the toolchain's rule for a pass."""

from __future__ import annotations

import functools
import os
from typing import Any

from engine.errors import SandboxUnavailable
from engine.protocols import Limits, Outcome, Program
from engine.sandbox import wire
from engine.sandbox.confine import NAMESPACES
from engine.sandbox.helper import Helper
from engine.sandbox.server import READY_S
from engine.sandbox.toolchains import TOOLCHAINS, Kit, Ran, Recipe, Toolchain, ToolchainMissing
from engine.sandbox.toolchains.base import SCRATCH, SYSTEM_PATHS

LEVEL = f"{NAMESPACES}, scratch"
"""Level of these outcomes: namespaces and filters that leave room for a compiler, and a folder in memory."""

MODE = "same process"
"""The tests are part of the program: confined, but nothing keeps a hostile one from a pass."""

COMPILE = Limits(cpu_s=120.0, wall_s=600.0, memory=4 << 30)
"""What a compiler may use, apart from what its program may; memory for each of its processes."""

_COMPILER_PROCESSES, _THREADS = 256, 128
_GRACE_S = 20.0
_DETAIL = 300


@functools.cache
def found(language: str) -> Kit | str:
    """The toolchain as found once in this process's life, or why it is not here."""
    try:
        return TOOLCHAINS[language].find()
    except ToolchainMissing as e:
        return str(e)


def version(language: str) -> str:
    """What goes into an outcome's identity; empty where the toolchain is not here."""
    kit = found(language)
    return kit.version if isinstance(kit, Kit) else ""


class NoJudge:
    """Stands where programs of a language cannot be judged, and says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def ask(self, program: Program, limits: Limits) -> Outcome:
        """Unavailable."""
        return Outcome("unavailable", self._why)

    def stop(self) -> None:
        """Nothing to end."""


class CompiledJudge:
    """Compiles and runs programs of one language, one at a time."""

    def __init__(self, language: str) -> None:
        self._toolchain: Toolchain = TOOLCHAINS[language]
        self._language = language
        self._helper: Helper | None = None

    def ask(self, program: Program, limits: Limits) -> Outcome:
        """The outcome of one program; a kill from outside (out of memory, say) is no outcome and is tried once more."""
        kit = found(self._language)
        if not isinstance(kit, Kit):
            return Outcome("unavailable", kit, MODE)
        try:
            recipe = self._toolchain.recipe(kit, program, limits.memory)
            for last in (False, True):
                steps = self._steps(kit, recipe, limits)
                if last or steps[-1].code != -9 or steps[-1].why != "ended":
                    break
        except ToolchainMissing as e:
            return Outcome("unavailable", str(e), MODE)
        except wire.Malformed as e:
            return Outcome("unavailable", f"the program does not fit in a message: {e}", MODE)
        except TimeoutError:
            return Outcome("unavailable", "the helper process did not answer", MODE)
        except SandboxUnavailable as e:
            return Outcome("unavailable", str(e), MODE)
        return verdict(self._toolchain, recipe, steps, limits)

    def _steps(self, kit: Kit, recipe: Recipe, limits: Limits) -> list[Ran]:
        if self._helper is None:
            self._helper = Helper("jail", {"seed": 0, "paths": [*SYSTEM_PATHS, *kit.paths]})
        job = _job(self._toolchain, kit, recipe, limits)
        answer = self._helper.exchange(job, sum(step["wall"] for step in job["steps"]) + READY_S + _GRACE_S)
        if "error" in answer:
            raise SandboxUnavailable(str(answer["error"]))
        return [Ran(s["why"], s["code"], s["out"], s["err"], s["cpu"]) for s in answer["steps"]]

    def stop(self) -> None:
        """End the helper process for good."""
        if self._helper is None:
            self._helper = Helper("jail", {})
        self._helper.stop()


def _job(toolchain: Toolchain, kit: Kit, recipe: Recipe, limits: Limits) -> dict[str, Any]:
    steps = [_step(recipe.compile, COMPILE, COMPILE.memory, _COMPILER_PROCESSES)] if recipe.compile else []
    steps.append(_step(recipe.run, limits, limits.memory + toolchain.memory, _THREADS))
    environment = {
        "PATH": os.defpath, "HOME": SCRATCH, "TMPDIR": f"{SCRATCH}/tmp", "LC_ALL": "C.UTF-8",
        **kit.environment, **recipe.environment,
    }  # fmt: skip
    return {
        "files": dict(recipe.files), "links": dict(recipe.links), "steps": steps, "environment": environment,
    }  # fmt: skip


def _step(command: tuple[str, ...], limits: Limits, memory: int, processes: int) -> dict[str, Any]:
    """A command with its limits; a program may start threads only, a compiler processes, too."""
    return {
        "command": list(command), "cpu": limits.cpu_s, "wall": limits.wall_s, "memory": memory,
        "processes": processes, "alone": processes == _THREADS,
    }  # fmt: skip


def verdict(toolchain: Toolchain, recipe: Recipe, steps: list[Ran], limits: Limits) -> Outcome:
    """The outcome that the commands' reports come to; `Outcome.seconds` is the program's own CPU time."""
    compiling = bool(recipe.compile) and (len(steps) == 1)
    last, used = steps[-1], COMPILE if compiling else limits
    kind, detail = _kind(toolchain, last, used, compiling)
    return Outcome(kind, _one_line(detail), MODE, seconds=0.0 if compiling else last.cpu)


def _kind(toolchain: Toolchain, ran: Ran, used: Limits, compiling: bool) -> tuple[str, str]:
    where = ", compiling" if compiling else ""
    if ran.why == "cpu" or ran.code == -24 or (ran.code == -9 and ran.cpu >= used.cpu_s):
        return "timeout", f"{used.cpu_s:g} s of CPU time{where}"
    if ran.why == "wall":
        return "timeout", f"{used.wall_s:g} s of wall time{where}"
    if not compiling and toolchain.passed(ran):
        return "passed", ""
    text = ran.err + ran.out
    if toolchain.out_of_memory.search(text):
        return "memory", f"{toolchain.told(ran)}{where}"
    if compiling:
        return "syntax error", toolchain.error_line(text)
    if toolchain.wrong.search(text):
        return "failed", toolchain.told(ran)
    if ran.code < 0:
        return "crash", f"signal {_signal(-ran.code)} {toolchain.told(ran)}"
    if text:
        return ("exception" if ran.code else "failed"), toolchain.told(ran)
    return "exited early", f"exit code {ran.code}"


def _signal(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _DETAIL else flat[: _DETAIL - 1] + "…"
