"""A model that may look things up: it is asked, answered, and asked again, until it writes or the bounds are reached.

The essay comes in any case. An endpoint that refuses tools or makes nothing of them is asked again without them, with
what was looked up so far as part of the prompt, in the form every endpoint takes.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from narrator.draft import Usage
from narrator.errors import ModelNoAnswerError, ModelRejectedError
from narrator.lookup import Lookups
from narrator.model.answer import Calls
from narrator.model.settings import Settings
from narrator.model.tools import TOOLS, answer_call
from narrator.reply import Reply, plain_text

MOST_CALLS = 8
"""Calls that are answered in one round."""
_NOT_YET = (
    "Do not write the essay yet: call the tools for what you need, then answer READY. "
    "You will be asked for the essay with all that you looked up before you."
)
_FOUND = "# What you looked up\n\n"
_NOW = "Write the essay now; nothing more can be looked up.\n"

Messages: TypeAlias = Sequence[Mapping[str, Any]]
Ask: TypeAlias = Callable[[Messages, Sequence[Mapping[str, Any]]], Awaitable[Reply | Calls]]
"""Sends messages with tools, or without, and gives the essay or what the model calls."""

Result = TypeVar("Result")


class Aside(Protocol):
    """Does work outside the event loop."""

    def __call__(self, work: Callable[[], Result], /) -> Awaitable[Result]:
        """What the work gives, once it is done."""
        ...


async def at_once(work: Callable[[], Result], /) -> Result:
    """Do the work here and now."""
    return work()


class Offer(NamedTuple):
    """Tools that a model may use while it writes."""

    messages: Messages
    """The prompt that tells of them; without them, another is sent."""
    lookups: Lookups


@dataclass
class _Talk:
    """What has been said so far."""

    messages: list[Mapping[str, Any]]
    found: list[str] = field(default_factory=list)
    """What came back for calls that brought something."""
    usages: list[Usage] = field(default_factory=list)
    refused: str = ""
    """Why the endpoint made nothing of the tools, for a person; "" when it did."""

    def count(self, outcome: Reply | Calls) -> None:
        """Add the tokens that an answer took."""
        if outcome.usage is not None:
            self.usages.append(outcome.usage)


async def write_plainly(ask: Ask, messages: Messages) -> Reply:
    """The essay, from a request without tools."""
    outcome = await ask(messages, ())
    assert isinstance(outcome, Reply), "no tools were offered"
    return outcome


async def write_with_lookups(
    ask: Ask, messages: Messages, offer: Offer, settings: Settings, tell: Callable[[str], None], aside: Aside
) -> tuple[Reply, bool]:
    """The essay, and whether the endpoint made something of the tools; why it did not is told before it is asked again.

    Raises:
        ModelError: there is no essay, also without tools.
    """
    opening = [dict(message) for message in offer.messages]
    if settings.looks_up_apart:
        opening[-1]["content"] += f"\n{_NOT_YET}\n"
    talk = _Talk(list(opening))
    reply = await _look_up(ask, talk, offer.lookups, aside)
    if talk.refused:
        tell(f"{talk.refused}; asked again without tools")
    if reply is None or settings.looks_up_apart:
        reply = await _write(ask, messages, talk, offer.lookups)
    counted = {"usage": _sum(talk.usages), "requests": tuple(talk.usages)}
    return reply.model_copy(update=counted), not talk.refused


async def _look_up(ask: Ask, talk: _Talk, lookups: Lookups, aside: Aside) -> Reply | None:
    """Answer the model's calls round by round; None when it has not written by the end of the last."""
    for number in range(lookups.bounds.rounds):
        try:
            outcome = await ask(talk.messages, TOOLS)
        except (ModelRejectedError, ModelNoAnswerError) as error:
            # Once a call was answered, whatever is refused may be what that brought into the request.
            if isinstance(error, ModelRejectedError) and not error.tools and number == 0:
                raise
            talk.refused = str(error).rpartition("; ")[0] or str(error)
            return None
        talk.count(outcome)
        if isinstance(outcome, Reply):
            return outcome
        await aside(partial(_answer, outcome, talk, lookups, lookups.bounds.rounds - number - 1))
        if lookups.spent:
            return None
    return None


def _answer(asked: Calls, talk: _Talk, lookups: Lookups, left: int) -> None:
    """Answer the calls of a round; the last answer says how much may still be asked."""
    calls, texts = asked.calls[:MOST_CALLS], []
    for call in calls:
        before = lookups.made
        texts.append(answer_call(call.name, call.arguments, lookups))
        if lookups.made > before:
            talk.found.append(texts[-1])
    if more := len(asked.calls) - len(calls):
        texts[-1] += f"\nerror: {more} further calls were not answered, at most {MOST_CALLS} are at once"
    rest = f"{left}, and about {lookups.room:,} tokens" if left else "none; write the essay"
    texts[-1] += f"\nrecord: rounds of look-ups left: {rest}\n"
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _sound(call.arguments)}}
        for call in calls
    ]
    talk.messages.append({"role": "assistant", "content": asked.text, "tool_calls": made})
    for call, text in zip(calls, texts, strict=True):
        talk.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def _sound(arguments: str) -> str:
    """Arguments as they may be sent back: chat templates parse them, and fail on what is no JSON object."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return "{}"
    return plain_text(arguments) if isinstance(value, dict) else "{}"


async def _write(ask: Ask, messages: Messages, talk: _Talk, lookups: Lookups) -> Reply:
    """The essay from a request without tools; what was looked up is left out when it is turned down with that."""
    reply = None
    if talk.found:
        *before, last = messages
        told = f"{last['content']}\n{_FOUND}{chr(10).join(talk.found)}\n{_NOW}"
        try:
            reply = await write_plainly(ask, [*before, {**last, "content": told}])
        except ModelRejectedError:
            lookups.forget()
    reply = reply or await write_plainly(ask, messages)
    talk.count(reply)
    return reply


def _sum(usages: Sequence[Usage]) -> Usage | None:
    """Tokens of all requests; None when none was counted."""
    if not usages:
        return None
    return Usage(**{name: sum(getattr(usage, name) for usage in usages) for name in Usage.model_fields})
