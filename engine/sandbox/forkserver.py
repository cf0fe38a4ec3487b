"""The fork server: a confined process with the usual modules loaded; forks one child per candidate and watches it.

It holds no tests and no secrets, so that a child's copy of its memory is worth nothing. Started by a judge as
`python -P -s -c START fd config`, by way of `engine.sandbox.start`; speaks JSON in packets on `fd`: first
`{"ready": ...}` or `{"error": ...}`, then for each job (with the child's end of a stream socket attached) one report of
how the child ended, for each prelude its number.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

from engine.sandbox import child, confine, kernel, memory, messages, seccomp
from engine.sandbox.control import Job, Report, receive_end, receive_request, send_report
from engine.sandbox.preludes import Preludes

_NEEDED_LATER = (
    "_strptime", "calendar", "locale", "unicodedata", "encodings.latin_1", "encodings.ascii", "encodings.idna",
    "encodings.utf_16",
)  # fmt: skip
"""Modules that others load when they are used; loaded beforehand only where a child can open nothing by then."""
PRELUDE_MODULES = (
    "math", "re", "sys", "copy", "datetime", "itertools", "collections", "heapq", "statistics", "functools", "hashlib",
    "string", "typing", "bisect", "operator", "random", "decimal", "fractions", "json", "dataclasses", "enum",
    "textwrap", "time", "base64", "struct", "array", "queue", "cmath", "traceback", "abc", "contextlib", "numbers",
    *_NEEDED_LATER,
)  # fmt: skip
_LOOK_S = 0.1
_LAST_MOMENT_S = 10.0
_THREADS = 64
_SOME_PID = 0x7EADBEEF  # stands in the filter for the child's, which is known only in the child
_REHEARSALS = 20
_OF_A_JOB = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC)
_ANY = 1 << 62
_WARM = """
from typing import List
import math
class A:
    pass
def f(x: List[int], *rest) -> list:
    \"\"\"Text.\"\"\"
    if not x:
        raise ValueError('empty')
    return [i for i in sorted(x) if i % 2] + ['a' * 3, {1: 2.5}, (True, None), str(len(x)), max(x)]
"""


def main(fd: int, config: dict[str, Any]) -> None:
    """Confine this process as `config` says (`level`, `seed`, `packages`) and serve until the judge is gone."""
    control = socket.socket(fileno=fd)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    started_as_root = os.getuid() == 0
    try:
        base, pid = prepare(config)
        control.send(json.dumps({"ready": config["level"], "landlock": kernel.landlock_abi(), "pid": pid}).encode())
    except Exception as e:  # noqa: BLE001 - carried to the judge
        control.send(json.dumps({"error": f"{type(e).__name__}: {e}"[:500]}).encode())
        return
    ForkServer(control, config["level"], base, started_as_root).serve()


def prepare(config: dict[str, Any]) -> tuple[int, int]:
    """Enter the level, load the modules, lock; the address space in use, in bytes, and this process's id outside."""
    level, packages = config["level"], tuple(config["packages"])
    seen = confine.view(packages)
    uid, gid = os.getuid(), os.getgid()
    unused = _unused_uid() if uid == 0 else uid
    os.chdir("/")
    if level == confine.NAMESPACES:
        confine.enter_namespaces(uid, gid)
    statm, pid = os.open("/proc/self/statm", os.O_RDONLY), int(os.readlink("/proc/self"))  # noqa: PTH115
    own = memory.Memory()
    if level == confine.NAMESPACES:
        confine.build_root(seen)
    else:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    os.setsid()  # away from the terminal, with all children
    if uid == 0:
        needs_reading = level != confine.NAMESPACES and not confine.reachable_by_others([*seen.folders, *seen.paths])
        confine.take_uid(unused, keep_reading=needs_reading)
    else:
        kernel.set_capabilities()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    left = () if level == confine.SEALED else _NEEDED_LATER
    _preload([name for name in (*PRELUDE_MODULES, *packages) if name not in left], config["seed"])
    own.shape()
    gc.freeze()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    sys.path[:] = list(seen.folders) + [f"{folder}/lib-dynload" for folder in seen.folders]
    sys.argv[:] = [""]
    os.environ.clear()
    confine.lock(level, seen)
    child.take_fixed_limits()
    pages = int(os.pread(statm, 100, 0).split()[0])
    os.close(statm)
    return pages * os.sysconf("SC_PAGE_SIZE"), pid


def _unused_uid() -> int:
    """What `confine.unused_uid` gives, in a process of its own: the libraries that it loads are left there."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(theirs, str(confine.unused_uid()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    found = os.read(ours, 16)
    os.close(ours)
    os.waitpid(pid, 0)
    return int(found)


def _preload(modules: list[str], seed: int) -> None:
    """Import, seed and warm up once what every child would otherwise do for itself."""
    # At-fork hooks would reseed `random` and cost each child 0.35 ms for locks that nobody can hold here.
    register, os.register_at_fork = os.register_at_fork, lambda **_: None
    try:
        for name in ("random", *modules):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        for name in ("random", "numpy.random"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name).seed(seed)
    finally:
        os.register_at_fork = register
    sys.stdin, sys.stdout, sys.stderr = child.Silence(), child.Silence(), child.Silence()
    for _ in range(_REHEARSALS):
        child.enter(os.dup(0), [seccomp.Rehearsal()])
        _rehearse()
    gc.collect()
    gc.freeze()


def _rehearse() -> None:
    """Go once through what a child does: memory that is in its final shape is not copied again for each child."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        judge, conversation = messages.Channel(ours), child.Conversation(messages.Channel(theirs), None)
        call = {"n": "0", "op": "call", "on": "f", "a": [[3, 1, 2], {"t": [1.5, "x"]}], "k": {}}
        judge.send({"load": _WARM, "names": ["f"]})
        conversation.step(load=True)
        judge.receive()
        for message in (call, {**call, "a": [[]]}):
            judge.send(message)
            conversation.step()
            judge.receive()


class ForkServer:
    """Serves one job at a time on a control socket.

    After a fork, this process and its child each copy every page that they write to. So what a child needs is made once
    and beforehand, and little is done here while a child runs.
    """

    def __init__(self, control: socket.socket, level: str, base: int, own_uid: bool) -> None:
        self._control = control
        self._dropped = own_uid
        self._level = level
        self._base = base
        self._memory = resource.getrlimit(resource.RLIMIT_AS)
        self._most = {which: child.no_more_than_inherited(which, _ANY) for which in _OF_A_JOB}
        self._preludes = Preludes()
        filters: list[seccomp.Filter] = []
        if level != confine.LIMITS:
            machine = kernel.machine()
            if level == confine.SEALED:
                filters.append(seccomp.Filter(seccomp.assemble(seccomp.seal_filter(machine))))
            filters.append(seccomp.Filter(seccomp.assemble(seccomp.child_filter(machine, _SOME_PID)), _SOME_PID))
        self._filters = [] if level == confine.SEALED else filters
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        end, other = socket.socketpair()
        other.close()
        self._place = end.fileno()  # every child finds its end of its channel there
        later = filters if level == confine.SEALED else None
        self._conversation = child.Conversation(messages.Channel(end), later)

    def serve(self) -> None:
        """Fork, watch, report, until the control socket closes."""
        while (received := receive_request(self._control)) is not None:
            if isinstance(received, str):
                self._control.send(bytes([self._preludes.run(received)]))
                gc.collect()
                gc.freeze()
            else:
                send_report(self._control, self._run(*received))

    def _run(self, job: Job, fd: int) -> Report:
        os.dup2(fd, self._place, inheritable=False)
        os.close(fd)
        limits = self._limits(job)
        names = self._preludes.names(job.prelude)
        resource.setrlimit(resource.RLIMIT_AS, (limits[0][1], self._memory[1]))  # the child's from its first moment
        conversation, filters, level, control = self._conversation, self._filters, self._level, self._control.fileno()
        pid = os.fork()
        if pid == 0:
            if level == confine.LIMITS:
                os.setsid()  # to be ended as one group
            if level != confine.NAMESPACES:  # there, all end with process 1
                kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            child.serve(conversation, names, control, filters)
        resource.setrlimit(resource.RLIMIT_AS, self._memory)
        os.dup2(0, self._place)  # nobody but the child holds its end
        try:
            for which, value in limits:
                resource.prlimit(pid, which, (value, value))
        except ProcessLookupError:
            pass
        return self._end(pid, job, self._watch(pid, job))

    def _limits(self, job: Job) -> list[tuple[int, int]]:
        """The limits of a job's child, memory first, none above this process's own."""
        wanted = (self._base + job.memory, int(job.cpu) + 2, self._processes())
        pairs = zip(_OF_A_JOB, wanted, strict=True)
        return [(which, min(value, self._most[which])) for which, value in pairs if value]

    def _processes(self) -> int:
        """The most processes and threads for this user id; 0 (no limit) where filters do and others share the id."""
        if self._level == confine.LIMITS:
            return _THREADS + sum(_is_ours(entry) for entry in os.listdir("/proc"))  # noqa: PTH208
        return _THREADS if self._level == confine.NAMESPACES or self._dropped else 0

    def _watch(self, pid: int, job: Job) -> str:
        """Why the child is to end: `asked`, `cpu`, `wall`, `stopped`; or `died` when it ended by itself.

        A child that ends closes its channel, so that the judge asks; that it has ended is looked for besides, for one
        whose channel something else holds open.
        """
        number, cpu_left, wall_left, _, _ = job
        clock = (~pid << 3) | 2  # the process's CPU clock, which it cannot touch
        end = time.monotonic() + wall_left
        while cpu_left > 0 and wall_left > 0:
            asked = lost = False
            if self._poll.poll(max(1.0, 1000 * min(cpu_left, wall_left, _LOOK_S))):
                packet = receive_end(self._control)
                if packet is None:
                    os._exit(0)
                asked, lost = packet[0] == number, packet[1]
            if asked and not lost:
                return "asked"  # the judge knows all it wants to
            if lost:
                _wait_for_exit(pid, clock, min(wall_left, _LAST_MOMENT_S))
            changed = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            if changed is not None:
                return "stopped" if changed.si_code == os.CLD_STOPPED else "died"
            if asked:
                return "asked"
            cpu_left, wall_left = job.cpu - time.clock_gettime(clock), end - time.monotonic()
        return "cpu" if cpu_left <= 0 else "wall"

    def _end(self, pid: int, job: Job, why: str) -> Report:
        """End the child and whatever it left behind, and reap all of it."""
        if self._level == confine.LIMITS:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        try:
            while True:  # what its end has orphaned has come here
                if not os.waitpid(-1, os.WNOHANG)[0]:
                    self._kill_all()
        except ChildProcessError:
            pass
        return Report(job.number, why, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)

    def _kill_all(self) -> None:
        """Kill every process below this one and wait for the first of them to end."""
        if self._level == confine.NAMESPACES:
            os.kill(-1, signal.SIGKILL)  # process 1 is spared by the kernel
        elif self._level == confine.LIMITS:
            _kill_children()
        os.waitpid(-1, 0)


def _wait_for_exit(pid: int, clock: int, wall: float) -> None:
    """Wait a moment of its own CPU time for a child whose channel is closed, so that how it ended is its own doing.

    On a busy machine that moment takes long; one that sleeps is waited for no longer than `wall` seconds.
    """
    pidfd = os.pidfd_open(pid)
    cpu, end = time.clock_gettime(clock) + _LOOK_S, time.monotonic() + wall
    while not select.select([pidfd], [], [], _LOOK_S)[0]:
        if time.clock_gettime(clock) >= cpu or time.monotonic() >= end:
            break
    os.close(pidfd)


def _is_ours(entry: str) -> bool:
    try:
        return entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == os.getuid()  # noqa: PTH116
    except OSError:
        return False


def _kill_children() -> None:
    """Kill every process whose parent is this one (orphans come here, as to a subreaper)."""
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/stat") as f:  # noqa: PTH123
                    parent = int(f.read().rpartition(")")[2].split()[1])
                if parent == os.getpid():
                    os.kill(int(entry), signal.SIGKILL)
