"""Long output through the user's pager, as git does it: PAGER, else `less`; what fits on the screen is not paged."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

import typer

_BATCH = 64
"""Lines that are written at once: few enough to be seen as they are made."""
_LESS = {"LESS": "FRX", "LESSCHARSET": "utf-8"}
"""What `less` is told where the user tells it nothing: leave at once if all fits, pass colours on, clear nothing."""


def find_pager() -> list[str] | None:
    """The command that pages what is printed; None off a terminal, without one, or where PAGER is empty or `cat`."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    command = shlex.split(os.environ.get("PAGER", "less"))
    return command if command and command != ["cat"] and shutil.which(command[0]) else None


def shows_colours(pager: list[str] | None) -> bool:
    """Whether colours come out as such: on a terminal, unless NO_COLOR forbids them or the pager would spell them."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if pager is None or os.path.basename(pager[0]) != "less":  # noqa: PTH119  # a word of a command line, no path of ours
        return True
    return any("r" in given.lower() for given in (os.environ.get("LESS", _LESS["LESS"]), *pager[1:]))


def print_lines(lines: Iterable[str], pager: list[str] | None = None) -> None:
    """Print lines as they are made, through `pager` if there is one; who leaves it early wants no more of them."""
    if pager is None:
        for text in _batches(lines):
            typer.echo(text, nl=False)
        return
    environment = _LESS | {name: value for name, value in os.environ.items() if value or name not in _LESS}
    running = subprocess.Popen(pager, stdin=subprocess.PIPE, env=environment)  # noqa: S603  # the user's own choice
    try:
        with suppress(BrokenPipeError, KeyboardInterrupt):
            _feed(running, lines)
    finally:
        _await(running)


def _batches(lines: Iterable[str]) -> Iterator[str]:
    remaining = iter(lines)
    while batch := list(islice(remaining, _BATCH)):
        yield "".join(f"{line}\n" for line in batch)


def _feed(pager: subprocess.Popen[bytes], lines: Iterable[str]) -> None:
    assert pager.stdin is not None  # it was asked for
    with pager.stdin as pipe:
        for text in _batches(lines):
            pipe.write(text.encode("utf-8", "replace"))
            pipe.flush()


def _await(pager: subprocess.Popen[bytes]) -> None:
    """Wait until the user leaves the pager; an interrupt from the keyboard is for the pager, and the terminal its."""
    while True:
        with suppress(KeyboardInterrupt):
            pager.wait()
            return
