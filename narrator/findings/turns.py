"""Rules about a message as a whole: how it ended, who wrote it, whether it says anything."""

from __future__ import annotations

import re

from narrator.clock import pause, span
from narrator.findings.finding import MOST_EVIDENCE, WORDS, Evidence, Finding, Kind
from narrator.sanitize import one_line
from narrator.session import About, Block, Marker, Message, Reasoning, Session, Text, ToolCall
from narrator.skims import NONE, Skims
from narrator.traits import ABORTS, LENGTHS, LIMITS

_GO_ON = ["continue", "go", "on", "ahead", "proceed", "resume", "carry", "keep", "going", "next", "please", "pls"]
_AGREE = ["ok", "okay", "k", "yes", "yep", "yeah", "yup", "sure", "done", "finished"]
_FILLERS = ["it", "now", "then", "and", "do"]
NUDGE_WORDS = frozenset([*_GO_ON, *_AGREE, *_FILLERS])
"""Go-on words: a user turn of at most three words, all of them from this list, asks for more of the same.

`it now then and do` only make up phrases (`do it`, `go on then`); none of them alone is a nudge.
"""

NORMAL_ENDS_NOT = frozenset({"error", "content-filter"})
"""Words for an end that is no normal one, as `traits.LENGTHS` are."""


def typed_text(message: Message) -> str:
    """What a person typed in a user message: synthetic parts left out, the quotes `opencode run` adds stripped."""
    text = "\n".join(block.text for block in message.blocks if isinstance(block, Text) and not block.synthetic).strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1] else text


def says_nothing(message: Message) -> bool:
    """Whether it holds neither text nor reasoning nor a tool call that is more than white space."""
    return not (_has_text(message) or _has_reasoning(message) or _has_call(message))


def _has_text(message: Message) -> bool:
    return any(isinstance(block, Text) and block.text.strip() for block in message.blocks)


def _has_reasoning(message: Message) -> bool:
    """Some reasoning is recorded; encrypted reasoning has no text but is counted in tokens."""
    thoughts = [block for block in message.blocks if isinstance(block, Reasoning)]
    counted = message.tokens.reasoning if message.tokens else 0
    return any(thought.text.strip() for thought in thoughts) or bool(thoughts and counted)


def _has_call(message: Message) -> bool:
    return any(isinstance(block, ToolCall) for block in message.blocks)


def _found(message: Message, kind: Kind, says: str, *evidence: tuple[str, str | int | bool | None]) -> Finding:
    shown = tuple(Evidence(index=message.index, field=field, value=value) for field, value in evidence)
    return Finding(index=message.index, kind=kind, says=says, evidence=shown[:MOST_EVIDENCE])


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
    return _found(
        message, "empty-completion", says, (session.native("finish"), message.finish), ("tokens.output", tokens)
    )


def reasoning_only(message: Message, session: Session) -> Finding | None:
    """Reasoning, but neither text nor a tool call."""
    if message.role != "assistant" or _has_text(message) or _has_call(message) or not _has_reasoning(message):
        return None
    thought = next(block for block in message.blocks if isinstance(block, Reasoning))
    says = "The answer holds reasoning, which the user is not shown as an answer, but neither text nor a tool call."
    return _found(
        message,
        "reasoning-only",
        says,
        (f"{thought.at}.type", "reasoning"),
        (session.native("finish"), message.finish),
    )


def aborted(message: Message, session: Session) -> Finding | None:
    """The turn was interrupted before it ended."""
    fault = message.fault
    if fault is None or fault.name not in ABORTS:
        return None
    after = ""
    if message.created is not None and message.completed is not None and message.completed >= message.created:
        after = f", {span(message.completed - message.created)} after it began"
    next_move, evidence = _next_move(message, session)
    says = (
        f"The turn was interrupted before it ended{after} ({fault.name}: “{one_line(fault.message, WORDS)}”); "
        f"the record does not say by whom.{next_move}"
    )
    found = _found(
        message,
        "aborted",
        says,
        (session.native("fault.name"), fault.name),
        (session.native("fault.message"), fault.message),
        (session.native("created"), message.created),
        (session.native("completed"), message.completed),
    )
    return found.model_copy(update={"evidence": found.evidence + evidence})


def _next_move(message: Message, session: Session) -> tuple[str, tuple[Evidence, ...]]:
    """A sentence on the user's next turn, if it follows at once and was sent after this message had ended."""
    following = message.index + 1
    if following >= len(session) or message.completed is None:
        return "", ()
    skim = session.skims[following]
    if skim.kind != "typed" or skim.created is None or skim.created < message.completed:
        return "", ()
    says = f" The next message is the user's, sent {pause(skim.created - message.completed)} after that end."
    return says, (Evidence(index=following, field=session.native("created"), value=skim.created),)


def provider_error(message: Message, session: Session) -> Finding | None:
    """The endpoint failed."""
    fault = message.fault
    if fault is None or fault.name in ABORTS | LIMITS:
        return None
    status = "" if fault.status is None else f" with HTTP status {fault.status}"
    words = f": “{one_line(fault.message, WORDS)}”" if fault.message.strip() else ""
    return _found(
        message,
        "provider-error",
        f"The model call ended in an error of the endpoint, {one_line(fault.name, WORDS)}{status}{words}.",
        (session.native("fault.name"), fault.name),
        (session.native("fault.message"), fault.message),
        *([(session.native("fault.status"), fault.status)] if fault.status is not None else []),
    )


def cut_off(message: Message, session: Session) -> Finding | None:
    """The answer hit a length limit, or the stream ended without a finish."""
    finish = (session.native("finish"), message.finish)
    if message.fault and message.fault.name in LIMITS:
        says = f"The answer was cut off at the output limit ({message.fault.name})."
        return _found(message, "cut-off", says, (session.native("fault.name"), message.fault.name))
    if message.finish in LENGTHS:
        return _found(
            message, "cut-off", f'The answer was cut off at a length limit (finish "{message.finish}").', finish
        )
    if message.role != "assistant" or message.fault:
        return None
    if _dropped(message):
        says = (
            'The stream was dropped: the finish is recorded as "unknown", no token was counted, and there is no error.'
        )
        return _found(
            message, "cut-off", says, finish, ("tokens.output", message.tokens.output if message.tokens else None)
        )
    if _cut_by_stream(message, session):
        says = (
            "The model's stream ended without a finish: the message was closed, but no reason for its end is recorded."
        )
        return _found(message, "cut-off", says, finish, (session.native("completed"), message.completed))
    return None


def unfinished(message: Message, session: Session) -> Finding | None:
    """No end was recorded."""
    if message.role != "assistant" or message.completed is not None or message.finish or message.fault:
        return None
    says = "No end of this message is recorded: neither a finish, nor an error, nor a time of completion."
    return _found(message, "unfinished", says, (session.native("completed"), None), (session.native("finish"), None))


def compaction_request(message: Message, session: Session) -> Finding | None:
    """The harness asked for a summary."""
    mark = next((block for block in message.blocks if _is_compaction(block)), None)
    if message.role != "user" or mark is None:
        return None
    how = "automatic" if "automatic" in getattr(mark, "text", "") else "manual"
    only = "its only part is" if len(message.blocks) == 1 else "it holds"
    says = (
        f"This is not a message a person typed but a compaction request: {only} a mark of "
        f"{'an automatic' if how == 'automatic' else 'a manual'} compaction."
    )
    pressure, evidence = _pressure(message, session) if how == "automatic" else ("", ())
    fields = ((f"{mark.at}.type", "compaction"), (f"{mark.at}.auto", how == "automatic"))
    found = _found(message, "compaction-request", says + pressure, *fields)
    return found.model_copy(update={"evidence": found.evidence + evidence})


def _pressure(message: Message, session: Session) -> tuple[str, tuple[Evidence, ...]]:
    """How full the context was before this request, before the session's others, and at most elsewhere.

    What holds for every compaction of a session tells more of its cause than one number does.
    """
    skims = session.skims
    before = {index - 1 for index in skims.places("compaction-request") if index}
    full = sorted((skims[place].sent or 0, place) for place in before)
    last = skims[message.index - 1] if message.index else None
    if last is None or not last.sent or not all(sent for sent, _ in full):
        return "", ()
    (low, lowest), (high, highest) = full[0], full[-1]
    most, fullest = _fullest_answer(skims, before)
    if most >= low:
        return "", ()
    among = f"before each of the session's {len(full)} compaction requests it was {low:,} (message {lowest}) to "
    least = f", and no other answer had more than {most:,} (message {fullest})" if most > 0 else ""
    says = f" The answer before it, message {last.index}, had {last.sent:,} tokens going in"
    says += f"; {among}{high:,} (message {highest}){least}." if len(full) > 1 else f"{least}."
    paths = ("tokens.input", "tokens.cache.read", "tokens.cache.write")
    tokens = session.message(last.index).tokens
    counts = (tokens.input, tokens.cache_read, tokens.cache_write) if tokens else ()
    return says, tuple(
        Evidence(index=last.index, field=path, value=count) for path, count in zip(paths, counts, strict=False)
    )


def _fullest_answer(skims: Skims, but: set[int]) -> tuple[int, int]:
    """Tokens that went in at most for an answer not among `but`, and its index; the last one of several."""
    sent = skims.sent[:]
    for place in (*but, *skims.places("compaction-summary")):
        sent[place] = NONE
    most = max(sent)
    return most, len(sent) - 1 - sent[::-1].index(most)


def _is_compaction(block: Block) -> bool:
    return isinstance(block, Marker) and block.kind == "compaction"


def compaction_summary(message: Message, session: Session) -> Finding | None:
    """This is the summary a compaction asked for, not a reply."""
    if message.role != "assistant" or not message.summary:
        return None
    asked = session.skims[message.index].parent
    requested = "" if asked is None else f" message {asked} asked for"
    says = f"This is the compaction summary{requested}, written to replace the conversation before it; it is no reply."
    if says_nothing(message):
        says = f"This is the place of the compaction summary{requested}; it is empty, none was written."
    return _found(message, "compaction-summary", says, ("summary", True), (session.native("parent"), message.parent))


def synthetic(message: Message, _session: Session) -> Finding | None:
    """Text in a user message that no person typed."""
    texts = [block for block in message.blocks if isinstance(block, Text)]
    made = [text for text in texts if text.synthetic]
    if message.role != "user" or not made:
        return None
    if len(made) == len(texts):
        says = "No person typed this: its whole text was put there by the harness (synthetic)."
    else:
        says = (
            f"{len(made)} of its {len(texts)} text parts were put there by the harness (synthetic); the rest was typed."
        )
    return _found(message, "synthetic", says, *((f"{text.at}.synthetic", True) for text in made))


def user_nudge(message: Message, _session: Session) -> Finding | None:
    """A user turn of at most three words, all of them go-on words."""
    if message.role != "user":
        return None
    words = re.findall(r"[\w']+", typed_text(message).lower())
    if not 0 < len(words) <= 3 or not NUDGE_WORDS.issuperset(words):
        return None
    if set(words) <= set(_FILLERS) and not {"do", "it"} <= set(words):
        return None
    text = next(block for block in message.blocks if isinstance(block, Text) and not block.synthetic)
    says = f"The user's whole text is “{one_line(typed_text(message))}”: nothing but go-on words, no instruction."
    return _found(message, "user-nudge", says, (f"{text.at}.text", text.text))


TURN_RULES = (
    aborted,
    provider_error,
    cut_off,
    unfinished,
    empty_completion,
    reasoning_only,
    compaction_request,
    compaction_summary,
    synthetic,
    user_nudge,
)
