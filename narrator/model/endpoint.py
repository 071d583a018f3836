"""A model asked until there is a whole answer, within one deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from narrator.errors import ModelRejectedError
from narrator.model.settings import Settings
from narrator.model.terms import Terms
from narrator.reply import Reply

if TYPE_CHECKING:
    import openai

    from narrator.draft import Usage
    from narrator.model.answer import Calls
    from narrator.model.retry import Deadline
    from narrator.model.rounds import Aside, Messages, Offer


class Gate(Protocol):
    """Holds requests back."""

    def admit(self, characters: int, /) -> AbstractAsyncContextManager[Callable[[Usage | None], None]]:
        """Entered for every single request, of so many characters, and left with its error, if any.

        It sees the failures that a later try mends. What it gives is told the tokens that the endpoint counted; None
        when it did not count.
        """
        ...


class Open:
    """The gate that holds nothing back."""

    def admit(self, _characters: int, /) -> AbstractAsyncContextManager[Callable[[Usage | None], None]]:
        """Let it through."""
        return nullcontext(lambda _usage: None)


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
        gate: Gate | None = None,
        aside: Aside | None = None,
        wait: Callable[[float], Awaitable[None]] | None = None,
        tell_waits: bool = True,
    ) -> None:
        """Open nothing yet.

        Args:
            settings: which model, where, within what bounds.
            progress: gets each piece of text as it comes, fit to print; a new try begins anew.
            notice: gets one line before every wait for another try: what failed, and the seconds; and one for
                everything that the endpoint does not take and is asked without.
            gate: passed by every single request, look-ups and further tries included; the time for which it holds
                one back is not counted.
            aside: does the look-ups, here and now by default; what is written beside must not wait for a search in
                a large session.
            wait: sleeps between two tries, seconds; asyncio's by default.
            tell_waits: whether `notice` is told of waits; of many essays there are too many.
        """
        self.settings = settings
        self.requests = 0
        """How many were sent, those that failed among them."""
        self._progress = progress
        self._notice = notice
        self._gate: Gate = Open() if gate is None else gate
        self._aside = aside
        self._wait = wait
        self._notice_waits = notice if tell_waits else None
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

    def begin(self, *, cache_key: str | None = None, begun: Callable[[], None] | None = None) -> Call:
        """One essay, with a deadline of its own.

        Args:
            cache_key: the same for all whose prompts begin alike; sent to OpenAI alone.
            begun: called when the first piece of an answer is there, so that the prompt has been read; maybe again.
        """
        return Call(self, cache_key, begun)

    def write(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The answer to chat messages as a call of its own (`Call.write`)."""
        return self.begin().write(messages, offer)

    async def awrite(self, messages: Sequence[Mapping[str, str]], offer: Offer | None = None) -> Reply:
        """The same inside an event loop."""
        return await self.begin().awrite(messages, offer)

    async def ask(self, messages: Messages, offer: Offer | None, call: Call, limit: Deadline) -> Reply:
        """The answer to what is asked for an essay, within its deadline."""
        from narrator.model import wire

        if self._client is not None:
            return await self._write(self._client, messages, offer, call, limit)
        async with wire.open_client(self.settings) as client:
            return await self._write(client, messages, offer, call, limit)

    async def _write(
        self, client: openai.AsyncOpenAI, messages: Messages, offer: Offer | None, call: Call, limit: Deadline
    ) -> Reply:
        from narrator.model.rounds import at_once, write_plainly, write_with_lookups

        async def ask(said: Messages, tools: Sequence[Mapping[str, Any]]) -> Reply | Calls:
            while True:
                sent = self._terms.parameters(tools, call.cache_key)
                try:
                    return await self._persist(client, said, sent, call, limit)
                except ModelRejectedError as error:
                    self._adapt(error, sent)

        if offer is None or self._refused:
            return await write_plainly(ask, messages)
        aside = self._aside or at_once
        reply, taken = await write_with_lookups(ask, messages, offer, self.settings, self._tell_of_tools, aside)
        self._refused |= not taken
        return reply

    async def _persist(
        self, client: openai.AsyncOpenAI, said: Messages, sent: Mapping[str, Any], call: Call, limit: Deadline
    ) -> Reply | Calls:
        """The answer to one request, made again while that may help."""
        from narrator.model import retry, wire
        from narrator.model.answer import judge, judge_round

        async def one_request() -> Reply | Calls:
            passage = self._gate.admit(sum(len(message["content"]) for message in said))
            async with limit.waiting(passage) as count:
                self.requests += 1
                call.requests += 1
                hears = wire.Hears(self._progress, call.begun)
                answer = await wire.ask(client, self.settings, said, hears, sent)
                count(answer.usage)
                call.note(answer.usage)
                return (judge_round if "tools" in sent else judge)(answer, self.settings)

        return await retry.persist(one_request, self.settings, limit=limit, notice=self._notice_waits, wait=self._wait)

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

    def __init__(
        self, endpoint: Endpoint, cache_key: str | None = None, begun: Callable[[], None] | None = None
    ) -> None:
        """Ask nothing yet."""
        self._endpoint = endpoint
        self.cache_key, self.begun = cache_key, begun
        self.requests = 0
        """How many were sent for it, those that failed among them."""
        self.counted: list[Usage] = []
        """Tokens of each request that the endpoint counted, also of answers that were no essay."""
        self._left: float = endpoint.settings.timeout

    def note(self, usage: Usage | None) -> None:
        """Keep what a request took, if the endpoint counted it."""
        if usage is not None:
            self.counted.append(usage)

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
        from narrator.model.retry import deadline

        async with deadline(self._endpoint.settings, self._left) as limit:
            try:
                return await self._endpoint.ask(messages, offer, self, limit)
            finally:
                self._left = limit.left
