"""Errors of the engine, each of which a user can act on.

EngineError
├── ModelError            a model file is missing, broken, too large, or the build cannot run it
├── BenchmarkError        a benchmark file is missing, malformed, or fails its reference check
├── TemplateError         a prompt template does not render
├── SettingsError         an axis value is not one that the engine knows
├── ImportedError         a file of other people's generations is missing, malformed, or of another benchmark
└── SandboxUnavailable    this machine cannot run untrusted programs in the level asked for
"""

from __future__ import annotations


class EngineError(Exception):
    """Something that stops a run; its text is one sentence that names the place and the remedy."""


class ModelError(EngineError):
    """A model file is missing, broken, too large, or the build cannot run it."""


class BenchmarkError(EngineError):
    """A benchmark file is missing, malformed, or fails its reference check."""


class TemplateError(EngineError):
    """A prompt template does not render."""


class SettingsError(EngineError):
    """An axis value is not one that the engine knows."""


class ImportedError(EngineError):
    """A file of other people's generations is missing, malformed, or of another benchmark."""


class SandboxUnavailable(EngineError):
    """This machine cannot run untrusted programs in the level asked for."""
