"""Match classes, chance match and claim verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from literature.chance import acceptance, chance_match, covered, merge, placebo
from literature.matching import KINDS, match, same_benchmark, verdicts
from literature.rerun import Repeats

if TYPE_CHECKING:
    from conftest import Build


GREEDY = {"decoding": "greedy"}
N20 = {"decoding": "sampled", "samples": "20"}


@pytest.mark.parametrize(
    ("count", "value", "stated", "kind"),
    [
        (80, "48.8", GREEDY, "exact"),
        (80, "48.8", {}, "exact"),
        (80, "48.8", N20, "rounding"),
        (80, "48.7", GREEDY, "rounding"),
        (80, "49", GREEDY, "rounding"),
        (80, "49.4", GREEDY, "near"),
        (80, "49.4", N20, "within noise"),
        (80, "50.0", GREEDY, "within noise"),
        (80, "50.6", GREEDY, "inconclusive"),
        (80, "51.2", GREEDY, "ruled out"),
        (15, "48.9", N20, "ruled out"),
    ],
)
def test_greedy_classes(build: Build, count: int, value: str, stated: Mapping[str, str], kind: str) -> None:
    """A finished greedy score of 164 against values at growing distance, by what the source states."""
    found = match(build.greedy(count), build.score(value, **stated))
    assert found.kind == kind
    assert found.kind in KINDS
    assert found.glyph and found.sentence


def test_sampled_classes(build: Build) -> None:
    """n=20 against n=20: several counts print the same, close values are noise, two points are not."""
    passes = ([0] * 8 + [1, 3, 9, 16, 19] + [20] * 7) * 8
    percent = 100 * sum(passes) / (20 * len(passes))
    one = build.sampled(passes, 20)

    def kind(shift: float, stated: Mapping[str, str] = N20) -> str:
        return match(one, build.score(f"{percent + shift:.1f}", **stated)).kind

    assert [kind(0), kind(0.4), kind(4)] == ["rounding", "within noise", "ruled out"]
    assert kind(2, {}) == "within noise", "an unknown number of samples is taken as one, the widest case"


def test_one_sample_at_temperature_is_inconclusive_unless_far_off(build: Build) -> None:
    """n=1 at T>0 has no variance of its own: a near miss is inconclusive with what to run, a far one is ruled out."""
    one = build.sampled([1] * 80 + [0] * 84, 1)
    near, far = (match(one, build.score(value, **N20)) for value in ("51.0", "70.0"))
    assert near.kind == "inconclusive"
    assert "n=5" in near.sentence
    assert far.kind == "ruled out"
    assert match(one, build.score("51.0", **N20), Repeats(within=0.03)).kind in ("within noise", "inconclusive")


def test_running_scores_are_intervals_and_excluded_by_the_exact_bound(build: Build) -> None:
    """Sixteen passes in 100 of 164 problems end in 16..80: 29.3 and the close 9.1 stay open, 60 and 4 do not."""
    half = build.greedy(16, judged=100)
    found = {value: match(half, build.score(value)) for value in ("29.3", "9.1", "60.0", "4.3")}
    assert {value: one.kind for value, one in found.items()} == {
        "29.3": "open",
        "9.1": "open",
        "60.0": "ruled out",
        "4.3": "ruled out",
    }
    assert (found["29.3"].low, found["29.3"].high, found["29.3"].total) == (16, 80, 164)
    assert "exact bound after 100 of 164 problems" in found["60.0"].sentence


@pytest.mark.parametrize("value", ["9.1", "29.3", "36.0", "48.9"])
def test_what_is_ruled_out_while_running_stays_ruled_out(build: Build, value: str) -> None:
    """Whatever the rest of a run brings, an excluded value is never matched at the end."""
    score = build.score(value)
    for judged in range(0, 165, 20):
        for passed in range(0, judged + 1, 10):
            if match(build.greedy(passed, judged=judged), score).kind == "ruled out":
                ends = (passed, passed + 164 - judged)
                assert {match(build.greedy(end), score).kind for end in ends} == {"ruled out"}


def test_an_impossible_claim_keeps_its_run_verdict(build: Build) -> None:
    """48.9 from one sample on 164 cannot be; that stands beside what the run says, and is not called wrong."""
    found = match(build.greedy(80), build.score("48.9", **GREEDY))
    assert found.impossible
    assert "do not fit" in found.beside
    assert found.kind == "within noise"
    assert not match(build.greedy(80), build.score("48.9", **N20)).impossible


def test_chance_match_by_hand(build: Build) -> None:
    """Two configurations ten problems apart: two of the printed values, two of the eleven grid values between them."""
    ones = [build.greedy(40), build.greedy(50)]
    found = chance_match(build.score("24.4", **GREEDY), ones, "exact")
    assert found is not None
    assert found.everywhere == pytest.approx(2 / 1001)
    assert found.in_span == pytest.approx(2 / 62)
    assert found.on_grid == pytest.approx(2 / 11)
    assert not found.little


def test_a_dense_grid_makes_a_match_worth_little(build: Build) -> None:
    """When every grid value in the span is measured, any single-sample number there matches; it is said so."""
    found = chance_match(build.score("24.4", **GREEDY), [build.greedy(k) for k in range(30, 60)], "exact")
    assert found is not None
    assert found.on_grid == 1.0
    assert "carries little information" in found.sentence


def test_acceptance_agrees_with_the_classes(build: Build) -> None:
    """A value lies in a configuration's acceptance set exactly when the classes call it a match."""
    one = build.greedy(80)
    spans = merge(acceptance(one, "within rerun noise", 1, 20))
    for tick in range(400, 600):
        kind = match(one, build.score(f"{tick / 10:.1f}", **N20)).kind
        inside = covered(spans, tick, tick) == 1
        cut_off = "cut off" in match(one, build.score(f"{tick / 10:.1f}", **N20)).sentence
        assert inside == (kind in ("exact", "rounding", "within noise")) or cut_off


def test_a_borrowed_variance_widens_the_chance(build: Build) -> None:
    """One sample at T>0 accepts only what it prints, rounded or cut off; with its siblings' variance, an interval."""
    ones = [build.sampled([1] * count + [0] * (164 - count), 1, id=f"c{count}") for count in (40, 90)]
    score = build.score("24.4", **N20)
    alone, borrowed = (
        chance_match(score, ones, "within noise", repeats=known) for known in (None, {"c40": Repeats(within=0.03)})
    )
    assert alone is not None and borrowed is not None
    assert alone.everywhere == pytest.approx(4 / 1001)
    assert borrowed.everywhere > 10 * alone.everywhere


def test_placebo_shifts(build: Build) -> None:
    """Values that sit on the measured scores match more often than the same values shifted."""
    claims = [(build.score(f"{100 * k / 164:.1f}", **GREEDY), [build.greedy(k)]) for k in (20, 57, 90, 133)]
    found = placebo(claims, "exact")
    assert found.matches == 4
    assert found.p < 0.05


def test_claim_verdicts_say_what_they_must(build: Build) -> None:
    """A match comes with its chance and 'not identified'; all ruled out names what was not searched."""
    ones = [build.greedy(k, id=f"c{k}", axes={"decoding": "greedy", "length": str(k)}) for k in (40, 50)]
    hit, miss, none = verdicts(
        [build.score("24.4", **GREEDY), build.score("80.5", **GREEDY), build.score("1.2", model="else")],
        ones,
        names={},
    )
    assert hit.kind == "reproduced, not identified"
    assert (hit.matching, hit.configurations) == (1, 2)
    assert "chance" in hit.sentence
    assert hit.best is not None and hit.best.measurement == "c40"
    assert miss.kind == "not reproduced in the searched space"
    assert {"decoding", "model revision", "top_p"} <= set(miss.unsearched)
    assert "length" not in miss.unsearched
    assert "this revision and harness" in miss.sentence
    assert none.kind == "open"


def test_identified_only_when_told_so(build: Build) -> None:
    """A claim is called identified only when its study's settings are."""
    score = build.score("24.4", **GREEDY)
    (found,) = verdicts([score], [build.greedy(40)], names={}, identified=[score.id])
    assert found.kind == "reproduced, identified"


def test_another_models_number_is_its_own_line(build: Build) -> None:
    """A base model's reported number that the instruct model prints is listed with that model's own chance."""
    ones = [build.greedy(20, id="own"), *(build.greedy(k, id=f"o{k}", model="m-inst") for k in (74, 60, 90))]
    (found,) = verdicts([build.score("45.1", **GREEDY)], ones, names={"m": {"m"}})
    assert found.kind == "not reproduced in the searched space"
    (other,) = found.misattributions
    assert (other.model, other.kind, other.configurations) == ("m-inst", "exact", ("o74",))
    assert other.chance is not None
    assert other.chance.settings == 3


def test_another_variants_number_is_its_own_line(build: Build) -> None:
    """A number of the docs variant under the tests variant's name is listed with that variant's own chance."""
    tests = [build.greedy(k, id=f"t{k}", benchmark="humanevalfixtests-python") for k in (20, 30)]
    docs = [build.greedy(k, id=f"d{k}", benchmark="humanevalfixdocs-python") for k in (74, 60, 90)]
    named = replace(build.score("45.1", **GREEDY), benchmark="humanevalfixtests-python")
    stated, family = build.score("45.1", variant="tests", **GREEDY), build.score("45.1", **GREEDY)
    for score, kind in (
        (named, "not reproduced in the searched space"),
        (stated, "not reproduced in the searched space"),
        (family, "reproduced, not identified"),
    ):
        (found,) = verdicts([score], [*tests, *docs], names={})
        assert found.kind == kind
        (other,) = found.misattributions
        assert (other.model, other.benchmark, other.configurations) == ("m", "humanevalfixdocs-python", ("d74",))
        assert other.chance is not None and other.chance.settings == 3
        assert "humanevalfixdocs-python prints 45.1" in other.sentence
    (both,) = verdicts([family], [*docs, build.greedy(74, id="t74", benchmark="humanevalfixtests-python")], names={})
    assert not both.misattributions, "where every variant prints it, none is another"


def test_one_score_has_no_span(build: Build) -> None:
    """A single configuration spans nothing: the chance over 0..100 is named, not a chance of 1."""
    (found,) = verdicts([build.score("24.4", **GREEDY)], [build.greedy(40)], names={})
    assert found.chance is not None and found.chance.local is None and not found.chance.little
    assert "no span to compare with" in found.sentence
    assert "1.00" not in found.sentence
    assert "one score measured" in found.chance.brief


def test_names_relate_reported_and_measured_models(build: Build) -> None:
    """The explicit relation decides what is the same model."""
    ones = [build.greedy(40, model="file-q8"), build.greedy(40, id="c2", model="file-f16")]
    score = build.score("24.4", model="DeepSeekCoder")
    (found,) = verdicts([score], ones, names={"DeepSeekCoder": {"file-q8", "file-f16"}})
    assert found.configurations == 2
    assert not found.misattributions


def test_impossible_as_stated_needs_no_run(build: Build) -> None:
    """Without any measurement of the model the verdict on an impossible claim is arithmetic alone."""
    (found,) = verdicts([build.score("77.3", **GREEDY)], [], names={}, problems={"humanevalfix-python": 164})
    assert found.kind == "impossible as stated"
    assert "126/163 with 1 lost" in found.sentence
    for word in ("proved", "fraud", "wrong"):
        assert word not in found.sentence


def test_task_variants_are_one_benchmark(build: Build) -> None:
    """A source that says only the family is compared with both variants, and with no other benchmark."""
    ones = [
        build.greedy(40, id=b, benchmark=b) for b in ("humanevalfixtests-python", "humanevalfixdocs-python", "mbpp")
    ]
    (found,) = verdicts([build.score("24.4")], ones, names={})
    assert {one.measurement for one in found.matches} == {"humanevalfixtests-python", "humanevalfixdocs-python"}


def test_pass_at_ten_is_held_against_no_count(build: Build) -> None:
    """55.5 is 91/164, but a pass@10 of 55.5 is no count: nothing matches it, and no arithmetic speaks against it."""
    one, ten = (replace(build.score("55.5", samples="1"), metric=name) for name in ("Pass@1", "pass@10"))
    (plain,), (other,) = (verdicts([score], [build.greedy(91)], names={}) for score in (one, ten))
    assert plain.matching == 1
    assert (other.kind, other.matches, other.misattributions) == ("open", (), ())
    assert other.sentence == "pass@10 is not compared: what is measured here is pass@1"
    off = [replace(build.score("55.0", samples="1"), metric=name) for name in ("pass@1", "pass@10", "pass_at_10")]
    assert [bool(found.beside) for found in verdicts(off, [build.greedy(91)], names={})] == [True, False, False]


@pytest.mark.parametrize(("count", "value"), [(0, "0.6"), (164, "99.4")])
@pytest.mark.parametrize("samples", [5, 20])
def test_what_was_never_seen_is_not_impossible(build: Build, count: int, value: str, samples: int) -> None:
    """No pass among all samples leaves room for one in a rerun of 164, by the rule of three; five points are out."""
    one = build.sampled([samples if count else 0] * 164, samples)
    near = match(one, build.score(value, samples="1"))
    assert near.kind in ("within noise", "inconclusive")
    # Jeffreys: P(a pass among 164) = 1 - B(.5, M + .5 + 164) / B(.5, M + .5), which sqrt(M / (M + 164)) comes near to.
    chance = 1 - (samples / (samples + 1)) ** 0.5
    assert near.p_rerun == pytest.approx(2 * chance, rel=0.05)
    assert "Jeffreys" in near.sentence
    assert match(one, build.score("5.0" if not count else "95.0", samples="1")).kind == "ruled out"


def test_another_stated_number_of_problems_is_not_the_same_setup(build: Build) -> None:
    """77.3 of stated 163 problems fits 126/163, whatever was measured; 80/164 prints 48.8 of 378 only as rounding."""
    fits = match(build.greedy(126), build.score("77.3", problems="163", **GREEDY))
    assert not fits.beside and fits.kind != "near" and "the source states N=163, this is N=164" in fits.sentence
    assert "no count of 164" in match(build.greedy(126), build.score("77.3", **GREEDY)).beside
    found = match(build.greedy(80), build.score("48.8", problems="378", **GREEDY))
    assert (found.kind, found.sentence) == ("rounding", "80/164 prints as 48.8; the source states N=378, this is N=164")
    assert match(build.greedy(80), build.score("48.8", problems="164", **GREEDY)).kind == "exact"


def test_again_means_the_same_samples_where_none_are_stated(build: Build) -> None:
    """Where no samples are stated, an exact match of n=5 says how often five samples print it, not how often one."""
    one = build.sampled([3, 4, 5, 0], 5)
    found = match(one, build.score("60"))
    assert found.kind == "exact" and found.p_same == match(one, build.score("60", samples="5")).p_same
    assert found.p_same and found.p_same > 0.05


def test_small_chances_and_single_configurations_are_worded_as_such(build: Build) -> None:
    """A chance of 1/1001 is not 0.00, and one configuration is not all of them."""
    (hit,) = verdicts([build.score("48.8")], [build.greedy(80)], names={})
    assert "consistent with 1 of 1 configuration (1 exact)" in hit.sentence
    assert hit.chance and "matches with chance <.01 " in hit.sentence and "<.01 in 0..100" in hit.chance.brief
    (miss,) = verdicts([build.score("60")], [build.greedy(80)], names={})
    assert miss.sentence.startswith("the one configuration is ruled out")


@pytest.mark.parametrize(
    ("reported", "measured"),
    [
        ("HumanEval+", ["humanevalplus"]),
        ("HumanEval Plus", ["humanevalplus"]),
        ("MBPP+", ["mbppplus"]),
        ("mbpp_plus", ["mbppplus"]),
        ("HumanEval", ["humaneval", "humaneval-unstripped"]),
        ("openai_humaneval", ["humaneval", "humaneval-unstripped"]),
        ("HumanEvalFix", ["humanevalfixtests-python", "humanevalfixdocs-python", "humanevalfixdocs-cpp"]),
        ("HumanEvalFix (Python)", ["humanevalfixtests-python", "humanevalfixdocs-python"]),
        ("HumanEvalFixDocs C++", ["humanevalfixdocs-cpp"]),
        ("HumanEval-X", []),
        ("MBPP", ["mbpp"]),
    ],
)
def test_benchmarks_go_by_the_names_that_tables_give_them(reported: str, measured: list[str]) -> None:
    """`MBPP+` is mbppplus and nothing else; a name without a language can mean any language."""
    names = (
        "humaneval", "humaneval-unstripped", "humanevalplus", "humanevalfixtests-python", "humanevalfixdocs-python",
        "humanevalfixdocs-cpp", "mbpp", "mbpp-sanitized", "mbppplus", "bugfix-mini",
    )  # fmt: skip
    assert [name for name in names if same_benchmark(reported, name)] == measured


@pytest.mark.parametrize(("value", "leaning"), [("51.2", True), ("52.5", True), ("55.5", False)])
def test_ruled_out_by_assumed_jitter_says_so(build: Build, value: str, leaning: bool) -> None:
    """Near the value a greedy score is ruled out by the assumed jitter alone, and says so; farther off it is not."""
    found = match(build.greedy(80), build.score(value))
    assert (found.kind, found.basis, found.leaning) == ("ruled out", "ASSUMED", leaning)
    assert ("rests on the ASSUMED jitter" in found.sentence) is leaning
    assert found.glyph == ("✗*" if leaning else "✗")
    (verdict,) = verdicts([build.score(value)], [build.greedy(80)], names={})
    assert (", 1 of them by the ASSUMED jitter alone; " in verdict.sentence) is leaning


def test_more_jitter_measured_later_softens_what_leaned(build: Build) -> None:
    """What leans on the assumed jitter is what variants with a tenth of the problems undecided do not rule out."""
    own = build.greedy(80)
    # 16 of 164 problems pass in one of two variants: the one measured and another with the same total.
    passes = [2] * 72 + [1] * 16 + [0] * 76
    softened = match(own, build.score("51.2"), Repeats(tuple(passes), 2, (80, 80)))
    assert softened.basis == "MEASURED" and softened.kind != "ruled out" and not softened.leaning
    assert match(own, build.score("55.5"), Repeats(tuple(passes), 2, (80, 80))).kind == "ruled out"


def test_a_running_score_that_leans_says_so(build: Build) -> None:
    """The exact bound of a greedy run is drawn with the assumed jitter: close to it the sentence names that."""
    score = build.score("50.0")
    kinds = {judged: match(build.greedy(70, judged=judged), score) for judged in (154, 157, 160)}
    near = next(found for found in kinds.values() if found.kind == "ruled out")
    assert near.basis == "ASSUMED" and near.leaning and "variants of it that finish can show" in near.sentence
    far = match(build.greedy(10, judged=160), score)
    assert (far.kind, far.leaning) == ("ruled out", False)


def test_a_match_by_assumed_noise_is_labelled_where_it_counts(build: Build) -> None:
    """The claim's line says that the noise of its match is assumed; a measured one carries no label."""
    (assumed,) = verdicts([build.score("50.0")], [build.greedy(80)], names={})
    assert "(1 within ASSUMED noise)" in assumed.sentence
    assert assumed.matches[0].glyph == "~*"
    sampled = build.sampled(([0] * 8 + [1, 3, 9, 16, 19] + [20] * 7) * 8, 20)
    (measured,) = verdicts([build.score("47.5")], [sampled], names={})
    assert "(1 within noise)" in measured.sentence
    assert measured.matches[0].glyph == "~"
