"""The preflight: what is kept is counted without a model, what is not is estimated, and a full disk is said first."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from pathlib import Path
from typing import Any

import pytest

from cache.errors import StoreError
from cache.files import at_hand, sha256_of
from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.kept import Count, PassCount, kept_key, usable
from engine.plan import make_plan
from engine.repeating import has_seed
from engine.settings import Decoding, Grid
from tui.local import LocalSession
from tui.preflight import BYTES_PER_OUTCOME, BYTES_PER_REPLY, estimate, with_room
from tui.study import ModelChoice, Study

VERSION = importlib.metadata.version("llama-cpp-python")
NUMERICS = {"engine": f"llama-cpp-python {VERSION} (llama.cpp b1)", "width": "8"}


@dataclasses.dataclass(frozen=True)
class Card:
    """As much of a model card as the counts need."""

    source_sha256: str
    numerics: dict[str, str]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """A real, empty store."""
    found = Store(tmp_path / "store.sqlite")
    yield found
    found.close()


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Two decodings and two limits of one local file, as released, over the embedded benchmark of 64 problems."""
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"GGUF, as far as a hash goes")
    grid = Grid(
        ("bugfix-mini",), decoding=(Decoding(), Decoding(0.8)), max_length=(160, 320), precision=("as released",),
        samples=(2,),
    )  # fmt: skip
    return Study("s", grid, (ModelChoice("m", str(weights)),))


def keep(store: Store, study: Study, *, cut: int = 20, ended: int = 30, **changes: Any) -> None:
    """Put the facts of a finished run into the store: 64 replies a sample, so many of them cut or ended."""
    path = Path(study.models[0].file)
    card = Card(sha256_of(path, store), {**NUMERICS, **changes})
    for group in make_plan(study.configurations()).groups:
        for one in group.passes:
            count = PassCount()
            for sample in range(one.samples):
                for problem in range(64):
                    stop = "cut" if problem < cut else "end" if problem < cut + ended else "limit"
                    count.add(sample, stop)
            key = kept_key(open_benchmark("bugfix-mini", None).sha256, group, one)
            store.put_fact(key, count.body(one, card))  # type: ignore[arg-type]


def test_nothing_is_kept_at_first(store: Store, study: Study) -> None:
    """64 problems, greedy once and two draws: 192 replies, none there, on an assumed pace that is named."""
    found = estimate(study, store)
    assert (found.configurations, found.generations, found.stored) == (4, 192, 0)
    assert found.bytes == 192 * BYTES_PER_REPLY
    assert found.basis.startswith("assumed")


def test_a_study_that_ran_costs_nothing_again(store: Store, study: Study) -> None:
    """All its replies are counted as kept, and neither time, tokens nor disk are asked for them."""
    keep(store, study)
    found = estimate(study, store)
    assert found.stored == found.generations == 192
    assert (found.tokens, found.seconds, found.bytes) == (0, 0, 0)


def test_more_samples_cost_the_new_ones(store: Store, study: Study) -> None:
    """With three samples in place of two, 64 replies are missing."""
    keep(store, study)
    more = study.with_grid(dataclasses.replace(study.grid, samples=(3,)))
    found = estimate(more, store)
    assert found.generations - found.stored == 64


def test_a_longer_limit_keeps_what_was_whole(store: Store, study: Study) -> None:
    """Of each 64 replies 50 ended before their limit (by themselves, or at every cut): 14 are to be made."""
    keep(store, study)
    longer = study.with_grid(dataclasses.replace(study.grid, max_length=(640,)))
    found = estimate(longer, store)
    assert found.generations - found.stored == 3 * 14


def test_another_extraction_keeps_what_was_not_cut(store: Store, study: Study) -> None:
    """Replies that ended at the harness's cut are too short for `raw`: 20 of each 64."""
    keep(store, study)
    raw = study.with_grid(dataclasses.replace(study.grid, extraction=("raw",)))
    found = estimate(raw, store)
    assert found.generations - found.stored == 3 * 20


@pytest.mark.parametrize(
    "changes", [{"engine": "llama-cpp-python 0.0.1 (llama.cpp b1)"}, {"engine": "llama-cpp-python"}]
)
def test_another_engine_keeps_nothing(store: Store, study: Study, changes: dict[str, str]) -> None:
    """Replies of another version of the engine serve nobody here."""
    keep(store, study, **changes)
    assert estimate(study, store).stored == 0


def test_a_fixed_width_keeps_replies_of_that_width(store: Store, study: Study) -> None:
    """`--width 8` finds what width 8 made; `--width 1`, the strict one, does not."""
    keep(store, study)
    assert estimate(dataclasses.replace(study, width=8), store).stored == 192
    assert estimate(dataclasses.replace(study, width=1), store).stored == 0
    keep(store, study, block="4")
    assert estimate(study, store).stored == 192
    assert estimate(dataclasses.replace(study, width=8), store).stored == 0, "a width asked for drafts nothing"


def test_a_changed_model_file_keeps_nothing(store: Store, study: Study) -> None:
    """Its hash is not known, or is another: nothing is claimed to be there."""
    keep(store, study)
    path = Path(study.models[0].file)
    path.write_bytes(b"another file of the same name")
    assert at_hand(str(path), store) is None
    assert estimate(study, store).stored == 0
    sha256_of(path, store)
    assert estimate(study, store).stored == 0


def test_a_file_that_is_not_here_is_not_fetched(store: Store) -> None:
    """Looking never downloads, joins or hashes; unknown is unknown."""
    for spec in ("hf:nobody/nothing/x.gguf@main", "pypi:no-such-package", "/no/such/file.gguf", "hf:bad"):
        assert at_hand(spec, store) is None


def test_the_count_of_a_pass_is_what_the_prefix_rule_says() -> None:
    """No room counts as kept under any limit that had none, and a sample that was not made counts nothing."""
    one = make_plan(Grid(("b",), max_length=(100,), precision=("f16",)).configurations(["m"])).groups[0].passes[0]
    count = PassCount()
    for stop in ("end", "cut", "limit", "no room"):
        count.add(0, stop)
    body = count.body(one, Card("a", NUMERICS))  # type: ignore[arg-type]
    assert body["samples"] == [{"there": 4, "ended": 2, "cut": 1}]
    assert usable(body, one, "a", VERSION, "") == 4
    assert usable(body, one, "b", VERSION, "") == 0
    assert usable(None, one, "a", VERSION, "") == 0
    assert Count() == Count(0, 0, 0)


def test_a_disk_without_room_is_refused_before_anything_starts(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says what is free, what is needed, and what to do; no run is created."""
    monkeypatch.setenv("SCORETRACE_HOME", str(tmp_path))
    usage = type("usage", (), {"free": 64 << 20})
    monkeypatch.setattr("tui.preflight.shutil.disk_usage", lambda folder: usage)
    session = LocalSession(tmp_path / "full.sqlite")
    with pytest.raises(StoreError, match=r"has 0\.07 GB free, and this study would write about .* free disk space"):
        session.preflight(study)
    assert session.runs() == []
    session.close()


def test_enough_room_is_no_obstacle(store: Store, study: Study, tmp_path: Path) -> None:
    """The numbers pass through unchanged."""
    found = estimate(study, store)
    assert with_room(found, tmp_path) == found


def test_repeats_are_counted_as_executions_at_most(store: Store, study: Study) -> None:
    """Every judged sample under each other seed, if no two programs are the same; none where none are asked for."""
    assert estimate(study, store).repeats == 0
    found = estimate(dataclasses.replace(study, repeats=3), store)
    assert found.repeats == 3 * 64 * (1 + 2) * 2
    without = estimate(study, store)
    assert found.seconds == without.seconds
    assert found.bytes - without.bytes == found.repeats * BYTES_PER_OUTCOME


def test_languages_without_a_seed_add_no_execution() -> None:
    """A Rust program is run the same way under every seed."""
    assert [has_seed(name) for name in ("bugfix-mini", "humanevalfixtests-python", "humanevalfixtests-rust")] == [
        True, True, False,
    ]  # fmt: skip
