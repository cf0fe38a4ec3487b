"""The package's own `Llama`, as benches compare with it, in builds in which it would end the process too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.models import llamacpp


@contextmanager
def weights_as_ours() -> Iterator[None]:
    """What is loaded in this block has its weights laid out as ours: `Llama`'s choice ends some AMX builds' process."""
    repacks = llamacpp.repacks()
    from llama_cpp import llama_cpp

    default = llama_cpp.llama_model_default_params

    def adjusted() -> Any:
        params = default()
        params.use_extra_bufts = repacks
        return params

    llama_cpp.llama_model_default_params = adjusted
    try:
        yield
    finally:
        llama_cpp.llama_model_default_params = default


def open_llama(path: Path, *, n_ctx: int, threads: int) -> Any:
    """`Llama` with the weights laid out as ours."""
    with weights_as_ours():
        from llama_cpp import Llama

        return Llama(str(path), n_ctx=n_ctx, n_batch=512, n_threads=threads, n_threads_batch=threads, verbose=False)
