"""A model asked until there is a whole answer, within one deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Self

from narrator.errors import ModelUnavailableError
from narrator.model.settings import Settings
from narrator.reply import Reply

if TYPE_CHECKING:
    import openai


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

    async def __aenter__(self) -> Self:
        from narrator.model import wire

        self._client = await self._held.enter_async_context(wire.open_client(self.settings))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client = None
        await self._held.aclose()

    def write(self, messages: Sequence[Mapping[str, str]]) -> Reply:
        """The model's answer to chat messages (`role`, `content`); not for use inside a running event loop.

        Raises:
            ModelError: there was no whole answer that may be an essay; nothing else but UsageError is raised.
            UsageError: the address, a proxy variable or another one cannot be used.
        """
        import asyncio

        return asyncio.run(self.awrite(messages))

    async def awrite(self, messages: Sequence[Mapping[str, str]]) -> Reply:
        """The same inside an event loop."""
        from narrator.model import wire

        if self._client is not None:
            return await self._write_in_time(self._client, messages)
        async with wire.open_client(self.settings) as client:
            return await self._write_in_time(client, messages)

    async def _write_in_time(self, client: openai.AsyncOpenAI, messages: Sequence[Mapping[str, str]]) -> Reply:
        import asyncio

        seconds = self.settings.timeout
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await self._write(client, messages)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise ModelUnavailableError(
                f"no whole answer from {self.settings.model} within {seconds:g} s; --timeout gives more"
            ) from error

    async def _write(self, client: openai.AsyncOpenAI, messages: Sequence[Mapping[str, str]]) -> Reply:
        from narrator.model import retry, wire

        async def one_request() -> Reply:
            async with self._gate:
                return await wire.ask(client, self.settings, messages, self._progress)

        return await retry.persist(one_request, self.settings, notice=self._notice, wait=self._wait)
