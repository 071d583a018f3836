"""An event loop whose time passes at once: what waits an hour is over in a moment, in the same order."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Skips(selectors.DefaultSelector):
    """Waits for nothing: whatever the loop would sleep is added to its time."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everybody waits, and nothing will ever happen")
        self.passed += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time begins at 0 and moves only while all of its tasks sleep; no threads, no sockets."""

    def __init__(self) -> None:
        self._skips = _Skips()
        super().__init__(self._skips)

    def time(self) -> float:
        return self._skips.passed


def run_virtually(main: Coroutine[Any, Any, Result]) -> tuple[Result, float]:
    """What `main` gives, and the seconds that passed for it."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        result = runner.run(main)
        return result, runner.get_loop().time()
