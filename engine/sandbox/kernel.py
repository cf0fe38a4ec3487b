"""Linux calls that the standard library does not wrap: namespaces, mounts, capabilities, landlock, process flags.

Every function raises OSError with the kernel's errno when the kernel refuses. Importing this module does nothing, on
any system; only x86-64 and aarch64 Linux are supported (`supported`).
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from typing import Any

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
CAP_DAC_READ_SEARCH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 8, 38, 36

_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MAP_PRIVATE, _MAP_ANONYMOUS, _MADV_HUGEPAGE, _MADV_COLLAPSE = 2, 0x20, 14, 25
_MREMAP_MAYMOVE, _MREMAP_FIXED = 1, 2
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID = 1, 2
_MOUNT_SETATTR, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 442, 444, 445, 446  # the same on both machines
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3


def supported() -> bool:
    """True on Linux for x86-64 and aarch64, the machines whose system call numbers are known here."""
    return sys.platform == "linux" and machine() in _PIVOT_ROOT


def machine() -> str:
    """The processor's name as the kernel gives it: `x86_64`, `aarch64`, ..."""
    name = platform.machine()
    return {"arm64": "aarch64", "AMD64": "x86_64"}.get(name, name)


@functools.cache
def libc() -> ctypes.CDLL:
    """The C library, with errno kept."""
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _call(number: int, what: str, *args: object) -> int:
    return _checked(int(libc().syscall(ctypes.c_long(number), *args)), what)


def unshare(flags: int) -> None:
    """Put this process in new namespaces (CLONE_NEW* flags)."""
    _checked(libc().unshare(flags), "unshare")


def prctl(option: int, value: int) -> None:
    """Set one of this process's PR_SET_* flags."""
    zero = ctypes.c_ulong(0)
    _checked(libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl {option}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    made = libc().mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None
    )
    _checked(made, f"mount {target}")


def detach(target: str) -> None:
    """umount2(2) with MNT_DETACH."""
    _checked(libc().umount2(target.encode(), MNT_DETACH), f"umount {target}")


def make_read_only(target: str) -> None:
    """Make every mount at and under `target` read-only and nosuid (Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _call(
        _MOUNT_SETATTR, "mount_setattr", ctypes.c_int(_AT_FDCWD), target.encode(), ctypes.c_uint(_AT_RECURSIVE),
        ctypes.byref(attributes), size,
    )  # fmt: skip


def enter_root(new_root: str) -> None:
    """Make `new_root` (a mount point) this process's root and drop the old one."""
    os.chdir(new_root)
    _call(_PIVOT_ROOT[machine()], "pivot_root", b".", b".")
    detach(".")
    os.chdir("/")


def map_memory(size: int) -> int:
    """Address of new memory that can be written to."""
    take = libc()["mmap"]  # an object of its own, whose types no other caller sees
    take.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    return _address(take, None, size, PROT_READ | PROT_WRITE, _MAP_PRIVATE | _MAP_ANONYMOUS, -1, 0)


def move_memory(start: int, size: int, target: int) -> None:
    """Have pages at another address, instead of what is there."""
    move = libc()["mremap"]
    move.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
    _address(move, start, size, size, _MREMAP_MAYMOVE | _MREMAP_FIXED, target)


def _address(call: Any, *values: int | None) -> int:
    call.restype = ctypes.c_void_p
    made = call(*values)
    return _checked(-1 if made in (None, ctypes.c_void_p(-1).value) else made, "memory")


def unmap(start: int, size: int) -> None:
    """munmap(2)."""
    _checked(libc().munmap(ctypes.c_void_p(start), ctypes.c_size_t(size)), "munmap")


def protect(start: int, size: int, access: int) -> None:
    """mprotect(2) with PROT_* flags."""
    _checked(libc().mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), access), "mprotect")


def advise_large(start: int, size: int) -> None:
    """Have memory in large pages where there are some (MADV_HUGEPAGE)."""
    _checked(libc().madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_HUGEPAGE), "madvise")


def collapse(start: int, size: int) -> None:
    """Move what is there into large pages (MADV_COLLAPSE, Linux 6.1)."""
    _checked(libc().madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_COLLAPSE), "madvise")


def set_capabilities(*kept: int) -> None:
    """Keep only the named capabilities (numbers below 32), effective and permitted; none is inherited."""
    mask = sum(1 << number for number in kept)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(mask, mask, 0, 0, 0, 0)
    _checked(libc().capset(ctypes.byref(header), ctypes.byref(data)), "capset")


def landlock_abi() -> int:
    """The kernel's landlock version; 0 when there is none."""
    try:
        return _call(_LANDLOCK_CREATE, "landlock", None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def landlock(readable: list[str], listable: list[str], writable: list[str]) -> None:
    """Allow this process and its children to read paths, list folders, write files; nothing else among files.

    Takes away TCP (ABI 4), signals and abstract sockets beyond the ruleset's processes (ABI 6). Paths that do not exist
    are passed over. `no_new_privs` must be set.
    """
    abi = landlock_abi()
    if not abi:
        raise OSError(95, "landlock: not in this kernel")
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)) - 1
    attributes = (ctypes.c_uint64 * 3)(files, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = _call(
        _LANDLOCK_CREATE, "landlock_create_ruleset", ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0)
    )
    try:
        for path in readable:
            _allow(rules, path, _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0))  # noqa: PTH112
        for path in listable:
            _allow(rules, path, _READ_DIR)
        for path in writable:
            _allow(rules, path, _READ_FILE | _WRITE_FILE)
        _call(_LANDLOCK_RESTRICT, "landlock_restrict_self", ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _allow(rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _PathRule(access, place)
        beneath, flags = ctypes.c_int(1), ctypes.c_uint32(0)
        _call(_LANDLOCK_ADD, f"landlock {path}", ctypes.c_int(rules), beneath, ctypes.byref(rule), flags)
    finally:
        os.close(place)
