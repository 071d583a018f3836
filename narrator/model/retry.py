"""The one policy by which a request is made again, and the time that all its tries have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from narrator.errors import ModelError, ModelNoAnswerError, ModelUnavailableError
from narrator.model.faults import LONGEST_PAUSE
from narrator.model.settings import Settings

Result = TypeVar("Result")

_BACKOFF = wait_exponential(multiplier=0.5, max=30)
"""Seconds: half a second, doubled with every try."""
_SPREAD = wait_random(0, 0.5)
"""Seconds on top, so that those a server sent away do not all come back at once."""


@asynccontextmanager
async def deadline(settings: Settings, seconds: float | None = None) -> AsyncIterator[None]:
    """Stop what happens inside when its time is over.

    Args:
        settings: whose model is asked; their time is the whole call's.
        seconds: what is left of it, if some has passed.

    Raises:
        ModelUnavailableError: it is over.
    """
    limit = asyncio.timeout(settings.timeout if seconds is None else seconds)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
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
    seconds: float,
    notice: Callable[[str], None] | None,
    wait: Callable[[float], Awaitable[None]] | None,
) -> Result:
    """The result of `request`, made again while that may help and `settings` allow it, waiting `seconds` at most.

    Raises:
        ModelUnavailableError: it stayed unavailable; the sentence counts the tries.
        ModelError: the verdict on the last answer.
    """

    def tell(state: RetryCallState) -> None:
        if notice is not None:
            notice(f"{_error(state)}; next try in {state.upcoming_sleep:.1f} s")

    policy = AsyncRetrying(
        sleep=asyncio.sleep if wait is None else wait,
        stop=stop_after_attempt(settings.attempts) | stop_before_delay(seconds),
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
