"""Rules that look at a message's neighbours: repetition, silence, another model, undoing."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from narrator.clock import span
from narrator.findings.calls import calls_of
from narrator.findings.finding import WORDS, Evidence, Finding
from narrator.sanitize import one_line
from narrator.session import Message, Session, Skim, Skims, ToolCall
from narrator.skims import NONE
from narrator.traits import RECENT_CALLS

GAP_MS = 10 * 60 * 1000
"""A gap is longer than this,"""
GAP_FACTOR = 10
"""and longer than this many times the median of the steps around it."""
GAP_AROUND = 21


def repeated_call(message: Message, session: Session) -> Finding | None:
    """The same tool call, arguments included, as one of the last five."""
    calls = calls_of(message)
    if not calls or not _may_repeat(message.index, session):
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


def _may_repeat(index: int, session: Session) -> bool:
    """Whether one of the last five calls had the same command or file, as far as the columns tell."""
    subjects = session.calls.subjects
    return any(
        subjects[number] in subjects[max(0, number - RECENT_CALLS) : number] for number in session.calls.of(index)
    )


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
        if session.calls.of(before):
            found[:0] = [(before, call) for call in calls_of(session.message(before))]
        if len(found) >= RECENT_CALLS:
            break
    return found


def gap(message: Message, session: Session) -> Finding | None:
    """More than ten minutes, and ten times the median step around it, in which nothing is recorded.

    A step is the time from the end of one message (its beginning, where it has no end) to the beginning of the next: a
    command that runs for an hour is inside its message and no gap, also when the user types meanwhile.
    """
    skims = session.skims
    idle = gap_after(skims, message.index)
    if idle is None:
        return None
    last, following = skims[_last_to_end(skims, message.index)], skims[message.index + 1]
    says = f"Nothing is recorded for {span(idle)} after this message, until message {following.index}."
    own = "completed" if last.completed is not None else "created"
    evidence = (
        Evidence(index=last.index, field=session.native(own), value=getattr(last, own)),
        Evidence(index=following.index, field=session.native("created"), value=following.created),
    )
    return Finding(index=message.index, kind="gap", says=says, evidence=evidence)


def gap_after(skims: Skims, index: int) -> int | None:
    """Milliseconds of the gap after message `index`; None when there is none."""
    following = index + 1
    if following < len(skims) and skims.created[following] - _end(skims, index) <= GAP_MS:
        return None  # what ended before it, if anything ended later, leaves still less
    idle = _idle(skims, index)
    if idle is None or idle <= GAP_MS:
        return None
    half = GAP_AROUND // 2
    around = range(max(0, index - half), min(len(skims) - 1, index + half + 1))
    steps = [step for place in around if (step := _idle(skims, place)) is not None]
    return idle if idle > GAP_FACTOR * median(steps) else None


def _end(skims: Skims, index: int) -> int:
    """When a message ended, as far as is known; `NONE` without any time."""
    completed = skims.completed[index]
    return skims.created[index] if completed == NONE else completed


def _last_to_end(skims: Skims, index: int) -> int:
    """Of a message and those before it, the one that ended last: what the user types is queued while a command runs."""
    return max(range(index, max(0, index - GAP_AROUND // 2) - 1, -1), key=lambda place: _end(skims, place))


def _idle(skims: Skims, index: int) -> int | None:
    if index + 1 >= len(skims) or _end(skims, index) == NONE:
        return None
    begin = skims.created[index + 1]
    return None if begin == NONE else max(0, begin - _end(skims, _last_to_end(skims, index)))


def model_switch(message: Message, session: Session) -> Finding | None:
    """Another model answered from here on."""
    skims = session.skims
    last = skims.last("answer", message.index)
    if last is not None and skims.models[last] == skims.models[message.index]:
        return None
    skim = skims[message.index]
    if skim.kind != "answer" or skim.model is None:
        return None
    before = _answer_before(session.skims, message.index)
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


def _answer_before(skims: Skims, index: int) -> Skim | None:
    """The last answer before a message whose model is recorded."""
    place: int | None = index
    while place is not None and (place := skims.last("answer", place)) is not None:
        if skims.models[place]:
            return skims[place]
    return None


def reverted(message: Message, session: Session) -> Finding | None:
    """Undone later by the user."""
    first = session.positions.get(session.about.revert) if session.about.revert else None
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
