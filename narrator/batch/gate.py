"""The one gate that every request to an endpoint passes: look-ups, repairs and further tries too."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from narrator.batch.ledger import Ledger
from narrator.batch.pace import Pace, Ticket
from narrator.draft import Usage


class Gate:
    """Holds requests back until pace and ledger let them start; in the order in which they came."""

    def __init__(self, pace: Pace, ledger: Ledger) -> None:
        """Let through what `pace` and `ledger` allow."""
        self._pace, self.ledger = pace, ledger
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()

    def admit(self, characters: int) -> Passage:
        """Entered for a request of so many characters, left when it is over."""
        return Passage(self, characters)

    async def enter(self, characters: int) -> tuple[Usage, Ticket]:
        """Wait until a request may start; gives what it is expected to take, and what stands for it.

        Raises:
            BudgetError: it would pass a budget.
        """
        async with self._turn:
            while not self.ledger.fits(expected := self.ledger.expect(characters)):
                await self._wait(math.inf)
            tokens = expected.input + expected.output
            while (delay := self._pace.delay(self._now(), tokens)) > 0:
                await self._wait(delay)
            self.ledger.reserve(expected)
            return expected, self._pace.start(self._now(), tokens)

    def leave(self, expected: Usage, ticket: Ticket, used: Usage, failed: BaseException | None) -> None:
        """A request is over."""
        self.ledger.settle(expected, used)
        self._pace.count(ticket, used.input + used.output)
        self._pace.end(ticket, self._now(), failed)
        self._changed.set()

    async def _wait(self, seconds: float) -> None:
        """Until a request has ended, at most so long."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await self._changed.wait()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


class Passage:
    """One request on its way through the gate."""

    def __init__(self, gate: Gate, characters: int) -> None:
        """Wait for nothing yet."""
        self._gate, self._characters = gate, characters
        self._used: Usage | None = None

    async def __aenter__(self) -> Callable[[Usage | None], None]:
        self._expected, self._ticket = await self._gate.enter(self._characters)
        return self._count

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        used = self._used or self._gate.ledger.lost(self._expected, error)
        self._gate.leave(self._expected, self._ticket, used, error)

    def _count(self, usage: Usage | None) -> None:
        """Say what the endpoint counted; None: it did not."""
        if usage is not None:
            self._gate.ledger.learn(self._characters, usage)
        self._used = usage or self._expected
