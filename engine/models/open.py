"""Open a model file at a precision: checked against memory, loaded, shaped, and described by its card."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from cache.files import Facts, ModelFile, gigabytes
from cache.gguf import Header, read_header
from engine.errors import ModelError
from engine.models import llamacpp, sampling, schedule
from engine.models.memory import available_memory, needed, usable_cores
from engine.models.precision import derive
from engine.protocols import Generation, ModelCard, Request

DEFAULT_WIDTH = 8
"""Slots decoded together where no calibration says otherwise."""

WIDTHS = (32, 16, 8, 4, 1)
"""Widths to choose from: kernels take rows in fours, so in other widths a slot's number could show in its logits."""


class LocalModel:
    """A `Model` on this machine: weights loaded once, slots reshaped as passes need; one generation loop at a time."""

    def __init__(self, name: str, file: ModelFile, decoder: llamacpp.LlamaDecoder, device: str) -> None:
        self.file = file
        self.decoder = decoder
        self._name = name
        self._device = device
        self._header = read_header(file.path)
        self._busy = False

    @property
    def header(self) -> Header:
        """What the file says of itself."""
        return self._header

    @property
    def card(self) -> ModelCard:
        """Identity and numerics of what is loaded, in its present shape."""
        head = self._header
        return ModelCard(
            name=self._name,
            path=str(self.file.path),
            sha256=self.file.sha256,
            source_sha256=self.file.source_sha256,
            recipe=self.file.recipe,
            architecture=head.architecture,
            parameters=head.parameters,
            template_sha256=hashlib.sha256(self.chat_template.encode()).hexdigest(),
            tensor_types=dict(head.tensor_types),
            numerics=self._numerics(),
            metadata=self._metadata(),
        )

    def _numerics(self) -> Mapping[str, str]:
        return {
            **llamacpp.build(),
            "device": self._device,
            "width": str(self.decoder.width),
            "kv": "per sequence, f16",
            "flash attention": "on" if self.decoder.flash_attention else "off",
            "micro-batch": str(llamacpp.MICRO_BATCH),
            "sampler": sampling.VERSION,
        }

    def _metadata(self) -> Mapping[str, str]:
        head, arch = self._header, self._header.architecture
        ends = sorted(self.decoder.end_tokens)
        return {
            "source": self.file.source,
            "spec": self.file.spec,
            "model": head.text("general.name"),
            "organisation": head.text("general.organization"),
            "license": head.text("general.license"),
            "finetune": head.text("general.finetune"),
            "version": head.text("general.version"),
            "precision": head.precision,
            "bits per weight": f"{head.bits_per_weight:.2f}",
            "context length": head.text(f"{arch}.context_length"),
            "end tokens": " ".join(self.decoder.piece(token).decode("utf-8", "replace") for token in ends),
        }

    @property
    def chat_template(self) -> str:
        """The Jinja text stored in the file; empty when there is none."""
        return self._header.text("tokenizer.chat_template")

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """`bos_token`, `eos_token`, `pad_token` as text; empty where the model has none."""
        return self.decoder.special_tokens()

    def tokenize(self, prompt: str) -> tuple[int, ...]:
        """Exact token ids, bos added where the file asks for it; special tokens in the prompt become themselves."""
        return self.decoder.tokenize(prompt)

    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of some reply's first tokens, as a reply of that length would read."""
        return b"".join(map(self.decoder.piece, tokens)).decode("utf-8", "replace")

    def shape(self, *, width: int | None = None, slot_tokens: int | None = None) -> None:
        """Change the number of slots or their length (None: keep); `ModelError` when llama.cpp has no memory for it."""
        if self._busy:
            raise ModelError("the model is generating; close that iteration before changing its slots")
        width = width or self.decoder.width
        slot_tokens = slot_tokens or self.decoder.slot_tokens
        if (width, slot_tokens) != (self.decoder.width, self.decoder.slot_tokens):
            self.decoder.shape(width, slot_tokens)

    def generate(
        self, requests: Iterator[Request] | Sequence[Request], keep_going: Callable[[], bool] = lambda: True
    ) -> Iterator[Generation]:
        """See `Model.generate` and `engine.models.schedule.generate`; closing the iterator frees all slots."""
        if self._busy:
            raise ModelError("the model is generating already; use up or close that iteration first")
        self._busy = True
        try:
            yield from schedule.generate(self.decoder, requests, keep_going)
        finally:
            self._busy = False

    def close(self) -> None:
        """Free the weights and the KV cache."""
        self.decoder.close()


def open_model(
    name: str,
    file: ModelFile,
    precision: str = "as released",
    *,
    width: int | None = None,
    threads: int | None = None,
    slot_tokens: int = 2048,
    gpu_layers: int | None = None,
    folder: Path | None = None,
    facts: Facts | None = None,
) -> LocalModel:
    """Load a model at a precision (deriving the file if need be) with `width` slots of `slot_tokens` tokens.

    None means: the default width, or the widest smaller one that fits into memory; as many threads as cores are idle;
    all layers on the accelerator, or as many as fit. `ModelError` when the file is broken or too large.
    """
    made = derive(file, precision, folder, facts)
    header = read_header(made.path)
    offloading = bool(llamacpp.devices()) and gpu_layers != 0
    if not offloading:
        width = _fitting_width(made, header, width, slot_tokens)
    width = width or DEFAULT_WIDTH
    decoder, device = _load(
        made.path, header, threads or idle_cores(), gpu_layers if offloading else 0, width, slot_tokens
    )
    return LocalModel(name, made, decoder, device)


def _fitting_width(file: ModelFile, header: Header, width: int | None, slot_tokens: int) -> int:
    left = available_memory()
    choices = [width] if width else [w for w in WIDTHS if w <= DEFAULT_WIDTH]
    for choice in choices:
        if needed(header, choice, slot_tokens).total <= left:
            return choice
    need = needed(header, choices[-1], slot_tokens)
    raise ModelError(
        f"{file.path.name} does not fit into memory: {gigabytes(need.weights)} of weights "
        f"and {gigabytes(need.kv)} of KV cache for {choices[-1]} slots of {slot_tokens} tokens, "
        f"{gigabytes(left)} available; "
        "choose a lower precision, a smaller width or a shorter maximum length"
    )


def _load(
    path: Path, header: Header, threads: int, gpu_layers: int | None, width: int, slot_tokens: int
) -> tuple[llamacpp.LlamaDecoder, str]:
    """Load with all layers offloaded, then with fewer while that fails; the decoder and its device, in words."""
    layers = header.number(f"{header.architecture}.block_count") + 1
    tries = [gpu_layers] if gpu_layers is not None else [layers, 3 * layers // 4, layers // 2, layers // 4, 0]
    for offloaded in tries:
        decoder: llamacpp.LlamaDecoder | None = None
        try:
            decoder = llamacpp.LlamaDecoder(path, threads=threads, gpu_layers=offloaded)
            decoder.shape(width, slot_tokens)
        except ModelError:
            if decoder:
                decoder.close()
            if offloaded == tries[-1]:
                raise
            continue
        return decoder, _device(offloaded, layers)
    raise AssertionError("unreachable: the last try returns or raises")


def _device(offloaded: int, layers: int) -> str:
    if not offloaded:
        return "CPU"
    name = ", ".join(llamacpp.devices())
    return name if offloaded < 0 or offloaded >= layers else f"{name} ({offloaded} of {layers} layers), CPU"


def idle_cores(seconds: float = 0.1) -> int:
    """Usable cores that were idle over the last moments, at least 1.

    llama.cpp's threads spin while they wait for each other, so a busy core slows all of them. The number of
    threads changes the speed, never a token.
    """
    cores = usable_cores()
    if cores == 1:
        return 1
    before = _idle_ticks()
    time.sleep(seconds)
    idle = (_idle_ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds
    return max(1, min(cores, int(idle + 0.5))) if before else cores


def _idle_ticks() -> int:
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()
    except OSError:
        return 0
    return int(fields[4]) + int(fields[5])
