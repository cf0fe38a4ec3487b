"""Go: `go test` on one file; a program passes with exit status 0.

The harness's tests import testify, of which they call `assert.New` and `Equal` only. Nothing is fetched here: a
module of our own under that name does what testify 1.8 does for those two, and is named in the version.

What every program builds first is the same: that module, and from Go 1.20 on the standard library, too. It is built
once, from trusted text, into a folder that programs see read-only as their build cache: a program takes a fifth of the
CPU time then, and none can leave anything there for another.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from cache.paths import home
from engine.benchmarks.assembly import GO_PACKAGES
from engine.protocols import Program
from engine.sandbox.toolchains.base import (
    SCRATCH,
    Kit,
    Recipe,
    Toolchain,
    ToolchainMissing,
    beyond_system,
    first_line,
    located,
    source,
)  # fmt: skip

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
_WARM = (
    "package main\n\nimport (\n"
    + "".join(
        f'\t_ "{package}"\n' for package in (*GO_PACKAGES, "os", "errors", "unicode", "container/heap", "math/bits")
    )
    + f'\t"testing"\n\t"{_MODULE}/assert"\n)\n\nfunc TestX(t *testing.T) {{\n\tassert.New(t).Equal(1, 1)\n}}\n'
)
_ENVIRONMENT = {
    "GOPATH": f"{SCRATCH}/path", "GOPROXY": "off", "GOFLAGS": "-mod=mod",
    "GOTOOLCHAIN": "local", "GONOSUMDB": "*", "GOTELEMETRY": "off", "CGO_ENABLED": "0",
}  # fmt: skip
_BUILD = ("test", "-exec", "/bin/true", "-o", "tests", "main_test.go")
"""A runner that does nothing leaves the vetted binary behind."""

_WARM_S = 600.0


class Go(Toolchain):
    """Builds the tests as `go test` does, with its vetting, and runs them as a step of their own."""

    language = "go"
    package = "sudo apt install golang-go"

    def find(self) -> Kit:
        """The go command, its root, and the folder of what is built already."""
        go = located("go", self.package)
        root = first_line(go, "env", "GOROOT", package=self.package)
        version = first_line(go, "version", package=self.package)
        built = _built(go, root, version)
        # Debian's root is made of links into a second folder below /usr.
        return Kit(
            f"{version}, own stand-in for testify 1.8", {"go": go}, beyond_system(root, str(built)),
            {"GOROOT": root, "GOCACHE": f"{SCRATCH}/cache"}, built=str(built),
        )  # fmt: skip

    def recipe(self, kit: Kit, program: Program, memory: int) -> Recipe:
        """The module's file and the tests; the stand-in stays where it was built."""
        return Recipe(
            {"go.mod": _module(f"{kit.built}/testify"), "main_test.go": source(program)},
            ("./tests", "-test.timeout=0"),
            (kit.programs["go"], *_BUILD),
            {**_ENVIRONMENT, "GOMEMLIMIT": str(memory)},
            {"cache": f"{kit.built}/cache"},
        )

    def error_line(self, text: str) -> str:
        """The first line that names a place; the ones before name packages."""
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return lines[0] if lines else ""


def _module(stand_in: str) -> str:
    return f"module main\n\ngo 1.18\n\nrequire {_MODULE} v1.8.0\n\nreplace {_MODULE} => {stand_in}\n"


def _built(go: str, root: str, version: str) -> Path:
    """The folder with the stand-in and the build cache, made when this toolchain is first used here.

    Raises ToolchainMissing where it cannot be made. It is built in its place, which is part of the cache's keys.
    """
    import fcntl  # not on every system that imports this module

    name = hashlib.sha256("\0".join((version, root, _ASSERT, _WARM)).encode()).hexdigest()[:16]
    place = home() / "toolchains" / f"go-{name}"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (place / "ready").exists():
                shutil.rmtree(place, ignore_errors=True)
                _build(go, root, place)
                (place / "ready").touch()
    except (OSError, subprocess.SubprocessError) as e:
        told = (getattr(e, "stderr", None) or str(e)).strip().splitlines()
        raise ToolchainMissing(f"go cannot build into {place}: {told[-1] if told else e}") from e
    return place


def _build(go: str, root: str, place: Path) -> None:
    files = {
        "testify/go.mod": f"module {_MODULE}\n\ngo 1.18\n", "testify/assert/assertions.go": _ASSERT,
        "work/go.mod": _module(str(place / "testify")), "work/main_test.go": _WARM,
    }  # fmt: skip
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {
        **_ENVIRONMENT, "PATH": "/usr/bin:/bin", "HOME": str(place / "work"), "GOROOT": root,
        "GOPATH": str(place / "path"), "GOCACHE": str(place / "cache"),
    }  # fmt: skip
    subprocess.run(
        [go, *_BUILD], cwd=place / "work", env=environment, capture_output=True, text=True, timeout=_WARM_S, check=True
    )
    shutil.rmtree(place / "work")
    for path in (place, *place.rglob("*")):  # readable for the user that programs run as
        path.chmod(0o755 if path.is_dir() else 0o644)
