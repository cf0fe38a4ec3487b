"""Errors of the report.

LiteratureError
└── ReportError     the report cannot be written, or its study file is not readable; names the path and the remedy
"""

from __future__ import annotations

from literature.errors import LiteratureError


class ReportError(LiteratureError):
    """The report cannot be written where it was asked for; its text names the path and the remedy."""
