"""Stub."""
from __future__ import annotations
from textual.app import ComposeResult
from tui.screens.base import BaseScreen
from tui.widgets.text import TextView

class ReportScreen(BaseScreen):
    """Stub."""
    PLACE = "report"
    def body(self) -> ComposeResult:
        """Stub."""
        yield TextView()
