"""Runs hostile programs at one level and says, as JSON on standard output, what each came to and what it harmed.

Usage: python hostile.py LEVEL ATTACKS [uid]. With a uid, root first makes the interpreter reachable for other users in
a mount namespace of its own, becomes that user and starts over. Plants what the programs try to reach.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine.protocols import Limits, Outcome, Program, Sandbox  # noqa: E402
from engine.sandbox import kernel, open_sandbox  # noqa: E402

VICTIM = Path("/tmp/SBX_VICTIM")
PLACES = [Path(p, n) for p in ("/tmp", "/var/tmp", "/dev/shm", ".") for n in ("SBX_PWNED", "SBX_SHM")]
PORT, KEY = 45991, 0x5B5B
LIMITS = Limits(cpu_s=0.3, wall_s=3.0, memory=512 << 20)
OF_WASM = Limits(cpu_s=0.05, wall_s=2.0, memory=512 << 20)
"""At the level wasm, which multiplies CPU limits by 16, about as much."""
AMPLE = Limits(cpu_s=60.0, wall_s=300.0, memory=512 << 20)
"""For the attacks, many of which never end by themselves, and for programs that must pass, however slow the machine."""
ANSWERS = {"(1, 2)": 3, "(-1, 1)": 0, "(123456, 654321)": 777777, "(2.5, 0.25)": 2.75, "('ab', 'cd')": "abcd"}
CONTROL = "def add(a, b):\n    return a + b\n"


class Surroundings:
    """What is planted around the programs, and whether it is still as it was."""

    def __init__(self) -> None:
        shutil.rmtree(VICTIM, ignore_errors=True)
        VICTIM.mkdir()
        VICTIM.chmod(0o777)
        for name, text in {
            "file": "precious",
            "secret": "SECRET",
            "answers.json": json.dumps(ANSWERS),
        }.items():  # fmt: skip
            (VICTIM / name).write_text(text)
            (VICTIM / name).chmod(0o666)
        self._tcp = listening()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", PORT))
        self._unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._unix.bind("\0SBX45991")
        self._unix.listen()
        for one in (self._tcp, self._udp, self._unix):
            one.setblocking(False)
        self._before = self._state()

    def _state(self) -> dict[str, Any]:
        files = {}
        for entry in sorted(VICTIM.iterdir()):
            info = entry.lstat()
            files[entry.name] = (entry.read_text(), stat.S_IMODE(info.st_mode), info.st_nlink, info.st_mtime_ns)
        return files

    def harm(self) -> list[str]:
        """What was changed, left or reached."""
        found = [] if self._state() == self._before else [f"files changed: {self._state()}"]
        found += [f"left {place}" for place in PLACES if place.exists()]
        if f"{KEY:10d}" in Path("/proc/sysvipc/shm").read_text():
            found.append("left shared memory")
        for name, one in (("tcp", self._tcp), ("unix", self._unix)):
            try:
                one.accept()[0].close()
                found.append(f"{name} reached")
            except BlockingIOError:
                pass
        try:
            self._udp.recv(100)
            found.append("udp reached")
        except BlockingIOError:
            pass
        return found

    def close(self) -> None:
        """Take down what was planted."""
        for one in (self._tcp, self._udp, self._unix):
            one.close()
        shutil.rmtree(VICTIM, ignore_errors=True)


def listening(seconds: float = 300.0) -> socket.socket:
    """A server on the port that the attacks know; some connection of another program may hold it for a while."""
    until = time.monotonic() + seconds
    while True:
        try:
            return socket.create_server(("127.0.0.1", PORT))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def descendants() -> dict[int, int]:
    """Processes below this one and their threads."""
    parents, threads = {}, {}
    for entry in [place.name for place in Path("/proc").iterdir()]:
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry)], threads[int(entry)] = int(fields[1]), int(fields[17])
    found: dict[int, int] = {}
    for pid in parents:
        up = pid
        while up and up != os.getpid():
            up = parents.get(up, 0)
        if up:
            found[pid] = threads[pid]
    return found


def processes_after(wanted: dict[int, int]) -> dict[int, int]:
    """The processes once they are those wanted, or when they have long had the time to be."""
    until = time.monotonic() + 60
    while (now := descendants()) != wanted and time.monotonic() < until:
        time.sleep(0.02)
    return now


def run(level: str, attacks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each attack came to at a level."""
    around, results = Surroundings(), []
    limits = {"limits": AMPLE, "wasm": OF_WASM}
    sandbox = open_sandbox(level, jobs=1)
    try:
        judge(sandbox, CONTROL, "assert add(1, 2) == 3")
        wanted = descendants()
        for attack in attacks:
            outcome = judge(sandbox, attack["program"], attack["test"], limits.get(level, LIMITS))
            control = judge(sandbox, CONTROL, attack["test"])
            left = processes_after(wanted)
            results.append(
                {"id": attack["id"], "kind": outcome.kind, "detail": outcome.detail, "harm": around.harm(),
                 "control": control.kind, "left": sorted(set(left.items()) ^ set(wanted.items()))}
            )  # fmt: skip
    finally:
        sandbox.close()
        around.close()
    after = processes_after({os.getpid(): 1})
    results.append(
        {
            "id": "end",
            "kind": "",
            "detail": "",
            "harm": [],
            "control": "passed",
            "left": sorted(set(after) - {os.getpid()}),
        }
    )
    return results


def judge(sandbox: Sandbox, candidate: str, test: str, limits: Limits = AMPLE) -> Outcome:
    """One program; the control of the sorting test answers what that test wants."""
    if candidate == CONTROL and "sorted(" in test:
        candidate = "def add(a, b):\n    return sorted(a + b)\n"
    return sandbox.run(Program("", candidate, test, "add"), limits)


def become(uid: int) -> None:
    """Become an ordinary user who can reach the interpreter, and start this script again."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    for path in {sys.base_prefix, sys.prefix, str(ROOT)}:
        closed = [p for p in reversed(Path(path).parents) if not p.stat().st_mode & 0o001]
        if closed:
            kept = tempfile.mkdtemp()
            kernel.mount(path, kept, flags=kernel.MS_BIND | kernel.MS_REC)
            kernel.mount("none", str(closed[0]), "tmpfs", data="mode=755")
            Path(path).mkdir(parents=True)
            kernel.mount(kept, path, flags=kernel.MS_BIND | kernel.MS_REC)
            kernel.detach(kept)
            Path(kept).rmdir()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def main() -> None:
    """The command line above."""
    level, path = sys.argv[1:3]
    attacks = [json.loads(line) for line in Path(path).read_text().splitlines()]
    with Path("/tmp/.scoretrace-attacks.lock").open("w") as lock:
        Path(lock.name).chmod(0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.chdir("/tmp")
        if len(sys.argv) > 3:
            become(int(sys.argv[3]))
            done = subprocess.run([sys.executable, __file__, "--inside", level, path], check=False)
            sys.exit(done.returncode)
        print(json.dumps(run(level, attacks)))


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        print(json.dumps(run(sys.argv[2], [json.loads(line) for line in Path(sys.argv[3]).read_text().splitlines()])))
    else:
        main()
