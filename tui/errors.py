"""Errors of the front.

StudyError      a study file is wrong: names the file, the key, what was expected
"""

from __future__ import annotations


class StudyError(Exception):
    """A study file is missing, is no TOML, or holds a key or value that is not understood."""
