"""Java: `javac Main.java`, then class Main; a program passes with exit status 0."""

from __future__ import annotations

from pathlib import Path

from engine.protocols import Program
from engine.sandbox.toolchains.base import Kit, Recipe, Toolchain, beyond_system, first_line, located, source

# The same answers sooner: no counters in /tmp, no optimising compiler, no threads for a collector.
_QUIET = ("-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


class Java(Toolchain):
    """The harness compiles one file, Main.java, whose class Main holds the tests."""

    language = "java"
    package = "sudo apt install default-jdk-headless"
    memory = 3 << 28

    def find(self) -> Kit:
        """A JDK: the compiler and the virtual machine beside it."""
        javac = located("javac", self.package)
        home = Path(javac).parents[1]
        java = str(home / "bin" / "java")
        version = first_line(java, "-version", package=self.package)
        settings = sorted({str(link.resolve().parent) for link in (home / "conf").glob("*") if link.is_symlink()})
        settings += sorted({str(link.resolve()) for link in home.glob("lib/*") if link.is_symlink()})
        return Kit(version, {"javac": javac, "java": java}, beyond_system(str(home), *settings))

    def recipe(self, kit: Kit, program: Program, memory: int) -> Recipe:
        """Compile to the scratch folder, run from there."""
        compiler = (kit.programs["javac"], *(f"-J{option}" for option in _QUIET), "-encoding", "UTF-8", "Main.java")
        heap = f"-Xmx{max(memory >> 20, 16)}m"
        return Recipe(
            {"Main.java": source(program)}, (kit.programs["java"], *_QUIET, heap, "-cp", ".", "Main"), compiler
        )
