"""Two results over the same problems, paired: from files of {task_id, passed}, or from configurations in the store."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from engine.scoring import Score
from tui.errors import OptionError
from tui.lines import print_objects, read_objects

NAMES = ("n", "b", "c", "delta", "p_exact", "p_mid", "standard_error", "resolution", "unmatched")
Passed = dict[str, bool | None]


def compare(options: argparse.Namespace) -> int:
    """The paired comparison of two results; --seeds: is it outside seed noise, --margin: are they equal?

    A difference that is not shown is no equality: that needs a margin, set before looking.
    """
    from literature.effects import compare as paired
    from literature.effects import equivalence, seed_noise

    result = paired(results_of(options.a), results_of(options.b))
    found: dict[str, Any] = {name: getattr(result, name) for name in NAMES}
    if options.seeds:
        if len(options.seeds) < 2:
            raise OptionError("--seeds: name two results of one recipe or more")
        noise = seed_noise(result, [results_of(name) for name in options.seeds])
        found |= {"seed_bound": noise.bound, "outside_seed_noise": noise.outside, "seed_noise": noise.sentence}
    if options.margin is not None:
        same = equivalence(result, options.margin)
        found |= {
            "margin": same.margin, "equivalent": same.equivalent, "smallest_margin": same.smallest_margin,
            "detectable": None if math.isnan(same.detectable) else same.detectable, "equivalence": same.sentence,
        }  # fmt: skip
    print_objects([found], options.format)
    return 0


def results_of(name: str) -> Passed:
    """Problem id -> passed, of a file, or of a stored configuration by its id (or the first digits of it)."""
    path = Path(name)
    if path.is_file():
        return _of_file(path)
    if len(name) >= 4 and all(char in "0123456789abcdef" for char in name):
        return _of_store(name)
    raise OptionError(
        f"{name}: cannot be read: no such file; expected JSON Lines of {{task_id, passed}}, or the id of a stored "
        "configuration (`scoretrace match --format jsonl` names them)"
    )


def _of_file(path: Path) -> Passed:
    try:
        with path.open(encoding="utf-8") as stream:
            rows = list(read_objects([("task_id", "passed")], stream))
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{path}: cannot be read: {error}; expected JSON Lines of {{task_id, passed}}") from None
    except OptionError as error:
        raise OptionError(str(error).replace("standard input", str(path))) from None
    found: Passed = {}
    for row in rows:
        task_id, passed = str(row["task_id"]), row["passed"]
        if task_id in found:
            raise OptionError(f"{path}: task_id {task_id!r} stands twice; give one line per problem")
        if not isinstance(passed, bool | None):
            raise OptionError(f"{path}: task_id {task_id!r}: passed is {passed!r}; expected true, false or null")
        found[task_id] = passed
    return found


def _of_store(prefix: str) -> Passed:
    score = _stored(prefix)
    if score.samples > 1:
        print(
            f"scoretrace: {score.id} has {score.samples} samples a problem: passed means more than half of them",
            file=sys.stderr,
        )
    return {
        task_id: 2 * score.passes[index] > score.judged[index] if score.judged[index] else None
        for index, task_id in enumerate(score.task_ids)
    }


def _stored(prefix: str) -> Score:
    """The score of the one configuration whose id begins so, from the newest run that has it."""
    from cache.paths import store_path
    from cache.store import Store
    from engine.events import from_dict
    from engine.job import Job
    from engine.scoring import fold_scores

    store = Store(store_path())
    try:
        for run in store.runs():
            ids = [one.id for one in Job.from_dict(run.job).configurations if one.id.startswith(prefix)]
            if len(ids) > 1:
                raise OptionError(f"{prefix}: {len(ids)} configurations of run {run.id} begin so; give more digits")
            scores = fold_scores(from_dict(body) for _, _, body in store.every_event(run.id)) if ids else {}
            if ids and ids[0] in scores:
                return scores[ids[0]]
    finally:
        store.close()
    raise OptionError(f"{prefix}: no such file, and no run in the store has a configuration whose id begins so")
