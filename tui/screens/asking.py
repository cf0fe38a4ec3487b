"""What a user may ask of the worker of the run that is watched, with why it cannot be asked now."""

from __future__ import annotations

from tui.screens.base import BaseScreen
from tui.session import LIVE
from tui.widgets.progress import STOPPED


class AskingScreen(BaseScreen):
    """A screen with the commands `pause`, `stop`, `resume` and `detach`."""

    def why_not_pause(self) -> str:
        """Only a live run can be paused."""
        state = self.root.desk.run_state
        return "" if state in LIVE else f"The run is {state}: there is nothing to pause."

    def do_pause(self) -> None:
        """Pause, or go on."""
        if self.root.desk.run_state == "paused":
            self.root.wish("resume", "Asked the worker to go on.")
        else:
            self.root.wish("pause", "Asked the worker to pause; what is being decoded is finished first.")

    def why_not_stop(self) -> str:
        """Only a live run can be stopped."""
        state = self.root.desk.run_state
        if state == "queued":
            return "The run waits in the queue: on 5, D takes it out."
        return "" if state in LIVE else f"The run is {state} already."

    def do_stop(self) -> None:
        """Stop."""
        self.root.wish("stop", "Asked the worker to stop; everything finished is kept, and R resumes.")

    def why_not_resume(self) -> str:
        """Only a run without a worker can be resumed."""
        state = self.root.desk.run_state
        return "" if state in STOPPED else f"The run is {state}: only a stopped, failed or died run is resumed."

    def do_resume(self) -> None:
        """A worker again."""
        self.root.resume_run()

    def do_detach(self) -> None:
        """Leave; the run goes on."""
        self.app.exit(0)
