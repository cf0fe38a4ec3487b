"""What the files of the tree promise each other: pins, documents, folders."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tui", "engine", "literature", "cache")
OPEN_MARK = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)))


def tracked(*under: str) -> list[Path]:
    """Files under version control that are there; a tree without it (an unpacked source archive) is skipped."""
    listed = subprocess.run(["git", "ls-files", "-z", *under], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def texts(*under: str) -> list[tuple[Path, str]]:
    """The tracked files that are UTF-8 text."""
    found = []
    for path in tracked(*under):
        try:
            found.append((path, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    """constraints.txt as name -> version."""
    return dict(line.split("==", 1) for line in (ROOT / "constraints.txt").read_text().splitlines())


def requirements() -> list[str]:
    """Every requirement that setting up asks for: of running, building and testing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [*project["project"]["dependencies"], *(r for group in project["dependency-groups"].values() for r in group)]


def test_constraints_are_plain_pins() -> None:
    """Each line of constraints.txt is one `name==version`, sorted, each name once: no marker, hash, address or path."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)] == []
    names = [line.split("==")[0] for line in lines]
    assert names == sorted(set(names))


def test_every_requirement_has_a_pin_that_it_admits() -> None:
    """What pyproject.toml asks for is pinned, to a version inside the range that it states."""
    from packaging.requirements import Requirement

    found = pins()
    for text in requirements():
        requirement = Requirement(text)
        name = canonical(requirement.name)
        assert name in found, f"{text} has no line in constraints.txt"
        assert requirement.specifier.contains(found[name]), f"{text} against {name}=={found[name]}"


def test_pins_are_complete() -> None:
    """What the installed requirements need in turn is pinned too, so that two set-ups get the same versions."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    found = pins()
    left = [canonical(Requirement(text).name) for text in requirements()]
    seen: set[str] = set()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needed = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:
            continue
        left += [canonical(r.name) for r in needed if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert sorted(seen - set(found)) == []


def test_no_registry_and_no_machine_in_the_tree() -> None:
    """Tracked files name no package registry's host, no home folder, and not where this checkout is."""
    registries = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com"]
    homes = re.compile(r"/(?:home|Users)/(?!me\b|you\b|user\b|someone\b)[a-z][\w.-]*/")
    wrong = []
    for path, text in texts():
        named = [host for host in [*registries, f"{ROOT}/"] if host in text]
        if named or homes.search(text):
            wrong.append((str(path.relative_to(ROOT)), named))
    assert wrong == []


def test_source_files_are_short_and_finished() -> None:
    """A source file has at most 400 lines and no mark of something left open."""
    for path, text in texts(*PACKAGES):
        if path.suffix == ".py":
            assert len(text.splitlines()) <= 400, path
            assert not OPEN_MARK.search(text), path


def test_packages_are_typed_and_tests_are_no_package() -> None:
    """Each of the four packages carries py.typed; no folder of tests is importable."""
    assert [name for name in PACKAGES if not (ROOT / name / "py.typed").is_file()] == []
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def commands_in(text: str, program: str) -> set[str]:
    """Words that follow a program's name in code: `make demo`, `scoretrace read ...`."""
    code = "\n".join(block + span for block, span in re.findall(r"```[a-z]*\n(.*?)```|`([^`\n]+)`", text, re.S))
    assignments = r"(?:\w+=(?:\"[^\"]*\"|\S*) +)*"
    return set(re.findall(rf"(?:^|[|&;] *|/){assignments}{program} ([a-z][a-z-]*)", code, re.M))


def test_make_commands_in_documents_exist() -> None:
    """Each `make X` in the README and the documents is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
    for path, text in texts("*.md"):
        assert commands_in(text, "make") <= targets, path


def test_commands_in_documents_exist() -> None:
    """Each `scoretrace X` in the README and the documents stands in `scoretrace --help`."""
    shown = subprocess.run(
        [sys.executable, "-m", "tui", "--help"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    words = set(re.findall(r"[a-z][a-z-]*", shown.stdout))
    for path, text in texts("*.md"):
        assert commands_in(text, "scoretrace") <= words, path


def test_studies_in_documents_are_read() -> None:
    """Each study that the documents show is a study file that Scoretrace reads, and reads back equal."""
    from tui.study import dumps, loads

    shown = [(path, block) for path, text in texts("*.md") for block in re.findall(r"```toml\n(.*?)```", text, re.S)]
    studies = [(path, block) for path, block in shown if block.startswith("format = ")]
    assert studies
    for path, block in studies:
        study = loads(block, str(path))
        assert loads(dumps(study)) == study


def test_options_in_documents_exist() -> None:
    """Each command line that the documents show in a block of shell is one that the parser takes."""
    from tui.cli import make_parser

    for path, text in texts("*.md"):
        for block in re.findall(r"```sh\n(.*?)```", text, re.S):
            for line in re.findall(r"^scoretrace (.*)$", block, re.M):
                words = shlex.split(line, comments=True)
                try:
                    make_parser().parse_args(words)
                except SystemExit:
                    pytest.fail(f"{path}: scoretrace {line}")


def headings(path: Path) -> set[str]:
    """The anchors that a Markdown file offers."""
    lines = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-") for line in lines}


def test_links_between_documents_resolve() -> None:
    """Each relative link of a Markdown file leads to a file that is there, and to a heading that it has."""
    broken = []
    for path, text in texts("*.md"):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.S)):
            name, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            there = (path.parent / name).resolve() if name else path
            missing = anchor and there.suffix == ".md" and there.is_file() and anchor not in headings(there)
            if not there.exists() or missing:
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


def test_documents_are_reachable() -> None:
    """Each page in docs/ is linked from docs/README.md, so that nothing has to be found by chance."""
    map_of_pages = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [path.name for path in tracked("docs/*.md") if path.parent.name == "docs" and path.name != "README.md"]
    assert [name for name in pages if f"({name})" not in map_of_pages] == []
