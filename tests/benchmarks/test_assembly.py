"""Programs of other languages are put together as the harness does it, quirks included."""

from __future__ import annotations

import pytest

from engine.benchmarks.assembly import CPP_PRELUDE, assemble
from engine.errors import BenchmarkError
from engine.protocols import Problem

SETUP = 'package main\n\nimport (\n    "testing"\n    "github.com/stretchr/testify/assert"\n)\n'


def problem(**extra: str) -> Problem:
    """A problem of which only the test and these fields matter."""
    return Problem("X/0", "f", "", "", "", "\nTEST", "", "", extra=extra)


def test_javascript_is_candidate_and_test() -> None:
    """Nothing is added to a JavaScript program."""
    program = assemble("js", problem(), "const f = 1")
    assert (program.prelude, program.candidate, program.test) == ("", "const f = 1", "\nTEST")
    assert (program.language, program.entry_point) == ("js", "f")


def test_java_loses_an_empty_main() -> None:
    """The empty class Main that models add would clash with the tests' one."""
    text = "class Solution {}\npublic class Main {\n    }\n"
    assert assemble("java", problem(), text).candidate == "class Solution {}"
    assert "Main" in assemble("java", problem(), "public class Main { }").candidate


def test_cpp_is_cut_at_its_main() -> None:
    """Twenty-one lines come first, `using namespace` before the includes; a main of the candidate's own is cut off."""
    program = assemble("cpp", problem(), "int f() { return 1; }\nint main() { f(); }")
    assert program.candidate == "int f() { return 1; }"
    lines = CPP_PRELUDE.splitlines()
    assert (len(lines), lines[0], lines[1]) == (21, "using namespace std;", "#include<stdlib.h>")


def test_go_imports_what_is_used() -> None:
    """Packages that a line names are imported, unless the line is a comment or the candidate imports them itself."""
    program = assemble("go", problem(test_setup=SETUP), "// strings.Join\nfunc f() { math.Abs(1); sort.Ints(nil) }")
    assert program.prelude.endswith('import (\n    "math"\n    "sort"\n)\n')
    own = assemble("go", problem(test_setup=SETUP), 'import (\n    "math"\n)\nfunc f() { math.Abs(1) }')
    assert own.prelude == SETUP + "\n"


def test_go_set_up_gives_way_to_the_candidate() -> None:
    """A package line and imports of the candidate's own are not there twice."""
    program = assemble("go", problem(test_setup=SETUP), 'package main\nimport "testing"\nfunc f() {}')
    assert "package main" not in program.candidate and program.prelude.startswith("package main")
    assert '"testing"' not in program.prelude and "testify" in program.prelude


def test_go_imports_the_last_part_of_a_path_only() -> None:
    """The harness imports `rand` for math/rand, which does not compile; so does this."""
    assert '"rand"' in assemble("go", problem(test_setup=SETUP), "func f() { rand.Int() }").prelude


def test_rust_gets_the_lines_that_it_lacks() -> None:
    """The declaration's lines and a main come first where the candidate lacks them; a second main ends it."""
    declared = problem(declaration="use md5;\nuse rand::Rng;\n\nfn f(x: i32) -> i32{")
    program = assemble("rust", declared, "use md5;\nfn f(y: i32) {}")
    assert program.prelude == "fn main(){}\nuse rand::Rng;\n"
    twice = assemble("rust", declared, "fn main(){}\nfn f() {}\nfn main() { f() }")
    assert twice.candidate == "fn main(){}\nfn f() {}\n" and not twice.prelude.startswith("fn main")


def test_an_unknown_language_is_told() -> None:
    """A language without a rule is an error that names the known ones."""
    with pytest.raises(BenchmarkError, match="js, java, go, cpp, rust"):
        assemble("cobol", problem(), "")
