"""`python -m tui` and the `scoretrace` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; the exit status."""
    from tui.cli import run_cli

    return run_cli(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
