"""Messages on a socket between a judge and a child, and between a pool and its helpers.

A message is 4 bytes of length (big endian) and that many bytes of JSON, at most MESSAGE_MAX.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time

from engine.sandbox.wire import MESSAGE_MAX, Json, Malformed

_PART, _PART_MAX = 1 << 13, 1 << 18
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_chunks = json.encoder.c_make_encoder(  # type: ignore[attr-defined] # JSONEncoder.encode makes one for every message
    None, json.JSONEncoder().default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True
)


class Closed(Exception):
    """The other end is gone."""


class Channel:
    """Messages over a stream socket; `deadline` (monotonic seconds) bounds every wait, None waits for ever.

    `last_size` is the length of the last message received, in bytes.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._socket.settimeout(None)
        self._deadline: float | None = None
        self._rest = b""
        self.last_size = 0

    @property
    def deadline(self) -> float | None:
        """Monotonic time at which every wait ends."""
        return self._deadline

    @deadline.setter
    def deadline(self, value: float | None) -> None:
        self._deadline = value
        self._arm()

    def _arm(self) -> None:
        """Have the kernel end the next wait at the deadline: one system call for a message instead of a poll before."""
        left = 0.0 if self._deadline is None else self._deadline - time.monotonic()
        if self._deadline is not None and left <= 0:
            raise TimeoutError("deadline")
        span = struct.pack("ll", int(left), int(left % 1 * 999_998) + (left > 0))  # 0 would be for ever
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, span)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, span)

    def fileno(self) -> int:
        """The socket's file descriptor."""
        return self._socket.fileno()

    def detach(self) -> None:
        """Close this process's copy of this end, which another goes on using."""
        self._socket.close()

    def close(self) -> None:
        """Close this end; whoever waits at either end is told."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def send(self, message: Json) -> None:
        """Send one message. Raises Malformed when too large, Closed when nobody listens, TimeoutError when late."""
        data = "".join(_chunks(message, 0)).encode()
        if len(data) > MESSAGE_MAX:
            raise Malformed(f"a message of {len(data)} bytes")
        try:
            self._socket.sendall(len(data).to_bytes(4, "big") + data)
        except BlockingIOError as e:
            raise TimeoutError("deadline") from e
        except OSError as e:
            raise Closed(str(e)) from e

    def receive(self) -> Json:
        """The next message. Raises Malformed, Closed, or TimeoutError at the deadline."""
        data = self._rest or self._part(_PART)
        while len(data) < 4:
            data += self._part(_PART)
        end = 4 + int.from_bytes(data[:4], "big")
        if end > 4 + MESSAGE_MAX:
            raise Malformed(f"a message of {end - 4} bytes")
        if len(data) < end:
            data = self._filled(data, end)
        self._rest = data[end:]
        self.last_size = end - 4
        try:
            text = data[4:end].decode()
            message, used = _scan(text, 0)
        except (ValueError, StopIteration, RecursionError, MemoryError) as e:
            raise Malformed(f"not JSON: {type(e).__name__}") from e
        if used != len(text):
            raise Malformed("more than one value")
        return message

    def _filled(self, data: bytes, end: int) -> bytes:
        parts, missing = [data], end - len(data)
        while missing > 0:
            self._arm()  # what comes in small pieces does not put off the deadline
            parts.append(self._part(min(missing, _PART_MAX)))
            missing -= len(parts[-1])
        return b"".join(parts)

    def _part(self, most: int) -> bytes:
        try:
            part = self._socket.recv(most)
        except BlockingIOError as e:
            raise TimeoutError("deadline") from e
        except OSError as e:
            raise Closed(str(e)) from e
        if not part:
            raise Closed("end of stream")
        return part
