"""The wheel as a user gets it: built, installed outside the checkout, and used from there.

With SCORETRACE_FRESH_INSTALL=1 the environment has its own copy of every dependency at the pinned versions, so that a
requirement that pyproject.toml forgets shows; without it, those of the environment that runs the tests are borrowed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tui", "engine", "literature", "cache")
FRESH = os.environ.get("SCORETRACE_FRESH_INSTALL") == "1"

IMPORT_ALL = """
import importlib, json, pkgutil, sys
found = {}
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    found[name] = package.__file__
    for info in pkgutil.walk_packages(package.__path__, name + "."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
print(json.dumps(found))
"""


def call(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program without a terminal and without this test run's own paths."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SCORETRACE_"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3600,
    )  # fmt: skip


def did(found: subprocess.CompletedProcess[str]) -> str:
    """Its stdout; a failure shows all that it said."""
    assert found.returncode == 0, f"{found.args} -> {found.returncode}\n{found.stdout}\n{found.stderr}"
    return found.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    did(call(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT, cwd=folder))
    return next(folder.glob("scoretrace-*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment outside the checkout that has the wheel installed."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    did(call(sys.executable, "-m", "venv", *([] if FRESH else ["--without-pip"]), place, cwd=place.parent))
    python = place / "bin" / "python"
    if FRESH:
        engine = sorted((ROOT / ".wheels").glob("*.whl"))
        did(call(python, "-m", "pip", "install", "-c", ROOT / "constraints.txt", *engine, wheel, cwd=place.parent))
    else:
        did(call(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", wheel, cwd=place.parent))
        own = did(
            call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place.parent)
        ).strip()
        (Path(own) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


def tracked(package: str) -> list[str]:
    """Files of a package under version control, as the wheel should name them."""
    listed = subprocess.run(["git", "ls-files", "-z", package], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_holds_the_whole_package(wheel: Path, package: str) -> None:
    """Every tracked file of a package, data included, is in the wheel under the same name."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert sorted(set(tracked(package)) - inside) == []
    assert f"{package}/py.typed" in inside


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    """The wheel puts the four packages into site-packages and nothing beside them; the licence travels along."""
    inside = zipfile.ZipFile(wheel).namelist()
    metadata = next(name for name in inside if name.endswith(".dist-info/METADATA")).partition("/")[0]
    assert {name.partition("/")[0] for name in inside} == {*PACKAGES, metadata}
    assert f"{metadata}/licenses/LICENSE" in inside
    assert [name for name in inside if name.endswith((".pyc", ".sqlite", ".gguf"))] == []


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".tcss", ".toml"])
def test_wheel_holds_data_of_each_kind(wheel: Path, ending: str) -> None:
    """Tables, problems, the style sheet and the embedded study are in the wheel."""
    assert [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(ending)]


def test_every_module_imports_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """All modules load outside the checkout, with the declared requirements alone, and come from the environment."""
    found = json.loads(did(call(installed / "python", "-c", IMPORT_ALL, *PACKAGES, cwd=tmp_path)))
    assert [path for path in found.values() if not Path(path).is_relative_to(installed.parent)] == []


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["doctor"], ["read", "humanevalfix", "--problems", "164"]],
    ids=" ".join,
)
def test_installed_command_works_outside_the_checkout(installed: Path, tmp_path: Path, arguments: list[str]) -> None:
    """The installed program answers in an empty folder with an empty data folder, and leaves the checkout as it was."""
    before = status() if FRESH else ""
    shown = did(call(installed / "scoretrace", *arguments, cwd=tmp_path, SCORETRACE_HOME=str(tmp_path / "home")))
    assert shown.strip()
    if FRESH:
        assert status() == before


def status() -> str:
    """What version control sees as changed in the checkout."""
    return subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout
