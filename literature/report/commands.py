"""The commands that come to a report's scores again, whole or one configuration; safe to paste into a POSIX shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from literature.report.evidence import ConfigurationEvidence, ReportInput

STUDY_FILE = "study.toml"
STORED = "as stored"
"""How extractions begin whose programs came with the file: no rule here makes them again."""


@dataclass(frozen=True)
class Again:
    """A way to the same scores: one sentence that says what it does and where, and the command; empty for none."""

    sentence: str
    command: str


def ways(given: ReportInput) -> tuple[Again, ...]:
    """How the run is come to again, the nearest way first: by its models, by the imported file, by the kept replies."""
    run, origin = given.run.id, given.origin
    if not origin:
        return (Again("Run the whole study again, in the folder of this report:", rerun_all()),)
    rules = list(dict.fromkeys(c.measurement.axes["extraction"] for c in given.configurations))
    rules = [rule for rule in rules if not rule.startswith(STORED)]
    found = []
    if "run" in origin:
        text = f"The replies are those of run {origin['run']} of the same data folder. To score them again:"
        found.append(Again(text, _rescore(origin["run"], rules)))
    if "file" in origin:
        found.append(Again(_imported(origin), import_again(given)))
        if rules and "run" not in origin:
            text = "To score the kept replies again, in the data folder that holds this run, without any model:"
            found.append(Again(text, _rescore(str(run), rules)))
    else:
        found.append(Again("To have the models reply again, in the folder of this report:", rerun_all()))
    return tuple(found)


def rerun_all(study: str = STUDY_FILE) -> str:
    """The command that runs every configuration of the study file again."""
    return shlex.join(["scoretrace", "run", _path(study)])


def rerun_one(configuration: str, study: str = STUDY_FILE) -> str:
    """The command that runs one configuration of the study file again, by its id."""
    return shlex.join(["scoretrace", "run", _path(study), "--only", configuration])


def command_of(given: ReportInput, found: ConfigurationEvidence) -> str:
    """The command that comes to one configuration's score again."""
    rule = found.measurement.axes.get("extraction", "")
    if not given.origin:
        return rerun_one(found.measurement.id)
    if "run" in given.origin:
        return _rescore(given.origin["run"], [rule])
    if not rule.startswith(STORED):
        return _rescore(str(given.run.id), [rule])
    return import_again(given)


def import_again(given: ReportInput) -> str:
    """The command that imports and judges the file again, with the names that it and the benchmark's file had."""
    origin = given.origin
    words = ["scoretrace", "import-generations", _path(origin["file"])]
    for benchmark in dict.fromkeys(c.measurement.benchmark for c in given.configurations):
        words += ["--benchmark", benchmark]
    for option in ("data", "kind", "results"):
        if origin.get(option):
            words += [f"--{option}", origin[option]]
    return shlex.join(words)


def _imported(origin: Mapping[str, str]) -> str:
    name = f"{origin['file']} (sha256 {origin['sha256']})" if "sha256" in origin else origin["file"]
    return (
        f"The generations were imported from {name}; no model was run here, so that no command makes them again. "
        "To import and judge them again, in a folder that holds the files named:"
    )


def _rescore(run: str, rules: list[str]) -> str:
    return shlex.join(["scoretrace", "rescore", "--run", run, "--extraction", ",".join(rules)])


def _path(name: str) -> str:
    """A file whose name begins with a dash would be read as an option."""
    return f"./{name}" if name.startswith("-") else name
