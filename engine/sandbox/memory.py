"""Shapes a process's memory so that forking it costs less: a fork copies all page tables and each page that it writes.

What both share, it takes and drops a reference to, page by page; of a large page, once.

For Linux with glibc; where the kernel refuses something, that part of the memory stays as it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import re
from pathlib import Path
from typing import NamedTuple

from engine.sandbox import kernel

_LARGE = 2 << 20  # bytes in a large page, where a page has _PAGE
_PAGE = 4096
_POOL, _POOL_HEAD = 1 << 14, 48  # of CPython's allocator of small objects
_SMALL = range(16, 513, 16)
_MORE = (*range(16384, 4096, -1024), *range(4096, 512, -128), *range(512, 16, -16))
_ENOUGH = 1 << 16
_NEAR_TOP = 200_000
_HEAD = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ (\d+)", re.M)

_kept: list[object] = []


class Mapping(NamedTuple):
    """A part of the address space: from, to, access as in `r-xp`, offset in its file, number of its file (0: none)."""

    start: int
    end: int
    access: str
    offset: int
    inode: int


class Memory:
    """This process's memory; made while /proc and /sys are at hand, shaped when everything has been loaded."""

    def __init__(self) -> None:
        self._large = _LARGE if _has_large_pages() else 0
        self._maps = -1
        with contextlib.suppress(OSError):
            self._maps = os.open("/proc/self/smaps", os.O_RDONLY | os.O_CLOEXEC)

    def shape(self) -> None:
        """Fill what is free between objects, put code and objects in large pages, join mappings."""
        fill_small_holes()
        fill_holes()
        if self._maps < 0:
            return
        with contextlib.suppress(OSError):
            self._enlarge(ctypes.cast(ctypes.pythonapi.PyEval_EvalCode, ctypes.c_void_p).value or 0)
        for place in windows(mappings(self._told())) if self._large else ():
            with contextlib.suppress(OSError):
                kernel.collapse(place, _LARGE)
        for start, end, access in joinable(mappings(self._told())):
            with contextlib.suppress(OSError):
                kernel.protect(start, end - start, access)
        os.close(self._maps)

    def _told(self) -> str:
        os.lseek(self._maps, 0, os.SEEK_SET)
        return b"".join(iter(lambda: os.read(self._maps, 1 << 16), b"")).decode()

    def _enlarge(self, address: int) -> None:
        """Put the code around an address, and the constants beside it, in large pages, as far as it fills some.

        Of file pages, a fork starts with none and takes a fault for each few; of large pages it has all at once.
        """
        start, end = around(mappings(self._told()), address)
        start, end = -(-start // _LARGE) * _LARGE, end // _LARGE * _LARGE
        if not self._large or start >= end:
            return
        size = end - start
        room = kernel.map_memory(size + _LARGE)
        copy = -(-room // _LARGE) * _LARGE
        kernel.advise_large(copy, size)
        ctypes.memmove(copy, start, size)
        if large_bytes(self._told(), copy) == size:
            kernel.protect(copy, size, kernel.PROT_READ | kernel.PROT_EXEC)
            kernel.move_memory(copy, size, start)
        else:
            kernel.unmap(copy, size)
        for first, last in ((room, copy), (copy + size, room + size + _LARGE)):
            if first < last:
                kernel.unmap(first, last - first)


def _has_large_pages() -> bool:
    try:
        told = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return False
    return "[never]" not in told and os.sysconf("SC_PAGE_SIZE") == _PAGE


def mappings(told: str) -> list[Mapping]:
    """The mappings in the text of /proc/self/smaps."""
    found = _HEAD.findall(told)
    return [Mapping(int(a, 16), int(b, 16), access, int(at, 16), int(inode)) for a, b, access, at, inode in found]


def large_bytes(told: str, address: int) -> int:
    """Bytes in large pages of the mapping that starts at an address, out of the text of /proc/self/smaps."""
    part = re.search(rf"^{address:x}-.*?^AnonHugePages: *(\d+) kB", told, re.M | re.S)
    return int(part[1]) << 10 if part else 0


def around(found: list[Mapping], address: int) -> tuple[int, int]:
    """From where to where code and constants of one file lie around an address; nowhere (0, 0) where it is no code."""
    at = next((i for i, m in enumerate(found) if m.start <= address < m.end and m.access == "r-xp"), None)
    if at is None:
        return 0, 0
    before = at > 0 and found[at - 1].access == "r--p" and _goes_on(found[at - 1], found[at])
    after = at + 1 < len(found) and found[at + 1].access == "r--p" and _goes_on(found[at], found[at + 1])
    return found[at - before].start, found[at + after].end


def windows(found: list[Mapping]) -> list[int]:
    """Where a large page could lie within memory of no file that can be written to."""
    own = [m for m in found if m.inode == 0 and m.access == "rw-p"]
    return [at for m in own for at in range(-(-m.start // _LARGE) * _LARGE, m.end - _LARGE + 1, _LARGE)]


def joinable(found: list[Mapping]) -> list[tuple[int, int, int]]:
    """Where access must be given for neighbours of one file to become one mapping: from, to, the access.

    Constants beside code may be executed, and what was made read-only after loading may be written, by a process that
    may give itself both.
    """
    given = []
    for a, b in itertools.pairwise(found):
        if _goes_on(a, b) and {a.access, b.access} == {"r--p", "r-xp"}:
            constants = a if a.access == "r--p" else b
            given.append((constants.start, constants.end, kernel.PROT_READ | kernel.PROT_EXEC))
        elif _goes_on(a, b) and (a.access, b.access) == ("r--p", "rw-p"):
            given.append((a.start, a.end, kernel.PROT_READ | kernel.PROT_WRITE))
    return given


def _goes_on(a: Mapping, b: Mapping) -> bool:
    """True where one mapping goes on where the other ends, in memory and in one file."""
    return a.inode == b.inode != 0 and a.end == b.start and a.offset + a.end - a.start == b.offset


def fill_small_holes() -> None:
    """Take, of each size of small objects, what is free in pools that are in use.

    A fork's new objects then lie side by side in new pools, instead of here and there in pages that it has to copy.
    """
    for size in _SMALL:
        taken: list[object] = []
        for number in range(_ENOUGH // size):
            made = object() if size == 16 else number + 0.5 if size == 32 else bytes(size - 33)
            if id(made) % _POOL == _POOL_HEAD:  # the first in a pool
                break
            taken.append(made)
        _kept.append(tuple(taken))


def fill_holes() -> None:
    """The same for the C library's allocator: take what is free before the end of its heap, for good."""
    take, end = kernel.libc()["malloc"], kernel.libc()["sbrk"]
    take.restype = end.restype = ctypes.c_void_p
    take.argtypes, end.argtypes = (ctypes.c_size_t,), (ctypes.c_ssize_t,)
    for size in _MORE:
        for _ in range(_ENOUGH // size):
            place = take(size - 8)
            if place is None or place > end(0) - _NEAR_TOP:
                break
