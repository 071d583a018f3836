"""Rules about what the harness puts into a session: compaction, its summary, text that no person typed."""

from __future__ import annotations

from functools import lru_cache

from narrator.findings.finding import NOTHING, Clause, Evidence, Finding, state
from narrator.findings.neighbours import answer_before
from narrator.findings.seen import applies, request_seen_next
from narrator.findings.speech import says_nothing
from narrator.session import Block, Marker, Message, Session, Text
from narrator.skims import NONE, Skims

_GO_ON = "Continue if you have next steps"
"""How the message begins that opencode puts in after an automatic compaction."""


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
    fields = ((f"{mark.at}.type", "compaction"), (f"{mark.at}.auto", how == "automatic"))
    causes = (_pressure(message, session), _loop(message, session)) if how == "automatic" else ()
    return state(message, "compaction-request", says, fields).plus(*causes, request_seen_next(session, message.index))


def _loop(message: Message, session: Session) -> Clause:
    """That the answer before a request had called tools: its turn was not over, and nobody was waited for."""
    place = answer_before(session, message.index)
    if place is None or (before := session.skims[place]).finish != "tool-calls":
        return NOTHING
    proofs = [Evidence(index=before.index, field=session.native("finish"), value=before.finish)]
    whose = "its turn was not over"
    if before.parent is not None:
        whose = f"the turn, in answer to message {before.parent}, was not over"
        asked = session.message(before.index).parent
        proofs.append(Evidence(index=before.index, field=session.native("parent"), value=asked))
    return Clause(f"Message {before.index}, right before it, finished with “tool-calls”: {whose}.", tuple(proofs))


def _pressure(message: Message, session: Session) -> Clause:
    """How full the context was before this request, before the session's others, and at most elsewhere.

    What holds for every compaction of a session tells more of its cause than one number does.
    """
    last, holds = session.skims[message.index - 1] if message.index else None, _fullness(session)
    if last is None or not last.sent or holds is None:
        return NOTHING
    says = f"The answer before it, message {last.index}, had {last.sent:,} tokens going in{holds.says}."
    return Clause(says, tuple(dict.fromkeys([*_sent(session, last.index), *holds.evidence])))


@lru_cache(maxsize=1)
def _fullness(session: Session) -> Clause | None:
    """What holds for all compactions of a session: how full it was before them, and at most elsewhere.

    None where the two ranges overlap, which proves nothing. Kept for one session: each of its requests asks for it.
    """
    skims = session.skims
    before = {index - 1 for index in skims.places("compaction-request") if index}
    full = sorted((max(skims.sent[place], 0), place) for place in before)
    if not full or not all(sent for sent, _ in full):
        return None
    (low, lowest), (high, highest) = full[0], full[-1]
    most, fullest = _fullest_answer(skims, before)
    if most >= low:
        return None
    says, named = "", []
    if len(full) > 1:
        says = f"; before each of the session's {len(full)} compaction requests it was {low:,} (message {lowest}) to "
        says, named = f"{says}{high:,} (message {highest})", [lowest, highest]
    if most > 0:
        others = " (summaries not counted)" if skims.count("compaction-summary") else ""
        says += f", and no other answer{others} had more than {most:,} (message {fullest})"
        named.append(fullest)
    return Clause(says, tuple(item for index in named for item in _sent(session, index)))


def _fullest_answer(skims: Skims, but: set[int]) -> tuple[int, int]:
    """Tokens that went in at most for an answer not among `but`, and its index; the last one of several."""
    sent = skims.sent[:]
    for place in (*but, *skims.places("compaction-summary")):
        sent[place] = NONE
    most = max(sent)
    return most, len(sent) - 1 - sent[::-1].index(most)


def _sent(session: Session, index: int) -> tuple[Evidence, ...]:
    """The counts that make up what went into an answer."""
    tokens = session.message(index).tokens
    counts = {
        "tokens.input": tokens.input, "tokens.cache.read": tokens.cache_read, "tokens.cache.write": tokens.cache_write,
    } if tokens else {}  # fmt: skip
    return tuple(Evidence(index=index, field=field, value=count) for field, count in counts.items() if count)


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
    fields = (("summary", True), (session.native("parent"), message.parent))
    return state(message, "compaction-summary", says, fields)


def synthetic(message: Message, session: Session) -> Finding | None:
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
    found = state(message, "synthetic", says, [(f"{text.at}.synthetic", True) for text in made])
    return found.plus(_goes_on(message, made[0], session))


def _goes_on(message: Message, first: Text, session: Session) -> Clause:
    """That this is what opencode puts in after an automatic compaction."""
    before = session.skims[message.index - 1] if message.index else None
    if before is None or before.kind != "compaction-summary" or not first.text.startswith(_GO_ON):
        return NOTHING
    says = f"It comes directly after the compaction summary, message {before.index}"
    if applies(session):
        says += "; opencode puts such a text in so that the work goes on without a turn of the user's"
    return Clause(f"{says}.", (Evidence(index=before.index, field="summary", value=True),))


COMPACTION_RULES = (compaction_request, compaction_summary, synthetic)
