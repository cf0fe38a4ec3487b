"""Programs of the languages besides Python, put together as the harness does it.

From bigcode-evaluation-harness (`bigcode_eval/tasks/humanevalpack.py`, `process_results`), with its quirks. Two are
left out because they would make a program depend on others or on a set's order: Go's set-up lines, once removed for one
candidate, stay removed there for the problem's later ones; Go's added imports come in any order there, sorted here.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import BenchmarkError
from engine.protocols import Problem, Program

CPP_PRELUDE = "\n".join(
    ["using namespace std;"]
    + [
        f"#include<{name}>"
        for name in (
            "stdlib.h", "algorithm", "cmath", "math.h", "numeric", "stdio.h", "vector", "set", "map", "queue", "stack",
            "list", "deque", "boost/any.hpp", "string", "climits", "cstring", "iostream", "sstream", "fstream",
        )
    ]
)  # fmt: skip
"""The lines that the harness puts before every C++ candidate."""

GO_PACKAGES = ("math", "strings", "fmt", "strconv", "time", "bytes", "regexp", "sort", "math/rand", "crypto/md5")
"""The packages that the harness imports for a Go candidate that uses them."""

_MAIN = "fn main()"
_JAVA_MAIN = "public class Main {\n    }"


def assemble(language: str, problem: Problem, candidate: str) -> Program:
    """The program that judges a candidate of this language. Raises BenchmarkError for a language not known here."""
    if language not in _WAYS:
        raise BenchmarkError(f"{problem.task_id}: no rule for programs in {language!r}; known: {', '.join(_WAYS)}")
    prelude, text = _WAYS[language](problem, candidate)
    return Program(prelude, text, problem.test, problem.entry_point, language=language)


def _js(problem: Problem, candidate: str) -> tuple[str, str]:
    return "", candidate


def _java(problem: Problem, candidate: str) -> tuple[str, str]:
    return "", candidate.replace(_JAVA_MAIN, "").strip()


def _cpp(problem: Problem, candidate: str) -> tuple[str, str]:
    return CPP_PRELUDE, candidate.split("int main")[0].rstrip()


def _go(problem: Problem, candidate: str) -> tuple[str, str]:
    setup = problem.extra.get("test_setup", "") + "\n"
    for line in setup.split("\n"):
        quoted = line.replace("import", "").replace("(", "").replace(")", "").strip()
        if quoted.startswith('"') and quoted in candidate:
            setup = setup.replace(quoted, "")
    whole = setup + candidate + "\n" + problem.test
    wanted = sorted(name for package in GO_PACKAGES if (name := _go_import(package, whole)))
    imports = "import (\n" + "\n".join(f'    "{name}"' for name in wanted) + "\n)\n" if wanted else ""
    if "package main" in setup:
        candidate = candidate.replace("package main", "")
    return setup + imports, candidate


def _go_import(package: str, whole: str) -> str:
    """What the harness imports for a package: its last part, which for math/rand and crypto/md5 does not compile."""
    name = package.rpartition("/")[2]
    if f'"{package}"' in whole:
        return ""
    used = any(f"{name}." in line and not line.strip().startswith("//") for line in whole.split("\n"))
    return name if used else ""


def _rust(problem: Problem, candidate: str) -> tuple[str, str]:
    before = "" if _MAIN in candidate else f"{_MAIN}{{}}\n"
    for line in problem.extra.get("declaration", "").split("\n"):
        text = line.strip()
        if text in candidate or (text.startswith("fn") and text.split("(")[0] in candidate):
            continue
        before += text + "\n"
    return before, _MAIN.join(candidate.split(_MAIN)[:2])


_WAYS: dict[str, Callable[[Problem, str], tuple[str, str]]] = {
    "js": _js, "java": _java, "go": _go, "cpp": _cpp, "rust": _rust,
}  # fmt: skip
