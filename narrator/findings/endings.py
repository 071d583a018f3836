"""Rules about how an answer ended."""

from __future__ import annotations

from narrator.clock import span
from narrator.findings.causes import answers_queued, came_after, held, users_next_turn
from narrator.findings.finding import WORDS, Finding, state
from narrator.findings.seen import seen_next
from narrator.findings.speech import has_call, has_reasoning, has_text, says_nothing
from narrator.sanitize import one_line
from narrator.session import About, Message, Reasoning, Session
from narrator.traits import ABORTS, LENGTHS, LIMITS

NORMAL_ENDS_NOT = frozenset({"error", "content-filter"})
"""Words for an end that is no normal one, as `traits.LENGTHS` are."""


def _cut_by_stream(message: Message, session: Session) -> bool:
    """A model call began and the message was closed, yet no reason for its end was recorded."""
    closed = message.called and message.completed is not None and message.finish is None and message.fault is None
    return closed and records_ends(session.about)


def records_ends(about: About) -> bool:
    """Whether an end that is not recorded says something: opencode records it since 1.0."""
    return about.format != "opencode" or not (about.version or "").startswith("0.")


def _dropped(message: Message) -> bool:
    """Whether it bears opencode's mark of a dropped stream: an unknown finish without a single counted token."""
    tokens = message.tokens
    return message.finish == "unknown" and not (tokens and (tokens.input or tokens.output))


def aborted(message: Message, session: Session) -> Finding | None:
    """The turn was interrupted before it ended."""
    fault = message.fault
    if fault is None or fault.name not in ABORTS:
        return None
    after = ""
    if message.created is not None and message.completed is not None and message.completed >= message.created:
        after = f", {span(message.completed - message.created)} after it began"
    says = (
        f"The turn was interrupted before it ended{after} ({fault.name}, no error of the endpoint: "
        f"“{one_line(fault.message, WORDS)}”); the record does not say by whom."
    )
    fields = (
        (session.native("fault.name"), fault.name),
        (session.native("fault.message"), fault.message),
        (session.native("created"), message.created),
        (session.native("completed"), message.completed),
    )
    told = (held(message, session), users_next_turn(message, session), came_after(message, session))
    return state(message, "aborted", says, fields).plus(
        *told, answers_queued(message, session), seen_next(message, session)
    )


def provider_error(message: Message, session: Session) -> Finding | None:
    """The endpoint failed."""
    fault = message.fault
    if fault is None or fault.name in ABORTS | LIMITS:
        return None
    status = "" if fault.status is None else f" with HTTP status {fault.status}"
    words = f": “{one_line(fault.message, WORDS)}”" if fault.message.strip() else ""
    says = f"The model call ended in an error of the endpoint, {one_line(fault.name, WORDS)}{status}{words}."
    fields: list[tuple[str, str | int | None]] = [
        (session.native("fault.name"), fault.name),
        (session.native("fault.message"), fault.message),
        (session.native("fault.status"), fault.status),
    ]
    fields = fields if fault.status is not None else fields[:2]
    return state(message, "provider-error", says, fields).plus(seen_next(message, session))


def cut_off(message: Message, session: Session) -> Finding | None:
    """The answer hit a length limit, or the stream ended without a finish."""
    found = _limited(message, session) or _broken(message, session)
    return found and found.plus(came_after(message, session), seen_next(message, session))


def _limited(message: Message, session: Session) -> Finding | None:
    if message.fault and message.fault.name in LIMITS:
        says = f"The answer was cut off at the output limit ({message.fault.name})."
        return state(message, "cut-off", says, [(session.native("fault.name"), message.fault.name)])
    if message.finish in LENGTHS:
        says = f'The answer was cut off at a length limit (finish "{message.finish}").'
        return state(message, "cut-off", says, [(session.native("finish"), message.finish)])
    return None


def _broken(message: Message, session: Session) -> Finding | None:
    if message.role != "assistant" or message.fault:
        return None
    finish = (session.native("finish"), message.finish)
    if _dropped(message):
        says = (
            'The stream was dropped: the finish is recorded as "unknown", no token was counted, and there is no error.'
        )
        counted = (message.tokens.input, message.tokens.output) if message.tokens else (None, None)
        fields = [finish, ("tokens.input", counted[0]), ("tokens.output", counted[1])]
        fields.append((session.native("fault.name"), None))
        return state(message, "cut-off", says, fields).plus(held(message, session))
    if _cut_by_stream(message, session):
        says = (
            "The model's stream ended without a finish: the message was closed, but no reason for its end is recorded."
        )
        closed = (session.native("completed"), message.completed)
        return state(message, "cut-off", says, [finish, closed]).plus(held(message, session))
    return None


def unfinished(message: Message, session: Session) -> Finding | None:
    """No end was recorded."""
    if message.role != "assistant" or message.completed is not None or message.finish or message.fault:
        return None
    says = "No end of this message is recorded: neither a finish, nor an error, nor a time of completion."
    fields = [(session.native(field), None) for field in ("completed", "finish", "fault.name")]
    return state(message, "unfinished", says, fields).plus(
        held(message, session), came_after(message, session), seen_next(message, session)
    )


def empty_completion(message: Message, session: Session) -> Finding | None:
    """The answer has no text, no reasoning and no tool call, and ended normally."""
    ended = message.finish not in (None, *LENGTHS, *NORMAL_ENDS_NOT) and not _dropped(message)
    if message.role != "assistant" or message.fault or not ended or not says_nothing(message):
        return None
    tokens = message.tokens.output if message.tokens else None
    counted = "" if tokens is None else f", {tokens} output tokens counted"
    says = (
        f"The model's answer holds no text, no reasoning and no tool call, and it ended normally "
        f'(finish "{one_line(message.finish or "", WORDS)}"{counted}).'
    )
    fields = ((session.native("finish"), message.finish), ("tokens.output", tokens))
    return state(message, "empty-completion", says, fields).plus(
        came_after(message, session), seen_next(message, session)
    )


def reasoning_only(message: Message, session: Session) -> Finding | None:
    """Reasoning, but neither text nor a tool call."""
    if message.role != "assistant" or has_text(message) or has_call(message) or not has_reasoning(message):
        return None
    thought = next(block for block in message.blocks if isinstance(block, Reasoning))
    says = "The answer holds reasoning, but neither text nor a tool call."
    fields = ((f"{thought.at}.type", "reasoning"), (session.native("finish"), message.finish))
    found = state(message, "reasoning-only", says, fields)
    return found if message.fault else found.plus(came_after(message, session))


ENDING_RULES = (aborted, provider_error, cut_off, unfinished, empty_completion, reasoning_only)
