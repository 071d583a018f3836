"""What led to an ending, as far as the record allows: the trouble before it, and what was in it at the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from narrator.clock import pause
from narrator.findings.calls import (
    errored_calls,
    failed_commands,
    interruption,
    name_of,
    refusal,
    refused_calls,
    stopped_calls,
    unwritten,
)
from narrator.findings.finding import NOTHING, WORDS, Clause, Evidence
from narrator.findings.neighbours import before_in_turn, call_during, next_typed, running_when_sent
from narrator.sanitize import one_line
from narrator.session import Message, Reasoning, Session, Text, ToolCall
from narrator.traits import ABORTS, LIMITS

_MOST_HELD = 5
"""Kinds of part that are listed."""

_Proof: TypeAlias = tuple[ToolCall, str, str | int | bool | None]
_TROUBLES: tuple[tuple[Callable[[Message], list[ToolCall]], str, Callable[[ToolCall], _Proof]], ...] = (
    (refused_calls, "{} refused as invalid", refusal),
    (stopped_calls, "{} interrupted", interruption),
    (errored_calls, "ended with an error", lambda call: (call, "error", call.error)),
)
"""Which calls, what befell them, and the field that says so."""


def came_after(message: Message, session: Session) -> Clause:
    """The trouble in the message directly before this one in its turn."""
    before = before_in_turn(message, session)
    if before is None:
        return NOTHING
    troubles = list(_troubles(before, session))
    if not troubles:
        return NOTHING
    parent = session.native("parent")
    says = f"It comes directly after message {before.index} of the same turn, {' and '.join(t[0] for t in troubles)}."
    return Clause(
        says,
        (
            *(proof for _, proof in troubles),
            Evidence(index=before.index, field=parent, value=before.parent),
            Evidence(index=message.index, field=parent, value=message.parent),
        ),
    )


def _troubles(message: Message, session: Session) -> Iterator[tuple[str, Evidence]]:
    """What went wrong in a message, a clause and a field a kind."""
    for chosen, befell, prove in _TROUBLES:
        if calls := chosen(message):
            call, field, value = prove(calls[0])
            proof = Evidence(index=message.index, field=session.native(field, call), value=value)
            were = befell.format("was" if len(calls) == 1 else "were")
            yield f"in which {_some(calls)} {were}", proof
    if commands := failed_commands(message):
        proof = Evidence(index=message.index, field=session.native("exit", commands[0]), value=commands[0].exit)
        first = "a command" if len(commands) == 1 else f"{len(commands)} commands failed, the first of which"
        yield f"in which {first} ended with exit code {commands[0].exit}", proof
    fault = message.fault
    if fault is not None and fault.name not in ABORTS | LIMITS:
        proof = Evidence(index=message.index, field=session.native("fault.name"), value=fault.name)
        yield f"which ended in an error of the endpoint ({one_line(fault.name, WORDS)})", proof


def _some(calls: Sequence[ToolCall]) -> str:
    return f"the {name_of(calls[0])} call" if len(calls) == 1 else f"{len(calls)} calls"


def held(message: Message, session: Session) -> Clause:
    """What an unfinished message had in it when it ended."""
    found = [_holding(block, session) for block in message.blocks if isinstance(block, (Text, Reasoning, ToolCall))]
    if not found:
        counted = message.tokens.output if message.tokens else None
        proof = Evidence(index=message.index, field="tokens.output", value=counted)
        return Clause("Nothing of it is recorded: no text, no reasoning, no call.", (proof,) if counted == 0 else ())
    counts = Counter(what for what, *_ in found)
    proofs = {what: Evidence(index=message.index, field=field, value=value) for what, field, value in reversed(found)}
    said = [what if count == 1 else f"{what} ({count} times)" for what, count in counts.items()][:_MOST_HELD]
    said += [f"{len(counts) - _MOST_HELD} more kinds"] if len(counts) > _MOST_HELD else []
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return Clause(f"Recorded in it by then: {listed}.", tuple(proofs[what] for what in list(counts)[:_MOST_HELD]))


def _holding(block: Text | Reasoning | ToolCall, session: Session) -> tuple[str, str, str | int | bool | None]:
    if isinstance(block, ToolCall):
        return _call_held(block, session)
    what = "text" if isinstance(block, Text) else "reasoning"
    if block.text.strip():
        return what, f"{block.at}.type", what
    return f"{what} that is empty", f"{block.at}.text", block.text


def _call_held(call: ToolCall, session: Session) -> tuple[str, str, str | int | bool | None]:
    name = f"a call of {name_of(call)}"
    if call.interrupted:
        field, value = interruption(call)[1:]
        return f"{name} {'being written' if unwritten(call) else 'still running'}", session.native(field, call), value
    how = "that had ended" if call.status in ("completed", "error") else "without a recorded end"
    return f"{name} {how}", session.native("status", call), None if call.status == "unknown" else call.status


def users_next_turn(message: Message, session: Session) -> Clause:
    """When the user spoke next: by time, also while the message was still running."""
    turn, ended = next_typed(session, message), message.completed
    if turn is None or ended is None:
        return NOTHING
    sent = session.skims.created[turn]
    proof = (Evidence(index=turn, field=session.native("created"), value=sent),)
    if sent < ended:
        before = pause(ended - sent)
        return Clause(f"The user had sent message {turn} {before} before that end, while it was running.", proof)
    after = f"{pause(sent - ended)} after that end"
    if sent // 1000 == ended // 1000:
        after = f"in the same second, {after}"
    if turn == message.index + 1:
        return Clause(f"The next message is the user's, sent {after}.", proof)
    return Clause(f"The user's next turn is message {turn}, sent {after}.", proof)


def sent_during(session: Session, index: int, whom: str) -> Clause:
    """That a turn of the user's was sent while an earlier message was still running; `whom` is its subject."""
    running = running_when_sent(session, index)
    if running is None:
        return NOTHING
    skims, created, completed = session.skims, session.native("created"), session.native("completed")
    proofs = [
        Evidence(index=index, field=created, value=skims.created[index]),
        Evidence(index=running, field=created, value=skims.created[running]),
        Evidence(index=running, field=completed, value=skims.completed[running]),
    ]
    during = ""
    if call := call_during(session, running, skims.created[index]):
        during = f", during its {name_of(call)} call"
        times = (("started", call.started), ("ended", call.ended))
        proofs += [Evidence(index=running, field=session.native(name, call), value=ms) for name, ms in times]
    return Clause(f"{whom} was sent while message {running} was still running{during}.", tuple(proofs))


def answers_queued(message: Message, session: Session) -> Clause:
    """That the turn a message answers had been waiting for another message to end."""
    skims = session.skims
    asked = skims.parents[message.index]
    running = running_when_sent(session, asked) if asked >= 0 else None
    if running is None:
        return NOTHING
    clause = sent_during(session, asked, f"Message {asked}, which it answers,")
    if message.created is None or message.created < skims.completed[running]:
        return clause
    waited = pause(message.created - skims.completed[running])
    proof = Evidence(index=message.index, field=session.native("created"), value=message.created)
    return Clause(
        f"{clause.says[:-1]}; message {running} had ended {waited} before this one began.", (*clause.evidence, proof)
    )
