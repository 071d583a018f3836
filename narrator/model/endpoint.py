"""A model asked until there is a whole answer, within one deadline."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from narrator.errors import ModelRejectedError
from narrator.model.settings import Settings
from narrator.model.terms import Terms
from narrator.reply import Reply

if TYPE_CHECKING:
    import openai

    from narrator.model.answer import Calls
    from narrator.model.rounds import Messages, Offer


class Endpoint:
    """Writes with the model of its settings.

    `begin` gives what writes one essay. For many, `async with Endpoint(…) as endpoint` keeps one client, and with it
    its connections, for all that is written inside; what the endpoint was found not to take is known to all of them.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        progress: Callable[[str], None] | None = None,
        notice: Callable[[str], None] | None = None,
        gate: AbstractAsyncContextManager[object] | None = None,
        wait: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            settings: which model, where, within what bounds.
            progress: gets each piece of text as it comes, fit to print; a new try begins anew.
            notice: gets one line before every wait for another try: what failed, and the seconds; and one for
                everything that the endpoint does not take and is asked without.
            gate: entered round every single request and left with its error, if any; it sees the failures that
                a later try mends, and may hold requests back.
            wait: sleeps between two tries, seconds; asyncio's by default.
        """
        self.settings = settings
        self.requests = 0
        """How many were sent, those that failed among them."""
        self._progress = progress
        self._notice = notice
        self._gate: AbstractAsyncContextManager[object] = nullcontext() if gate is None else gate
        self._wait = wait
        self._held = AsyncExitStack()
        self._client: openai.AsyncOpenAI | None = None
        self._terms = Terms(settings)
        self._refused = False
        """The endpoint made nothing of tools in this run; they are not offered to it again."""
        self._told = False

    async def __aenter__(self) -> Self:
        from narrator.model import wire

        self._client = await self._held.enter_async_context(wire.open_client(self.settings))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client = None
        await self._held.aclose()

    def begin(self) -> Call:
        """One essay, with a deadline of its own."""
        return Call(self)

    def write(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The answer to chat messages as a call of its own (`Call.write`)."""
        return self.begin().write(messages, offer)

    async def awrite(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The same inside an event loop."""
        return await self.begin().awrite(messages, offer)

    async def ask(self, messages: Messages, offer: Offer | None, seconds: float) -> Reply:
        """The answer, in so many seconds."""
        from narrator.model import retry, wire

        async with retry.deadline(self.settings, seconds):
            if self._client is not None:
                return await self._write(self._client, messages, offer, seconds)
            async with wire.open_client(self.settings) as client:
                return await self._write(client, messages, offer, seconds)

    async def _write(
        self, client: openai.AsyncOpenAI, messages: Messages, offer: Offer | None, seconds: float
    ) -> Reply:
        from narrator.model.rounds import write_plainly, write_with_lookups

        ends = time.monotonic() + seconds

        async def ask(said: Messages, tools: Sequence[Mapping[str, Any]]) -> Reply | Calls:
            while True:
                sent = self._terms.parameters(tools)
                try:
                    return await self._persist(client, said, sent, ends - time.monotonic())
                except ModelRejectedError as error:
                    self._adapt(error, sent)

        if offer is None or self._refused:
            return await write_plainly(ask, messages)
        reply, taken = await write_with_lookups(ask, messages, offer, self.settings, self._tell_of_tools)
        self._refused |= not taken
        return reply

    async def _persist(
        self, client: openai.AsyncOpenAI, said: Messages, sent: Mapping[str, Any], seconds: float
    ) -> Reply | Calls:
        """The answer to one request, made again while that may help."""
        from narrator.model import retry, wire
        from narrator.model.answer import judge, judge_round

        async def one_request() -> Reply | Calls:
            async with self._gate:
                self.requests += 1
                answer = await wire.ask(client, self.settings, said, self._progress, sent)
                return (judge_round if "tools" in sent else judge)(answer, self.settings)

        return await retry.persist(one_request, self.settings, seconds=seconds, notice=self._notice, wait=self._wait)

    def _adapt(self, error: ModelRejectedError, sent: Mapping[str, Any]) -> None:
        """Leave out what was refused and tell of it; raises the error where that was nothing that can be left out."""
        how = self._terms.adapt(error, sent)
        if how is None:
            raise error
        if how:
            self._tell(f"{str(error).rpartition('; ')[0]}; asked again {how}")

    def _tell_of_tools(self, line: str) -> None:
        """Tell once that tools are not taken, whatever number of essays is written at the same time."""
        if not self._told:
            self._told = True
            self._tell(line)

    def _tell(self, line: str) -> None:
        if self._notice is not None:
            self._notice(line)


class Call:
    """One essay: everything that is asked for it (look-ups, tries, repairs) shares the time of the settings.

    The time begins with the first request.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        """Ask nothing yet."""
        self._endpoint = endpoint
        self._ends: float | None = None

    def write(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The model's answer to chat messages (`role`, `content`); not for use inside a running event loop.

        With an `offer` it may look things up first; `messages` are what is sent where that cannot be had.

        Raises:
            ModelError: there was no whole answer that may be an essay; nothing else but UsageError is raised.
            UsageError: the address, a proxy variable or another one cannot be used.
        """
        from narrator.model.loop import run

        return run(self.awrite(messages, offer))

    async def awrite(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The same inside an event loop."""
        now = time.monotonic()
        if self._ends is None:
            self._ends = now + self._endpoint.settings.timeout
        if now >= self._ends:
            from narrator.model.retry import late

            raise late(self._endpoint.settings)
        return await self._endpoint.ask(messages, offer, self._ends - now)
