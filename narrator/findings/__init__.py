"""What the record knows about a message: one small rule per kind, each with its evidence.

A rule is a function of a message and its session that returns a finding or None. It reads metadata, never opinions:
what it says can be read off the named fields again by anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from narrator.findings.calls import CALL_RULES
from narrator.findings.compaction import COMPACTION_RULES
from narrator.findings.endings import ENDING_RULES
from narrator.findings.finding import KINDS, Evidence, Finding, Kind, parse_kinds
from narrator.findings.marks import mark, marked, mask_of
from narrator.findings.neighbours import call_during, running_when_sent, sent_meanwhile
from narrator.findings.sequence import SEQUENCE_RULES
from narrator.findings.speech import says_nothing, typed_text
from narrator.findings.turns import NUDGE_WORDS, TURN_RULES
from narrator.session import Message, Session

__all__ = [
    "KINDS",
    "NUDGE_WORDS",
    "RULES",
    "Evidence",
    "Finding",
    "Kind",
    "call_during",
    "diagnose",
    "diagnose_all",
    "mark",
    "marked",
    "mask_of",
    "parse_kinds",
    "running_when_sent",
    "says_nothing",
    "sent_meanwhile",
    "typed_text",
]

RULES: tuple[Callable[[Message, Session], Finding | None], ...] = (
    *ENDING_RULES,
    *COMPACTION_RULES,
    *TURN_RULES,
    *CALL_RULES,
    *SEQUENCE_RULES,
)
"""All rules, in the order in which findings are listed."""


def diagnose(session: Session, index: int) -> tuple[Finding, ...]:
    """What the record knows about message `index`: at most one finding of a kind."""
    message = session.message(index)
    return tuple(found for rule in RULES if (found := rule(message, session)) is not None)


def diagnose_all(session: Session, indices: Iterable[int]) -> tuple[Finding, ...]:
    """What the record knows about several messages, in the given order."""
    return tuple(found for index in indices for found in diagnose(session, index))
