"""The fork server of the level `wasm`: a Python inside WebAssembly that has everything loaded, forked for each program.

The process is forked in the middle of the guest's wait for its next request, so that a program starts from a warm
interpreter. It holds no tests and no secrets, starts no threads, and speaks with the judge as the native fork server.
Whatever the guest does to its own memory or stack ends its own fork only.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import time
from pathlib import Path
from typing import Any, NoReturn

from engine.errors import SandboxUnavailable
from engine.sandbox import child, confine, kernel, packets, wasm_guest, wasm_runtime
from engine.sandbox.control import Job, Report, receive_end, receive_request, send_report
from engine.sandbox.wasm_host import Exited, Host

_LOOK_S, _LAST_MOMENT_S, _NAP_S = 0.1, 10.0, 0.001
_BOOT_MEMORY = 1 << 29
_ANY = 1 << 62
_ERROR_MAX = 400


def main(fd: int, config: dict[str, Any]) -> None:
    """Start the guest as `config` says (`seed`, `module`: the path of the compiled Python), serve, and end with it."""
    control = packets.at(fd)
    if kernel.supported():
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.chdir("/")
    os.setsid()
    try:
        template, loaded = Template(control, config["seed"]), wasm_runtime.load(Path(config["module"]))
        _give_up()
        template.run(*loaded)
    except SandboxUnavailable as e:
        control.send(json.dumps({"error": str(e)[:500]}).encode())
    except Exception as e:  # noqa: BLE001 - carried to the judge
        control.send(json.dumps({"error": f"{type(e).__name__}: {e}"[:500]}).encode())


def _give_up() -> None:
    """Let go of what the guest cannot reach anyway, should it ever get out: root's rights; files, where landlock is."""
    if not kernel.supported():
        return
    if os.getuid() == 0:
        confine.take_uid(confine.unused_uid(), keep_reading=False)
    kernel.set_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # which another user id has cleared
    if kernel.landlock_abi():
        kernel.landlock(readable=[], listable=[], writable=[])


class Template:
    """A guest that waits for requests; each job is run in a fork of this process, in which the guest goes on."""

    def __init__(self, control: socket.socket, seed: int) -> None:
        self._control = control
        self._parent = os.getppid()
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._request = b""
        self._ready = False
        self._error = b""
        self._channel: socket.socket | None = None
        self._cpu_most = child.no_more_than_inherited(resource.RLIMIT_CPU, _ANY)
        arguments = [b"python", b"-s", b"-P", b"-B", b"-c", wasm_guest.text(seed).encode()]
        environment = [f"PYTHONHASHSEED={seed}".encode(), b"PYTHONUTF8=1"]
        self._host = Host(arguments, environment, seed, self._receive, self._send, self._complain, self._alive)

    def run(self, engine: Any, module: Any) -> None:
        """Run the guest: returns in no fork, here only when the guest could not start. Raises what it ended with."""
        import wasmtime

        store, instance = self._host.instance(engine, module, _BOOT_MEMORY)
        child.take_fixed_limits()
        try:
            instance.exports(store)["_start"](store)
        except Exited as e:
            if self._channel is not None:
                os._exit(e.args[0])
            raise SandboxUnavailable(f"its Python ended while starting: {self._error.decode(errors='replace')}") from e
        except wasmtime.Trap as trap:
            if self._channel is not None:
                _die(signal.SIGABRT if trap.trap_code is wasmtime.TrapCode.UNREACHABLE else signal.SIGSEGV)
            raise
        except BaseException:
            if self._channel is not None:
                os._exit(1)  # a program's fork never goes on with what is the template's
            raise

    def _receive(self, fd: int, most: int) -> bytes:
        if fd == wasm_guest.CONTROL and (self._channel is None or self._request):
            if not self._request:
                self._request = self._next()
            part, self._request = self._request[:most], self._request[most:]
            return part
        if fd == wasm_guest.CHANNEL and self._channel is not None:
            return self._channel.recv(most)
        raise OSError(fd)

    def _send(self, fd: int, data: bytes) -> int:
        if fd == wasm_guest.CHANNEL and self._channel is not None:
            return self._channel.send(data)
        if fd == wasm_guest.CONTROL and self._channel is None:
            self._control.send(bytes([json.loads(data[4:])]))
            return len(data)
        raise OSError(fd)

    def _complain(self, data: bytes) -> None:
        if self._channel is None:
            self._error = (self._error + data)[-_ERROR_MAX:]

    def _alive(self) -> None:
        if os.getppid() != self._parent:
            os._exit(1)

    def _next(self) -> bytes:
        """The next message to the guest: a prelude to be run here, or, in a fork, the start of a program's turn."""
        if not self._ready:
            self._ready = True
            self._control.send(json.dumps({"ready": "wasm", "pid": os.getpid()}).encode())
        while True:
            while not self._poll.poll(1000):
                self._alive()
            received = receive_request(self._control)
            if received is None:
                os._exit(0)
            if isinstance(received, str):
                return _message({"run": received})
            job, fd = received
            pid = self._fork(job, fd)
            if pid == 0:
                return _message({"prelude": job.prelude})
            send_report(self._control, self._watch(Fork(pid), job))

    def _fork(self, job: Job, fd: int) -> int:
        """0 in the program's process, which has its limits; its id here."""
        template = os.getpid()
        pid = os.fork()
        if pid:
            os.close(fd)
            return pid
        if kernel.supported():
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        self._parent = template
        self._alive()
        self._control.close()
        self._channel = socket.socket(fileno=fd)
        self._channel.settimeout(None)
        child.lower_limit(resource.RLIMIT_CPU, min(int(job.cpu) + 2, self._cpu_most))
        self._host.limit(self._host.memory + job.memory)
        return 0

    def _watch(self, process: Fork, job: Job) -> Report:
        """Wait until the judge asks for the end, the process ends, or its time is up; end it, and say how it ended."""
        end, why = time.monotonic() + job.wall, ""
        while not why:
            cpu_left, wall_left = job.cpu - process.cpu(), end - time.monotonic()
            if process.ended():
                why = "died"
            elif cpu_left <= 0 or wall_left <= 0:
                why = "cpu" if cpu_left <= 0 else "wall"
            elif self._poll.poll(max(1.0, 1000 * min(cpu_left, wall_left, _LOOK_S))):
                packet = receive_end(self._control)
                if packet is None:
                    process.end()
                    os._exit(0)
                if packet[0] == job.number:
                    # A channel that is closed is one whose process is about to end: it is left to do so.
                    ended = process.ended(min(wall_left, _LAST_MOMENT_S) if packet[1] else 0.0)
                    why = "died" if ended else "asked"
        process.end()
        return Report(job.number, why, process.code, process.seconds)


class Fork:
    """A program's process, seen from the template; `code` and `seconds` (CPU) stand once it has ended."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._running = True
        self.code = 0
        self.seconds = 0.0

    def cpu(self) -> float:
        """CPU seconds so far; 0 where the system does not tell, and the process's own limit does the work."""
        return time.clock_gettime((~self._pid << 3) | 2) if kernel.supported() and self._running else self.seconds

    def ended(self, wait: float = 0.0) -> bool:
        """True once it has ended, for which so many seconds are waited."""
        until = time.monotonic() + wait
        while self._running:
            pid, status, usage = os.wait4(self._pid, os.WNOHANG)
            if pid:
                self._keep(status, usage)
            elif time.monotonic() >= until:
                break
            else:
                time.sleep(_NAP_S)
        return not self._running

    def end(self) -> None:
        """End it, unless it has ended."""
        if self._running:
            os.kill(self._pid, signal.SIGKILL)
            _, status, usage = os.wait4(self._pid, 0)
            self._keep(status, usage)

    def _keep(self, status: int, usage: Any) -> None:
        self._running = False
        self.code, self.seconds = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def _message(value: Any) -> bytes:
    data = json.dumps(value).encode()
    return len(data).to_bytes(4, "big") + data


def _die(number: signal.Signals) -> NoReturn:
    """End this process by a signal, as a native program's would."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(1)
