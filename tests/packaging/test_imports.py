"""Who imports whom, and what a mere `--help` must not load."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tui", "engine", "literature", "cache")
HEAVY = {"textual", "pandas", "scipy", "numpy", "llama_cpp", "huggingface_hub", "jinja2", "openpyxl"}

LOADED = """
import sys
from tui.__main__ import main
sys.argv = ["scoretrace", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def imported(path: Path) -> set[str]:
    """Top-level names that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def sources() -> list[Path]:
    """Every source file of the four packages."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("arguments", [["--help"], ["read", "--help"], ["--version"]], ids=" ".join)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    """`scoretrace --help` answers at once: it loads no screen library, no numerics, no engine, no hub client."""
    shown = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(shown.stdout.rpartition("loaded:")[2].split())
    assert loaded & HEAVY == set()
    assert "tui" in loaded


def test_every_imported_distribution_is_declared() -> None:
    """What a source file imports is a requirement of pyproject.toml in its own right, not by way of another's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [text for extra in project["optional-dependencies"].values() for text in extra]
    declared = {re.split(r"[^\w.-]", text)[0].lower() for text in [*project["dependencies"], *extras]}
    provided_by = {**packages_distributions(), "pynvml": ["nvidia-ml-py"]}
    foreign = {name for path in sources() for name in imported(path)} - set(PACKAGES) - sys.stdlib_module_names
    undeclared = {
        name
        for name in foreign
        if not {re.sub(r"[-_.]+", "-", found).lower() for found in provided_by.get(name, [])} & declared
    }
    assert undeclared == set()


def test_one_module_knows_the_inference_engine() -> None:
    """`llama_cpp` is imported by exactly one module, so that another engine, or another version, is one change."""
    knowing = [path.relative_to(ROOT) for path in sources() if "llama_cpp" in imported(path)]
    assert len(knowing) == 1, knowing
    assert knowing[0].parts[:2] == ("engine", "models")


def test_screens_alone_know_textual() -> None:
    """What the command line and the processes behind it use never loads the screen library."""
    for path in sources():
        if "textual" in imported(path):
            inside = path.relative_to(ROOT)
            assert inside.parts[0] == "tui", inside
            assert inside.parts[1] not in ("cli.py", "state.py", "session.py", "study.py", "__main__.py"), inside


def test_import_contracts_hold() -> None:
    """The directions of pyproject.toml hold: tui -> engine and literature -> cache, and no other way."""
    linter = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run([str(linter), "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
