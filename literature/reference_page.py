"""The page on the tables that ship, worked out anew from them: `python -m literature.reference_page` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial

from literature.arithmetic import misfit, stated_samples
from literature.fingerprint import Fingerprint, fingerprints, fitting_sizes, source_key
from literature.granularity import count_list, counts, coverage, describe, fitting_problems, possible
from literature.records import ReportedScore
from literature.shipped import study_measured
from literature.table import read_table

PAGE = "docs/reference-tables.md"
PROBLEMS = 164
OLD, NEW, FULL = 399, 378, 500
"""Tasks of MBPP+ before and after its release of 378 tasks, and of MBPP's test split."""
_SCANNED = range(100, 501)
_HEAD = """# The reference tables, by arithmetic alone

Written by `python -m literature.reference_page` from the tables that ship; a test fails when the two differ. No model
was run for anything here. How it is worked out: [granularity.md](granularity.md).
"""


def page() -> str:
    """The whole page, as Markdown."""
    fix, mbpp = read_table("humanevalfix").scores, read_table("mbpp_deepseekcoder").scores
    parts = (_HEAD, *_studies(fix), *_values(fix), *_denominators(fix), *_mbpp(mbpp), *_counts(fix))
    return "\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table, closed by a blank line."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _studies(scores: Sequence[ReportedScore]) -> Iterable[str]:
    yield "## HumanEvalFix: one sample per problem, or many\n"
    share = float(coverage(PROBLEMS, 1, 1))
    yield (
        f"A study's own values, pooled. {share:.1%} of all one-decimal values are k/{PROBLEMS}; "
        'a log10\nlikelihood ratio above 2 or below -2 decides. "One sample" is not "greedy".\n'
    )
    found = fingerprints(scores, PROBLEMS)
    yield table(
        ("study", "own values", f"of them k/{PROBLEMS}", "quoted", "log10 ratio", "verdict"), map(_study, found)
    )


def _study(found: Fingerprint) -> Sequence[str]:
    ratio = f"{found.log10_ratio:+.1f}" if found.own else "-"
    return f"[{found.source}]", str(found.own), str(found.on_grid), str(found.copied), ratio, found.verdict


def _values(scores: Sequence[ReportedScore]) -> Iterable[str]:
    single = sum(possible(score.value, PROBLEMS) for score in scores)
    odd = [score for score in scores if misfit(score, PROBLEMS)]
    yield "## HumanEvalFix: every value\n"
    yield (
        f"{len(scores)} values of {len({score.model for score in scores})} models. {single} can be one sample on "
        f"{PROBLEMS} problems, {len(scores) - single} cannot; {len(odd)} cannot be\nwhat their source states. With 7 "
        "samples per problem or more every value can be printed: to be consistent with n=20 says little.\n"
    )
    header = ("model", "value", f"k of {PROBLEMS}", "n stated", "k with that n", "class")
    yield table(header, map(_value, scores))


def _value(score: ReportedScore) -> Sequence[str]:
    stated = stated_samples(score)
    one = counts(score.value, PROBLEMS)
    single = count_list(one.rounded) if one.rounded else f"none (nearest {one.nearest.count} = {one.nearest.percent})"
    if not one.rounded and one.truncate:
        single += f"; {count_list(one.truncate)} if cut off"
    many = count_list(counts(score.value, PROBLEMS, stated).rounded) if stated and stated > 1 else ""
    return score.model, score.label, single, str(stated or "-"), many or "-", arithmetic_class(score)


def arithmetic_class(score: ReportedScore, problems: int = PROBLEMS) -> str:
    """What arithmetic alone makes of a value and of the samples that its source states."""
    single, stated = possible(score.value, problems), stated_samples(score)
    if misfit(score, problems):
        return "cannot be as stated"
    if not single:
        return "cannot be one sample" if stated is None else f"consistent with n={stated}; cannot be one sample"
    return "can be one sample" if stated is None else f"consistent with n={stated}"


def _denominators(scores: Sequence[ReportedScore]) -> Iterable[str]:
    yield "## HumanEvalFix: which numbers of problems fit\n"
    yield (
        "Of the studies that look like one sample: every N from 100 to 500 on which all own values can be printed. "
        "N is\ntested here, not assumed.\n"
    )
    rows = []
    for found in fingerprints(scores, PROBLEMS):
        if found.verdict == "one sample":
            sizes = fitting_sizes(scores, found.source, _SCANNED)
            rows.append((f"[{found.source}]", str(found.own), _first(sizes)))
    yield table(("study", "own values", "N that fit"), rows)


def _first(sizes: Sequence[int], most: int = 8) -> str:
    shown = ", ".join(map(str, sizes[:most])) or "none"
    return shown + (f" and {len(sizes) - most} more" if len(sizes) > most else "")


def sizes_behind(scores: Iterable[ReportedScore], source: str) -> tuple[list[str], list[str]]:
    """The values of `source` that only the old, and only the new number of tasks can print with one sample each."""
    own = [score.value for score in scores if source in score.sources]
    old = [value for value in own if possible(value, OLD) and not possible(value, NEW)]
    new = [value for value in own if possible(value, NEW) and not possible(value, OLD)]
    return old, new


def _mbpp(scores: Sequence[ReportedScore]) -> Iterable[str]:
    yield f"## MBPP and MBPP+: {OLD} or {NEW} tasks\n"
    yield (
        f"EvalPlus scored MBPP and MBPP+ on {OLD} tasks at first and on {NEW} later, under one name; the test split "
        f"of MBPP has {FULL}.\nA value that only one of these can print with one sample per task tells them apart.\n"
    )
    sources = sorted({source for score in scores for source in score.sources}, key=source_key)
    rows, mixed = [], []
    for source in sources:
        old, new = sizes_behind(scores, source)
        values = [score.value for score in scores if source in score.sources]
        single = " or ".join(map(str, fitting_problems(values, (OLD, NEW, FULL))))
        verdict = f"{OLD} and {NEW}, mixed" if old and new else single or "none of these"
        mixed += [f"[{source}]"] if old and new else []
        fitting = fitting_problems(values, _SCANNED)
        rows.append((f"[{source}]", str(len(values)), _listed(old), _listed(new), verdict, _first(fitting, 4)))
    header = ("study", "values", f"only {OLD}", f"only {NEW}", "consistent with", "N of 100 to 500 that fit all")
    yield table(header, rows)
    yield (
        f"{' and '.join(mixed)} hold values of both: their base models' and their instruct models' scores cannot "
        "all be on one set of\ntasks. Base models' scores quoted from before the change would look so.\n"
    )
    fits = partial(_fits, sizes=(NEW, OLD, FULL))
    yield table(("model", "benchmark", "value", str(NEW), str(OLD), str(FULL)), map(fits, scores))


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values) or "-"


def _fits(score: ReportedScore, sizes: Sequence[int]) -> Sequence[str]:
    found = (counts(score.value, size).rounded for size in sizes)
    return score.model, score.benchmark, score.label, *(count_list(one) or "none" for one in found)


def _counts(scores: Sequence[ReportedScore]) -> Iterable[str]:
    yield "## What the paper's own counts come to\n"
    yield (
        "Statements of the paper behind the tables, held against them. Its runs are greedy or one sample, so that its\n"
        f"scores should be k/{PROBLEMS}.\n"
    )
    yield table(("statement", "in the data", "verdict"), [*_table_counts(scores), *_run_counts(scores)])


def _table_counts(scores: Sequence[ReportedScore]) -> Iterable[Sequence[str]]:
    models = len({score.model for score in scores})
    yield "25 models in its table", f"{models} rows with a model", _verdict(models == 25)
    yield (
        "35 unique results of the models it ran",
        "34 (model, value) pairs when it was transcribed; the table does not mark which models were run",
        "does not hold as transcribed; cannot be recounted from the table",
    )
    thirteen = [score for score in scores if score.model == "CodeLlama-Inst (13B)"]
    yield "six values reported for CodeLlama-Inst (13B)", f"{len(thirteen)}", _verdict(len(thirteen) == 6)
    base = [score for score in scores if score.model == "DeepSeekCoder (6.7B)" and score.value == "45.4"]
    yield "45.4 is reported for DeepSeekCoder (6.7B), the base model", f"{len(base)} record", _verdict(len(base) == 1)
    small = [Decimal(score.value) for score in scores if score.model == "DeepSeekCoder-Inst (1.3B)"]
    span = f"{min(small)} to {max(small)}"
    yield "DeepSeekCoder-Inst (1.3B) is reported from 9.1 to 48.9", span, _verdict(span == "9.1 to 48.9")


def _run_counts(scores: Sequence[ReportedScore]) -> Iterable[Sequence[str]]:
    measured = study_measured("humanevalfix")
    numbers = list(dict.fromkeys(text for row in measured for text in (row.low, row.high) if text))
    off = [text for text in numbers if not possible(text, PROBLEMS)]
    yield (
        f"the {len(numbers)} scores of its own runs that its text prints",
        f"{len(numbers) - len(off)} are k/{PROBLEMS}" + (f", not {', '.join(off)}" if off else ""),
        _verdict(not off),
    )
    lengths = {row.setting: row.low for row in measured if row.model == "DeepSeekCoder-Inst (1.3B)"}
    long, short = (counts(lengths[f"fp16 max length {size}"], PROBLEMS).rounded[0] for size in (2048, 512))
    drop = 100 * Fraction(long - short, long)
    shown = 100 * (1 - Fraction(lengths["fp16 max length 512"]) / Fraction(lengths["fp16 max length 2048"]))
    yield (
        "maximum length 512 instead of 2048: -22.87 %",
        f"{long} and {short} of {PROBLEMS}: -{float(drop):.2f} %; from the rounded scores -{float(shown):.2f} %",
        f"{_verdict(f'{float(shown):.2f}' == '22.87')} for the rounded scores",
    )
    yield (
        "45.12 is the nearest score of DeepSeekCoder-Inst (6.7B) to that 45.4",
        f"45.12 is {count_list(counts('45.12', PROBLEMS).rounded)} of {PROBLEMS}; 45.4 is {describe('45.4', PROBLEMS)}",
        "near, not equal: one sample cannot print it, so it is no evidence of the same run",
    )


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


if __name__ == "__main__":
    print(page(), end="")
