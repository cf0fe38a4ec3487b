"""Errors of the front.

FrontError
├── StudyError      a study file is wrong: names the file, the key, what was expected
├── OptionError     a command's options do not go together, or a value is not understood
├── TypedError      what was typed into a line of the app is not understood; says what was expected
├── EditorError     the user's editor cannot be opened; says what to set
├── PreferencesError  app.toml is wrong: names the file, the key, what was expected
├── ViewOnlyError   a view was asked to change something
└── BundleError     a bundle cannot be written, or is none; names the file, the member and what was expected
"""

from __future__ import annotations


class FrontError(Exception):
    """Wrong input at the front; its text is one sentence that names the place and the remedy."""


class StudyError(FrontError):
    """A study file is missing, is no TOML, or holds a key or value that is not understood."""


class OptionError(FrontError):
    """A command's options do not go together, or a value is not understood."""


class TypedError(FrontError):
    """A filter, a score or a setting typed into the app is not understood, or cannot be kept as it is."""


class EditorError(FrontError):
    """No editor is set, it is not there, or it cannot be opened from where the app runs."""


class PreferencesError(FrontError):
    """The app's own settings cannot be read, or a key would mean two things."""


class ViewOnlyError(FrontError):
    """A view was asked for something that only the app itself may do."""


class BundleError(FrontError):
    """A bundle cannot be written or read; its text names the file, the member in it and the remedy."""
