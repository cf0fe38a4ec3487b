"""Keeps llama.cpp from choosing its AMX kernels, so that those before them, which are sound, can be used.

GCC 12 drops most of the tile configuration (its `_tile_loadconfig` claims to read 8 bytes of 64), and in what it built
the first step over quantised weights ends the process. No call tells a sound build from such a one. llama.cpp asks
Linux for AMX when it first lists the CPU's ways to lay out weights, and lists them once in a process. Linux refuses
while a thread has an alternate signal stack that is too small for a frame with tiles
(Documentation/arch/x86/xstate.rst), which costs nothing and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Any

_STACK = 8192  # more than a frame with AVX-512 needs, less than the 8 KiB of tiles and the rest

_CPU = 0  # ggml-backend.h: GGML_BACKEND_DEVICE_TYPE_CPU


class _Stack(ctypes.Structure):
    """`stack_t` of sigaltstack(2)."""

    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def layouts_without_amx(libggml: Any) -> list[str]:
    """Names of the layouts that weights may get on the CPU, AMX refused if that can be done; `AMX` first where not."""
    with _small_signal_stack(), _quiet():
        return _layouts(libggml)


@contextlib.contextmanager
def _small_signal_stack() -> Iterator[None]:
    if not sys.platform.startswith("linux"):
        yield
        return
    libc = ctypes.CDLL(None)
    room = ctypes.create_string_buffer(_STACK)
    before = _Stack()
    libc.sigaltstack(ctypes.byref(_Stack(ctypes.addressof(room), 0, _STACK)), ctypes.byref(before))
    try:
        yield
    finally:
        libc.sigaltstack(ctypes.byref(before), None)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """llama.cpp says on standard error, past its log, that it was refused."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _layouts(libggml: Any) -> list[str]:
    for name, result, arguments in (
        ("ggml_backend_dev_by_type", ctypes.c_void_p, [ctypes.c_int]),
        ("ggml_backend_dev_backend_reg", ctypes.c_void_p, [ctypes.c_void_p]),
        ("ggml_backend_reg_get_proc_address", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
        ("ggml_backend_buft_name", ctypes.c_char_p, [ctypes.c_void_p]),
    ):
        function = getattr(libggml, name)
        function.restype, function.argtypes = result, arguments
    device = libggml.ggml_backend_dev_by_type(_CPU)
    registry = libggml.ggml_backend_dev_backend_reg(device)
    address = libggml.ggml_backend_reg_get_proc_address(registry, b"ggml_backend_dev_get_extra_bufts")
    if not address:
        return []
    listed = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(address)(device)
    names = []
    for handle in listed:
        if not handle:
            break
        names.append(libggml.ggml_backend_buft_name(handle).decode())
    return names
