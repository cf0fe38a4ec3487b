"""From a grid to passes: what is shared, in what order, and that nothing is lost on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingsError
from engine.plan import make_plan
from engine.settings import Configuration, Decoding, Grid, parse_decoding, reference_grid

SIZE = {"bugfix-mini": 64}


def test_the_reference_grid_costs_30_generations_per_problem() -> None:
    """60 configurations: 2 templates x 3 decodings x 5 precisions are generated; the shorter length is a prefix."""
    configurations = list(reference_grid("bugfix-mini").configurations(["m"]))
    plan = make_plan(configurations)
    assert len(configurations) == 60
    assert (len(plan.loads), plan.generations(SIZE), plan.naive(SIZE)) == (5, 30 * 64, 60 * 64)


def test_twenty_samples_cost_410_rather_than_1200_generations_per_problem() -> None:
    """Greedy runs once whatever n: 10 greedy and 20 x 20 sampled passes per problem."""
    grid = Grid(
        benchmark=("bugfix-mini",), template=("instruct", "chat"), decoding=(Decoding(), Decoding(0.2), Decoding(0.8)),
        max_length=(512, 2048), precision=("f32", "f16", "bf16", "q8_0", "q4_k_m"), samples=(20,),
    )  # fmt: skip
    plan = make_plan(grid.configurations(["m"]))
    assert plan.generations({"bugfix-mini": 1}) == 410


AXES = st.fixed_dictionaries(
    {
        "template": st.lists(st.sampled_from(["instruct", "chat", "octocoder"]), min_size=1, unique=True),
        "decoding": st.lists(st.sampled_from([Decoding(), Decoding(0.2), Decoding(0.8)]), min_size=1, unique=True),
        "max_length": st.lists(st.integers(1, 4096), min_size=1, max_size=3, unique=True),
        "precision": st.lists(st.sampled_from(["f32", "f16", "q8_0"]), min_size=1, unique=True),
        "samples": st.lists(st.integers(1, 20), min_size=1, max_size=2, unique=True),
        "seed": st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
        "prefill": st.lists(st.booleans(), min_size=1, unique=True),
        "extraction": st.lists(st.sampled_from(["harness", "raw"]), min_size=1, unique=True),
    }
)


@given(AXES, st.booleans())
def test_every_configuration_reads_one_pass_that_serves_it(axes: dict[str, list[object]], early: bool) -> None:
    """Each configuration reads exactly one pass: its decoding, at least its samples and length, and its extraction."""
    grid = Grid(benchmark=("b",), **{name: tuple(values) for name, values in axes.items()})  # type: ignore[arg-type]
    configurations = list(grid.configurations(["m"]))
    plan = make_plan(configurations, early_first=early)
    read = [(group, p, c) for group in plan.groups for p in group.passes for c in p.configurations]
    assert sorted((c for _, _, c in read), key=lambda c: c.id) == sorted(configurations, key=lambda c: c.id)
    for group, p, c in read:
        assert (group.precision, group.template, group.prefill) == (c.precision, c.template, c.prefill)
        assert p.decoding == c.decoding
        assert p.samples >= c.samples and p.max_length >= c.max_length and c.extraction in p.extractions
        assert p.decoding.greedy or p.seed == c.seed
    keys = [(g.precision, g.template, g.prefill, p.decoding, p.seed) for g in plan.groups for p in g.passes]
    assert len(keys) == len(set(keys)), "no pass is made twice"


def test_the_first_decoding_runs_alone_so_that_a_score_comes_soon() -> None:
    """The first group holds one pass; the others share their prompts."""
    plan = make_plan(reference_grid("bugfix-mini").configurations(["m"]))
    assert [len(group.passes) for group in plan.groups[:3]] == [1, 2, 3]


@pytest.mark.parametrize("decoding", [Decoding(), Decoding(0.2), Decoding(0.8, 0.9), Decoding(1.0, 0.95, 40)])
def test_a_decoding_reads_back_from_its_label(decoding: Decoding) -> None:
    """What a screen shows can be typed."""
    assert parse_decoding(decoding.label) == decoding


@pytest.mark.parametrize("text", ["", "T=0", "T=-1", "T=hot", "warm", "T=0.2 top_p=0", "T=0.2 top_k=-1", "top_p=0.5"])
def test_a_wrong_decoding_is_refused(text: str) -> None:
    """The message shows the text and what is expected."""
    with pytest.raises(SettingsError, match="decoding"):
        parse_decoding(text)


def test_a_configuration_survives_its_dict_and_keeps_its_id() -> None:
    """Plain data rebuilds the same configuration; the id depends on values alone."""
    configuration = Configuration("m", "b", "instruct", Decoding(0.2), 512, "f16", samples=20, seed=3)
    assert Configuration.from_dict(configuration.as_dict()) == configuration
    assert Configuration.from_dict(configuration.as_dict()).id == configuration.id
    assert configuration.id != Configuration("m", "b", "instruct", Decoding(0.2), 512, "f32", samples=20, seed=3).id


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("template", ()),
        ("precision", ("f16", "f16")),
        ("precision", ("fp16",)),
        ("samples", (0,)),
        ("max_length", (-1,)),
    ],
)
def test_a_wrong_axis_is_named(axis: str, values: tuple[object, ...]) -> None:
    """An empty axis, a value twice, an unknown value, a number below 1: the message names the axis."""
    with pytest.raises(SettingsError, match=axis):
        Grid(benchmark=("b",), **{axis: values})  # type: ignore[arg-type]
