"""Which process holds a claim, and whether it is gone."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

from narrator.record import Record

PROC = Path("/proc")


class Process(Record):
    """A process that no other is taken for."""

    host: str
    """The machine's name, for people: several machines, and containers, may share one."""
    machine: str
    """Where its number means this process: a start of the kernel, and a namespace (a container has its own)."""
    pid: int
    started: str | None = None
    """When it began, since numbers come again: the kernel's count since its own start; None where it does not say."""


@cache
def _machine() -> str:
    with suppress(OSError):
        boot = (PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {(PROC / 'self/ns/pid').readlink()}"
    return f"{socket.gethostname()} {uuid.getnode():x}"


def this_process() -> Process:
    """The one that runs this."""
    state = _state(os.getpid())
    return Process(host=socket.gethostname(), machine=_machine(), pid=os.getpid(), started=state and state[1])


def is_gone(process: Process) -> bool:
    """Whether it has certainly ended. Of one on another machine, or in another container, nothing can be known."""
    if process.machine != _machine() or sys.platform == "win32":  # there a signal 0 is no question
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # another user's: it is there
    state = _state(process.pid)
    if state is None or process.started is None:
        return False
    return state[0] in "ZX" or state[1] != process.started


def _state(pid: int) -> tuple[str, str] | None:
    """Letter of a process's state, and when it began; None where the kernel does not say."""
    try:
        # The name of the program stands in parentheses and may hold anything.
        fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return None
