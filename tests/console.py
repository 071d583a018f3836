"""The command line run inside the test's own process, with its streams as bytes in memory."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from endpoint import Answer, completion

from narrator.cli import main

PARAGRAPH = (
    "The user asked for one thing and the assistant did another [msg 0]. What it wrote can be read in the record, and "
    "nothing in it says that the work was finished before the turn ended [msg 0]. Whoever reads it later should look "
    "at the request first, then at the answer, and only then at what came after it. "
)
GOOD_ESSAY = f"# A turn and its reasons\n\n{PARAGRAPH * 3}\n\n## What follows from it\n\n{PARAGRAPH * 3}"
"""More than three hundred words, every paragraph cited: nothing to warn of."""


class Ran(NamedTuple):
    """What a call of `narrate` left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines on stderr; each has to be the program's own."""
        lines = self.err.splitlines()
        foreign = [line for line in lines if not line.startswith("narrate: ")]
        assert not foreign, foreign
        return lines


def good_answer() -> Answer:
    return completion(GOOD_ESSAY)


def run(*words: str, stdin: bytes = b"") -> Ran:
    """Run `narrate` with `words`; what it prints has to be UTF-8."""
    out, err = io.BytesIO(), io.BytesIO()
    with _streams(stdin, out, err):
        with pytest.raises(SystemExit) as leaving:
            main(words)
        sys.stdout.flush()
        sys.stderr.flush()
        assert isinstance(leaving.value.code, int)
        return Ran(leaving.value.code, out.getvalue().decode(), err.getvalue().decode())


@contextmanager
def _streams(stdin: bytes, out: io.BytesIO, err: io.BytesIO) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    # ASCII, as in the C locale: the program has to choose UTF-8 itself.
    sys.stdout, sys.stderr = (io.TextIOWrapper(buffer, encoding="ascii") for buffer in (out, err))
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def environment(**more: str) -> dict[str, str]:
    """What a process of `narrate` sees: the way to its interpreter and its modules, and nothing else of ours."""
    kept = ("PATH", "PYTHONPATH", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ} | more
