"""Earlier failures of the same command: over the whole session, read off the columns of all its calls.

Only the calls that are shown as evidence are decoded. A call without a known end (stopped, or its exit code not
recorded) is neither a failure nor a success here, so a success is always said to be a recorded one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from narrator.findings.finding import NOTHING, Clause, Evidence
from narrator.session import Message, Session, ToolCall
from narrator.skims import FAILED, OK

SHELLS = frozenset({"bash", "shell", "powershell"})
_MOST_SHOWN = 6
"""Failures whose own field is in the evidence: the first, and the last ones; the sentence has the full count."""


class _Past(NamedTuple):
    """What came before a call: numbers of calls with the same command, ascending."""

    call: ToolCall
    failed: Sequence[int]
    """Failures since the last success."""
    success: int | None


def failed_before(calls: Sequence[ToolCall], message: Message, session: Session, whose: str) -> Clause:
    """Of failed commands of a message, how often the one with most failures before it had failed, and since when.

    Args:
        calls: The failed commands.
        message: The message they are in.
        session: The session.
        whose: The subject of the sentence: `the same command`.
    """
    pasts = [past for call in calls if (past := _past(call, message, session)) is not None]
    past = max(pasts, key=lambda past: len(past.failed), default=None)
    return (
        NOTHING
        if past is None
        else Clause(_says(past, message, session, whose), tuple(_proofs(past, message, session)))
    )


def _past(call: ToolCall, message: Message, session: Session) -> _Past | None:
    """None where the command had not failed since its last success, or is none."""
    numbers = session.calls.of(message.index)
    own = [block for block in message.blocks if isinstance(block, ToolCall)]
    if len(own) != len(numbers) or not _command(call).strip():
        return None
    number, outcomes = numbers[own.index(call)], session.calls.outcomes
    same = session.calls.same(number)
    earlier = same[: bisect_left(same, number)]
    success = next((other for other in reversed(earlier) if outcomes[other] == OK), None)
    failed = [other for other in earlier if outcomes[other] == FAILED and (success is None or other > success)]
    return _Past(call, failed, success) if failed else None


def _says(past: _Past, message: Message, session: Session, whose: str) -> str:
    places = [session.calls.message_of(number) for number in past.failed]
    count, first, last = len(places), *(_where(place, message) for place in (places[0], places[-1]))
    if count == 1:
        often = f"{whose} had failed once before, {first}"
    else:
        where = f"all of them {first}" if first == last else f"first {first} and last {last}"
        often = f"{whose} had failed {count:,} times before, {where}"
    if past.success is None:
        return f"{often[0].upper()}{often[1:]}; no success of it before that is recorded in this session."
    since = _where(session.calls.message_of(past.success), message)
    return f"Since its last recorded success, {since}, {often}."


def _where(place: int, message: Message) -> str:
    return "in this message" if place == message.index else f"in message {place}"


def _proofs(past: _Past, message: Message, session: Session) -> Iterator[Evidence]:
    """The command here and at the first failure, the success, and how the first and the last failures ended."""
    failed = past.failed
    first = _at(failed[0], session)
    for index, call in filter(None, ((message.index, past.call), first)):
        field = session.native("input", call)
        yield Evidence(index=index, field=f"{field}.command", value=_command(call))
    if past.success is not None and (success := _at(past.success, session)):
        index, call = success
        field = "status" if call.exit is None else "exit"
        yield Evidence(index=index, field=session.native(field, call), value=getattr(call, field))
    shown = [first, *(_at(number, session) for number in failed[:0:-1][: _MOST_SHOWN - 1])]
    for index, call in filter(None, shown):
        field = "error" if call.status == "error" else "exit"
        yield Evidence(index=index, field=session.native(field, call), value=getattr(call, field))


def _at(number: int, session: Session) -> tuple[int, ToolCall] | None:
    """The message of a call, and the call; None where its message does not decode to as many."""
    index = session.calls.message_of(number)
    calls = [block for block in session.message(index).blocks if isinstance(block, ToolCall)]
    place = number - session.calls.of(index).start
    return (index, calls[place]) if place < len(calls) else None


def _command(call: ToolCall) -> str:
    command = call.input.get("command") if call.name in SHELLS and isinstance(call.input, dict) else None
    return command if isinstance(command, str) else ""
