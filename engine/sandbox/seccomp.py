"""System call filters: a long allow-list for the fork server, a short one for each child, a seal that ends opening.

The long list is installed once and inherited, because compiling it in the kernel costs 0.2 ms. Refused calls answer
EPERM instead of killing, so that a program fails with an ordinary Python error that can be reported.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
from collections.abc import Callable

from engine.sandbox import kernel
from engine.sandbox.syscalls import numbers, toolchain_numbers

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQ, _GT, _GE, _SET, _AND, _RET = 0x20, 0x15, 0x25, 0x35, 0x45, 0x54, 0x06
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CLONE_THREAD = 0x00010000
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_FCNTLS = (0, 1, 2, 3, 4, 5, 1030, 1032)  # none that names an owner: SIGIO would reach other processes
_SOCKET_STREAM, _SOCKET_SEQPACKET = 1, 5

Instruction = tuple[int, int, int, int]


def _refuse(code: int = errno.EPERM) -> Instruction:
    return (_RET, 0, 0, _ERRNO | code)


_PASS: Instruction = (_RET, 0, 0, _ALLOW)


def _low(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _high(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 20 + 8 * argument)


def _for_call(number: int | None, body: list[Instruction]) -> list[Instruction]:
    """`body`, which ends in an answer on every way through it, where the call has this number."""
    return [] if number is None else [(_EQ, 0, len(body), number), *body]


def _one_of(argument: int, allowed: tuple[int, ...]) -> list[Instruction]:
    """Pass when the argument's low word is one of `allowed`, else refuse."""
    tests = [(_EQ, len(allowed) - i, 0, value) for i, value in enumerate(allowed)]
    return [_low(argument), *tests, _refuse(), _PASS]


def _opening(argument: int) -> list[Instruction]:
    return [_low(argument), (_SET, 0, 1, _WRITE_FLAGS), _refuse(errno.EACCES), _PASS]


# A datagram pair could send to any address.
_PAIR = [_low(1), (_AND, 0, 0, 0xF), (_EQ, 2, 0, _SOCKET_STREAM), (_EQ, 1, 0, _SOCKET_SEQPACKET), _refuse(), _PASS]


def _start(machine: str) -> list[Instruction]:
    head: list[Instruction] = [(_LOAD, 0, 0, 4), (_EQ, 1, 0, _ARCH[machine]), (_RET, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        head += [(_GE, 0, 1, 0x40000000), _refuse()]  # the x32 calls share the architecture's name
    return head


def server_filter(machine: str) -> list[Instruction]:
    """The allow-list for the fork server and, inherited, for every child."""
    table = numbers(machine)
    program = _start(machine)
    for name in ("clone3", "openat2"):
        program += _for_call(table.pop(name, None), [_refuse(errno.ENOSYS)])  # glibc then uses calls that can be read
    program += _for_call(table.pop("open", None), _opening(1))
    program += _for_call(table.pop("openat", None), _opening(2))
    program += _for_call(table.pop("ioctl", None), _one_of(1, _IOCTLS))
    program += _for_call(table.pop("fcntl", None), _one_of(1, _FCNTLS))
    program += _for_call(table.pop("socketpair", None), _PAIR)
    return program + _allow_ranges(sorted(table.values()))


def toolchain_filter(machine: str) -> list[Instruction]:
    """The allow-list for compilers and for programs of other languages: files and processes besides, no sockets.

    What is not listed answers ENOSYS, so that run times fall back to older calls.
    """
    table = toolchain_numbers(machine)
    program = _start(machine)
    for name in ("clone3", "openat2"):
        program += _for_call(table.pop(name, None), [_refuse(errno.ENOSYS)])
    clone = [_low(0), (_SET, 0, 1, _NEW_NAMESPACES), _refuse(), _PASS]
    program += _for_call(table.pop("clone", None), clone)
    program += _for_call(table.pop("ioctl", None), _one_of(1, _IOCTLS))
    program += _for_call(table.pop("fcntl", None), _one_of(1, (*_FCNTLS, 6, 7, 1031)))
    program += _for_call(table.pop("socketpair", None), _PAIR)
    return program + _allow_ranges(sorted(table.values()), _refuse(errno.ENOSYS))


def _allow_ranges(allowed: list[int], refusal: Instruction = _refuse()) -> list[Instruction]:  # noqa: B008
    program: list[Instruction] = []
    first = last = allowed[0]
    for number in [*allowed[1:], 1 << 30]:
        if number == last + 1:
            last = number
            continue
        program += [(_GT, 3, 0, last), (_GE, 0, 1, first), _PASS, refusal]
        first = last = number
    return [*program, refusal]


def child_filter(machine: str, own_pid: int) -> list[Instruction]:
    """What one child loses: new processes, signals to others, raised limits, process flags, further filters."""
    table = numbers(machine)
    program = _start(machine)
    for name in ("fork", "vfork", "prctl", "seccomp", "pidfd_open", "setsid"):
        program += _for_call(table.get(name), [_refuse()])
    program += _for_call(table["clone"], [_low(0), (_SET, 0, 1, _CLONE_THREAD), _PASS, _refuse()])
    for name in ("kill", "tgkill"):
        program += _for_call(table[name], [_low(0), (_EQ, 0, 1, own_pid), _PASS, _refuse()])
    limits = [_low(2), (_EQ, 0, 2, 0), _high(2), (_EQ, 1, 0, 0), _refuse(), _PASS]
    program += _for_call(table["prlimit64"], limits)
    return [*program, _PASS]


def seal_filter(machine: str) -> list[Instruction]:
    """Ends opening files and folders, for kernels where nothing else hides them."""
    table = numbers(machine)
    program = _start(machine)
    for name in ("open", "openat", "chdir"):
        program += _for_call(table.get(name), [_refuse()])
    return [*program, _PASS]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def assemble(instructions: list[Instruction]) -> bytes:
    """Instructions as the kernel reads them, 8 bytes each."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


class Filter:
    """A filter made ready, so that installing it takes one call: a forked child copies every page that it touches.

    `own_pid` is a number that stands in `code` for the id of the process that will install it; none when 0.
    """

    def __init__(self, code: bytes, own_pid: int = 0) -> None:
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _Program(len(code) // 8, ctypes.addressof(self._code))
        word = struct.pack("=I", own_pid)
        places = [at for at in range(4, len(code), 8) if own_pid and code[at : at + 4] == word]
        self._own_pids = [ctypes.c_uint32.from_buffer(self._code, at) for at in places]
        self._call = _prctl(22, 2, ctypes.addressof(self._program))  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER

    def install(self) -> None:
        """Filter this process and what it starts; `no_new_privs` must be set. Raises OSError where it is refused."""
        for place in self._own_pids:
            place.value = os.getpid()
        if self._call() < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"seccomp: {os.strerror(code)}")


class Rehearsal(Filter):
    """Goes through what installing a filter takes and installs none."""

    def __init__(self) -> None:
        super().__init__(bytes(8), own_pid=0)
        self._own_pids = [ctypes.c_uint32()]
        self._call = _prctl(3)  # PR_GET_DUMPABLE


def _prctl(option: int, *values: int) -> Callable[[], int]:
    call = kernel.libc()["prctl"]  # an object of its own, whose argument types no other caller sees
    call.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    return functools.partial(call, option, *values, *(0,) * (4 - len(values)))
