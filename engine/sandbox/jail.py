"""A helper process that compiles and runs programs of other languages, each in namespaces and a scratch of its own.

Started by the pool as `python -P -s -c START fd config`; speaks wire messages on `fd`. For each job it forks a process
that enters new namespaces; process 1 in there writes the files, runs the commands one after another and reports. With
process 1 everything ends that a command has started.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import time
from pathlib import Path
from typing import Any, NoReturn

from engine.sandbox import confine, kernel, messages, seccomp
from engine.sandbox.child import lower_limit
from engine.sandbox.toolchains.base import SCRATCH

_LOOK_S = 0.05
_KEPT = 1 << 15
_FILES = 1024
_FILE_SIZE = 1 << 28
_SCRATCH_SIZE = "size=512m,nr_inodes=16384,mode=777"
_GRACE_S = 60.0


def main(fd: int, config: dict[str, Any]) -> None:
    """Serve jobs until the pool is gone; `config` holds `paths`, which a program may read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the pool's to handle
    host = messages.Channel(socket.socket(fileno=fd))
    host.send({"ready": True})
    with contextlib.suppress(messages.Closed):
        while True:
            job = host.receive()
            host.send(_in_jail(job, config, host))


def _in_jail(job: dict[str, Any], config: dict[str, Any], host: messages.Channel) -> dict[str, Any]:
    """What the commands of a job came to: `steps`, or `error` when the jail could not be made."""
    identity = os.getuid(), os.getgid(), confine.unused_uid()
    ours, theirs = os.pipe()
    outer = os.fork()
    if outer == 0:
        _make_jail(job, config, theirs, identity)
    os.close(theirs)
    until = time.monotonic() + sum(step["wall"] for step in job["steps"]) + _GRACE_S
    try:
        report = _read_report(ours, until, host)
    finally:
        os.close(ours)
        os.kill(outer, signal.SIGKILL)  # and with it, process 1 and all below
        os.waitpid(outer, 0)
    if not report:
        return {"error": "process 1 of the namespaces ended without a report"}
    answer: dict[str, Any] = json.loads(report)
    return answer


def _read_report(fd: int, until: float, host: messages.Channel) -> bytes:
    """Everything that process 1 writes; ends this helper when the pool has gone."""
    report = b""
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([fd, host.fileno()], [], [], left)
        if host.fileno() in ready:
            raise messages.Closed("the pool has gone")
        if ready:
            part = os.read(fd, 1 << 16)
            if not part:
                break
            report += part
    return report


def _make_jail(job: dict[str, Any], config: dict[str, Any], report: int, identity: tuple[int, int, int]) -> NoReturn:
    """Become process 1 of new namespaces, run the job, report; never returns."""
    answer: dict[str, Any]
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            _confine(tuple(config["paths"]), *identity)
            _lay_out(job["files"], job["links"])
            answer = {"steps": _run_steps(job)}
        except Exception as e:  # noqa: BLE001 - carried to the pool
            answer = {"error": f"{type(e).__name__}: {e}"[:300]}
        data = json.dumps(answer).encode()
        while data:
            data = data[os.write(report, data) :]
    finally:
        os._exit(0)


def _lay_out(files: dict[str, str], links: dict[str, str]) -> None:
    """Write a program's files; fill folders with links to the files of others."""
    for name, text in files.items():
        place = Path(SCRATCH, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="replace")
    for name, source in links.items():
        for folder, _, found in os.walk(source):
            target = f"{SCRATCH}/{name}{folder.removeprefix(source)}"
            Path(target).mkdir()
            for file in found:
                os.symlink(f"{folder}/{file}", f"{target}/{file}")  # noqa: PTH211 - hundreds for each program


def _confine(paths: tuple[str, ...], uid: int, gid: int, unused: int) -> None:
    confine.enter_namespaces(uid, gid)
    confine.build_root(confine.View((), (), paths), scratch=(SCRATCH, _SCRATCH_SIZE), processes=True)
    if uid == 0:
        confine.take_uid(unused, keep_reading=False)
    else:
        kernel.set_capabilities()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of user clears it
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # process 1 is spared signals from inside that it does not handle
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    os.chdir(SCRATCH)
    os.mkdir("tmp")  # noqa: PTH102
    seccomp.Filter(seccomp.assemble(seccomp.toolchain_filter(kernel.machine()))).install()


def _run_steps(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Reports of the commands up to the first that does not end well."""
    reports = []
    for step in job["steps"]:
        reports.append(_run(step, job["environment"]))
        if reports[-1]["why"] != "ended" or reports[-1]["code"] != 0:
            break
    return reports


def _run(step: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    """Run one command, watch it, end all that it started."""
    before = _children_cpu()
    pipes = [os.pipe(), os.pipe()]
    pid = os.fork()
    if pid == 0:
        _become(step, environment, pipes[0][1], pipes[1][1])
    for _, theirs in pipes:
        os.close(theirs)
    streams = {ours: bytearray() for ours, _ in pipes}
    try:
        why = _watch(pid, step, streams)
        _, status, usage = _end_all(pid)
        for fd in streams:
            os.set_blocking(fd, False)
            _take(fd, streams)
    finally:
        for ours, _ in pipes:
            os.close(ours)
    out, err = (bytes(kept).decode("utf-8", "replace") for kept in streams.values())
    return {
        "why": why, "code": os.waitstatus_to_exitcode(status), "out": out, "err": err,
        "cpu": _children_cpu() - before, "peak": usage.ru_maxrss * 1024,
    }  # fmt: skip


def _become(step: dict[str, Any], environment: dict[str, str], out: int, err: int) -> NoReturn:
    """Turn this (just forked) process into the command; never returns."""
    try:
        os.setsid()
        for source, target in ((os.open("/dev/null", os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        lower_limit(resource.RLIMIT_CPU, int(step["cpu"]) + 1)
        lower_limit(resource.RLIMIT_DATA, step["memory"])
        lower_limit(resource.RLIMIT_FSIZE, _FILE_SIZE)
        lower_limit(resource.RLIMIT_NOFILE, _FILES)
        lower_limit(resource.RLIMIT_CORE, 0)
        lower_limit(resource.RLIMIT_NPROC, step["processes"])
        if step["alone"]:
            seccomp.Filter(seccomp.assemble(seccomp.child_filter(kernel.machine(), os.getpid()))).install()
        os.execve(step["command"][0], step["command"], environment)
    except BaseException as e:  # noqa: BLE001 - told on the command's own stderr
        os.write(2, f"{type(e).__name__}: {e}".encode())
    finally:
        os._exit(127)


def _watch(pid: int, step: dict[str, Any], streams: dict[int, bytearray]) -> str:
    """Take what the command writes until it ends (`ended`) or is over its CPU or wall time (`cpu`, `wall`)."""
    clock = (~pid << 3) | 2  # the process's CPU clock; what it starts is held by the kernel's limit and the wall
    end = time.monotonic() + step["wall"]
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    for fd in (pidfd, *streams):
        poll.register(fd, select.POLLIN)
    try:
        while True:
            cpu_left = step["cpu"] - time.clock_gettime(clock)
            wall_left = end - time.monotonic()
            if cpu_left <= 0 or wall_left <= 0:
                return "cpu" if cpu_left <= 0 else "wall"
            ready = {fd for fd, _ in poll.poll(max(1.0, 1000 * min(cpu_left, wall_left, _LOOK_S)))}
            for fd in ready & streams.keys():
                if not _take(fd, streams):
                    poll.unregister(fd)
            if pidfd in ready:
                return "ended"
    finally:
        os.close(pidfd)


def _take(fd: int, streams: dict[int, bytearray]) -> bool:
    """Read once and keep the start; False at the end of the stream."""
    try:
        part = os.read(fd, 1 << 16)
    except BlockingIOError:
        return False
    streams[fd] += part[: max(0, _KEPT - len(streams[fd]))]
    return bool(part)


def _end_all(pid: int) -> tuple[int, int, resource.struct_rusage]:
    """End every process but this one; how the command itself ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    ended = os.wait4(pid, 0)
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return ended


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
