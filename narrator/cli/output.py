"""Printing: the product to stdout, everything else to stderr, one line each, no control character in any of it."""

from __future__ import annotations

import errno
import io
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import typer

if TYPE_CHECKING:
    from rich.status import Status


def speak_utf8() -> None:
    """UTF-8 on every stream, whatever the locale says: a session is full of characters an old one lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


class ClosedOutput(io.TextIOBase):
    """Stands for a standard output that the caller closed (`narrate … >&-`); Python has None there."""

    def write(self, _text: str, /) -> int:
        """Nothing can be written.

        Raises:
            OSError: always.
        """
        raise OSError(errno.EBADF, "it is closed")


def abandon() -> None:
    """Give what is left in the buffers, and cannot be written, to nobody: the interpreter would complain at its end."""
    nobody = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError):  # a closed stream is None, one in memory has no number
            os.dup2(nobody, stream.fileno())
    os.close(nobody)


def complain(text: str, error: BaseException | None = None) -> None:
    """One `narrate:` line on stderr; with `error`, its traceback before it."""
    from narrator.sanitize import one_line

    if error is not None:
        traceback.print_exception(error, file=sys.stderr)
    typer.echo(f"narrate: {one_line(text, 1000)}", err=True)


def warn(texts: Iterable[str]) -> None:
    """A line on stderr for each."""
    for text in texts:
        complain(f"warning: {text}")


class Progress(Protocol):
    """What a writer calls with each piece of text as it comes."""

    def __call__(self, piece: str, /) -> None:
        """Take the next piece."""


@contextmanager
def progress_line(model: str) -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """A live line on stderr while an essay is written: words and seconds; nothing off a terminal.

    Gives what takes the pieces of text, and what prints a line above the live one.

    Whether stderr is a terminal is asked of the stream itself: FORCE_COLOR makes the library draw into pipes.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _piece: None, complain
        return
    from rich.console import Console
    from rich.text import Text

    from narrator.sanitize import one_line

    console = Console(stderr=True)
    with console.status(Text(f"waiting for {model} …")) as status:
        yield _Counter(status, model), lambda text: console.print(Text(f"narrate: {one_line(text, 1000)}"))


class _Counter:
    """Counts words and keeps the line up to date, at most ten times a second."""

    def __init__(self, status: Status, model: str) -> None:
        self._status, self._model = status, model
        self._words, self._begun, self._shown = 0, time.monotonic(), 0.0

    def __call__(self, piece: str, /) -> None:
        from rich.text import Text

        self._words += piece.count(" ") + piece.count("\n")
        now = time.monotonic()
        if now - self._shown > 0.1:
            self._shown = now
            told = f"{self._model} is writing … {self._words} words, {now - self._begun:.0f} s"
            self._status.update(Text(told))
