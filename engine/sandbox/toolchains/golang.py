"""Go: `go test` on one file; a program passes with exit status 0.

The harness's tests import testify, of which they call `assert.New` and `Equal` only. Nothing is fetched here: a
module of our own under that name does what testify 1.8 does for those two, and is named in the version.
"""

from __future__ import annotations

from engine.protocols import Program
from engine.sandbox.toolchains.base import SCRATCH, Kit, Recipe, Toolchain, beyond_system, first_line, located, source

_MODULE = "github.com/stretchr/testify"
_ASSERT = """package assert

import (
	"bytes"
	"fmt"
	"reflect"
)

type TestingT interface {
	Errorf(format string, args ...interface{})
}

type Assertions struct {
	t TestingT
}

func New(t TestingT) *Assertions {
	return &Assertions{t}
}

func ObjectsAreEqual(expected, actual interface{}) bool {
	if expected == nil || actual == nil {
		return expected == actual
	}
	exp, ok := expected.([]byte)
	if !ok {
		return reflect.DeepEqual(expected, actual)
	}
	act, ok := actual.([]byte)
	if !ok {
		return false
	}
	if exp == nil || act == nil {
		return exp == nil && act == nil
	}
	return bytes.Equal(exp, act)
}

func Equal(t TestingT, expected, actual interface{}, msgAndArgs ...interface{}) bool {
	if isFunction(expected) || isFunction(actual) {
		t.Errorf("Error: Invalid operation: cannot take func type as argument")
		return false
	}
	if !ObjectsAreEqual(expected, actual) {
		t.Errorf("Error: Not equal: expected: %s actual: %s", show(expected), show(actual))
		return false
	}
	return true
}

func (a *Assertions) Equal(expected, actual interface{}, msgAndArgs ...interface{}) bool {
	return Equal(a.t, expected, actual, msgAndArgs...)
}

func isFunction(value interface{}) bool {
	return value != nil && reflect.TypeOf(value).Kind() == reflect.Func
}

func show(value interface{}) string {
	return fmt.Sprintf("%T(%#v)", value, value)
}
"""
_FILES = {
    "go.mod": f"module main\n\ngo 1.18\n\nrequire {_MODULE} v1.8.0\n\nreplace {_MODULE} => ./testify\n",
    "testify/go.mod": f"module {_MODULE}\n\ngo 1.18\n",
    "testify/assert/assertions.go": _ASSERT,
}
_ENVIRONMENT = {
    "GOPATH": f"{SCRATCH}/path", "GOCACHE": f"{SCRATCH}/cache", "GOPROXY": "off", "GOFLAGS": "-mod=mod",
    "GOTOOLCHAIN": "local", "GONOSUMDB": "*", "GOTELEMETRY": "off", "CGO_ENABLED": "0",
}  # fmt: skip


class Go(Toolchain):
    """Builds the tests as `go test` does, with its vetting, and runs them as a step of their own."""

    language = "go"
    package = "sudo apt install golang-go"

    def find(self) -> Kit:
        """The go command and its root."""
        go = located("go", self.package)
        root = first_line(go, "env", "GOROOT", package=self.package)
        version = first_line(go, "version", package=self.package)
        # Debian's root is made of links into a second folder below /usr.
        return Kit(f"{version}, own stand-in for testify 1.8", {"go": go}, beyond_system(root), {"GOROOT": root})

    def recipe(self, kit: Kit, program: Program, memory: int) -> Recipe:
        """`go test` with a runner that does nothing leaves the vetted binary behind."""
        build = (kit.programs["go"], "test", "-exec", "/bin/true", "-o", "tests", "main_test.go")
        limit = {"GOMEMLIMIT": str(memory)}
        return Recipe(
            {**_FILES, "main_test.go": source(program)}, ("./tests", "-test.timeout=0"), build,
            {**_ENVIRONMENT, **limit},
        )  # fmt: skip

    def error_line(self, text: str) -> str:
        """The first line that names a place; the ones before name packages."""
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return lines[0] if lines else ""
