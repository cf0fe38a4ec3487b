"""llama.cpp behind one class: the only module that imports `llama_cpp`, and only when a model is opened.

Low-level calls throughout: the package's high-level class decodes one sequence at a time.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import ModelError
from engine.models.amx import layouts_without_amx
from engine.models.decoder import Logits
from engine.models.memory import padded

MICRO_BATCH = 512
"""Prompt tokens per `llama_decode` in prefill (n_ubatch and n_batch)."""

_FILE_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 7, "q4_k_m": 15, "bf16": 32}
_KEPT_LINES = 40
_SPINS = "1000"
"""How often an OpenMP thread looks before it sleeps: the default, some milliseconds' worth, makes decoding 5 to 10
times slower as soon as another process wants a core; this costs a tenth on an idle machine."""

_INFO, _WARNING, _ERROR = 2, 3, 4  # as in ggml.h; the package's own logger has other numbers

_NO_MEMORY = -2  # llama_decode: a buffer could not be allocated

_log: deque[tuple[int, str]] = deque(maxlen=_KEPT_LINES)
_keep_alive: list[Any] = []


@functools.cache
def _library() -> Any:
    """The binding, with llama.cpp's log kept in memory instead of on stderr, and no debugger run on an abort."""
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
    try:
        import llama_cpp
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelError(
            f"llama-cpp-python cannot be loaded ({error}); reinstall it: pip install llama-cpp-python"
        ) from error

    @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
    def keep(level: int, text: bytes, user_data: object) -> None:
        line = text.decode("utf-8", "replace").strip()
        if level in (_INFO, _WARNING, _ERROR) and line:
            _log.append((level, line))

    llama_cpp.llama_log_set(keep, ctypes.c_void_p(0))
    _keep_alive.append(keep)
    llama_cpp.llama_backend_init()
    return llama_cpp


def repacks() -> bool:
    """Whether weights may be laid out anew for special kernels, as llama.cpp does by default.

    Not where that would bring in its AMX kernels, which common builds get wrong (`engine.models.amx`).
    """
    return amx() != "on"


@functools.cache
def amx() -> str:
    """`off` where the build has AMX kernels that it was kept from, `on` where it could not be; empty without them."""
    if "AMX_INT8" not in _features():
        return ""
    from llama_cpp._ggml import libggml

    return "on" if "AMX" in layouts_without_amx(libggml) else "off"


@functools.cache
def _features() -> tuple[str, ...]:
    told = _library().llama_print_system_info().decode()
    return tuple(told.replace(" = 1", "").replace("|", "").replace("CPU :", "").split())


def last_log_lines(count: int = 3) -> str:
    """The last lines that llama.cpp logged, joined with `; `: warnings and errors where there are any."""
    serious = [line for level, line in _log if level in (_WARNING, _ERROR)]
    return "; ".join((serious or [line for _, line in _log])[-count:])


def build() -> Mapping[str, str]:
    """What is linked in, as far as it may change a token: package and llama.cpp version, instruction sets, devices."""
    lib = _library()
    version = lib.llama_version().decode() if hasattr(lib, "llama_version") else "unknown"
    features = [f"{name}=off" if name == "AMX_INT8" and amx() == "off" else name for name in _features()]
    return {
        "engine": f"llama-cpp-python {lib.__version__} (llama.cpp {version})",
        "instruction sets": " ".join(features),
    }


@dataclass(frozen=True)
class Device:
    """An accelerator that this build can use, and the bytes of its memory that are free now."""

    description: str
    free: int


def devices() -> list[Device]:
    """The accelerators that this build can use; empty on a CPU-only build."""
    if not _library().llama_supports_gpu_offload():
        return []
    from llama_cpp._ggml import libggml

    libggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    libggml.ggml_backend_dev_get.restype = ctypes.c_void_p
    libggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    libggml.ggml_backend_dev_description.restype = ctypes.c_char_p
    libggml.ggml_backend_dev_description.argtypes = [ctypes.c_void_p]
    libggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
    libggml.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    found = []
    for handle in map(libggml.ggml_backend_dev_get, range(libggml.ggml_backend_dev_count())):
        if libggml.ggml_backend_dev_type(handle):
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            libggml.ggml_backend_dev_memory(handle, ctypes.byref(free), ctypes.byref(total))
            found.append(Device(libggml.ggml_backend_dev_description(handle).decode(), free.value))
    return found


def quantise(source: Path, target: Path, precision: str, threads: int) -> None:
    """Write `source` anew with its weights at a precision (f32, f16, bf16, q8_0, q4_k_m, q4_0); else `ModelError`."""
    lib = _library()
    params = lib.llama_model_quantize_default_params()
    params.ftype = _FILE_TYPES[precision]
    params.nthread = threads
    params.allow_requantize = True
    code = lib.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(params))
    if code != 0:
        raise ModelError(f"llama.cpp could not turn {source} into {precision}: {last_log_lines()}")


def _parts(length: int) -> Iterator[tuple[int, int]]:
    """Start and end of each micro-batch of a prompt; never a single token at the end, which has kernels of its own."""
    start = 0
    while start < length:
        end = min(start + MICRO_BATCH, length)
        if length - end == 1:
            end -= 1
        yield start, end
        start = end


class LlamaDecoder:
    """One model file in memory, and after `shape` a context of `width` slots plus the prefill sequence.

    `threads` are compute threads; they never change a token as long as `flash_attention` is off where the CPU computes
    (there it splits long contexts over the threads, and is slower). `ModelError` when llama.cpp cannot load the file.
    Not safe to call from two threads at once.
    """

    def __init__(self, path: Path, *, threads: int, gpu_layers: int = 0, flash_attention: bool = False) -> None:
        self._lib = lib = _library()
        self._context: Any = None
        self._batches: list[Any] = []
        self.threads = threads
        params = lib.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.use_extra_bufts = repacks()
        _log.clear()
        self._model = lib.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise ModelError(
                f"llama.cpp cannot load {path}: {last_log_lines()}; give another file, or another llama.cpp build"
            )
        if lib.llama_model_has_encoder(self._model):
            self.close()
            raise ModelError(
                f"{path} has an encoder, so it cannot just continue a prompt; give a causal language model"
            )
        self._vocab = lib.llama_model_get_vocab(self._model)
        self.n_vocab: int = lib.llama_vocab_n_tokens(self._vocab)
        self.end_tokens = frozenset(t for t in range(self.n_vocab) if lib.llama_vocab_is_eog(self._vocab, t))
        self._pieces: dict[int, bytes] = {}
        self.width = self.slot_tokens = 0
        self.block = 1
        self.flash_attention = flash_attention

    @property
    def shaped(self) -> bool:
        """True when there are slots: after `shape`, unless it failed, until `close`."""
        return bool(self._context)

    @property
    def slot_length(self) -> int:
        """The tokens that a slot of the present shape really has room for: at least `slot_tokens` and a block."""
        return padded(self.slot_tokens + self.block - 1)

    @property
    def can_take_back(self) -> bool:
        """True when tokens can be taken out of a sequence again, as wrong guesses must be; recurrent memory cannot."""
        return not (self._lib.llama_model_is_recurrent(self._model) or self._lib.llama_model_is_hybrid(self._model))

    def shape(self, width: int, slot_tokens: int, block: int = 1) -> None:
        """Make room for `width` sequences of up to `slot_tokens` tokens, fed `block` rows each per step.

        What slots held before is gone. Width and block are 1 or a multiple of four: kernels take rows in fours, so in
        others a row's number can show in its logits (q4_k_m at widths 6 and 7 does). `ModelError` for others, and when
        memory does not suffice.
        """
        self._check_shape(width, block)
        self._free_context()
        self._context = self._new_context(width, slot_tokens, block)
        if not self._context and self.flash_attention:
            self.flash_attention = False
            self._context = self._new_context(width, slot_tokens, block)
        if not self._context:
            raise ModelError(
                f"llama.cpp cannot make {width} slots of {slot_tokens} tokens: {last_log_lines()}; "
                "choose a smaller width or maximum length"
            )
        self._memory = self._lib.llama_get_memory(self._context)
        if not self._memory:
            raise ModelError("this model has no KV cache to batch over (an encoder?); give a causal language model")
        self.width, self.block, self.slot_tokens = width, block, slot_tokens
        self._held = [0] * width
        self._offsets = np.arange(block, dtype=np.int32)
        self._step = self._batch(width * block, slots=[slot for slot in range(width) for _ in range(block)])
        self._prompt = self._batch(MICRO_BATCH, slots=[width] * MICRO_BATCH)

    def _check_shape(self, width: int, block: int) -> None:
        most = int(self._lib.llama_max_parallel_sequences()) - 1
        if not 1 <= width <= most or (width % 4 and width != 1):
            raise ModelError(f"a width of {width} cannot be used; choose 1 or a multiple of 4 up to {most}")
        if block < 1 or (block % 4 and block != 1) or width * block > MICRO_BATCH:
            raise ModelError(
                f"a block of {block} cannot be used; choose 1 or a multiple of 4, width times block up to {MICRO_BATCH}"
            )
        if block > 1 and not self.can_take_back:
            raise ModelError("this model's memory cannot be taken back, so nothing can be drafted; choose a block of 1")

    def set_threads(self, threads: int) -> None:
        """Compute with another number of threads from the next call on."""
        if threads != self.threads:
            self.threads = threads
            self._lib.llama_set_n_threads(self._context, threads, threads)

    def _new_context(self, width: int, slot_tokens: int, block: int) -> Any:
        lib = self._lib
        params = lib.llama_context_default_params()
        params.n_seq_max = width + 1
        params.n_ctx = padded(slot_tokens + block - 1) * (width + 1)
        params.n_batch = params.n_ubatch = max(MICRO_BATCH, width)
        params.n_threads = params.n_threads_batch = self.threads
        params.flash_attn_type = int(self.flash_attention)
        params.kv_unified = False
        if hasattr(params, "n_outputs_max"):
            params.n_outputs_max = width * block + 1
        return lib.llama_init_from_model(self._model, params)

    def _batch(self, size: int, slots: Sequence[int]) -> tuple[Any, Any, Any]:
        """A batch with sequence ids fixed for good, and its token and position arrays as numpy views."""
        batch = self._lib.llama_batch_init(size, 0, 1)
        for row, slot in enumerate(slots):
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = slot
            batch.logits[row] = 1
        self._batches.append(batch)
        return batch, np.ctypeslib.as_array(batch.token, (size,)), np.ctypeslib.as_array(batch.pos, (size,))

    def _check_shaped(self) -> None:
        if not self._context:
            raise ModelError("the model has no slots (closed, or its last change of shape failed); open it again")

    def _decode(self, batch: Any) -> Any:
        code = self._lib.llama_decode(self._context, batch)
        if code == 1:
            raise ModelError(
                f"the KV cache is full at {self.slot_tokens} tokens per slot; open the model with longer slots"
            )
        if code == _NO_MEMORY:
            raise ModelError(
                f"out of memory while decoding {self.width} slots of {self.slot_tokens} tokens: {last_log_lines()}; "
                "choose a smaller width or maximum length"
            )
        if code != 0:
            raise ModelError(f"llama.cpp failed to decode (code {code}): {last_log_lines()}")
        return self._lib.llama_get_logits(self._context)

    def prefill(self, prompt: Sequence[int]) -> Logits:
        """See `Decoder.prefill`."""
        if not prompt:
            raise ModelError("a prompt without tokens cannot be continued; check the template")
        self._check_shaped()
        lib, (batch, tokens, positions) = self._lib, self._prompt
        lib.llama_memory_seq_rm(self._memory, self.width, -1, -1)
        for start, end in _parts(len(prompt)):
            part = prompt[start:end]
            batch.n_tokens = len(part)
            tokens[: len(part)] = part
            positions[: len(part)] = range(start, start + len(part))
            ctypes.memset(batch.logits, 0, len(part))
            batch.logits[len(part) - 1] = 1
            logits = self._decode(batch)
        self._prefilled = len(prompt)
        return np.ctypeslib.as_array(logits, (self.n_vocab,)).copy()

    def share(self, slot: int) -> None:
        """See `Decoder.share`."""
        self._lib.llama_memory_seq_rm(self._memory, slot, -1, -1)
        self._lib.llama_memory_seq_cp(self._memory, self.width, slot, -1, -1)
        self._held[slot] = self._prefilled

    def decode(self, tokens: Sequence[int], positions: Sequence[int]) -> Logits:
        """See `Decoder.decode`."""
        self._check_shaped()
        batch, token_view, position_view = self._step
        width, block = self.width, self.block
        token_view[:] = tokens
        position_view.reshape(width, block)[:] = np.add.outer(positions, self._offsets)
        for slot, position in enumerate(positions):
            if position < self._held[slot]:
                self._lib.llama_memory_seq_rm(self._memory, slot, position, -1)
            self._held[slot] = position + block
        batch.n_tokens = width * block
        return np.ctypeslib.as_array(self._decode(batch), (width, block, self.n_vocab))

    def piece(self, token: int) -> bytes:
        """See `Decoder.piece`."""
        found = self._pieces.get(token)
        if found is None:
            size = 64
            while True:
                buffer = ctypes.create_string_buffer(size)
                used = self._lib.llama_token_to_piece(self._vocab, token, buffer, size, 0, True)
                if used >= 0:
                    break
                size = -used
            found = self._pieces[token] = buffer.raw[:used]
        return found

    def tokenize(self, text: str) -> tuple[int, ...]:
        """Token ids; special tokens written as text become themselves, bos is added where the file asks for it."""
        data = text.encode()
        room = len(data) + 8
        while True:
            buffer = (ctypes.c_int32 * room)()
            used: int = self._lib.llama_tokenize(self._vocab, data, len(data), buffer, room, True, True)
            if used >= 0:
                return tuple(buffer[:used])
            room = -used

    def special_tokens(self) -> dict[str, str]:
        """`bos_token`, `eos_token`, ... as text; empty where the model has none."""
        lib = self._lib
        found = {}
        for name, get in (("bos", lib.llama_vocab_bos), ("eos", lib.llama_vocab_eos), ("pad", lib.llama_vocab_pad)):
            token = get(self._vocab)
            found[f"{name}_token"] = self.piece(token).decode("utf-8", "replace") if token >= 0 else ""
        return found

    def _free_context(self) -> None:
        if self._context:
            while self._batches:
                self._lib.llama_batch_free(self._batches.pop())
            self._lib.llama_free(self._context)
            self._context = None

    def close(self) -> None:
        """Free the KV cache and the weights; safe to call twice."""
        self._free_context()
        if self._model:
            self._lib.llama_model_free(self._model)
            self._model = None
