"""What a toolchain says of its language: where it is, what to write, compile and run, and what counts as a pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.protocols import Program

SCRATCH = "/scratch"
"""The one folder a program may write to: a small file system in memory, gone with the program."""

SYSTEM_PATHS = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/dev/null", "/dev/zero",
                "/dev/urandom", "/dev/random")  # fmt: skip
"""What every program of these languages sees, read-only: the system's software, and none of the user's files."""

_FIND_S = 30.0


class ToolchainMissing(Exception):
    """A compiler, run time or library is not here; the message says what to install."""


@dataclass(frozen=True)
class Kit:
    """A toolchain as found: its version line, its programs by name, folders to show besides the system's, variables.

    `libraries` are those optional ones that are here; `built` is a folder of what was built beforehand.
    """

    version: str
    programs: Mapping[str, str]
    paths: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    libraries: frozenset[str] = frozenset()
    built: str = ""


@dataclass(frozen=True)
class Recipe:
    """One program's files below the scratch folder, the command that compiles them (none: empty) and the one to run.

    `links` are folders below the scratch folder that are filled with links to the files of a read-only one.
    """

    files: Mapping[str, str]
    run: tuple[str, ...]
    compile: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """How a command ended: `ended`, `cpu` or `wall`; exit code (or -signal), start of its output, CPU s."""

    why: str
    code: int
    out: str
    err: str
    cpu: float


class Toolchain:
    """A language; the defaults are those of a compiled one whose programs pass with exit status 0."""

    language: str
    package: str
    memory = 1 << 28
    """Bytes that the run time needs for itself, on top of a program's limit."""

    out_of_memory = re.compile(r"bad_alloc|OutOfMemory|out of memory|memory allocation of|Cannot allocate memory")
    wrong = re.compile(r"[Aa]ssert|panicked at|--- FAIL")

    def find(self) -> Kit:
        """What is on this machine. Raises ToolchainMissing."""
        raise NotImplementedError

    def recipe(self, kit: Kit, program: Program, memory: int) -> Recipe:
        """How to compile and run a program within `memory` bytes. Raises ToolchainMissing for a library not here."""
        raise NotImplementedError

    def passed(self, ran: Ran) -> bool:
        """The harness's rule."""
        return ran.code == 0

    def error_line(self, text: str) -> str:
        """The first line of a compiler's messages that tells an error."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")

    def told(self, ran: Ran) -> str:
        """The line of a failed program's output that tells the most."""
        lines = [line.strip() for line in (ran.err + "\n" + ran.out).splitlines() if line.strip()]
        return next((line for line in lines if self.wrong.search(line)), lines[0] if lines else "")


def source(program: Program) -> str:
    """Import lines, candidate and tests as one text, joined as the harness joins them."""
    return "\n".join(part for part in (program.prelude, program.candidate, program.test) if part)


def located(name: str, package: str) -> str:
    """The program's real path. Raises ToolchainMissing."""
    found = shutil.which(name) or shutil.which(name, path=f"{Path.home()}/.cargo/bin:/usr/local/go/bin")
    if not found:
        raise ToolchainMissing(f"{name} is not installed (Debian, Ubuntu: {package})")
    return os.path.realpath(found)


def first_line(*command: str, package: str) -> str:
    """The first line that a program of the toolchain prints. Raises ToolchainMissing when it does not run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FIND_S, check=True, cwd="/")
    except (OSError, subprocess.SubprocessError) as e:
        raise ToolchainMissing(f"{command[0]} does not run ({e}): try {package}") from e
    return (done.stdout or done.stderr).strip().partition("\n")[0]


def beyond_system(*places: str) -> tuple[str, ...]:
    """Those folders that the system's own do not hold."""
    return tuple(place for place in places if place and not place.startswith("/usr/"))
