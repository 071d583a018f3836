"""Where a batch does what would hold up its event loop: one thread computes, a few wait for files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

Result = TypeVar("Result")

_FILES = 8
"""Threads that wait for disks and servers."""


class Threads:
    """Left when all that was begun is done."""

    def __init__(self) -> None:
        """Start no thread yet.

        One computes, since a session is no thing for two threads, and two that compute are no faster in one Python.
        """
        self._desk = ThreadPoolExecutor(1, "narrate-desk")
        self._files = ThreadPoolExecutor(_FILES, "narrate-files")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._desk.shutdown(cancel_futures=True)
        self._files.shutdown()

    def compute(self, work: Callable[[], Result], /) -> Awaitable[Result]:
        """Do it in the thread that reads sessions."""
        return asyncio.get_running_loop().run_in_executor(self._desk, work)

    def file(self, work: Callable[[], Result], /) -> Awaitable[Result]:
        """Do it in a thread that waits for files."""
        return asyncio.wrap_future(self.begin(work))

    def begin(self, work: Callable[[], Result], /) -> Future[Result]:
        """The same without waiting for it; it is done also when the batch is interrupted."""
        return self._files.submit(work)
