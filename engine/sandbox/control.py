"""The packets between a judge and its fork server: a job with the child's end of its channel, the wish to end it, and
one report of how it ended."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

_JOB, _END, _REPORT, _DESCRIPTOR = (struct.Struct(f"={layout}") for layout in ("QddQ", "Q?", "QBiddQ", "i"))
PACKET_MAX = 1 << 12
WHY = ("asked", "died", "cpu", "wall", "stopped")
"""Why a child's turn ended: the judge asked, it ended by itself, its CPU or wall time was up, or it stopped itself."""


@dataclass(frozen=True)
class Job:
    """One candidate's turn: its number, CPU s, wall s, bytes above what is loaded before the candidate."""

    number: int
    cpu: float
    wall: float
    memory: int


@dataclass(frozen=True)
class Report:
    """How a child ended: job number, why (of WHY), exit code (or -signal), CPU s, peak bytes, processes it left."""

    number: int
    why: str
    code: int
    cpu: float
    peak: float
    left: int


def send_job(control: socket.socket, job: Job, fd: int) -> None:
    """Hand over a job with the child's end of its channel."""
    data = _JOB.pack(job.number, job.cpu, job.wall, job.memory)
    control.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, _DESCRIPTOR.pack(fd))])


def receive_job(control: socket.socket) -> tuple[Job, int] | None:
    """The next job and the channel's descriptor; None when the judge is gone. Wishes to end a past job are dropped."""
    while True:
        data, ancillary, _, _ = control.recvmsg(PACKET_MAX, 64)
        if not data:
            return None
        if ancillary:
            return Job(*_JOB.unpack(data)), _DESCRIPTOR.unpack(ancillary[0][2])[0]


def send_end(control: socket.socket, number: int, lost: bool) -> None:
    """Ask for the end of a job; `lost` says that the child's end of the channel is closed."""
    control.send(_END.pack(number, lost))


def receive_end(control: socket.socket) -> tuple[int, bool] | None:
    """The job whose end is asked for, and whether its channel is closed; None when the judge is gone."""
    data = control.recv(PACKET_MAX)
    return _END.unpack(data) if data else None


def send_report(control: socket.socket, report: Report) -> None:
    """Tell how a child ended."""
    why = WHY.index(report.why)
    control.send(_REPORT.pack(report.number, why, report.code, report.cpu, report.peak, report.left))


def receive_report(control: socket.socket) -> Report | None:
    """The report; None when the fork server is gone."""
    data = control.recv(PACKET_MAX)
    if not data:
        return None
    number, why, code, cpu, peak, left = _REPORT.unpack(data)
    return Report(number, WHY[why], code, cpu, peak, left)
