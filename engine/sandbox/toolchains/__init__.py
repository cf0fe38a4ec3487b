"""Languages besides Python: how each one's programs are compiled, run and read. One module for each language."""

from __future__ import annotations

from engine.sandbox.toolchains.base import Kit, Ran, Recipe, Toolchain, ToolchainMissing
from engine.sandbox.toolchains.cpp import Cpp
from engine.sandbox.toolchains.golang import Go
from engine.sandbox.toolchains.java import Java
from engine.sandbox.toolchains.javascript import JavaScript
from engine.sandbox.toolchains.rust import Rust

__all__ = ["TOOLCHAINS", "Kit", "Ran", "Recipe", "Toolchain", "ToolchainMissing"]

TOOLCHAINS: dict[str, Toolchain] = {made.language: made for made in (JavaScript(), Java(), Go(), Cpp(), Rust())}
"""Toolchain of each language, by the language's short name."""
