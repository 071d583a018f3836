"""How a turn ended: a sentence that gives another cause than the record has, or one it does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from narrator.verify.clauses import Clause
from narrator.verify.quotations import Finding
from narrator.verify.scope import Scope
from narrator.verify.speakers import Charge
from narrator.verify.told import Told

_HEDGE = re.compile(
    r"\b(?:may|might|could|would|perhaps|possibly|probably|likely|likelier|likeliest|suggests?|suspect\w*|reading|"
    r"hypothes\w+|whether|if|not|no|never|nothing|neither|nor|cannot|unknown|unclear|who or what|or|seem\w*|appear\w*|"
    r"predicts?|against|for it|guess|assum\w+|without|instead of|rather than|as if|unless)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_READING = re.compile(r"\b(?:readings?|hypothes[ie]s|explanations?|for it|against it)\b", re.IGNORECASE)
_TURN = r"(?:turn|target|step|message|answer|reply|response|stream|request|completion|generation|call|it)"


class Cause(NamedTuple):
    """A way in which a turn is said to have ended."""

    pattern: re.Pattern[str]
    needs: frozenset[str]
    """Findings of which the record has one if it is true."""
    words: re.Pattern[str]
    """Recorded words that bear it out as well."""
    says: str


def _cause(pattern: str, needs: str, words: str, says: str) -> Cause:
    return Cause(
        re.compile(pattern.replace("TURN", _TURN), re.IGNORECASE), frozenset(needs.split()), re.compile(words), says
    )


CAUSES = (
    _cause(
        r"\b(?:timed out|(?:a|the) time-?out (?:ended|stopped|cut|closed)|ended (?:in|with|by) a time-?out|"
        r"(?:because of|due to) a time-?out|(?:hit|reached|ran into) (?:a|the|its) time(?:-?out| limit))\b",
        "",
        r"time-?d? ?out|timeout|deadline",
        "a time-out",
    ),
    _cause(
        r"\b(?:(?:aborted|cancell?ed|interrupted|stopped|killed|cut off|ended) by (?:the|a) "
        r"(?:user|person|human|operator)|the user (?:had |then |himself )?(?:aborted|cancell?ed|interrupted|killed|"
        r"pressed escape|hit escape|stopped the (?:turn|step|answer|message)))\b",
        "",
        r"by (?:the )?user|user (?:aborted|cancel|interrupt|stopped)|escape|esc ",
        "the user as who ended it",
    ),
    _cause(
        r"\b(?:TURN\s+(?:had\s+|then\s+)?crashed|(?:ended|died) (?:in|with|by|of) a crash|"
        r"(?:because of|due to) a crash|the (?:harness|agent|process|client) (?:had )?crashed)\b",
        "unfinished",
        r"crash|panic|segmentation|core dumped|sigkill|out of memory",
        "a crash",
    ),
    _cause(
        r"\b(?:(?:an?|the) (?:provider|endpoint|api|network|server|connection) (?:error|failure|outage)|provider error|"
        r"(?:overloaded|rate[- ]limit(?:ed)?) (?:by|at|from) the (?:provider|endpoint|api)|"
        r"the (?:provider|endpoint|api) (?:returned|reported|answered with|failed with) an error)\b",
        "provider-error",
        r"api ?error|overloaded|rate.?limit|econn|connection (?:reset|refused|error|lost)|unreachable|network error|"
        r"(?:http|status) [45]\d\d",
        "an error of the endpoint",
    ),
    _cause(
        r"\b(?:(?:hit|reached|ran into|exceeded) (?:the|its|an?) (?:output|token|length|context)[- ](?:token )?limit|"
        r"cut off (?:by|at) (?:the|its|a) (?:output|token|length)[- ]limit|ran out of (?:output )?tokens)\b",
        "cut-off",
        r"length|max_tokens|token limit|context length|limit",
        "a limit of length",
    ),
    _cause(
        r"\b(?:TURN\s+(?:had\s+)?(?:ended|finished|completed) (?:normally|by itself|successfully|on its own)|"
        r"ended with a normal (?:stop|end|ending))\b",
        "",
        r"finish (?:stop|tool-calls|end_turn|tool_use)",
        "a normal end",
    ),
)
"""What is said of an end, and what bears it out. A sentence is charged only of a message whose end the record knows."""
_KNOWN = frozenset(["aborted", "provider-error", "cut-off", "unfinished", "tool-aborted", "tool-unfinished"])


_OTHER = re.compile(
    r"\b(?:running|previous|earlier|former|first|next|other|following|preceding|before(?: it)?)(?: \w+)?\s*$",
    re.IGNORECASE,
)
"""Right before a turn that is another than the one that broke off."""


def judge_endings(text: str, clauses: Sequence[tuple[Clause, Scope]]) -> Iterator[Charge]:
    """Charge the sentences that state a cause of an end which none of the messages they are tied to bears out."""
    for clause, scope in clauses:
        tied = scope.own if clause.own else [*scope.own, *scope.near]
        ended = [told for told in tied if _KNOWN & set(told.kinds)]
        for cause in CAUSES if ended else ():
            match = cause.pattern.search(text, clause.start, clause.end)
            if match is None or _is_hedged(text, clause, match):
                continue
            other = cause is CAUSES[-1] and _OTHER.search(text, clause.start, match.start()) is not None
            if not any(_bears(cause, told) for told in (tied if other else ended)):
                yield Charge(match.start(), match.end(), _finding(cause, ended[0]))
                break


def _is_hedged(text: str, clause: Clause, match: re.Match[str]) -> bool:
    """Whether the words that state a cause stand under a doubt, a negation, or one of several readings."""
    before = re.split(r"[.;:—]", text[clause.start : match.start()])[-1]
    behind = re.split(r"[.;:—,]", text[match.end() : clause.end])[0]
    reading = _READING.search(text, clause.start, match.start())
    return bool(_HEDGE.search(before + match[0]) or reading or re.search(r"\?|\bor\b|\bmay\b|\bmight\b", behind))


def _bears(cause: Cause, told: Told) -> bool:
    return bool(cause.needs & set(told.kinds)) or cause.words.search(told.numeric) is not None


def _finding(cause: Cause, told: Told) -> Finding:
    known = ", ".join(kind for kind in told.kinds if kind in _KNOWN)
    return Finding("wrong-message", f"the record of message {told.index} has {known} and does not name {cause.says}")
