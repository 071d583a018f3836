"""A message's neighbours: the one before it in its turn, the one that was running, the turn and the call that follow.

Each looks at a bounded number of messages, so that a session costs as much as it is long.
"""

from __future__ import annotations

from collections.abc import Iterator

from narrator.session import Message, Session, Skim, ToolCall

BACK, AHEAD = 50, 50
"""Messages looked at before and after one."""


def _before(session: Session, index: int, most: int = BACK) -> Iterator[Skim]:
    return (session.skims[place] for place in range(index - 1, max(-1, index - 1 - most), -1))


def _after(session: Session, index: int) -> Iterator[Skim]:
    return (session.skims[place] for place in range(index + 1, min(len(session), index + 1 + AHEAD)))


def before_in_turn(message: Message, session: Session) -> Skim | None:
    """The answer directly before a message in the same turn, that is, with the same parent.

    What the user typed meanwhile may stand between the two; where no parent is recorded, nothing may.
    """
    for skim in _before(session, message.index):
        if skim.role == "assistant":
            return skim if skim.parent == message.parent else None
        if skim.kind != "typed" or message.parent is None:
            return None
    return None


def answer_before(session: Session, index: int) -> Skim | None:
    """The answer directly before a message; only what the user typed may stand between the two."""
    earlier = next((skim for skim in _before(session, index) if skim.kind != "typed"), None)
    return earlier if earlier is not None and earlier.kind == "answer" else None


def running_when_sent(session: Session, index: int) -> Skim | None:
    """The message that had begun and not ended when the user sent turn `index`: by time, wherever the two stand.

    Of several, the one that had begun last; None for what no person typed. A message without a recorded end is never
    said to have been running.
    """
    own = session.skims[index]
    if own.kind != "typed" or own.created is None:
        return None
    running = [
        (skim.created, skim.index)
        for around in (_before(session, index), _after(session, index))
        for skim in around
        if skim.role == "assistant" and skim.created is not None and skim.completed is not None
        if skim.created < own.created < skim.completed
    ]
    return session.skims[max(running)[1]] if running else None


def sent_meanwhile(session: Session, index: int) -> tuple[int, ...]:
    """The turns that the user sent while message `index` was running: `running_when_sent` from the other side."""
    own = session.skims[index]
    if own.role != "assistant" or own.created is None or own.completed is None:
        return ()
    around = sorted([*_before(session, index), *_after(session, index)], key=lambda skim: skim.index)
    within = (s.index for s in around if s.created is not None and own.created < s.created < own.completed)
    return tuple(place for place in within if session.skims[place].kind == "typed")


def call_during(session: Session, running: int, sent: int) -> ToolCall | None:
    """The last call of message `running` that had begun and not ended at `sent`, milliseconds since 1970."""
    calls = [block for block in session.message(running).blocks if isinstance(block, ToolCall)]
    timed = [call for call in calls if call.started is not None and call.ended is not None]
    return next((call for call in reversed(timed) if (call.started or 0) < sent < (call.ended or 0)), None)


def next_typed(session: Session, message: Message) -> Skim | None:
    """The user's next turn after a message had begun: by time, wherever the two stand."""
    begun = message.created
    if begun is None:
        return None
    later = [
        (skim.created, skim.index)
        for around in (_before(session, message.index), _after(session, message.index))
        for skim in around
        if skim.kind == "typed" and skim.created is not None and skim.created >= begun and skim.id != message.parent
    ]
    return session.skims[min(later)[1]] if later else None


def next_call(session: Session, index: int) -> Skim | None:
    """The next message for which a model was surely asked: its tokens were counted, or the model's finish is recorded.

    An aborted message without either may have been stopped before anything was sent.
    """
    return next((skim for skim in _after(session, index) if skim.created is not None and _was_asked(skim)), None)


def _was_asked(skim: Skim) -> bool:
    finished = bool(skim.finish) and not (skim.finish or "").lower().endswith("error")
    return skim.role == "assistant" and (bool(skim.sent) or finished)
