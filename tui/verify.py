"""A bundle verified without a model: every byte, every program executed again, every number of the report again."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cache.errors import StoreError
from cache.store import Store
from cache.transfer import Carried, import_run
from engine.benchmarks import open_benchmark
from engine.environment import free_cores
from engine.errors import BenchmarkError
from engine.events import Place
from engine.protocols import Benchmark, Outcome, Sandbox
from engine.rereading import Reread, Rereader, execute
from literature.report import changes, output
from literature.report.differences import lines_that_differ, numbers_missing, values_that_differ
from literature.report.errors import ReportError
from tui import bundle_file
from tui import study as studies
from tui.bundle import FORMATS, TABLES, identities, parsed, report_members
from tui.bundle_file import Opened
from tui.errors import BundleError, StudyError
from tui.verify_repeats import Again, repeated_again

VOLATILE = ("made", "scoretrace", "written_on")
"""What a report says of its own making: no fact about the run."""
SHOWN = 40
AGAIN = (
    "its programs were judged again here, and what comes out otherwise is listed as OTHER JUDGE; for a bundle of this "
    "version, judge the kept replies again with `scoretrace rescore --run RUN --extraction NAME` and bundle that run"
)


@dataclass(frozen=True)
class Difference:
    """Something that is not what the bundle says: where, what the bundle says, and what was found here."""

    place: str
    recorded: str
    found: str


@dataclass(frozen=True)
class Verification:
    """What verifying a bundle came to.

    `samples` were read again, as `programs` distinct programs that were executed; `numbers` of the report were made
    again. `unverified` says what could not be checked, with how many samples; `remarks` are circumstances. `otherwise`
    are samples, and counts, that this version's judge judges otherwise than the other version that the run was judged
    with: no sign that the bundle was changed.
    """

    manifest_sha256: str
    members: int
    samples: int
    programs: int
    numbers: int
    differences: tuple[Difference, ...]
    unverified: tuple[str, ...]
    remarks: tuple[str, ...]
    otherwise: tuple[Difference, ...] = ()

    @property
    def holds(self) -> bool:
        """True when everything was checked and nothing differs."""
        return not self.differences and not self.unverified

    def lines(self) -> Iterator[str]:
        """The result for people."""
        for word, found in (("DIFFERS", self.differences), ("OTHER JUDGE", self.otherwise)):
            for one in found[:SHOWN]:
                yield f"{word}  {one.place}: the bundle says {one.recorded}, found {one.found}"
            if len(found) > SHOWN:
                yield f"{word}  and {len(found) - SHOWN} more; --format json lists all"
        for text in self.unverified:
            yield f"NOT VERIFIED  {text}"
        for text in self.remarks:
            yield f"note  {text}"
        yield (
            f"{self.members} files against their sha256, {self.samples} samples read again, {self.programs} programs "
            f"executed, {self.numbers} numbers of the report made again: "
            f"{len(self.differences)} differ, {len(self.unverified)} kinds of checks were not possible"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "holds": self.holds}


def verify_bundle(
    path: Path,
    sandbox: Callable[..., Sandbox],
    *,
    data: str | None = None,
    opener: Callable[..., Benchmark] = open_benchmark,
) -> Verification:
    """Verify a bundle; `BundleError` when it is none. `data` is the benchmark's file where the bundle lacks it.

    `sandbox` is called with `languages=` when programs are not all in Python, else without arguments; with `seed=` for
    each seed under which the run has executed its programs again.
    """
    opened = bundle_file.read(path)
    differences = [Difference(*_split(text)) for text in opened.changed]
    carried = _carried(opened)
    with tempfile.TemporaryDirectory(prefix="scoretrace-verify-") as name:
        folder = Path(name)
        benchmarks = _Benchmarks(opened, folder, data, opener)
        store = Store(folder / "store.sqlite")
        try:
            import_run(store, carried)
            samples = list(Rereader(store, parsed(carried), benchmarks.open).samples())
        except StoreError as error:
            raise BundleError(f"{path}: {error}; get the bundle again") from error
        finally:
            store.close()
    languages = sorted({one.program.language for one in samples if one.program})
    judge = sandbox(languages=languages) if set(languages) - {"python"} else sandbox()
    try:
        outcomes = execute(samples, judge, free_cores())
    finally:
        judge.close()
    seeds = repeated_again(samples, parsed(carried), sandbox)
    under = identities(carried)
    rejudged = [*_rejudged(samples, outcomes, judge.identity), *_under_seeds(seeds)]
    other = _other_judge(samples, carried, under, judge.identity)
    if not other:
        differences += [*rejudged, *_stored(samples, carried, under)]
    numbers, report = _report(opened, carried)
    differences += report
    remarks = [f"{seeds.programs} programs executed again under {seeds.seeds} other seeds"] if seeds.seeds else []
    remarks += [] if judge.identity in under else [f"judged here under another sandbox: {judge.identity}"]
    return Verification(
        manifest_sha256=opened.manifest_sha256,
        members=len(opened.members),
        samples=len(samples),
        programs=len(outcomes),
        numbers=numbers,
        differences=tuple(differences),
        unverified=(
            *_unverified(samples, outcomes, judge.identity),
            *seeds.unverified,
            *([f"{other}; {AGAIN}"] if other else ()),
        ),
        remarks=tuple(remarks),
        otherwise=tuple(rejudged) if other else (),
    )


def _split(text: str) -> tuple[str, str, str]:
    place, _, what = text.partition(": ")
    return place, "the sha256 of another content", what


def _carried(opened: Opened) -> Carried:
    try:
        found = Carried(
            run=json.loads(opened.text("run.json")),
            events=tuple(opened.lines("events.jsonl")),
            generations=tuple(opened.lines("generations.jsonl")),
            prefixes=tuple(opened.lines("prefixes.jsonl")),
            outcomes=tuple(opened.lines("outcomes.jsonl")),
            facts=json.loads(opened.text("facts.json")),
        )
        study = studies.loads(str(found.run["study"]), "run.json, study")
    except (ValueError, KeyError, TypeError, StudyError) as error:
        raise BundleError(f"the bundle's run cannot be read: {error}; get the bundle again") from error
    gone = [table for table in study.tables if table not in opened.members or not table.startswith(f"{TABLES}/")]
    if gone:
        raise BundleError(f"the bundle's study names the table {gone[0]!r}, which the bundle does not hold")
    return found


class _Benchmarks:
    """Opens benchmarks for re-scoring: the user's file, else the problems in the bundle, else what ships here."""

    def __init__(self, opened: Opened, folder: Path, data: str | None, opener: Callable[..., Benchmark]) -> None:
        self._opened, self._folder, self._data, self._opener = opened, folder, data, opener

    def open(self, name: str) -> Benchmark:
        """The benchmark with the hash that the bundle states; `BenchmarkError` for any other."""
        about = self._opened.manifest.get("benchmarks", {}).get(name, {})
        inside = self._opened.members.get(str(about.get("file", "")))
        data = self._data
        if data is None and inside is not None:
            (self._folder / "problems.jsonl").write_bytes(inside)
            data = str(self._folder / "problems.jsonl")
        found = self._opener(name, data)
        if self._data is None and inside is not None and not _known(found):
            # Tests are run as trusted code: those of a stranger only when they are known ones.
            raise BenchmarkError(
                f"{name}: the bundle's problems are not those of a known benchmark; name yours with --data"
            )
        if found.sha256 != about.get("sha256"):
            raise BenchmarkError(
                f"{name}: its problems have sha256 {found.sha256[:16]}..., the run's had "
                f"{str(about.get('sha256'))[:16]}...; name the run's file with --data"
            )
        return found


def _known(benchmark: Benchmark) -> bool:
    """True for the rows of a published file; a licence alone may be a claim of one's own benchmark's file."""
    facts = benchmark.facts()
    return not any(str(facts.get(name, "")).startswith("unknown") for name in ("licence", "revision"))


def _rejudged(samples: Sequence[Reread], outcomes: Mapping[str, Outcome], identity: str) -> Iterator[Difference]:
    """Samples whose kind of outcome is another one here, and the counts that this changes."""
    passed: Counter[str] = Counter()
    recorded: Counter[str] = Counter()
    for one in samples:
        found = _found(one, outcomes, identity)
        recorded[one.place[0]] += one.recorded == "passed"
        passed[one.place[0]] += (found or one.recorded) == "passed"
        if found and found != one.recorded:
            yield Difference(_place(one.place), one.recorded, found)
    for configuration, count in recorded.items():
        if passed[configuration] != count:
            yield Difference(f"configuration {configuration}, passed", str(count), str(passed[configuration]))


def _found(one: Reread, outcomes: Mapping[str, Outcome], identity: str) -> str:
    if one.settled:
        return one.settled
    outcome = outcomes.get(one.key(identity))
    return outcome.kind if outcome is not None and outcome.kind != "unavailable" else ""


def _under_seeds(seeds: Again) -> Iterator[Difference]:
    for one in seeds.otherwise:
        where = f"{_place(one.place)}, under other seeds" if one.place else "programs executed under other seeds"
        yield Difference(where, one.recorded, one.found)


def _place(place: Place) -> str:
    configuration, task_id, sample = place
    return f"configuration {configuration}, {task_id}, sample {sample}"


def _other_judge(samples: Sequence[Reread], carried: Carried, under: Sequence[str], identity: str) -> str:
    """How the run's judge is of another version than this one; empty where nothing says so.

    Versions differ by their protocol, which the identities state, or by what an outcome's key is made of: then the
    bundle's outcomes are found under none of the keys that this version makes.
    """
    here, told = _protocol(identity), sorted({_protocol(one) for one in under} - {""})
    if here and told and here not in told:
        return f"the run was judged by protocol {', '.join(told)} of the judge, this version's is {here}"
    kept = {str(row["key"]) for row in carried.outcomes}
    made = {one.key(name) for one in samples if one.program for name in under}
    if made and not made & kept:
        return (
            f"the judge's versions differ: none of the {len(kept)} outcomes in outcomes.jsonl is under a key that this "
            "version makes of the same programs"
        )
    return ""


def _protocol(identity: str) -> str:
    """The judge's protocol in a sandbox's identity; empty where it tells none."""
    try:
        told = json.loads(identity)
    except ValueError:
        return ""
    return str(told.get("protocol", "")) if isinstance(told, dict) else ""


def _stored(samples: Sequence[Reread], carried: Carried, under: Sequence[str]) -> Iterator[Difference]:
    """Programs that the bundle has no outcome of, or another than the sample's: a reply or an outcome was changed."""
    kinds = {str(row["key"]): str(row["kind"]) for row in carried.outcomes}
    for one in samples:
        if one.program is None:
            continue
        known = [kinds[key] for identity in under if (key := one.key(identity)) in kinds]
        if not known:
            yield Difference(
                f"{_place(one.place)}, its reply",
                "a program with an outcome",
                "another program, of which outcomes.jsonl has none",
            )
        elif one.recorded not in known:
            yield Difference(f"outcomes.jsonl against events.jsonl, {_place(one.place)}", one.recorded, known[0])


def _unverified(samples: Sequence[Reread], outcomes: Mapping[str, Outcome], identity: str) -> Iterator[str]:
    reasons = Counter(one.problem for one in samples if one.problem)
    for one in samples:
        outcome = outcomes.get(one.key(identity)) if one.program else None
        if outcome is not None and outcome.kind == "unavailable":
            reasons[f"could not be judged here: {outcome.detail or 'no reason given'}"] += 1
    for reason, count in reasons.items():
        yield f"{count} sample{'' if count == 1 else 's'}: {reason}"


def _report(opened: Opened, carried: Carried) -> tuple[int, list[Difference]]:
    """How many numbers of the report were made again, and every value and every line that differs."""
    try:
        told = changes.checked(json.loads(opened.text(output.JSON_FILE)), output.JSON_FILE)
    except (ValueError, ReportError) as error:
        return 0, [Difference(output.JSON_FILE, "a report", str(error))]
    own = {name: data for name, data in opened.members.items() if name.startswith(f"{TABLES}/")}
    made, _ = report_members(carried, own, 0.0, ())
    made |= {name: told.get(name) for name in VOLATILE if name in told}
    found = list(values_that_differ(told, made))
    differences = [Difference(f"{output.JSON_FILE}, {place}", before, after) for place, before, after in found]
    differences += _other_formats(opened, made)
    if opened.text("study.toml") != carried.run["study"]:
        differences.append(Difference("study.toml", "the study of run.json", "another text"))
    return _count(told), differences


def _other_formats(opened: Opened, made: Mapping[str, Any]) -> Iterator[Difference]:
    """Lines of the other formats that differ; under another version of Scoretrace only numbers are compared."""
    from engine.environment import package_versions

    same = made.get("scoretrace") == package_versions(("scoretrace",)).get("scoretrace", "unknown")
    for name, text in output.texts(made, FORMATS).items():
        told = opened.text(name)
        if name == output.JSON_FILE:
            continue
        rows = lines_that_differ(told, text) if same else numbers_missing(told, output.json_text(made))
        for place, before, after in rows:
            yield Difference(f"{name}, {place}", before, after)


def _count(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    if isinstance(value, list):
        return sum(map(_count, value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))
