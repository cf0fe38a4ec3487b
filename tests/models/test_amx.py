"""Builds with AMX kernels: they are kept from them without losing the other special kernels."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from engine.models import amx, llamacpp

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="AMX is asked for in this way on Linux only")


class _Ggml:
    """A library whose CPU lists these layouts."""

    def __init__(self, *names: bytes) -> None:
        self._names = [ctypes.create_string_buffer(name) for name in names]
        handles = (ctypes.c_void_p * (len(names) + 1))(*(ctypes.addressof(name) for name in self._names), None)
        kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        self._listed = kind(lambda _: ctypes.addressof(handles))
        address = ctypes.cast(self._listed, ctypes.c_void_p).value if names else None
        self.ggml_backend_dev_by_type = _Call(1)
        self.ggml_backend_dev_backend_reg = _Call(2)
        self.ggml_backend_reg_get_proc_address = _Call(address)
        self.ggml_backend_buft_name = _Call(None)
        self.ggml_backend_buft_name.of = lambda handle: ctypes.string_at(handle)


class _Call:
    """A foreign function."""

    restype: object = None
    argtypes: object = None

    def __init__(self, answer: int | None) -> None:
        self.of = lambda *_: answer

    def __call__(self, *arguments: object) -> object:
        return self.of(*arguments)


@pytest.mark.parametrize(
    ("listed", "found"),
    [((b"AMX", b"CPU_REPACK"), ["AMX", "CPU_REPACK"]), ((b"CPU_REPACK",), ["CPU_REPACK"]), ((), [])],
)
def test_the_layouts_are_those_that_the_library_lists(listed: tuple[bytes, ...], found: list[str]) -> None:
    """In its order; none where it has no such list."""
    assert amx.layouts_without_amx(_Ggml(*listed)) == found


@pytest.mark.parametrize(
    ("built", "listed", "state", "repacks"),
    [
        ("AVX2 AVX512", [], "", True),
        ("AVX512 AMX_INT8", ["CPU_REPACK"], "off", True),
        ("AVX512 AMX_INT8", ["AMX", "CPU_REPACK"], "on", False),
    ],
)
def test_weights_are_laid_out_anew_unless_that_brings_amx(
    built: str, listed: list[str], state: str, repacks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the build was kept from is named in its numerics, since another build would compute other sums."""
    llamacpp.amx.cache_clear()
    monkeypatch.setattr(llamacpp, "_features", lambda: tuple(built.split()))
    monkeypatch.setattr(llamacpp, "layouts_without_amx", lambda _: listed)
    try:
        assert (llamacpp.amx(), llamacpp.repacks()) == (state, repacks)
        told = llamacpp.build()["instruction sets"].split()
        assert told == built.replace("AMX_INT8", "AMX_INT8=off" if state == "off" else "AMX_INT8").split()
    finally:
        llamacpp.amx.cache_clear()


@linux
def test_linux_refuses_amx_beside_a_small_signal_stack() -> None:
    """Refused for the moment only: the stack of before is back afterwards, and so is standard error."""
    code = """
import ctypes
from engine.models import amx
libc = ctypes.CDLL(None)
ask = lambda: libc.syscall(158, 0x1023, 18)  # arch_prctl(ARCH_REQ_XCOMP_PERM, tile data) on x86-64
stack = amx._Stack()
with amx._small_signal_stack(), amx._quiet():
    refused = ask() != 0
    libc.sigaltstack(None, ctypes.byref(stack))
    inside = stack.size
    libc.write(2, b"unheard", 7)
libc.sigaltstack(None, ctypes.byref(stack))
libc.write(2, b"heard", 5)
print(refused, inside, stack.flags)
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the system call's number is x86-64's")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "8192", "2"]  # SS_DISABLE: Python had set none
    assert done.stderr == "heard"


def test_this_build_runs_without_amx() -> None:
    """Whatever the processor, no layout of this process is AMX's."""
    assert llamacpp.amx() in ("", "off")
