"""All that a Python inside WebAssembly can reach of its host: arguments, clocks, numbers, sleep, a socket, exit.

The names and shapes are WASI's (snapshot preview 1, https://github.com/WebAssembly/WASI/blob/main/legacy/preview1).
Every other call is answered with an error: there is no file, folder, socket or process to be had. The standard library
lies inside the module.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

EBADF, EINVAL, EIO, ENOTSUP = 8, 28, 29, 58
_MONOTONIC = 1
_CHARACTER_DEVICE = 2
_ALL_RIGHTS = (1 << 29) - 1
_STANDARD, _ERRORS = (0, 1, 2), 2
_VECTORS = 1024
_SUBSCRIPTION, _EVENT = 48, "<QHB21x"
_PART = 1 << 18
_NAP_S = 0.5


class Exited(BaseException):
    """The guest ended itself; the exit code is the argument."""


class Host:
    """The functions that a guest imports; `receive` and `send` serve the sockets that mean anything.

    `receive(fd, most)` gives bytes, `send(fd, data)` takes them and says how many; both raise OSError for a descriptor
    that is not there. `complain(data)` takes what goes to standard error.
    `alive()` is asked while the guest sleeps and ends the process when nobody waits for it any more.
    """

    def __init__(
        self,
        arguments: Sequence[bytes],
        environment: Sequence[bytes],
        seed: int,
        receive: Callable[[int, int], bytes],
        send: Callable[[int, bytes], int],
        complain: Callable[[bytes], None],
        alive: Callable[[], None],
    ) -> None:
        self._arguments = list(arguments)
        self._environment = list(environment)
        self._numbers = random.Random(seed)
        self._receive = receive
        self._send = send
        self._complain = complain
        self._alive = alive
        self._memory: Any = None
        self._store: Any = None

    def instance(self, engine: Any, module: Any, memory: int) -> tuple[Any, Any]:
        """A store whose memory may not grow beyond `memory` bytes, and the instance of the module in it."""
        import wasmtime

        linker, self._store = wasmtime.Linker(engine), wasmtime.Store(engine)
        self.limit(memory)
        for wanted in module.imports:
            linker.define_func(wanted.module, wanted.name, wanted.type, self._guarded(wanted.name))
        made = linker.instantiate(self._store, module)
        self._memory = made.exports(self._store)["memory"]
        return self._store, made

    def limit(self, memory: int) -> None:
        """From now on the guest's memory grows to no more than so many bytes."""
        self._store.set_limits(memory_size=memory, instances=1, memories=1)

    @property
    def memory(self) -> int:
        """Bytes of memory that the guest has."""
        return int(self._memory.data_len(self._store))

    def _guarded(self, name: str) -> Callable[..., int]:
        """The function behind an import; any fault of it is the guest's to see, as an error number."""
        function: Callable[..., int] | None = getattr(self, f"_{name}", None)

        def call(*arguments: int) -> int:
            if function is None:
                return EBADF if name.startswith("fd_") else ENOTSUP
            try:
                return function(*arguments)
            except (OSError, IndexError, ValueError, struct.error):
                return EIO

        return call

    def _put(self, place: int, layout: str, *values: Any) -> None:
        self._memory.write(self._store, struct.pack(layout, *values), place & 0xFFFFFFFF)

    def _get(self, place: int, size: int) -> bytes:
        start = place & 0xFFFFFFFF
        return bytes(self._memory.read(self._store, start, start + size))

    def _texts(self, texts: list[bytes], table: int, place: int) -> int:
        for i, text in enumerate(texts):
            self._put(table + 4 * i, "<I", place & 0xFFFFFFFF)
            self._put(place, f"<{len(text) + 1}s", text)
            place += len(text) + 1
        return 0

    def _sizes(self, texts: list[bytes], count: int, size: int) -> int:
        self._put(count, "<I", len(texts))
        self._put(size, "<I", sum(len(text) + 1 for text in texts))
        return 0

    def _args_get(self, table: int, place: int) -> int:
        return self._texts(self._arguments, table, place)

    def _args_sizes_get(self, count: int, size: int) -> int:
        return self._sizes(self._arguments, count, size)

    def _environ_get(self, table: int, place: int) -> int:
        return self._texts(self._environment, table, place)

    def _environ_sizes_get(self, count: int, size: int) -> int:
        return self._sizes(self._environment, count, size)

    def _clock_time_get(self, clock: int, _precision: int, place: int) -> int:
        clocks = (time.time_ns, time.monotonic_ns, time.process_time_ns, time.thread_time_ns)
        if not 0 <= clock < len(clocks):
            return EINVAL
        self._put(place, "<Q", clocks[clock]())
        return 0

    def _clock_res_get(self, _clock: int, place: int) -> int:
        self._put(place, "<Q", 1000)
        return 0

    def _random_get(self, place: int, size: int) -> int:
        """Numbers that are the same for every program, as `random`'s are."""
        size &= 0xFFFFFFFF
        if size > _PART:
            return EINVAL
        self._put(place, f"<{size}s", self._numbers.randbytes(size))
        return 0

    def _sched_yield(self) -> int:
        return 0

    def _proc_exit(self, code: int) -> int:
        raise Exited(code & 0xFF)

    def _poll_oneoff(self, wanted: int, told: int, count: int, size: int) -> int:
        """Sleep, which is all that can be waited for; the shortest of several counts."""
        if not 0 < count <= 64:
            return EINVAL
        data, waits = self._get(wanted, _SUBSCRIPTION * count), []
        for at in range(0, len(data), _SUBSCRIPTION):
            user, kind, clock, until, _, flags = struct.unpack_from("<QB7xI4xQQH", data, at)
            if kind != 0:
                return ENOTSUP
            now = time.monotonic_ns() if clock == _MONOTONIC else time.time_ns()
            waits.append((max(0, until - now) if flags & 1 else until, user))
        span, user = min(waits)
        end = time.monotonic() + span / 1e9
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _NAP_S))
            self._alive()
        self._put(told, _EVENT, user, 0, 0)
        self._put(size, "<I", 1)
        return 0

    def _fd_fdstat_get(self, fd: int, place: int) -> int:
        if fd not in _STANDARD:
            return EBADF
        self._put(place, "<BxHxxxxQQ", _CHARACTER_DEVICE, 0, _ALL_RIGHTS, 0)
        return 0

    def _fd_filestat_get(self, fd: int, place: int) -> int:
        if fd not in _STANDARD:
            return EBADF
        self._put(place, "<QQB7xQQQQQ", 0, fd, _CHARACTER_DEVICE, 1, 0, 0, 0, 0)
        return 0

    def _fd_read(self, fd: int, _vectors: int, _count: int, size: int) -> int:
        """Standard input is empty."""
        if fd != 0:
            return EBADF
        self._put(size, "<I", 0)
        return 0

    def _fd_write(self, fd: int, vectors: int, count: int, size: int) -> int:
        """Standard output and errors go nowhere, but for what a template says of its own start."""
        if fd not in _STANDARD or not 0 < count <= _VECTORS:
            return EBADF
        places = struct.unpack(f"<{2 * count}I", self._get(vectors, 8 * count))
        if fd == _ERRORS:
            self._complain(self._get(places[0], min(places[1], _PART)))
        self._put(size, "<I", sum(places[1::2]) & 0xFFFFFFFF)
        return 0

    def _sock_recv(self, fd: int, vectors: int, count: int, _flags: int, size: int, told: int) -> int:
        if count < 1:
            return EINVAL
        place, most = struct.unpack("<II", self._get(vectors, 8))
        data = self._receive(fd, min(most, _PART))
        self._put(place, f"<{len(data)}s", data)
        self._put(size, "<I", len(data))
        self._put(told, "<H", 0)
        return 0

    def _sock_send(self, fd: int, vectors: int, count: int, _flags: int, size: int) -> int:
        if count < 1:
            return EINVAL
        place, length = struct.unpack("<II", self._get(vectors, 8))
        self._put(size, "<I", self._send(fd, self._get(place, min(length, _PART))))
        return 0
