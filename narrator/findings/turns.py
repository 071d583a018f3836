"""Rules about a turn of the user's."""

from __future__ import annotations

import re

from narrator.findings.causes import sent_during
from narrator.findings.endings import ENDING_RULES
from narrator.findings.finding import NOTHING, Clause, Finding, Kind, state
from narrator.findings.neighbours import answer_before
from narrator.findings.speech import typed_text
from narrator.sanitize import one_line
from narrator.session import Message, Session, Text

_GO_ON = ["continue", "go", "on", "ahead", "proceed", "resume", "carry", "keep", "going", "next", "please", "pls"]
_AGREE = ["ok", "okay", "k", "yes", "yep", "yeah", "yup", "sure", "done", "finished"]
_FILLERS = ["it", "now", "then", "and", "do"]
NUDGE_WORDS = frozenset([*_GO_ON, *_AGREE, *_FILLERS])
"""Go-on words: a user turn of at most three words, all of them from this list, asks for more of the same.

`it now then and do` only make up phrases (`do it`, `go on then`); none of them alone is a nudge.
"""

_ENDED: dict[Kind, str] = {
    "aborted": "was interrupted before it ended",
    "provider-error": "ended in an error of the endpoint",
    "cut-off": "was cut off",
    "unfinished": "has no recorded end",
    "empty-completion": "holds nothing",
    "reasoning-only": "holds reasoning and no answer",
}


def nudges(message: Message) -> bool:
    """Whether it is a user's turn of at most three words, all of them go-on words."""
    words = re.findall(r"[\w']+", typed_text(message).lower()) if message.role == "user" else []
    if not 0 < len(words) <= 3 or not NUDGE_WORDS.issuperset(words):
        return False
    return not set(words) <= set(_FILLERS) or {"do", "it"} <= set(words)


def user_nudge(message: Message, session: Session) -> Finding | None:
    """A user turn of at most three words, all of them go-on words."""
    if not nudges(message):
        return None
    text = next(block for block in message.blocks if isinstance(block, Text) and not block.synthetic)
    says = f"The user's whole text is “{one_line(typed_text(message))}”: nothing but go-on words, no instruction."
    found = state(message, "user-nudge", says, [(f"{text.at}.text", text.text)])
    during = sent_during(session, message.index, "It")
    return found.plus(during if during.says else _answer_to(message, session))


def _answer_to(message: Message, session: Session) -> Clause:
    """That the answer before it had ended badly or empty."""
    before = answer_before(session, message.index)
    if before is None:
        return NOTHING
    answer = session.message(before)
    ended = next((found for rule in ENDING_RULES if (found := rule(answer, session))), None)
    if ended is None:
        return NOTHING
    return Clause(f"The answer before it, message {before}, {_ENDED[ended.kind]}.", ended.evidence[:1])


TURN_RULES = (user_nudge,)
