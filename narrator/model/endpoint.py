"""A model asked until there is a whole answer, within one deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from narrator.errors import ModelUnavailableError
from narrator.model.settings import Settings
from narrator.reply import Reply

if TYPE_CHECKING:
    import openai

    from narrator.model.answer import Calls
    from narrator.model.rounds import Offer


class Endpoint:
    """Writes with the model of its settings.

    `write` is the whole of it for one essay. For many, `async with Endpoint(…) as endpoint` keeps one client,
    and with it its connections, for all `awrite` inside.
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
            notice: gets one line before every wait for another try: what failed, and the seconds.
            gate: entered round every single request and left with its error, if any; it sees the failures that
                a later try mends, and may hold requests back.
            wait: sleeps between two tries, seconds; asyncio's by default.
        """
        self.settings = settings
        self._progress = progress
        self._notice = notice
        self._gate: AbstractAsyncContextManager[object] = nullcontext() if gate is None else gate
        self._wait = wait
        self._held = AsyncExitStack()
        self._client: openai.AsyncOpenAI | None = None
        self._refused = False
        """The endpoint made nothing of tools in this run; they are not offered to it again."""

    async def __aenter__(self) -> Self:
        from narrator.model import wire

        self._client = await self._held.enter_async_context(wire.open_client(self.settings))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client = None
        await self._held.aclose()

    def write(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The model's answer to chat messages (`role`, `content`); not for use inside a running event loop.

        With an `offer` it may look things up first; `messages` are what is sent where that cannot be had.

        Raises:
            ModelError: there was no whole answer that may be an essay; nothing else but UsageError is raised.
            UsageError: the address, a proxy variable or another one cannot be used.
        """
        import asyncio

        return asyncio.run(self.awrite(messages, offer))

    async def awrite(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The same inside an event loop."""
        from narrator.model import wire

        if self._client is not None:
            return await self._write_in_time(self._client, messages, offer)
        async with wire.open_client(self.settings) as client:
            return await self._write_in_time(client, messages, offer)

    async def _write_in_time(
        self, client: openai.AsyncOpenAI, messages: Sequence[Mapping[str, str]], offer: Offer | None
    ) -> Reply:
        import asyncio

        seconds = self.settings.timeout
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await self._write(client, messages, offer)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise ModelUnavailableError(
                f"no whole answer from {self.settings.model} within {seconds:g} s; --timeout gives more"
            ) from error

    async def _write(
        self, client: openai.AsyncOpenAI, messages: Sequence[Mapping[str, str]], offer: Offer | None
    ) -> Reply:
        from narrator.model import retry, wire
        from narrator.model.answer import judge, judge_round
        from narrator.model.rounds import Messages, write_plainly, write_with_lookups

        async def ask(said: Messages, tools: Sequence[Mapping[str, Any]]) -> Reply | Calls:
            async def one_request() -> Reply | Calls:
                async with self._gate:
                    answer = await wire.ask(client, self.settings, said, self._progress, tools)
                    return (judge_round if tools else judge)(answer, self.settings)

            return await retry.persist(one_request, self.settings, notice=self._notice, wait=self._wait)

        if offer is None or self._refused:
            return await write_plainly(ask, messages)
        reply, refused = await write_with_lookups(ask, messages, offer, self.settings)
        if refused and not self._refused:
            self._refused = True
            if self._notice is not None:
                self._notice(f"{refused}; asked again without tools")
        return reply
