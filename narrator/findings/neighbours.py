"""A message's neighbours: the one before it in its turn, the one that was running, the turn and the call that follow.

Each looks at a bounded number of messages, in the columns of the skims, so that a session costs as much as it is long.
"""

from __future__ import annotations

from narrator.session import Message, Session, ToolCall
from narrator.skims import KINDS, NONE, ROLES, Skims

BACK, AHEAD = 50, 50
"""Messages looked at before and after one."""
ASSISTANT = ROLES.index("assistant")
_TYPED = KINDS.index("typed")


def _before(index: int) -> range:
    """The places before one, the nearest first."""
    return range(index - 1, max(-1, index - 1 - BACK), -1)


def _around(skims: Skims, index: int) -> range:
    return range(max(0, index - BACK), min(len(skims), index + 1 + AHEAD))


def before_in_turn(message: Message, session: Session) -> Message | None:
    """The answer directly before a message in the same turn, that is, with the same parent.

    What the user typed meanwhile may stand between the two; where no parent is recorded, nothing may.
    """
    skims = session.skims
    for place in _before(message.index):
        if skims.roles[place] == ASSISTANT:
            answer = session.message(place)
            return answer if answer.parent == message.parent else None
        if skims.kinds[place] != _TYPED or message.parent is None:
            return None
    return None


def answer_before(session: Session, index: int) -> int | None:
    """The answer directly before a message; only what the user typed may stand between the two."""
    kinds = session.skims.kinds
    earlier = next((place for place in _before(index) if kinds[place] != _TYPED), None)
    return earlier if earlier is not None and KINDS[kinds[earlier]] == "answer" else None


def running_when_sent(session: Session, index: int) -> int | None:
    """The message that had begun and not ended when the user sent turn `index`: by time, wherever the two stand.

    Of several, the one that had begun last; None for what no person typed. A message without a recorded end is never
    said to have been running.
    """
    skims = session.skims
    if skims.kinds[index] != _TYPED:
        return None
    sent, begun, ended = skims.created[index], skims.created, skims.completed
    around = (place for place in _around(skims, index) if skims.roles[place] == ASSISTANT)
    running = [(begun[place], place) for place in around if NONE < begun[place] < sent < ended[place]]
    return max(running)[1] if running else None


def sent_meanwhile(session: Session, index: int) -> tuple[int, ...]:
    """The turns that the user sent while message `index` was running: `running_when_sent` from the other side."""
    skims = session.skims
    begun, ended = skims.created[index], skims.completed[index]
    if skims.roles[index] != ASSISTANT or begun == NONE:
        return ()
    typed = (place for place in _around(skims, index) if skims.kinds[place] == _TYPED)
    return tuple(place for place in typed if begun < skims.created[place] < ended)


def call_during(session: Session, running: int, sent: int) -> ToolCall | None:
    """The last call of message `running` that had begun and not ended at `sent`, milliseconds since 1970."""
    calls = [block for block in session.message(running).blocks if isinstance(block, ToolCall)]
    timed = [call for call in calls if call.started is not None and call.ended is not None]
    return next((call for call in reversed(timed) if (call.started or 0) < sent < (call.ended or 0)), None)


def next_typed(session: Session, message: Message) -> int | None:
    """The user's next turn after a message had begun: by time, wherever the two stand."""
    skims, begun = session.skims, message.created
    if begun is None:
        return None
    typed = (place for place in _around(skims, message.index) if skims.kinds[place] == _TYPED)
    later = [
        (skims.created[place], place)
        for place in typed
        if skims.created[place] >= begun and place != skims.parents[message.index]
    ]
    return min(later)[1] if later else None


def next_call(session: Session, index: int) -> int | None:
    """The next message for which a model was surely asked: tokens counted, a finish recorded, or something answered.

    An aborted message without any of them may have been stopped before anything was sent.
    """
    skims = session.skims
    later = range(index + 1, min(len(skims), index + 1 + AHEAD))
    return next((place for place in later if skims.created[place] != NONE and _was_asked(session, place)), None)


def _was_asked(session: Session, place: int) -> bool:
    skims = session.skims
    if skims.roles[place] != ASSISTANT:
        return False
    finish = skims.words[skims.finishes[place]]
    finished = bool(finish) and not (finish or "").lower().endswith("error")
    return skims.sent[place] > 0 or finished or _has_answered(session.message(place))


def _has_answered(message: Message) -> bool:
    """Whether a model call began and gave something; a command that the user ran has no model call."""
    return message.called and bool(message.blocks)
