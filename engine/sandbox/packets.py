"""Packets between a judge and its fork server, also where the system has no sockets of whole packets (macOS)."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

_LENGTH = 4


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets that keep packets whole and tell when the other end is closed."""
    try:
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return Packets(fileno=ours.detach()), Packets(fileno=theirs.detach())


def at(fd: int) -> socket.socket:
    """The end of a `pair` that this process was started with."""
    made = socket.socket(fileno=fd)
    return Packets(fileno=made.detach()) if made.type == socket.SOCK_STREAM else made


class Packets(socket.socket):
    """A stream on which each packet has its length before it, and descriptors go with the length."""

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send one packet."""
        return self.sendmsg([data])

    def sendmsg(self, buffers: Iterable[Any], ancdata: Iterable[Any] = (), *_: Any) -> int:
        """Send one packet with its descriptors."""
        body = b"".join(buffers)
        framed = len(body).to_bytes(_LENGTH, "big") + body
        self.sendall(framed[super().sendmsg([framed], ancdata) :])
        return len(body)

    def recv(self, most: int, flags: int = 0, /) -> bytes:
        """The next packet, cut to `most` bytes; empty when the other end is closed."""
        return self.recvmsg(most)[0]

    def recvmsg(self, most: int, ancbufsize: int = 0, flags: int = 0, /) -> tuple[bytes, list[Any], int, Any]:
        """The next packet with its descriptors."""
        head, ancillary, told, address = super().recvmsg(_LENGTH, ancbufsize, flags)
        head += self._all(_LENGTH - len(head)) if head else b""
        return self._all(int.from_bytes(head, "big"))[:most], ancillary, told, address

    def _all(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (part := super().recv(size - len(data))):
            data += part
        return data
