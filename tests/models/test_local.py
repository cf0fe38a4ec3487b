from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from cache.files import ModelFile
from cache.gguf import read_header
from engine.errors import ModelError
from engine.models import llamacpp, precision
from engine.models import open as opening
from engine.models.local import LocalModel
from engine.models.open import open_model
from engine.models.precision import derive
from engine.protocols import Generation, Request
from engine.settings import Decoding

TASKS = (
    "add two numbers", "reverse a list", "sort words", "count vowels", "find the maximum", "join lines", "test primes",
    "sum digits", "split a string", "merge dictionaries", "round up", "flatten lists", "check a palindrome",
    "make a set", "swap values", "print a table",
)  # fmt: skip
LIMIT = 6


@pytest.fixture(scope="module")
def model(released: ModelFile) -> Iterator[LocalModel]:
    """The small model as released, in eight slots, on one thread (other tests may use the other cores)."""
    opened = open_model("small", released, width=8, slot_tokens=256, threads=1)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def derived(released: ModelFile, tmp_path_factory: pytest.TempPathFactory) -> tuple[ModelFile, Path]:
    """The q8_0 file made from the released one, and the folder that it went to."""
    folder = tmp_path_factory.mktemp("models")
    return derive(released, "q8_0", folder), folder


def _requests(model: LocalModel, decoding: Decoding, count: int = 16) -> list[Request]:
    return [
        Request(f"{decoding.label} {task}", model.tokenize(f"# {task}\ndef"), decoding, LIMIT, index)
        for index, task in enumerate(TASKS[:count])
    ]


def _replies(model: LocalModel, requests: Sequence[Request]) -> dict[str, tuple[object, ...]]:
    return {one.key: (one.tokens, one.text, one.stop) for one in model.generate(requests)}


def test_replies_are_the_same_in_every_order(model: LocalModel) -> None:
    """Sixteen prompts, greedy and at T=0.8, in three orders through eight slots: the same thirty-two replies."""
    requests = _requests(model, Decoding()) + _requests(model, Decoding(0.8))
    first = _replies(model, requests)
    assert len({reply[0] for reply in first.values()}) > 20
    for seed in (1, 2):
        random.Random(seed).shuffle(requests)
        assert _replies(model, requests) == first


def test_a_part_of_a_run_gives_the_same_replies(model: LocalModel) -> None:
    """Three of the prompts alone, five slots idle, are answered as among all."""
    requests = _requests(model, Decoding(0.8), 10)
    first = _replies(model, requests)
    assert _replies(model, requests[4:7]) == {one.key: first[one.key] for one in requests[4:7]}


def test_a_shared_prefill_changes_nothing(model: LocalModel) -> None:
    """Samples of one prompt that share its prefill equal the same samples each prefilled for itself."""
    prompt, other = (model.tokenize(text) for text in ("def median(values):\n", "import os\n"))
    samples = [Request(f"sample {index}", prompt, Decoding(0.8), LIMIT, index) for index in range(6)]
    apart = [one for s in samples for one in (s, Request(f"between {s.key}", other, Decoding(), 2, 0))]
    together = _replies(model, samples)
    assert len({reply[0] for reply in together.values()}) > 3
    separate = _replies(model, apart)
    assert together == {key: separate[key] for key in together}


def test_longer_slots_give_the_same_logits(model: LocalModel) -> None:
    """The length of a slot is no part of the numerics: the same bits at 256 and 768 tokens per slot."""
    rows = []
    for slot_tokens in (256, 768):
        model.shape(slot_tokens=slot_tokens)
        rows += [model.decoder.prefill(range(20, 60))]
        model.decoder.share(3)
        rows += [model.decoder.decode([7] * 8, [0, 0, 0, 40, 0, 0, 0, 0])[3, 0].copy()]
    model.shape(slot_tokens=256)
    assert np.array_equal(rows[0], rows[2])
    assert np.array_equal(rows[1], rows[3])


def test_threads_change_no_logits(model: LocalModel, released: ModelFile) -> None:
    """One thread or two: the same bits, in prefill and in a step; so threads are no part of the numerics."""
    two = open_model("small", released, width=8, slot_tokens=256, threads=2)
    try:
        for decoder in (one := model.decoder, two.decoder):
            decoder.prefill(range(20, 28))
            decoder.share(0)
        assert np.array_equal(one.prefill(range(20, 28)), two.decoder.prefill(range(20, 28)))
        step = ([9] * 8, [8, 0, 0, 0, 0, 0, 0, 0])
        assert np.array_equal(one.decode(*step), two.decoder.decode(*step))
        assert one.threads != two.decoder.threads
        assert model.card.numerics == two.card.numerics
    finally:
        two.close()


def test_the_card_says_what_may_change_a_token(model: LocalModel, released: ModelFile) -> None:
    """Build, device, width, KV layout, attention kernel and sampler are numerics; threads are not."""
    card = model.card
    assert card.sha256 == card.source_sha256 == released.sha256
    assert (card.architecture, card.parameters, card.recipe) == ("llama", 134_515_008, "as released")
    assert card.tensor_types == {"f32": 61, "q4_1": 210, "q8_0": 1}
    assert set(card.numerics) - {"weights in memory"} == {
        "engine", "instruction sets", "device", "width", "kv", "flash attention", "micro-batch", "sampler",
    }  # fmt: skip
    assert card.numerics["width"] == "8"
    assert ("weights in memory" in card.numerics) == ("AMX_INT8" in card.numerics["instruction sets"].split())
    assert len(card.template_sha256) == 64


def test_text_and_tokens_go_back_and_forth(model: LocalModel) -> None:
    """Special tokens in a prompt become themselves, and are shown as text; end tokens are known."""
    prompt = "<|im_start|>user\nSay é!<|im_end|>\n"
    tokens = model.tokenize(prompt)
    assert b"".join(model.decoder.piece(token) for token in tokens).decode() == prompt
    assert tokens[0] == 1
    assert model.special_tokens["eos_token"] == "<|im_end|>"
    assert model.detokenize(tokens) == prompt
    assert 2 in model.decoder.end_tokens
    assert "im_start" in model.chat_template


def test_nothing_reaches_the_standard_streams(released: ModelFile, capfd: pytest.CaptureFixture[str]) -> None:
    """llama.cpp's chatter while loading is kept, not printed over the screen."""
    open_model("small", released, width=1, slot_tokens=256, threads=1).close()
    assert capfd.readouterr() == ("", "")
    assert llamacpp.last_log_lines()


def test_one_generation_loop_at_a_time(model: LocalModel) -> None:
    """A second loop would write into the first one's slots: it is refused until the first is closed."""
    first = model.generate(_requests(model, Decoding(), 2))
    next(first)
    with pytest.raises(ModelError, match="generating already"):
        next(model.generate(_requests(model, Decoding(), 1)))
    with pytest.raises(ModelError, match="close that iteration"):
        model.shape(width=4)
    first.close()
    again: list[Generation] = list(model.generate(_requests(model, Decoding(), 1)))
    assert len(again) == 1


@pytest.mark.parametrize("width", [2, 6, 7, 256])
def test_widths_that_kernels_do_not_treat_alike_are_refused(model: LocalModel, width: int) -> None:
    """Rows are computed in fours; in a width of 6 some slots would get other kernels than others."""
    with pytest.raises(ModelError, match="multiple of 4"):
        model.shape(width=width)
    assert model.decoder.width == 8
    assert len(list(model.generate(_requests(model, Decoding(), 1)))) == 1


def test_an_empty_prompt_is_an_error(model: LocalModel) -> None:
    """Nothing to continue: said so, instead of whatever the last prompt left."""
    with pytest.raises(ModelError, match="without tokens"):
        list(model.generate([Request("a", (), Decoding(), 3, 0)]))


def test_a_precision_is_derived_once(derived: tuple[ModelFile, Path], released: ModelFile) -> None:
    """The q8_0 file names its source and recipe, holds q8_0, and is reused instead of being made again."""
    made, folder = derived
    assert made.path.parent == folder
    assert made.recipe == "q8_0 from q4_1: adds nothing back"
    assert made.source_sha256 == released.sha256 != made.sha256
    assert read_header(made.path).tensor_types == {"f32": 61, "q8_0": 211}
    before = made.path.stat().st_mtime_ns
    assert derive(released, "q8_0", folder) == made
    assert made.path.stat().st_mtime_ns == before
    assert list(folder.iterdir()) == [made.path]


def test_a_derived_file_generates(derived: tuple[ModelFile, Path]) -> None:
    """It loads as it is, under its own name and sha256."""
    opened = open_model("small", derived[0], width=1, slot_tokens=256, threads=1)
    try:
        (reply,) = opened.generate([Request("a", opened.tokenize("1, 2, 3, 4,"), Decoding(), 3, 0)])
        assert reply.text.strip().startswith("5")
        assert opened.card.recipe == "q8_0 from q4_1: adds nothing back"
    finally:
        opened.close()


def test_a_file_of_the_wanted_precision_is_used_as_it_is(derived: tuple[ModelFile, Path], tmp_path: Path) -> None:
    """q8_0 asked of a q8_0 file: the file itself, nothing written, the same sha256 (and so the same keys)."""
    same = derive(derived[0], "q8_0", tmp_path)
    assert (same.path, same.sha256) == (derived[0].path, derived[0].sha256)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_derivation_leaves_no_file(
    released: ModelFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quantiser fails half way: ModelError, and no file that a later run would take for whole."""

    def fail(source: Path, target: Path, to: str, threads: int) -> None:
        target.write_bytes(b"GGUF half")
        raise ModelError("llama.cpp could not")

    monkeypatch.setattr(precision.llamacpp, "quantise", fail)
    with pytest.raises(ModelError):
        derive(released, "q4_0", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_llama_cpp_cannot_load_is_an_error(tiny: Path) -> None:
    """A whole GGUF without a vocabulary: ModelError with llama.cpp's own last words."""
    pytest.importorskip("llama_cpp")
    with pytest.raises(ModelError, match=r"cannot load .*tiny\.gguf: .*llama"):
        open_model("tiny", ModelFile(tiny, str(tiny), "0" * 64, "test"), width=1)


def test_too_large_for_memory_is_said_before_loading(released: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 200 MB left nothing is loaded; the error names what is needed, what there is, and what to change."""
    monkeypatch.setattr(opening, "available_memory", lambda: 200_000_000)
    monkeypatch.setattr(llamacpp, "LlamaDecoder", None)
    with pytest.raises(ModelError, match=r"0\.10 GB of weights.*KV cache for 8 slots.*0\.20 GB available; choose"):
        open_model("small", released, width=8)


def test_the_default_width_shrinks_to_what_fits(released: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where eight slots of 8192 tokens do not fit, four or one are opened."""
    monkeypatch.setattr(opening, "available_memory", lambda: 1_600_000_000)
    opened = open_model("small", released, slot_tokens=8192, threads=1)
    assert opened.decoder.width == 4
    opened.close()


def test_a_prompt_never_ends_in_a_micro_batch_of_one() -> None:
    """513 and 1025 tokens are split so that the last part has two: single tokens have kernels of their own."""
    for length in (1, 2, 511, 512, 513, 514, 1024, 1025, 5000):
        parts = list(llamacpp._parts(length))
        assert [start for start, _ in parts] == [0, *(end for _, end in parts[:-1])]
        assert parts[-1][1] == length
        assert all(1 <= end - start <= llamacpp.MICRO_BATCH for start, end in parts)
        assert length == 1 or parts[-1][1] - parts[-1][0] > 1
