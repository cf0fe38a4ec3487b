"""The main steps without the app: run a study in plain lines, match, report, import; and opening the app itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cache.paths import store_path, studies_folder
from cache.store import Run
from engine.scoring import Score, fold_scores
from tui import cli
from tui import study as studies
from tui.errors import OptionError
from tui.lines import parse_map, print_objects
from tui.local import LocalSession
from tui.options import study_from_options
from tui.reading import Literature
from tui.recent import note
from tui.study import Study


def open_app(options: argparse.Namespace) -> int:
    """The app, on a study file when one is named."""
    study = None
    if options.study:
        study = studies.read_study(Path(options.study))
        note(Path(options.study))
    return _app(study, autostart=False)


def demo(options: argparse.Namespace) -> int:
    """The embedded study: in the app, or in plain lines where there is no terminal."""
    study = studies.embedded()
    if options.plain or not (sys.stdout.isatty() and sys.stdin.isatty()):
        session = LocalSession(store_path())
        try:
            return _run(session, study, only=(), form="plain", expect={}, report="")
        finally:
            session.close()
    return _app(study, autostart=True)


def _app(study: Study | None, *, autostart: bool) -> int:
    from tui.late import late_parts
    from tui.opening import run_app
    from tui.preferences import read_preferences

    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise OptionError("the app needs a terminal; `scoretrace run` and `scoretrace demo --plain` work without one")
    session = LocalSession(store_path())
    session.go_on()
    try:
        return run_app(
            session, study, parts=late_parts(session), autostart=autostart, studies=(studies.embedded(),),
            preferences=read_preferences(),
        )  # fmt: skip
    finally:
        session.close()


def run(options: argparse.Namespace) -> int:
    """Run a study, or go on with a run, in plain lines."""
    session = LocalSession(store_path())
    try:
        if options.list:
            return _list(session, options.format)
        expect = _expectations(options.expect)
        if options.audit < 0:
            raise OptionError(f"--audit {options.audit}: expected a number of samples, 0 for none")
        if options.resume is not None:
            session.attach(options.resume)
            _ask(session, options)
            session.resume()
            study = studies.loads(session.store.run(options.resume).study, f"run {options.resume}")
            return _watch(session, study, options.format, expect, options.report or "")
        study = studies.read_study(Path(options.study)) if options.study else study_from_options(options)
        if options.audit:
            study = replace(study, audit=options.audit)
        if options.repeats:
            study = replace(study, repeats=options.repeats)
        if options.stop:
            study = replace(study, stop=_rule(options.stop))
        known = {configuration.id for configuration in study.configurations()}
        for id_ in (*options.only, *expect):
            if id_ not in known:
                raise OptionError(
                    f"configuration {id_!r} is not in this study; `scoretrace run --format json` names them"
                )
        return _run(session, study, options.only, options.format, expect, options.report or "")
    finally:
        session.close()


def _ask(session: LocalSession, options: argparse.Namespace) -> None:
    """Tell the next worker of a run that is taken up again what else is asked for; one at work hears of nothing."""
    alive, run = session.store.run(options.resume).alive, options.resume
    if options.audit and alive:
        raise OptionError(f"--audit: run {run} is being worked on; audit it when it has ended")
    if options.repeats and alive:
        raise OptionError(f"--repeats: run {run} is being worked on; repeat its programs when it has ended")
    if options.stop and alive:
        raise OptionError(f"--stop: run {run} is being worked on; stop it first, then go on with it")
    if options.audit:
        session.ask_audit(options.audit)
    if options.repeats:
        session.ask_repeats(options.repeats)
    if options.stop:
        session.ask_stop(_rule(options.stop))


def _rule(option: str) -> str:
    return "" if option == "none" else option


def _run(
    session: LocalSession, study: Study, only: Sequence[str], form: str, expect: Mapping[str, int], report: str
) -> int:
    from tui.state import duration

    preflight = session.preflight(study, only)
    if form == "plain":
        kept = f" ({preflight.stored} kept already)" if preflight.stored else ""
        print(
            f"{study.name}: {preflight.configurations} configurations of {preflight.problems} problems; "
            f"{preflight.generations} generations{kept} instead of {preflight.naive}, {preflight.loads} loads; "
            f"about {duration(preflight.seconds)} ({preflight.basis}), {preflight.bytes / 1e6:.1f} MB on disk"
            + (f"; then at most {preflight.repeats} executions under other seeds" if preflight.repeats else "")
        )
    session.start(study, only)
    return _watch(session, study, form, expect, report)


def _watch(session: LocalSession, study: Study, form: str, expect: Mapping[str, int], report: str) -> int:
    from tui.follow import Follower, follow, summary

    literature = _literature(study)
    from tui.generations import denominator_lines

    follower = Follower(form, _matcher(study, literature))
    status = follow(session, follower)
    if form == "json":
        print_objects(summary(follower.scores), "json")
    if form == "plain":
        for line in denominator_lines(follower.scores.values()):
            print(line)
        _print_claims(study, literature, follower.scores)
    if report and session.run is not None:
        _write_report(session, session.run, Path(report))
    if status.state in ("failed", "died"):
        print(
            f"scoretrace: the run {status.state}: {status.detail or 'see its log'}\n"
            f"go on with: scoretrace run --resume {session.run}   log: {session.log_path(session.run or 0)}",
            file=sys.stderr,
        )
        return cli.ENGINE_FAILED
    if status.state == "stopped":
        print(f"scoretrace: stopped; go on with: scoretrace run --resume {session.run}", file=sys.stderr)
        return cli.INTERRUPTED
    return max(_judge_expectations(expect, follower.scores), _judge_audit(session))


def _expectations(pairs: Sequence[str]) -> dict[str, int]:
    found = {}
    for pair in pairs:
        id_, _, count = pair.partition("=")
        if not count.isdigit():
            raise OptionError(f"--expect {pair}: expected ID=COUNT, such as --expect 0123456789abcdef=35")
        found[id_] = int(count)
    return found


def _judge_audit(session: LocalSession) -> int:
    """A sample that came out otherwise when it was made again is an expectation that was not met."""
    from engine.audit import DIFFERENT, checked

    found = [one for one in checked(session.store, session.run or 0) if one.result == DIFFERENT]
    for one in found:
        print(
            f"scoretrace: audit: {one.label}, {one.task_id} sample {one.sample}: {one.detail}; the scores of this run "
            "cannot be relied on",
            file=sys.stderr,
        )
    return cli.UNMET if found else cli.DONE


def _judge_expectations(expect: Mapping[str, int], scores: Mapping[str, Score]) -> int:
    status = cli.DONE
    for id_, count in expect.items():
        score = scores.get(id_)
        if score is None or not score.finished or score.passed != count:
            print(f"scoretrace: {id_}: expected {count}, found {score.text if score else 'no score'}", file=sys.stderr)
            status = cli.UNMET
    return status


def _literature(study: Study) -> Literature:
    literature = Literature()
    for table in study.tables:
        literature.add(table)
    return literature


def _matcher(study: Study, literature: Literature) -> Callable[[Score], str]:
    """Says what a finished configuration's count is consistent with, for its line."""
    reported = {choice.name: literature.reported(choice, study.grid.benchmark) for choice in study.models}

    def say(score: Score) -> str:
        from literature.matching import match as against

        found = [(against(score, one), one) for one in reported[score.model]]
        words = [f"{match.glyph} {one.label} ({match.kind})" for match, one in found if match.matches]
        return "  " + "  ".join(words) if words else ""

    return say


def _print_claims(study: Study, literature: Literature, scores: Mapping[str, Score], stop: str = "bounds") -> None:
    from tui.claims import claim_lines

    for line in claim_lines(study, literature, list(scores.values()), stop):
        print(line)


def match(options: argparse.Namespace) -> int:
    """Every reported score of a run's study against the run's scores."""
    from tui.claims import claim_objects

    session = LocalSession(store_path())
    try:
        row = _chosen(session, options.run)
        study = studies.loads(row.study, f"run {row.id}")
        literature = _literature(study)
        scores = list(_scores(session, row.id).values())
        if options.format == "plain":
            _print_claims(study, literature, {score.id: score for score in scores}, options.stop)
        else:
            print_objects(claim_objects(study, literature, scores, options.stop), options.format)
        return cli.DONE
    finally:
        session.close()


def _write_report(session: LocalSession, run_id: int, folder: Path) -> None:
    from tui.reporting import write_report

    for path in write_report(session.store, run_id, folder):
        print(path)


def _chosen(session: LocalSession, wanted: int | None) -> Run:
    if wanted is not None:
        return session.store.run(wanted)
    runs = session.runs()
    if not runs:
        raise OptionError("the store holds no run yet; start one with `scoretrace run STUDY` or `scoretrace demo`")
    return runs[0]


def _scores(session: LocalSession, run_id: int) -> dict[str, Score]:
    from engine.events import from_dict

    return fold_scores(from_dict(body) for _, _, body in session.store.every_event(run_id))


def _list(session: LocalSession, form: str) -> int:
    rows = [{"run": row.id, "name": row.name, "state": row.state, "detail": row.detail} for row in session.runs()]
    if form == "plain":
        for row in rows:
            print(f"{row['run']:>4}  {row['state']:<9} {row['name']}  {row['detail']}".rstrip())
    else:
        print_objects(rows, form)
    return cli.DONE


def import_table(options: argparse.Namespace) -> int:
    """Read a table, say what could not be read, and keep the scores as CSV."""
    from literature.table import read_table, write_table

    table = read_table(options.table, mapping=parse_map(options.map))
    out = Path(options.out) if options.out else studies_folder() / (Path(options.table).stem + ".csv")
    if out.exists() and not options.out:
        raise OptionError(f"{out} exists; name another file with --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_table(table.scores, out)
    for place, text, reason in table.unread:
        print(f"{place}: {text!r} not read: {reason}", file=sys.stderr)
    print(f"{len(table.scores)} reported scores, {len(table.unread)} places not read -> {out}")
    return cli.DONE
