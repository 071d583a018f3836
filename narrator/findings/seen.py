"""What opencode shows the model of a message in later requests.

Read in the source of opencode 1.x (`session/message-v2.ts`, and ../shared's formats.md); it is said as what opencode
does, never as observed, and only where a later model call is on record.
"""

from __future__ import annotations

from narrator.findings.finding import NOTHING, Clause, Evidence
from narrator.findings.neighbours import AHEAD, ASSISTANT, next_call
from narrator.session import Message, Session, Text, ToolCall

CLEARED = "[Old tool result content cleared]"
INTERRUPTED = "[Tool execution was interrupted]"
SO_FAR = "What did we do so far?"
_KEPT_WITH_CONTENT = "MessageAbortedError"


def applies(session: Session) -> bool:
    """Whether the session is opencode's, of a version whose rules are known; those before 1.0 are not."""
    return session.about.format == "opencode" and not (session.about.version or "").startswith("0.")


def request_after(session: Session, index: int) -> int | None:
    """The next recorded model call, if it is opencode that made it."""
    return next_call(session, index) if applies(session) else None


def seen_next(message: Message, session: Session) -> Clause:
    """What becomes of a message that ended badly or empty in the next request.

    An empty one is left out, and one with an error, unless it was aborted with text or a call in it. Of an aborted one
    that holds only reasoning nothing is said: parts that are not kept here decide it.
    """
    fault, following = message.fault, request_after(session, message.index)
    if following is None or (fault is not None and fault.name == "AbortError"):  # a name no known version treats so
        return NOTHING
    holds = any(isinstance(block, (Text, ToolCall)) for block in message.blocks)
    if fault is not None and fault.name != _KEPT_WITH_CONTENT:
        what = "leaves out a message with an error"
    elif not message.blocks:
        what = "leaves out a message without content"
    elif fault is not None and holds:
        what = "keeps an aborted message that holds text or a call"
    else:
        return NOTHING
    return _told(following, session, what)


def _told(following: int, session: Session, what: str) -> Clause:
    proof = Evidence(index=following, field=session.native("created"), value=session.skims.created[following])
    says = f"In the next request (the next recorded model call is message {following}) opencode {what}."
    return Clause(says, (proof,))


def call_seen_next(message: Message, session: Session) -> Clause:
    """What becomes of a call that never ended in the next request; a message that is left out takes it along."""
    following = request_after(session, message.index)
    left_out = message.fault is not None and message.fault.name != _KEPT_WITH_CONTENT
    if following is None or left_out:
        return NOTHING
    return _told(following, session, f"shows a call without an end as “{INTERRUPTED}”")


def request_seen_next(session: Session, index: int) -> Clause:
    """What a compaction request is to the model."""
    following = request_after(session, index)
    return (
        _told(following, session, f"shows it to the model as the question “{SO_FAR}”")
        if following is not None
        else NOTHING
    )


def cleared_for(session: Session, index: int, since: int) -> bool:
    """Whether a recorded model call began after an output of message `index` had been cleared.

    Looked for among the last messages: where none of them began later, hardly any other did.
    """
    skims = session.skims
    last = range(len(session) - 1, max(index, len(session) - 1 - AHEAD), -1)
    return applies(session) and any(
        skims.roles[place] == ASSISTANT and skims.sent[place] > 0 and skims.created[place] >= since for place in last
    )
