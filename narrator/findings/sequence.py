"""Rules that look at a message's neighbours: repetition, silence, another model, undoing."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from narrator.clock import span
from narrator.findings.calls import calls_of
from narrator.findings.finding import WORDS, Evidence, Finding
from narrator.sanitize import one_line
from narrator.session import Message, Session, Skim, ToolCall

RECENT_CALLS = 5
"""How many calls back a repetition counts as one."""
GAP_MS = 10 * 60 * 1000
"""A gap is longer than this,"""
GAP_FACTOR = 10
"""and longer than this many times the median of the steps around it."""
GAP_AROUND = 21


def repeated_call(message: Message, session: Session) -> Finding | None:
    """The same tool call, arguments included, as one of the last five."""
    calls = calls_of(message)
    if not calls:
        return None
    earlier = _calls_before(message.index, session)
    for call in calls:
        recent = reversed(earlier[-RECENT_CALLS:])
        same = next(((index, old) for index, old in recent if _same(old, call)), None)
        if same is not None:
            index, old = same
            where = "earlier in this message" if index == message.index else f"in message {index}"
            says = (
                f"The {one_line(call.name, 60)} call is, arguments included, the same as one of the last five, {where}."
            )
            evidence = (
                Evidence(index=message.index, field=session.native("name", call), value=call.name),
                Evidence(index=index, field=session.native("name", old), value=old.name),
                *_arguments(message.index, call, session),
                *_arguments(index, old, session),
            )
            return Finding(index=message.index, kind="repeated-call", says=says, evidence=evidence)
        earlier.append((message.index, call))
    return None


def _same(old: ToolCall, new: ToolCall) -> bool:
    return bool(new.input) and (old.name, old.input) == (new.name, new.input)


def _arguments(index: int, call: ToolCall, session: Session) -> list[Evidence]:
    """The first few short arguments of a call, to show that they are the same."""
    given = call.input.items() if isinstance(call.input, dict) else ()
    plain = [(key, value) for key, value in given if isinstance(value, (str, int, float)) and len(str(value)) <= WORDS]
    field = session.native("input", call)
    return [
        Evidence(index=index, field=f"{field}.{key}", value=value) for key, value in plain[:3] if key.isidentifier()
    ]


def _calls_before(index: int, session: Session) -> list[tuple[int, ToolCall]]:
    found: list[tuple[int, ToolCall]] = []
    for before in range(index - 1, -1, -1):
        if session.skims[before].calls:
            found[:0] = [(before, call) for call in calls_of(session.message(before))]
        if len(found) >= RECENT_CALLS:
            break
    return found


def gap(message: Message, session: Session) -> Finding | None:
    """More than ten minutes, and ten times the median step around it, in which nothing is recorded.

    A step is the time from the end of one message (its beginning, where it has no end) to the beginning of the next: a
    command that runs for an hour is inside its message and no gap, also when the user types meanwhile.
    """
    idle = _idle(session, message.index)
    if idle is None or idle <= GAP_MS:
        return None
    half = GAP_AROUND // 2
    around = range(max(0, message.index - half), min(len(session) - 1, message.index + half + 1))
    steps = [step for index in around if (step := _idle(session, index)) is not None]
    if idle <= GAP_FACTOR * median(steps):
        return None
    last, following = _last_to_end(session, message.index), session.skims[message.index + 1]
    says = f"Nothing is recorded for {span(idle)} after this message, until message {following.index}."
    own = "completed" if last.completed is not None else "created"
    evidence = (
        Evidence(index=last.index, field=session.native(own), value=_end(last)),
        Evidence(index=following.index, field=session.native("created"), value=following.created),
    )
    return Finding(index=message.index, kind="gap", says=says, evidence=evidence)


def _end(skim: Skim) -> int | None:
    return skim.completed if skim.completed is not None else skim.created


def _last_to_end(session: Session, index: int) -> Skim:
    """Of a message and those before it, the one that ended last: what the user types is queued while a command runs."""
    around = session.skims[max(0, index - GAP_AROUND // 2) : index + 1]
    return max(reversed(around), key=lambda skim: _end(skim) or 0)


def _idle(session: Session, index: int) -> int | None:
    if index + 1 >= len(session) or _end(session.skims[index]) is None:
        return None
    end, begin = _end(_last_to_end(session, index)), session.skims[index + 1].created
    return None if end is None or begin is None else max(0, begin - end)


def model_switch(message: Message, session: Session) -> Finding | None:
    """Another model answered from here on."""
    skim = session.skims[message.index]
    if skim.kind != "answer" or skim.model is None:
        return None
    back = (session.skims[index] for index in range(message.index - 1, -1, -1))
    before = next((earlier for earlier in back if earlier.kind == "answer" and earlier.model), None)
    if before is None or before.model == skim.model:
        return None
    here, there = one_line(skim.model, WORDS), one_line(before.model or "", WORDS)
    says = f"From here on {here} answers; the answer before it, message {before.index}, is {there}'s."
    evidence = tuple(
        Evidence(index=index, field=session.native(field), value=value)
        for index, model in ((before.index, before.model or ""), (message.index, skim.model))
        for field, value in zip(("provider", "", "model"), model.partition("/"), strict=True)
        if field
    )
    return Finding(index=message.index, kind="model-switch", says=says, evidence=evidence)


def reverted(message: Message, session: Session) -> Finding | None:
    """Undone later by the user."""
    first = session.positions.get(session.about.revert or "")
    if first is None or message.index < first:
        return None
    says = f"Message {first} and everything after it were undone later (reverted); this message is still in the file."
    evidence = (Evidence(index=first, field="id", value=session.about.revert),)
    return Finding(index=message.index, kind="reverted", says=says, evidence=evidence)


SEQUENCE_RULES: tuple[Callable[[Message, Session], Finding | None], ...] = (
    repeated_call,
    gap,
    model_switch,
    reverted,
)
