"""Rust: the tests of one file, built as `cargo test` builds them; a program passes with exit status 0.

The harness's package has the crates rand 0.4, regex 1 and md5 0.7. Nothing is fetched here: their `use` lines, which
every problem carries, are left out where nothing else names the crate; a program that does use one is not judged.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from engine.protocols import Program
from engine.sandbox.toolchains.base import Kit, Recipe, Toolchain, ToolchainMissing, beyond_system, first_line, located
from engine.sandbox.toolchains.base import source as joined

_USES = re.compile(r"^[ \t]*use (?:rand::Rng|regex::Regex|md5);[ \t]*$", re.MULTILINE)
_CRATES = re.compile(r"\b(rand|regex|md5)\s*::|\b(Regex|Rng)\b|\bextern\s+crate\s+(\w+)|\buse\s+(rand|regex|md5)\b")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Rust(Toolchain):
    """`rustc --test` with the settings of cargo's test profile."""

    language = "rust"
    package = "sudo apt install rustc, or rustup from https://rustup.rs"
    wrong = re.compile(r"panicked at")

    def find(self) -> Kit:
        """The compiler below its root, without rustup's front, and the linker that it calls."""
        front = _rustup() or located("rustc", self.package)
        root = first_line(front, "--print", "sysroot", package=self.package)
        version = first_line(front, "--version", package=self.package)
        located("cc", "sudo apt install gcc")
        return Kit(f"{version}, no crates", {"rustc": f"{root}/bin/rustc"}, beyond_system(root))

    def recipe(self, kit: Kit, program: Program, memory: int) -> Recipe:
        """One file, one binary of tests."""
        text = _USES.sub("", joined(program))
        named = _CRATES.search(_COMMENT.sub("", text))
        if named:
            name = next(found for found in named.groups() if found)
            crate = {"Regex": "regex", "Rng": "rand"}.get(name, name)
            raise ToolchainMissing(f"the program uses the crate {crate}; crates are not at hand here")
        build = (kit.programs["rustc"], "--edition", "2021", "--test", "-C", "debuginfo=0", "-o", "tests", "test.rs")
        return Recipe({"test.rs": text}, ("./tests",), build)


def _rustup() -> str:
    """The unresolved name of rustup's front, which tells by its name what it stands for; empty where there is none."""
    found = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))
    return found if found and os.path.realpath(found).endswith("rustup") else ""
