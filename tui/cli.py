"""The command line: what can be typed, and which exit status each ending has.

stdout is the result, stderr the rest. Exit: 0 done, 1 a stated expectation was not met, 2 wrong input, 3 the engine
failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

DONE, UNMET, WRONG_INPUT, ENGINE_FAILED, INTERRUPTED = 0, 1, 2, 3, 130


def run_cli(arguments: Sequence[str]) -> int:
    """Parse and run one command; every expected error becomes one line on stderr and its exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    from cache.errors import CacheError
    from engine.errors import BenchmarkError, EngineError, ImportedError, SettingsError
    from literature.errors import LiteratureError
    from tui.errors import FrontError

    try:
        status: int = options.action(options)
        return status
    except (FrontError, LiteratureError, BenchmarkError, ImportedError, SettingsError) as error:
        return _say(error, WRONG_INPUT)
    except (EngineError, CacheError) as error:
        return _say(error, ENGINE_FAILED)
    except KeyboardInterrupt:
        return _say("interrupted; everything found so far is kept", INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe has gone: nothing is wrong. Python must not complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _say(error: object, status: int) -> int:
    print(f"scoretrace: {error}", file=sys.stderr)
    return status


def make_parser() -> argparse.ArgumentParser:
    """The whole command line; importing this needs nothing but the standard library."""
    parser = argparse.ArgumentParser(
        prog="scoretrace",
        description="Find out which evaluation settings a published code-benchmark score came from.",
        epilog="Without a command the app opens. Data lies in SCORETRACE_HOME, else in the user's data folder.",
    )
    parser.add_argument("--version", action=_Version)
    parser.set_defaults(action=_lazy("headless", "open_app"), study=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _app_commands(commands)
    _study_commands(commands)
    _step_commands(commands)
    _generation_commands(commands)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: that alone imports for longer than the command line does."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"scoretrace {version('scoretrace')}")
        except PackageNotFoundError:
            print("scoretrace (not installed)")
        parser.exit()


def _lazy(module: str, name: str) -> object:
    """An action whose module is imported when it runs, so that --help is instant."""

    def action(options: argparse.Namespace) -> int:
        import importlib

        status: int = getattr(importlib.import_module(f"tui.{module}"), name)(options)
        return status

    return action


if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def _add(commands: _Commands, name: str, module: str, function: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(action=_lazy(module, function))
    return parser


def _format(parser: argparse.ArgumentParser, default: str = "plain") -> None:
    parser.add_argument("--format", choices=("plain", "json", "jsonl"), default=default, help=f"default: {default}")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 1 to 999999")
    return int(text)


def _points(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 100:
        raise argparse.ArgumentTypeError(f"{text!r}: expected percentage points above 0")
    return found


def _app_commands(commands: _Commands) -> None:
    demo = _add(
        commands, "demo", "headless", "demo", "open the embedded study and run it; plain lines without a terminal"
    )
    demo.add_argument("--plain", action="store_true", help="plain lines even in a terminal")
    opened = _add(commands, "open", "headless", "open_app", "open the app on a study file")
    opened.add_argument("study", nargs="?", help="a study TOML file")
    served = _add(commands, "serve", "serve", "serve", "show the app in browsers, for looking on: it changes nothing")
    served.add_argument("--run", type=int, help="the run to show first (default: the newest)")
    served.add_argument("--port", type=int, default=8137, help="default: %(default)s; 0: any that is free")
    served.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="default: %(default)s, this machine only"
    )
    doctor = _add(commands, "doctor", "doctor", "doctor", "say what this machine can do, and what to do about the rest")
    _format(doctor)


def _study_commands(commands: _Commands) -> None:
    run = _add(commands, "run", "headless", "run", "run a study's grid without the app, in plain lines")
    run.add_argument("study", nargs="?", help="a study TOML file, or none with --model and --benchmark")
    run.add_argument(
        "--only", action="append", default=[], metavar="ID", help="only the configuration of this id (repeatable)"
    )
    run.add_argument("--resume", type=int, metavar="RUN", help="go on with a run that stopped")
    run.add_argument("--list", action="store_true", help="list the runs in the store")
    run.add_argument(
        "--expect", action="append", default=[], metavar="ID=COUNT", help="exit 1 unless that count is reached"
    )
    run.add_argument(
        "--audit", type=int, default=0, metavar="K",
        help="when all is judged, make K random samples again, each alone, and compare; exit 1 when one differs",
    )  # fmt: skip
    run.add_argument(
        "--repeats", type=_count, default=0, metavar="N",
        help="when all is judged, execute every program again under N other hash seeds and random states, and list "
        "those whose outcome changes",
    )  # fmt: skip
    run.add_argument(
        "--stop", choices=("none", "bounds", "sequential"),
        help="ask a configuration no further once no reported score can be reached (default: as the study says)",
    )  # fmt: skip
    run.add_argument("--report", metavar="FOLDER", help="write the report there when done")
    _grid_options(run)
    _format(run)
    match = _add(commands, "match", "headless", "match", "match a run's scores against the study's reported scores")
    match.add_argument("--run", type=int, help="default: the newest run")
    match.add_argument(
        "--stop", choices=("bounds", "sequential"), default="bounds", help="when an unfinished configuration may stop"
    )
    _format(match)
    _report_commands(commands)
    imported = _add(
        commands, "import", "headless", "import_table", "read a table of reported scores and write it in another format"
    )
    imported.add_argument("table")
    imported.add_argument("--map", action="append", default=[], metavar="FIELD=COLUMN", help="which column holds what")
    imported.add_argument(
        "--out",
        metavar="FILE",
        help="csv, tsv, md, tex, json, jsonl or eee.json by its name; default: CSV in the studies folder",
    )


def _report_commands(commands: _Commands) -> None:
    report = _add(commands, "report", "publish", "report", "write a run's report, with the study that runs it again")
    report.add_argument("--run", type=int, help="default: the newest run")
    report.add_argument("--out", metavar="FOLDER", default="scoretrace-report", help="default: %(default)s")
    report.add_argument("--formats", metavar="LIST", default="md,json,html,tex,csv", help="of md,json,html,tex,csv,pdf")
    report.add_argument("--templates", metavar="FOLDER", help="Jinja templates that take the place of ours, by name")
    report.add_argument("--against", metavar="JSON", help="another report.json: say what changed since it was written")
    bundle = _add(commands, "bundle", "publish", "bundle", "put a run into one file that others can verify")
    bundle.add_argument("--run", type=int, help="default: the newest run")
    bundle.add_argument("--out", metavar="FILE", default="scoretrace-bundle.zip", help="default: %(default)s")
    verify = _add(
        commands, "verify", "publish", "verify", "re-score a bundle without a model; exit 1 when anything differs"
    )
    verify.add_argument("bundle")
    verify.add_argument("--data", help="the benchmark's local file or folder, where the bundle does not hold it")
    verify.add_argument("--level", help="sandbox level (default: the best there is)")
    _format(verify)


def _grid_options(run: argparse.ArgumentParser) -> None:
    axes = run.add_argument_group("a study from options", "each axis takes a comma-separated list")
    axes.add_argument(
        "--model", action="append", default=[], metavar="FILE", help="GGUF path, pypi:NAME or hf:REPO/FILE@REV"
    )
    axes.add_argument(
        "--reported-as", action="append", default=[], metavar="NAME", help="the model's name in the table"
    )
    axes.add_argument("--table", action="append", default=[], help="a shipped table's name or a path")
    axes.add_argument("--benchmark", help="such as humanevalfixtests-python or bugfix-mini")
    axes.add_argument("--data", default="", help="the benchmark's local JSONL file or folder (default: the hub)")
    axes.add_argument("--template", default="", help="default: completion for HumanEval and MBPP, else instruct")
    axes.add_argument("--prefill", default="yes", help="yes, no or yes,no: the answer starts with the function header")
    axes.add_argument("--decoding", default="greedy", help="greedy,T=0.2,T=0.8")
    axes.add_argument("--samples", default="1")
    axes.add_argument("--seed", default="0")
    axes.add_argument("--max-length", default="2048")
    axes.add_argument("--precision", default="as released")
    axes.add_argument("--extraction", default="harness")
    axes.add_argument("--width", type=int, default=0, help="sequences decoded together (default: the device's)")


def _step_commands(commands: _Commands) -> None:
    read = _add(commands, "read", "steps", "read", "what each value of a table can be, by arithmetic alone")
    read.add_argument("table", help="a file, or the name of a shipped table")
    read.add_argument("--problems", type=_count, metavar="N", help="default: as stated, else the benchmark's size")
    read.add_argument("--samples", type=_count, default=1, metavar="n")
    read.add_argument("--map", action="append", default=[], metavar="FIELD=COLUMN")
    read.add_argument(
        "--settings", action="store_true", help="add what sources state, and what their harness defaults to"
    )
    _format(read, "jsonl")
    prompts = _add(commands, "prompts", "steps", "prompts", "the prompts of a benchmark under a template")
    prompts.add_argument("benchmark")
    prompts.add_argument("--data", default="")
    prompts.add_argument("--template", required=True)
    prompts.add_argument("--no-prefill", action="store_true", help="do not start the answer with the function header")
    prompts.add_argument("--model", metavar="FILE", help="the GGUF whose own template `chat` renders")
    check = _add(
        commands,
        "check",
        "checking",
        "check",
        "check a benchmark against itself, without a model; exit 1 when wrong",
    )
    check.add_argument("benchmark")
    check.add_argument("--data", default="", help="the benchmark's local file (default: the hub)")
    check.add_argument("--level", help="sandbox level (default: the best there is)")
    _format(check)
    extract = _add(commands, "extract", "steps", "extract", "replies in, candidate programs out (JSON Lines on stdin)")
    extract.add_argument("--strategy", required=True)
    extract.add_argument("--benchmark", default="")
    extract.add_argument("--data", default="")
    extract.add_argument("--template", default="instruct")
    extract.add_argument(
        "--no-prefill", action="store_true", help="the replies were not started with the function header: chat replies"
    )
    judge = _add(commands, "judge", "judging", "judge", "programs in, outcomes out (JSON Lines on stdin)")
    judge.add_argument("--benchmark", default="")
    judge.add_argument("--data", default="")
    judge.add_argument("--level", help="sandbox level (default: the best there is)")
    again = judge.add_mutually_exclusive_group()
    again.add_argument(
        "--both-ways", action="store_true", help="also with the tests beside the program; exit 1 where outcomes differ"
    )
    again.add_argument(
        "--repeats", type=_count, default=0, metavar="N",
        help="also under N other hash seeds and random states; exit 1 where outcomes differ",
    )  # fmt: skip
    compare = _add(commands, "compare", "comparing", "compare", "two results, paired: flips, exact McNemar, resolution")
    compare.add_argument("a", help="a file of {task_id, passed} lines, or the id of a stored configuration")
    compare.add_argument("b")
    compare.add_argument(
        "--seeds", nargs="+", default=[], metavar="C", help="two or more results of one recipe: is the effect outside?"
    )
    compare.add_argument(
        "--margin", type=_points, metavar="POINTS", help="also test equality within this margin, set before looking"
    )
    _format(compare, "json")
    plan = _add(commands, "plan", "steps", "plan", "what a study would cost")
    plan.add_argument("study")
    _format(plan, "json")


def _generation_commands(commands: _Commands) -> None:
    imported = _add(
        commands, "import-generations", "generations", "import_generations",
        "keep other people's generations as a run, and score them here without any model",
    )  # fmt: skip
    imported.add_argument("file", help="a file, or the folder of a code-eval-harness run")
    imported.add_argument("--benchmark", required=True, help="the benchmark that the generations answer")
    imported.add_argument("--data", default="", help="the benchmark's local file")
    imported.add_argument("--kind", help="the file's format (default: told by its content)")
    imported.add_argument("--results", help="bigcode's evaluation_results.json, which holds the settings")
    imported.add_argument("--table", default="", help="a table of reported scores to match against")
    imported.add_argument("--no-reference-check", action="store_true", help="do not check the benchmark first")
    _format(imported)
    again = _add(commands, "rescore", "generations", "rescore", "score a run's stored replies under other extractions")
    again.add_argument("--run", type=int, help="default: the newest run")
    again.add_argument("--extraction", required=True, metavar="A,B,...", help="such as harness,first_fence,sanitize")
    _format(again)
    export = _add(commands, "export", "generations", "export", "write a run's programs and scores for other tools")
    export.add_argument("--run", type=int, help="default: the newest run")
    export.add_argument(
        "--kind", required=True, help="evalplus, human-eval, bigcode, lm-eval, every-eval-ever or eval-results"
    )
    export.add_argument("--out", metavar="FOLDER", default="scoretrace-export", help="default: %(default)s")
