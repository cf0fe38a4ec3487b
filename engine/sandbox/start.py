"""Where a fork server starts: before anything is imported, room for its objects is taken in one piece.

Objects that lie in one piece can be put in large pages later (`engine.sandbox.memory`). So nothing is imported above.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROOM, _ARENA, _SIZE = 6 << 20, 1 << 20, 512


def main(fd: int, config: dict[str, Any]) -> None:
    """Run `engine.sandbox.forkserver.main` with these arguments."""
    taken = [bytes(_SIZE - 33) for _ in range(_ROOM // _SIZE)]
    held = taken[:: _ARENA // _SIZE // 2]  # two in each arena, which is given back to the system when it is empty
    del taken

    from engine.sandbox import forkserver

    forkserver.main(fd, config)
    del held
