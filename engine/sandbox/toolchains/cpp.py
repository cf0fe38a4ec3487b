"""C++: `g++ -std=c++11 test.cpp -lcrypto -lssl`; a program passes with exit status 0."""

from __future__ import annotations

import re
import subprocess

from engine.protocols import Program
from engine.sandbox.toolchains.base import Kit, Recipe, Toolchain, ToolchainMissing, first_line, located, source

_BOOST_LINE = "#include<boost/any.hpp>"
_LIBRARIES = {
    "boost": ("boost/any.hpp", re.compile(r"\bboost\b"), "sudo apt install libboost-dev"),
    "openssl": ("openssl/md5.h", re.compile(r"openssl/"), "sudo apt install libssl-dev"),
}


class Cpp(Toolchain):
    """The harness's command. Boost's header and OpenSSL are left out where missing and no text names them."""

    language = "cpp"
    package = "sudo apt install g++"

    def find(self) -> Kit:
        """The compiler, and which of the two libraries it finds."""
        compiler = located("g++", self.package)
        libraries = frozenset(name for name, (header, _, _) in _LIBRARIES.items() if _includes(compiler, header))
        version = first_line(compiler, "--version", package=self.package)
        found = ", ".join(f"{name} {'here' if name in libraries else 'missing'}" for name in _LIBRARIES)
        return Kit(f"{version}, {found}", {"g++": compiler}, libraries=libraries)

    def recipe(self, kit: Kit, program: Program, memory: int) -> Recipe:
        """One file, one binary."""
        text = source(program)
        if "boost" not in kit.libraries:
            text = text.replace(_BOOST_LINE, "", 1)
        for name, (_, used, package) in _LIBRARIES.items():
            if name not in kit.libraries and used.search(text):
                raise ToolchainMissing(f"the program names {name}, which is not here (Debian, Ubuntu: {package})")
        links = ("-lcrypto", "-lssl") if "openssl" in kit.libraries else ()
        return Recipe({"test.cpp": text}, ("./a.out",), (kit.programs["g++"], "-std=c++11", "test.cpp", *links))


def _includes(compiler: str, header: str) -> bool:
    command = [compiler, "-E", "-x", "c++", "-"]
    done = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=False)
    return done.returncode == 0
