"""What a fork server does to its memory so that forking is cheap changes nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.sandbox import kernel
from engine.sandbox.memory import Mapping, around, joinable, large_bytes, mappings, windows

SMAPS = """\
7f00c0000000-7f00c00f5000 r--p 00000000 fe:00 26933                      /usr/lib/libpython3.11.so.1.0
Size:                980 kB
AnonHugePages:         0 kB
7f00c00f5000-7f00c0731000 r-xp 000f5000 fe:00 26933                      /usr/lib/libpython3.11.so.1.0
AnonHugePages:         0 kB
7f00c0731000-7f00c0815000 r--p 00731000 fe:00 26933                      /usr/lib/libpython3.11.so.1.0
7f00c0815000-7f00c0844000 r--p 00814000 fe:00 26933                      /usr/lib/libpython3.11.so.1.0
7f00c0844000-7f00c0978000 rw-p 00843000 fe:00 26933                      /usr/lib/libpython3.11.so.1.0
7f00c0978000-7f00c0a00000 rw-p 00000000 00:00 0 
AnonHugePages:      2048 kB
7f00d0000000-7f00d0001000 r--p 00000000 fe:00 77                         /usr/lib/other.so
"""
CODE, WRITTEN = kernel.PROT_READ | kernel.PROT_EXEC, kernel.PROT_READ | kernel.PROT_WRITE

SHAPED = """
import gc, json, os, random, re, sys
sys.path.insert(0, sys.argv[1])
from engine.sandbox.memory import Memory, mappings
own = Memory()
count = lambda: len(mappings(open("/proc/self/smaps").read()))
before, resident = count(), lambda: int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
grown = resident()
own.shape()
grown, after, opened = resident() - grown, count(), len(os.listdir("/proc/self/fd"))
assert re.findall(r"\\d+", "a1b22") == ["1", "22"] and json.loads("[1, 2.5]") == [1, 2.5]
random.seed(3)
exec(compile("kept = sorted({str(i): [i] * i for i in range(2000)}.items(), key=lambda row: -len(row[1]))", "", "exec"))
gc.collect()
pid = os.fork()
if pid == 0:
    os._exit(len(kept) % 251)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps([before, after, grown, opened, code]))
"""


def test_mappings_are_read_with_their_access_and_place_in_a_file() -> None:
    """Heads of mappings are told from the lines about them."""
    found = mappings(SMAPS)
    assert len(found) == 7
    assert found[1] == Mapping(0x7F00C00F5000, 0x7F00C0731000, "r-xp", 0xF5000, 26933)
    assert large_bytes(SMAPS, 0x7F00C0978000) == 2 << 20
    assert large_bytes(SMAPS, 0x7F00C00F5000) == 0
    assert large_bytes(SMAPS, 0x1000) == 0


def test_only_what_lies_side_by_side_in_one_file_is_joined() -> None:
    """Constants join the code beside them, what was made read-only joins the data; a gap in the file keeps apart."""
    assert joinable(mappings(SMAPS)) == [
        (0x7F00C0000000, 0x7F00C00F5000, CODE),
        (0x7F00C0731000, 0x7F00C0815000, CODE),
        (0x7F00C0815000, 0x7F00C0844000, WRITTEN),
    ]


def test_code_is_found_with_the_constants_beside_it() -> None:
    """From the first constants to the last before the data; nothing around an address that is no code."""
    assert around(mappings(SMAPS), 0x7F00C0100000) == (0x7F00C0000000, 0x7F00C0815000)
    assert around(mappings(SMAPS), 0x7F00C0900000) == (0, 0)
    assert around(mappings(SMAPS), 0x1000) == (0, 0)


def test_large_pages_lie_whole_in_memory_that_is_of_no_file() -> None:
    """From one multiple of 2 MiB to the next, within what can be written to; nothing where that does not fit."""
    own = Mapping(0x7F00000FF000, 0x7F0000600000, "rw-p", 0, 0)
    assert windows([own]) == [0x7F0000200000, 0x7F0000400000]
    assert windows([own._replace(inode=7), own._replace(access="r-xp"), own._replace(end=0x7F0000300000)]) == []


def test_a_shaped_process_works_on() -> None:
    """Shaping joins mappings, leaves no descriptor open and takes a few MiB; process and forks run as before."""
    if not kernel.supported():
        pytest.skip("Linux only")
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", SHAPED, root], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after, grown, opened, code = json.loads(done.stdout)
    assert after < before
    assert grown < 24 << 20
    assert opened == 4  # the three of every process, and the folder being read
    assert code == 2000 % 251
