"""The model on this machine: weights loaded once, slots shaped as passes need, described by its card."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from cache.files import ModelFile, gigabytes
from cache.gguf import Header, read_header
from engine.errors import ModelError
from engine.models import llamacpp, sampling, schedule
from engine.models.memory import available_memory, needed
from engine.models.threads import FreeCores
from engine.protocols import Generation, ModelCard, Request, Writing
from engine.settings import shape_label

CPU = "CPU"


class LocalModel:
    """A `Model` over a decoder; one generation loop at a time, from one thread."""

    def __init__(self, name: str, file: ModelFile, decoder: llamacpp.LlamaDecoder, device: str) -> None:
        self.file = file
        self.decoder = decoder
        self.device = device
        self.header: Header = read_header(file.path)
        self.free_cores: FreeCores | None = None
        self.checked: Mapping[str, bool] = {}
        self._name = name
        self._busy = False
        self._view = schedule.View()

    @property
    def card(self) -> ModelCard:
        """Identity and numerics of what is loaded, in its present shape."""
        head = self.header
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
        found = {
            **llamacpp.build(),
            "device": self.device,
            "width": str(self.decoder.width),
            "kv": "per sequence, f16",
            "flash attention": "on" if self.decoder.flash_attention else "off",
            "micro-batch": str(llamacpp.MICRO_BATCH),
            "sampler": sampling.VERSION,
        }
        if self.decoder.block > 1:
            found["block"] = str(self.decoder.block)
        if not llamacpp.repacks():
            found["weights in memory"] = "as in the file"
        if "rope_factors_long.weight" in self.header.tensor_names:
            # Such models switch their position factors with the length of the slot, not of the text in it.
            trained = self.header.number(f"{self.header.architecture}.rope.scaling.original_context_length")
            found["rope factors"] = "long" if self.decoder.slot_length > trained else "short"
        return found

    def _metadata(self) -> Mapping[str, str]:
        head = self.header
        ends = (self.decoder.piece(token).decode("utf-8", "replace") for token in sorted(self.decoder.end_tokens))
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
            "context length": head.text(f"{head.architecture}.context_length"),
            "end tokens": " ".join(ends),
            "independence": self._independence(),
        }

    def _independence(self) -> str:
        """What was found when the present shape was checked on this device."""
        shape = shape_label(self.decoder.width, self.decoder.block)
        found = self.checked.get(shape)
        if found is None:
            return f"shape {shape} was not checked on this device"
        if found:
            return f"shape {shape} was checked on this device: neither neighbours nor guesses show in the logits"
        return f"shape {shape} was checked on this device: neighbours or guesses show, so replies depend on the order"

    @property
    def chat_template(self) -> str:
        """The Jinja text stored in the file; empty when there is none."""
        return self.header.text("tokenizer.chat_template")

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

    def shape(self, *, width: int | None = None, slot_tokens: int | None = None, block: int | None = None) -> None:
        """Change slots, their length or their rows per step (None: keep); `ModelError` when memory does not suffice."""
        if self._busy:
            raise ModelError("the model is generating; close that iteration before changing its slots")
        now = self.decoder
        wanted = width or now.width, slot_tokens or now.slot_tokens, block or now.block
        if now.shaped and wanted == (now.width, now.slot_tokens, now.block):
            return
        if not self.fits(*wanted):
            need = needed(self.header, *wanted)
            raise ModelError(
                f"{wanted[0]} slots of {wanted[1]} tokens need {gigabytes(need.kv)} of KV cache, which this machine "
                "has no memory for; choose a smaller width or a shorter maximum length"
            )
        self.decoder.shape(*wanted)

    def fits(self, width: int, slot_tokens: int, block: int = 1) -> bool:
        """True when such slots fit beside the weights that are loaded; accelerators are asked by trying."""
        if self.device != CPU:
            return True
        taken = needed(self.header, self.decoder.width, self.decoder.slot_tokens, self.decoder.block).kv
        wanted = needed(self.header, width, slot_tokens, block)
        return wanted.kv + wanted.scratch <= available_memory() + taken

    def generate(
        self, requests: Iterator[Request] | Sequence[Request], tick: Callable[[], bool] = lambda: True
    ) -> Iterator[Generation]:
        """See `Model.generate` and `engine.models.schedule.generate`; closing the iterator frees all slots."""
        if self._busy:
            raise ModelError("the model is generating already; use up or close that iteration first")
        self._busy = True
        try:
            yield from schedule.generate(
                self.decoder, requests, lambda: tick() and self._follow_load(), view=self._view
            )
        finally:
            self._busy = False
            self._view = schedule.View()

    def writing(self) -> Sequence[Writing]:
        """The unfinished replies; empty while none is asked for."""
        return self._view.now()

    def _follow_load(self) -> bool:
        if self.free_cores and self.free_cores.due():
            self.decoder.set_threads(self.free_cores.count())
        return True

    def close(self) -> None:
        """Free the weights and the KV cache."""
        self.decoder.close()
