"""JavaScript on node: a program passes when it writes nothing at all (`console.assert` writes)."""

from __future__ import annotations

from pathlib import Path

from engine.protocols import Program
from engine.sandbox.toolchains.base import (
    Kit,
    Ran,
    Recipe,
    Toolchain,
    ToolchainMissing,
    beyond_system,
    first_line,
    located,
    source,
)  # fmt: skip

_MODULE = "js-md5"
_FOLDERS = ("/usr/local/lib/node_modules", "/usr/lib/node_modules", "/usr/share/nodejs")


class JavaScript(Toolchain):
    """The harness's `node test.js`."""

    language = "js"
    package = "sudo apt install nodejs"
    memory = 1 << 29

    def find(self) -> Kit:
        """Node, and the folder of the one module that the harness installs."""
        node = located("node", self.package)
        version = f"node {first_line(node, '--version', package=self.package)}"
        prefix = Path(node).parents[1]
        folders = [place for place in (f"{prefix}/lib/node_modules", *_FOLDERS) if Path(place, _MODULE).is_dir()]
        return Kit(
            f"{version}, {_MODULE} {'here' if folders else 'missing'}",
            {"node": node},
            beyond_system(str(prefix) if str(prefix) != "/usr" else "", *folders[:1]),
            {"NODE_PATH": folders[0]} if folders else {},
            frozenset({_MODULE} if folders else ()),
        )

    def recipe(self, kit: Kit, program: Program, memory: int) -> Recipe:
        """One file; nothing to compile."""
        text = source(program)
        if _MODULE in text and _MODULE not in kit.libraries:
            raise ToolchainMissing(f"the program names the module {_MODULE}: sudo npm install -g {_MODULE}@0.7.3")
        heap = f"--max-old-space-size={max(memory >> 20, 64)}"
        return Recipe({"test.js": text}, (kit.programs["node"], heap, "test.js"))

    def passed(self, ran: Ran) -> bool:
        """No output at all; unlike in the harness, a silent exit status other than 0 is no pass."""
        return ran.code == 0 and not ran.out and not ran.err

    def told(self, ran: Ran) -> str:
        """Node's message, which comes after the place and a caret."""
        lines = [line.strip() for line in (ran.err + "\n" + ran.out).splitlines() if line.strip()]
        return next((line for line in lines if "Assertion" in line or "Error" in line), lines[0] if lines else "")
