"""Work that may take seconds (a download, a large report), done beside the screen; the app's clock fetches it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Errand(Generic[T]):
    """Runs `work` in a thread that never keeps the app from leaving; `take` gives its result or raises its error."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="errand", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:  # noqa: BLE001 - carried to the thread that takes the result
            self._error = error

    @property
    def done(self) -> bool:
        """True when `take` will not wait."""
        return not self._thread.is_alive()

    def take(self) -> T:
        """The result."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result[0]
