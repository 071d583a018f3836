"""The one policy by which a request is made again, and the time that all its tries have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)
from tenacity.stop import stop_base

from narrator.errors import ModelError, ModelNoAnswerError, ModelUnavailableError
from narrator.model.faults import LONGEST_PAUSE
from narrator.model.settings import Settings

Result = TypeVar("Result")

_BACKOFF = wait_exponential(multiplier=0.5, max=30)
"""Seconds: half a second, doubled with every try."""
_SPREAD = wait_random(0, 0.5)
"""Seconds on top, so that those a server sent away do not all come back at once."""


class Deadline:
    """The time that is left for a call; what its requests wait at a gate does not count."""

    def __init__(self, seconds: float) -> None:
        """Begin now; inside an event loop."""
        self._now = asyncio.get_running_loop().time
        self._ends = self._now() + seconds
        self.timeout = asyncio.timeout_at(self._ends)

    @property
    def left(self) -> float:
        """Seconds; negative when it is over."""
        return self._ends - self._now()

    @asynccontextmanager
    async def waiting(self, passage: AbstractAsyncContextManager[Result]) -> AsyncIterator[Result]:
        """Enter `passage`, however long that takes; what happens inside counts again."""
        async with AsyncExitStack() as stack:
            begun = self._now()
            self.timeout.reschedule(None)
            try:
                entered = await stack.enter_async_context(passage)
            finally:
                self._ends += self._now() - begun
                self.timeout.reschedule(self._ends)
            yield entered


@asynccontextmanager
async def deadline(settings: Settings, seconds: float | None = None) -> AsyncIterator[Deadline]:
    """Stop what happens inside when its time is over.

    Args:
        settings: whose model is asked; their time is the whole call's.
        seconds: what is left of it, if some has passed.

    Raises:
        ModelUnavailableError: it is over.
    """
    seconds = settings.timeout if seconds is None else seconds
    if seconds <= 0:
        raise late(settings)
    limit = Deadline(seconds)
    try:
        async with limit.timeout:
            yield limit
    except TimeoutError as error:
        if not limit.timeout.expired():
            raise
        raise late(settings) from error


def late(settings: Settings) -> ModelUnavailableError:
    """The error of a call whose time is over."""
    told = f"no whole answer from {settings.model} within {settings.timeout:g} s"
    return ModelUnavailableError(f"{told}; --timeout gives more")


async def persist(
    request: Callable[[], Awaitable[Result]],
    settings: Settings,
    *,
    limit: Deadline,
    notice: Callable[[str], None] | None,
    wait: Callable[[float], Awaitable[None]] | None,
) -> Result:
    """The result of `request`, made again while that may help and `settings` allow it, waiting no longer than `limit`.

    Raises:
        ModelUnavailableError: it stayed unavailable; the sentence counts the tries.
        ModelError: the verdict on the last answer.
    """

    def tell(state: RetryCallState) -> None:
        if notice is not None:
            notice(f"{_error(state)}; next try in {state.upcoming_sleep:.1f} s")

    policy = AsyncRetrying(
        sleep=asyncio.sleep if wait is None else wait,
        stop=stop_after_attempt(settings.attempts) | _Late(limit),
        wait=_pause,
        retry=_may_help,
        before_sleep=tell,
        reraise=True,
    )
    try:
        return await policy(request)
    except ModelUnavailableError as error:
        if isinstance(error.__cause__, ModelError):
            raise error.__cause__ from None
        tries = policy.statistics["attempt_number"]
        if tries == 1:
            raise
        raise ModelUnavailableError(
            f"{error}; tried {tries} times, try again later", retry_after=error.retry_after
        ) from error


class _Late(stop_base):
    """Stops where the next try would come too late."""

    def __init__(self, limit: Deadline) -> None:
        self._limit = limit

    def __call__(self, state: RetryCallState) -> bool:
        return state.upcoming_sleep >= self._limit.left


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None


def _may_help(state: RetryCallState) -> bool:
    """Whether another try may help; an answer that is none is given one more chance, not three."""
    error = _error(state)
    if not isinstance(error, ModelUnavailableError):
        return False
    if isinstance(error.__cause__, ModelNoAnswerError):
        return state.attempt_number == 1
    return error.retry_after is None or error.retry_after <= LONGEST_PAUSE


def _pause(state: RetryCallState) -> float:
    """Seconds before the next try: what the server asked for, else a growing while."""
    error = _error(state)
    asked = error.retry_after if isinstance(error, ModelUnavailableError) else None
    return _SPREAD(state) + (_BACKOFF(state) if asked is None else asked)
