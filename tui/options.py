"""A study from command-line options, for runs that need no file."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.errors import SettingsError
from engine.settings import Grid, parse_decoding
from tui.errors import OptionError
from tui.study import ModelChoice, Study


def study_from_options(options: argparse.Namespace) -> Study:
    """The study that `scoretrace run --model ... --benchmark ...` means; `OptionError` names the option."""
    if not options.model or not options.benchmark:
        raise OptionError(
            "name a study file, or give --model FILE and --benchmark NAME; `scoretrace demo` needs neither"
        )
    if options.width != 1 and (options.width < 0 or options.width % 4):
        raise OptionError(
            f"--width {options.width}: expected 1 (strict: one sequence at a time) or a multiple of 4, "
            "or 0 for the device's own"
        )
    names = [_model_name(file) for file in options.model]
    if len(set(names)) != len(names):
        raise OptionError("--model: two files go by one name; write a study file that names them")
    try:
        grid = Grid(
            benchmark=_list(options.benchmark),
            template=_list(options.template) or (_template(options.benchmark, options.data),),
            decoding=tuple(parse_decoding(text) for text in _list(options.decoding)),
            max_length=_numbers("--max-length", options.max_length),
            precision=_list(options.precision),
            prefill=tuple(_yes_no(text) for text in _list(options.prefill)),
            samples=_numbers("--samples", options.samples),
            seed=_numbers("--seed", options.seed),
            extraction=_list(options.extraction),
        )
    except SettingsError as error:
        raise OptionError(str(error)) from None
    data = str(Path(options.data).expanduser().absolute()) if options.data else ""
    return Study(
        name=f"{', '.join(names)} on {options.benchmark}",
        grid=grid,
        models=tuple(
            ModelChoice(name, _whole(file), tuple(options.reported_as))
            for name, file in zip(names, options.model, strict=True)
        ),
        tables=tuple(options.table),
        data=data,
        width=options.width,
    )


def _template(benchmarks: str, data: str) -> str:
    """The template that goes without saying: a completion task's own prompt, else the harness's instruct."""
    from engine.benchmarks import open_benchmark
    from engine.benchmarks.families import COMPLETION_TASKS
    from engine.prompts import is_completion

    def completes(name: str) -> bool:
        # One's own benchmark may be either: its rows say which.
        return name in COMPLETION_TASKS or (name == "custom" and is_completion(open_benchmark(name, data or None)))

    return "completion" if all(map(completes, _list(benchmarks))) else "instruct"


def _model_name(file: str) -> str:
    name = file.partition("@")[0].rpartition(":")[2].rpartition("/")[2]
    return name.removesuffix(".gguf")


def _whole(file: str) -> str:
    """The worker has another current folder: a relative path must not depend on it."""
    return file if ":" in file else str(Path(file).expanduser().absolute())


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _list(text))
    except ValueError:
        raise OptionError(f"{option} {text}: expected whole numbers separated by commas") from None


def _yes_no(text: str) -> bool:
    try:
        return {"yes": True, "no": False}[text]
    except KeyError:
        raise OptionError(f"--prefill {text}: expected yes, no or yes,no") from None
