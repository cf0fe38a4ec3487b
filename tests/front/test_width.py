"""`--width` from the command line to the engine that opens the model; what is said of a busy machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cache.store import Store
from engine.job import Job
from engine.worker import real_parts
from tui.cli import make_parser
from tui.doctor import look
from tui.errors import OptionError
from tui.local import job_of
from tui.options import study_from_options


def job(*options: str) -> Job:
    """The job that the command line asks for, as a worker reads it."""
    given = make_parser().parse_args(["run", "--model", "m.gguf", "--benchmark", "bugfix-mini", *options])
    return Job.from_dict(job_of(study_from_options(given)).as_dict())


@pytest.mark.parametrize(("options", "width"), [((), None), (("--width", "1"), 1), (("--width", "16"), 16)])
def test_the_width_reaches_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], width: int | None
) -> None:
    """A width is passed on as it is; without one the engine chooses (None)."""
    asked: dict[str, Any] = {}
    monkeypatch.setattr("cache.files.find_model", lambda spec, facts: SimpleNamespace(path=spec))
    monkeypatch.setattr("engine.models.open.open_model", lambda *given, **named: asked.update(named))
    store = Store(tmp_path / "store.sqlite")
    real_parts(job(*options), store).model("m", "as released", 2048)
    assert asked["width"] == width
    store.close()


@pytest.mark.parametrize("width", ["3", "-1", "6"])
def test_a_width_that_no_engine_offers_is_refused(width: str) -> None:
    """Kernels take rows in fours: the message says which widths there are."""
    with pytest.raises(OptionError, match=rf"--width {width}: expected 1 .* or a multiple of 4"):
        job("--width", width)


def test_doctor_says_when_the_machine_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes on the cores are a finding with a remedy; an idle machine is fine."""
    for crowded, state in (("other processes hold about 1 of the 2 cores", "limited"), ("", "ok")):
        monkeypatch.setattr("engine.crowding.crowding", lambda text=crowded: text)
        machine = next(look())
        assert (machine.subject, machine.state) == ("machine", state)
        assert crowded in machine.text
        assert bool(machine.remedy) == bool(crowded)
