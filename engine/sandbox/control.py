"""The packets between a judge and its fork server: a job with the child's end of its channel, the wish to end it, and
one report of how it ended."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

_JOB, _END, _REPORT, _DESCRIPTOR = (struct.Struct(f"={layout}") for layout in ("QddQB", "Q?", "QBid", "i"))
PACKET_MAX = 1 << 12
WHY = ("asked", "died", "cpu", "wall", "stopped")
"""Why a child's turn ended: the judge asked, it ended by itself, its CPU or wall time was up, or it stopped itself."""


class Job(NamedTuple):
    """One candidate's turn: its number, CPU s, wall s, bytes above what is loaded before the candidate.

    `prelude` is the number of the import lines that have been run for it beforehand; 0 for none.
    """

    number: int
    cpu: float
    wall: float
    memory: int
    prelude: int = 0


class Report(NamedTuple):
    """How a child ended: job number, why (of WHY), exit code (or -signal), CPU s."""

    number: int
    why: str
    code: int
    cpu: float


def send_job(control: socket.socket, job: Job, fd: int) -> None:
    """Hand over a job with the child's end of its channel."""
    control.sendmsg([_JOB.pack(*job)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, _DESCRIPTOR.pack(fd))])


def receive_request(control: socket.socket) -> tuple[Job, int] | str | None:
    """The next job and the channel's descriptor, or a prelude to be run; None when the judge is gone.

    Wishes to end a past job are dropped.
    """
    while True:
        data, ancillary, _, _ = control.recvmsg(PACKET_MAX, 64)
        if not data:
            return None
        if ancillary:
            return Job._make(_JOB.unpack(data)), _DESCRIPTOR.unpack(ancillary[0][2])[0]
        if len(data) != _END.size:
            return data.decode()


def send_prelude(control: socket.socket, prelude: str) -> int:
    """Have import lines run for later jobs; their number, 0 where they are not. Raises OSError."""
    data = prelude.encode()
    if not _END.size < len(data) < PACKET_MAX:
        return 0
    control.send(data)
    answer = control.recv(1)
    if not answer:
        raise ConnectionResetError("the fork server is gone")
    return answer[0]


def send_end(control: socket.socket, number: int, lost: bool) -> None:
    """Ask for the end of a job; `lost` says that the child's end of the channel is closed."""
    control.send(_END.pack(number, lost))


def receive_end(control: socket.socket) -> tuple[int, bool] | None:
    """The job whose end is asked for, and whether its channel is closed; None when the judge is gone."""
    data = control.recv(_END.size)
    return _END.unpack(data) if data else None


def send_report(control: socket.socket, report: Report) -> None:
    """Tell how a child ended."""
    control.send(_REPORT.pack(report.number, WHY.index(report.why), report.code, report.cpu))


def receive_report(control: socket.socket) -> Report | None:
    """The report; None when the fork server is gone."""
    data = control.recv(_REPORT.size)
    if not data:
        return None
    number, why, code, cpu = _REPORT.unpack(data)
    return Report(number, WHY[why], code, cpu)
